"""State graphs for the scenarios: short ways to say a graph."""

import operator
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypedDict

from runtime.graph import StateGraph


class Log(TypedDict):
    log: Annotated[list, operator.add]


def says(*words: str) -> Callable[[Any], dict[str, list[str]]]:
    """A node that adds words to the log."""
    return lambda state: {"log": list(words)}


def builder(nodes: dict[str, Any], edges: Iterable[tuple[Any, str]], schema: Any = Log) -> StateGraph:
    """A graph of these nodes and plain or list edges."""
    graph = StateGraph(schema)
    for name, node in nodes.items():
        graph.add_node(name, node)
    for start, end in edges:
        graph.add_edge(start, end)
    return graph


def thread(name: str = "t", **more: Any) -> dict[str, Any]:
    """The config of a thread."""
    return {"configurable": {"thread_id": name, **more}}


def asked(result: Any) -> list[Any]:
    """The values of the questions that a result stops at."""
    return [interrupt.value for interrupt in result.get("__interrupt__", ())]
