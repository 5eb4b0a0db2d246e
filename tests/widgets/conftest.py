"""Graphs that both engines run."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

HOSTILE = [
    "<script>alert(1)</script>",
    'a"b',
    "节点",
    "🦊",
    "x" * 300,
    "two\nlines",
    "</textarea><b>",
    "&amp;",
    "A:B|C",
]


class State(TypedDict, total=False):
    total: Annotated[int, operator.add]
    log: Annotated[list[str], operator.add]
    mood: str


@pytest.fixture
def compiled(engine: Any) -> Any:
    """Makes a graph of nodes one after the other: `compiled(a=function, b=function)`."""

    def make(schema: type = State, saver: Any = None, **nodes: Any) -> Any:
        graph = engine.graph.StateGraph(schema)
        before = engine.graph.START
        for name, node in nodes.items():
            graph.add_node(name, node)
            graph.add_edge(before, name)
            before = name
        return graph.compile(checkpointer=saver or engine.memory.InMemorySaver())

    return make


@pytest.fixture
def steps(compiled: Any) -> Any:
    """Three plain nodes in a row, each adds 1 and says its name."""
    return compiled(a=_says("a"), b=_says("b"), c=_says("c"))


@pytest.fixture
def asks(compiled: Any, engine: Any) -> Any:
    """`draft`, then `approve`, which asks, then `send`, which logs the answer that `approve` got."""

    def approve(state: Any) -> Any:
        return {"mood": str(engine.types.interrupt("Send it?"))}

    return compiled(draft=_says("draft"), approve=approve, send=lambda state: {"log": [f"sent: {state['mood']}"]})


@pytest.fixture
def fans(engine: Any) -> Any:
    """Two nodes that ask at once, then `end`."""

    def icing(state: Any) -> Any:
        return {"log": [f"icing {engine.types.interrupt('Which icing?')}"]}

    def filling(state: Any) -> Any:
        return {"log": [f"filling {engine.types.interrupt('Which filling?')}"]}

    graph = engine.graph.StateGraph(State)
    graph.add_node("icing", icing)
    graph.add_node("filling", filling)
    graph.add_node("bake", _says("bake"))
    for name in ("icing", "filling"):
        graph.add_edge(engine.graph.START, name)
    graph.add_edge(["icing", "filling"], "bake")
    return graph.compile(checkpointer=engine.memory.InMemorySaver())


def _says(name: str) -> Any:
    def node(state: Any) -> Any:
        return {"total": 1, "log": [name]}

    return node


@pytest.fixture
def says() -> Any:
    """Makes a node that adds 1 and says a name."""
    return _says


@pytest.fixture(params=HOSTILE, ids=["script", "quote", "cjk", "emoji", "long", "newline", "tag", "entity", "colon"])
def hostile(request: pytest.FixtureRequest) -> str:
    """A text that must be shown as it is and do nothing."""
    return request.param


@pytest.fixture
def press() -> Any:
    """Sends an intent to a widget as its front end does, and waits for what it begins."""
    number = 0

    def send(widget: Any, do: str, given: Any = None, form: Any = None) -> None:
        nonlocal number
        number += 1
        widget._receive(widget, {"n": number, "do": do, "with": given or {}, "form": form or {}}, [])
        assert widget.wait(20)

    return send
