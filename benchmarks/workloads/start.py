"""What comes before the first superstep, and the shortest run there is."""

from typing import Any

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import chain, limit


def imports(engine: Engine, size: int) -> Job:
    """The names that a program with a graph, a saver and tools begins with."""

    def run() -> list[str]:
        names = engine.graph.StateGraph, engine.types.Send, engine.memory.InMemorySaver, engine.prebuilt.ToolNode
        return [name.__name__ for name in names]

    return Job(1, run)


def import_graph(engine: Engine, size: int) -> Job:
    """StateGraph alone."""
    return Job(1, lambda: engine.graph.StateGraph.__name__)


def compile_chain(engine: Engine, size: int) -> Job:
    """Build and compile, nothing run."""
    times = max(1, 200 // size)

    def run() -> int:
        for _ in range(times):
            graph = chain(engine, size).compile()
        return sum(name.startswith("node") for name in graph.nodes)

    return Job(times * size, run)


def cold(engine: Engine, size: int) -> Job:
    """Build, compile and run once, as a short program does."""
    return Job(size, lambda: chain(engine, size).compile().invoke({"x": 0}, limit(size)))


def one_node(engine: Engine, size: int) -> Job:
    """Many runs of a graph with one node: what it costs to enter and to leave."""
    graph = chain(engine, 1).compile()

    def run() -> Any:
        for _ in range(size):
            state = graph.invoke({"x": 0})
        return state

    return Job(size, run)


def first_event(engine: Engine, size: int) -> Job:
    """The first update out of a long chain, and then no more."""
    graph, times = chain(engine, size).compile(), 20

    def run() -> Any:
        for _ in range(times):
            events = graph.stream({"x": 0}, limit(size), stream_mode="updates")
            first = next(events)
            events.close()
        return first

    return Job(times, run)
