"""Graphs that several workloads run."""

from operator import add
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from benchmarks.job import Engine


class Count(TypedDict):
    """One number."""

    x: int


class Case(TypedDict):
    """A state as programs have it: some of it changes with each turn, most of it rests."""

    turn: int
    journal: Annotated[list[str], add]
    latest: dict[str, Any]
    title: str
    notes: list[dict[str, Any]]
    flags: dict[str, bool]


CASE: Case = {
    "turn": 0,
    "journal": [],
    "latest": {},
    "title": "the teapot",
    "notes": [{"page": page, "text": "came in two pieces, says the post. " * 2} for page in range(20)],
    "flags": {f"flag {number}": True for number in range(20)},
}


def count(state: Count) -> dict[str, Any]:
    """One more."""
    return {"x": state["x"] + 1}


async def count_later(state: Count) -> dict[str, Any]:
    """One more, as a coroutine that never waits."""
    return {"x": state["x"] + 1}


def work(state: Case) -> dict[str, Any]:
    """One turn of the case: a line more in the journal, and a new small document."""
    turn = state["turn"] + 1
    line = f"turn {turn}: wrote to the sender, no answer yet"
    return {"turn": turn, "journal": [line], "latest": {"turn": turn, "tags": ["sent", "open"]}}


def limit(steps: int) -> dict[str, Any]:
    """A config that allows this many supersteps."""
    return {"recursion_limit": steps + 10}


def new_thread(steps: int = 1_000_000) -> dict[str, Any]:
    """A config with a thread that nobody has used."""
    return {"configurable": {"thread_id": uuid4().hex}, **limit(steps)}


def state_class(name: str, fields: dict[str, Any]) -> Any:
    """A TypedDict whose keys are only known here."""
    make: Any = TypedDict  # mypy wants the keys written out
    return make(name, fields)


def chain(engine: Engine, length: int, node: Any = count) -> Any:
    """A builder of nodes that follow each other."""
    builder = engine.graph.StateGraph(Count)
    last = engine.graph.START
    for number in range(length):
        builder.add_node(f"node {number}", node)
        builder.add_edge(last, f"node {number}")
        last = f"node {number}"
    return builder.add_edge(last, engine.graph.END)


def ring(
    engine: Engine, turns: int, node: Any = count, *, schema: Any = Count, key: str = "x", idle_nodes: int = 0
) -> Any:
    """A builder of one node that runs again until `key` has reached `turns`; the idle nodes are never woken."""
    builder, end = engine.graph.StateGraph(schema), engine.graph.END
    builder.add_node("node", node)
    for number in range(idle_nodes):
        builder.add_node(f"idle {number}", node)
        builder.add_edge(f"idle {number}", end)
    builder.add_edge(engine.graph.START, "node")
    return builder.add_conditional_edges("node", lambda state: "node" if state[key] < turns else end)


def case_ring(engine: Engine, turns: int) -> Any:
    """A builder of a case that takes so many turns."""
    return ring(engine, turns, work, schema=Case, key="turn")
