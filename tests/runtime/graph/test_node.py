"""What functions say about themselves by their annotations."""

from typing import Literal

import pytest
from langchain_core.runnables import RunnableLambda
from typing_extensions import TypedDict

from runtime.graph.node import Declared, command_ends, declared, literals, node_name
from runtime.types import Command


class Part(TypedDict):
    a: int


def plain(state):
    return state


def typed(state: Part) -> Command[Literal["a", "b"]]:
    return Command()


def broken(state: "Part", other: "NobodyKnowsThis"):  # noqa: F821 - that is the point
    return state


class Service:
    def method(self, state: Part) -> dict:
        return {}

    def __call__(self, state: Part) -> dict:
        return {}


@pytest.mark.parametrize("thing", [typed, Service().method, Service()])
def test_the_first_parameter_after_self_is_the_input(thing):
    assert declared(thing).schema is Part


@pytest.mark.parametrize("thing", [plain, broken, len, Part, 5, lambda: None])
def test_what_declares_nothing_readable_is_read_without_an_error(thing):
    assert declared(thing) == Declared()


ENDS = [
    (None, ()),
    (dict, ()),
    (Command, ()),
    (Command[Literal["a", "b"]], ("a", "b")),
    (Command[Literal["a"]] | dict, ("a",)),
    (Command[Literal["a"]] | Command[Literal["b", "a"]] | None, ("a", "b")),
    (list[Command[Literal["a"]]], ("a",)),
    (Literal["a"], ()),
]


@pytest.mark.parametrize(("annotation", "ends"), ENDS)
def test_where_commands_lead_by_annotation(annotation, ends):
    assert command_ends(annotation) == ends


def test_literals_are_those_of_a_literal_alone():
    assert literals(Literal["a", "b"]) == ("a", "b")
    assert literals(list[Literal["a"]]) == ()


def test_a_node_is_named_after_its_runnable_function_or_class():
    assert [node_name(x) for x in (plain, Service(), RunnableLambda(typed), lambda s: s)] == [
        "plain",
        "Service",
        "typed",
        "<lambda>",
    ]


def test_what_cannot_be_called_has_no_name():
    with pytest.raises(TypeError, match="not 5"):
        node_name(5)
