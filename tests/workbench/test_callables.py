import functools
from typing import TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from runtime.types import Command, Send, interrupt
from runtime.types import interrupt as ask
from workbench import callables


class State(TypedDict):
    x: int


def plain(state):
    return {}


def direct(state):
    return interrupt("ok?")


def renamed(state):
    return ask("ok?")


def helped(state):
    return direct(state)


def nested(state):
    return [interrupt(one) for one in state]


class Callable:
    def __call__(self, state):
        return interrupt("ok?")

    def method(self, state):
        return interrupt("ok?")


def names_it(state):
    """interrupt is only in the words here."""
    return "interrupt"


ASKING = [
    direct,
    renamed,
    helped,
    nested,
    Callable(),
    Callable().method,
    functools.partial(direct, 1),
    RunnableLambda(direct),
    RunnableLambda(plain) | RunnableLambda(direct),
]


@pytest.mark.parametrize("node", ASKING)
def test_a_call_of_interrupt_is_found(node):
    assert callables.asks(node)


@pytest.mark.parametrize("node", [plain, names_it, RunnableLambda(plain), len, 5, None])
def test_what_does_not_ask_is_not_said_to(node):
    assert not callables.asks(node)


def test_a_tool_that_asks_makes_its_node_ask():
    class Tools:
        def __init__(self, *tools):
            self.tools_by_name = {one.name: one for one in tools}

    @tool
    def refund(order: int) -> str:
        """Refunds an order."""
        return interrupt(order)

    assert callables.asks(Tools(refund))


def test_a_command_with_goto_is_found():
    def jump(state):
        return Command(goto="b", update={})

    def update(state):
        return Command(update={"x": 1})

    assert callables.jumps(jump)
    assert not callables.jumps(update)


def test_sends_tell_their_targets():
    def fan(state):
        return [Send("b", one) for one in state["x"]] or "c"

    assert callables.sends(fan, frozenset("bcd")) == callables.Sends(frozenset("b"), frozenset("c"), False)


def test_a_send_to_a_computed_node_is_open():
    def fan(state) -> list[Send]:
        return [Send(state["name"], one) for one in state["x"]]

    assert callables.sends(fan, frozenset("bc")) == callables.Sends(None, frozenset(), True)


def test_a_router_without_send_has_none():
    assert callables.sends(plain, frozenset("bc")) is None


def test_an_object_whose_attributes_raise_tells_nothing():
    class Broken:
        @property
        def func(self):
            raise RuntimeError("no")

    assert not callables.asks(Broken())
