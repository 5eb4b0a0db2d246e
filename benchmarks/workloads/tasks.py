"""Many tasks in one superstep, and many runs at once."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from operator import add
from threading import Barrier
from typing import Annotated, Any, TypedDict

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import new_thread, ring


class Squares(TypedDict):
    """The squares of the first numbers, and their sum."""

    upto: int
    squares: Annotated[list[int], add]
    total: int


class Part(TypedDict):
    """A subgraph's state: a number that is worked on in a few turns."""

    number: int
    value: int
    turns: int
    values: list[int]


class Parts(TypedDict):
    """What the subgraphs bring together."""

    upto: int
    values: Annotated[list[int], add]


def square(part: dict[str, int]) -> dict[str, Any]:
    """One number's square."""
    return {"squares": [part["number"] ** 2]}


async def square_later(part: dict[str, int]) -> dict[str, Any]:
    """One number's square, as a coroutine that never waits."""
    return {"squares": [part["number"] ** 2]}


def squares(engine: Engine, size: int, node: Any = square) -> Any:
    """A builder: one node sends `size` numbers to another, a third adds up."""
    send = engine.types.Send
    builder = engine.graph.StateGraph(Squares)
    builder.add_node("deal", lambda state: {"upto": size})
    builder.add_node("square", node)
    builder.add_node("sum up", lambda state: {"total": sum(state["squares"])})
    builder.add_edge(engine.graph.START, "deal")
    builder.add_conditional_edges(
        "deal", lambda state: [send("square", {"number": number}) for number in range(state["upto"])], ["square"]
    )
    return builder.add_edge("square", "sum up").add_edge("sum up", engine.graph.END)


def send(engine: Engine, size: int) -> Job:
    """`size` tasks by Send."""
    graph, times = squares(engine, size).compile(), max(1, 300 // size)

    def run() -> Any:
        for _ in range(times):
            state = graph.invoke({"squares": []}, new_thread())
        return state["total"]

    return Job(times * size, run)


def ainvoke_send(engine: Engine, size: int) -> Job:
    """`size` coroutines by Send."""
    graph = squares(engine, size, square_later).compile()
    return Job(size, lambda: asyncio.run(graph.ainvoke({"squares": []}, new_thread()))["total"])


def fan_subgraph(engine: Engine, size: int) -> Job:
    """Send to `size` runs of one subgraph, of eight tasks each."""
    to, start, end = engine.types.Send, engine.graph.START, engine.graph.END

    inner = engine.graph.StateGraph(Part)
    inner.add_node("begin", lambda part: {"value": part["number"] + 1})
    inner.add_node("double", lambda part: {"value": part["value"] * 2})
    inner.add_node("grow", lambda part: {"value": part["value"] + 1, "turns": part["turns"] + 1})
    inner.add_node("hand in", lambda part: {"values": [part["value"]]})
    inner.add_edge(start, "begin").add_edge("begin", "double").add_edge("double", "grow")
    inner.add_conditional_edges("grow", lambda part: "grow" if part["turns"] < 5 else "hand in")
    inner.add_edge("hand in", end)

    outer = engine.graph.StateGraph(Parts)
    outer.add_node("part", inner.compile())
    outer.add_conditional_edges(
        start, lambda state: [to("part", {"number": number, "turns": 0}) for number in range(state["upto"])], ["part"]
    )
    graph = outer.add_edge("part", end).compile()
    return Job(size, lambda: graph.invoke({"upto": size, "values": []}, new_thread())["values"])


def threads(engine: Engine, size: int) -> Job:
    """`size` threads that start together, each with a conversation of 20 steps on one saver."""
    steps = 20
    graph = ring(engine, steps).compile(checkpointer=engine.memory.InMemorySaver())

    def run() -> int:
        gate = Barrier(size)

        def converse(_: int) -> int:
            gate.wait()
            reached: int = graph.invoke({"x": 0}, new_thread())["x"]
            return reached

        with ThreadPoolExecutor(size) as pool:
            return sum(pool.map(converse, range(size)))

    return Job(size * steps, run)
