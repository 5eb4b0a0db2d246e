import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from tests.engines import Engine


@pytest.fixture
def saver(engine: Engine) -> Any:
    """An empty checkpointer of the engine."""
    return engine.memory.InMemorySaver()


class State(TypedDict):
    total: int
    log: Annotated[list[str], operator.add]


@pytest.fixture
def built(engine: Engine) -> Callable[..., Any]:
    """Makes a builder: `built((START, "a"), ("a", "b"), a=function, b=function)`."""

    def make(*edges: tuple[Any, Any], state: type = State, **nodes: Any) -> Any:
        graph = engine.graph.StateGraph(state)
        for name, action in nodes.items():
            graph.add_node(name, action)
        for source, target in edges:
            graph.add_edge(source, target)
        return graph

    return make


def says(name: str) -> Any:
    """A node that adds its name to the log."""
    return lambda state: {"log": [name]}


@pytest.fixture
def chain(built: Callable[..., Any]) -> Any:
    """The builder of two nodes in a row."""
    return built(("__start__", "a"), ("a", "b"), a=says("a"), b=says("b"))
