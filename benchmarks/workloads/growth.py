"""The same work beside more and more that is at rest, or deeper and deeper: what a superstep must not depend on."""

from collections.abc import Callable
from operator import add
from typing import Annotated, Any, TypedDict

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import Count, chain, limit, new_thread, ring, state_class
from benchmarks.workloads.tasks import squares


class Ones(TypedDict):
    """A one from each node."""

    ones: Annotated[list[int], add]


def idle_nodes(engine: Engine, size: int) -> Job:
    """200 steps beside `size` nodes that nothing wakes."""
    graph = ring(engine, 200, idle_nodes=size).compile()
    return Job(200, lambda: graph.invoke({"x": 0}, new_thread()))


def empty_keys(engine: Engine, size: int) -> Job:
    """200 steps beside `size` keys without a value."""
    graph = ring(engine, 200, schema=_with_idle_keys(size)).compile()
    return Job(200, lambda: graph.invoke({"x": 0}, new_thread()))


def filled_keys(engine: Engine, size: int) -> Job:
    """200 steps beside `size` keys that rest."""
    graph, start = ring(engine, 200, schema=_with_idle_keys(size)).compile(), _filled(size)
    return Job(200, lambda: graph.invoke(start, new_thread())["x"])


def filled_keys_saved(engine: Engine, size: int) -> Job:
    """100 saved steps beside `size` keys that rest."""
    saver, start = engine.memory.InMemorySaver(), _filled(size)
    graph = ring(engine, 100, schema=_with_idle_keys(size)).compile(checkpointer=saver)
    return Job(100, lambda: graph.invoke(start, new_thread())["x"])


def dict_copies(engine: Engine, size: int) -> Job:
    """For scale: `size` filled keys copied by a plain `dict.copy`, what a node's input costs at the least."""
    state = _filled(size)

    def run() -> int:
        for _ in range(200):
            copied = state.copy()
        return len(copied)

    return Job(200, run)


def steps_saved(engine: Engine, size: int) -> Job:
    """`size` saved steps of a state that stays small."""
    graph = ring(engine, size).compile(checkpointer=engine.memory.InMemorySaver())
    return Job(size, lambda: graph.invoke({"x": 0}, new_thread()))


def chain_saved(engine: Engine, size: int) -> Job:
    """A chain of `size` nodes, saved."""
    graph = chain(engine, size).compile(checkpointer=engine.memory.InMemorySaver())
    return Job(size, lambda: graph.invoke({"x": 0}, new_thread()))


def send_saved(engine: Engine, size: int) -> Job:
    """`size` tasks by Send, saved."""
    graph = squares(engine, size).compile(checkpointer=engine.memory.InMemorySaver())
    return Job(size, lambda: graph.invoke({"squares": []}, new_thread())["total"])


def parallel_nodes(engine: Engine, size: int) -> Job:
    """`size` nodes in one step, and one that waits for all of them."""
    builder = engine.graph.StateGraph(Ones)
    names = [f"node {number}" for number in range(size)]
    for name in names:
        builder.add_node(name, lambda state: {"ones": [1]})
        builder.add_edge(engine.graph.START, name)
    builder.add_node("last", lambda state: {"ones": []})
    graph = builder.add_edge(names, "last").compile()
    return Job(size, lambda: len(graph.invoke({"ones": []}, limit(2))["ones"]))


def runs_on_one_thread(engine: Engine, size: int) -> Job:
    """`size` runs of one node, all on one thread, saved."""
    graph = chain(engine, 1).compile(checkpointer=engine.memory.InMemorySaver())

    def run() -> Any:
        thread = new_thread()
        for _ in range(size):
            state = graph.invoke({"x": 0}, thread)
        return state

    return Job(size, run)


def nested(engine: Engine, size: int) -> Job:
    """A node inside `size` graphs, each the only node of the next."""
    graph, times = chain(engine, 1).compile(), 20
    for _ in range(size - 1):
        graph = chain(engine, 1, graph).compile()
    invoke: Callable[[Count], Any] = graph.invoke

    def run() -> Any:
        for _ in range(times):
            state = invoke({"x": 0})
        return state

    return Job(times * size, run)


def _with_idle_keys(size: int) -> Any:
    return state_class("WithIdleKeys", {"x": int, **{f"idle {number}": list for number in range(size)}})


def _filled(size: int) -> dict[str, Any]:
    return {"x": 0, **{f"idle {number}": [number] for number in range(size)}}
