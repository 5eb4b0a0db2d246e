"""Superstep after superstep, one task in each."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Annotated, Any

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import chain, count_later, limit, new_thread, ring, state_class


def chain_steps(engine: Engine, size: int) -> Job:
    """A chain of `size` nodes."""
    graph, times = chain(engine, size).compile(), max(1, 400 // size)

    def run() -> Any:
        for _ in range(times):
            state = graph.invoke({"x": 0}, limit(size))
        return state

    return Job(times * size, run)


def ring_steps(engine: Engine, size: int) -> Job:
    """One node, `size` times."""
    graph = ring(engine, size).compile()
    return Job(size, lambda: graph.invoke({"x": 0}, limit(size)))


def callbacks(engine: Engine, size: int) -> Job:
    """The chain with one handler that only counts: what tracing costs."""
    from langchain_core.callbacks import BaseCallbackHandler

    class Counting(BaseCallbackHandler):
        started = ended = 0

        def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            self.started += 1

        def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
            self.ended += 1

    graph = chain(engine, size).compile()

    def run() -> list[int]:
        handler = Counting()
        state = graph.invoke({"x": 0}, {**limit(size), "callbacks": [handler]})
        return [state["x"], handler.started, handler.ended]

    return Job(size, run)


def functional(engine: Engine, size: int) -> Job:
    """An entrypoint that calls `size` tasks, one after the other."""

    @engine.func.task  # type: ignore[untyped-decorator]  # an engine is only known at run time
    def one_more(x: int) -> int:
        return x + 1

    @engine.func.entrypoint()  # type: ignore[untyped-decorator]  # an engine is only known at run time
    def program(x: int) -> int:
        for _ in range(size):
            x = one_more(x).result()
        return x

    return Job(size, lambda: program.invoke(0))


def wide_state(engine: Engine, size: int) -> Job:
    """Five nodes in a ring, `size` keys, every second one with a reducer; a node reads ten keys and writes ten."""
    steps, end = 100, engine.graph.END

    def keep_latest(old: list[int], new: list[int]) -> list[int]:
        return (old + new)[-40:]

    def node(place: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
        reads = [f"key {(10 * place + offset) % size}" for offset in range(10)]
        writes = [f"key {(10 * place + 10 + offset) % size}" for offset in range(10)]

        def mix(state: dict[str, Any]) -> dict[str, Any]:
            mixed = sum(state[key][-1] for key in reads) % 1000
            return {"step": state["step"] + 1, **{key: [mixed] * 20 for key in writes}}

        return mix

    keys = [f"key {number}" for number in range(size)]
    fields = {key: Annotated[list, keep_latest] if number % 2 else list for number, key in enumerate(keys)}
    builder = engine.graph.StateGraph(state_class("Wide", {"step": int, **fields}))
    builder.add_sequence([(f"node {place}", node(place)) for place in range(5)])
    builder.add_edge(engine.graph.START, "node 0")
    builder.add_conditional_edges("node 4", lambda state: "node 0" if state["step"] < steps else end)
    graph = builder.compile()
    start = {"step": 0, **{key: [number] for number, key in enumerate(keys)}}
    return Job(steps, lambda: graph.invoke(start, new_thread()))


def wide_dict(engine: Engine, size: int) -> Job:
    """One key with a dict of `size` entries, one of which is merged in at each step."""
    steps = 200

    def merge(old: dict[Hashable, Any], new: dict[Hashable, Any]) -> dict[Hashable, Any]:
        return {**old, **new}

    def node(state: dict[str, Any]) -> dict[str, Any]:
        step = state["step"] + 1
        return {"step": step, "entries": {f"entry {step % size}": [step] * 10}}

    schema = state_class("WideDict", {"step": int, "entries": Annotated[dict, merge]})
    graph = ring(engine, steps, node, schema=schema, key="step").compile()
    start = {"step": 0, "entries": {f"entry {number}": [number] * 10 for number in range(size)}}
    return Job(steps, lambda: graph.invoke(start, new_thread()))


def pydantic_state(engine: Engine, size: int) -> Job:
    """A state that is a pydantic model with models inside, validated for each task."""
    from pydantic import BaseModel

    class Item(BaseModel):
        name: str
        value: int
        tags: list[str] = []

    class Order(BaseModel):
        step: int = 0
        title: str = ""
        items: list[Item] = []
        recent: list[int] = []
        counts: dict[str, int] = {}
        note: str = "none"
        total: float = 0.0

    def node(order: Order) -> dict[str, Any]:
        return {"step": order.step + 1, "recent": [order.step] * 5, "counts": {"steps": order.step}}

    end = engine.graph.END
    builder = engine.graph.StateGraph(Order)
    builder.add_node("node", node)
    builder.add_edge(engine.graph.START, "node")
    builder.add_conditional_edges("node", lambda order: "node" if order.step < size else end)
    graph = builder.compile()
    items = [{"name": f"item {number}", "value": number, "tags": ["blue", "small"]} for number in range(20)]

    def run() -> list[Any]:
        state = graph.invoke({"items": items, "title": "an order"}, new_thread())
        return [state["step"], state["recent"], len(state["items"])]

    return Job(size, run)


def ainvoke_chain(engine: Engine, size: int) -> Job:
    """The chain with coroutines, awaited four times in one event loop."""
    graph, times = chain(engine, size, count_later).compile(), 4

    async def go() -> Any:
        for _ in range(times):
            state = await graph.ainvoke({"x": 0}, limit(size))
        return state

    return Job(times * size, lambda: asyncio.run(go()))


def astream_chain(engine: Engine, size: int) -> Job:
    """The chain with coroutines, its updates streamed four times in one event loop."""
    graph, times = chain(engine, size, count_later).compile(), 4

    async def go() -> int:
        for _ in range(times):
            updates = [update async for update in graph.astream({"x": 0}, limit(size), stream_mode="updates")]
        return len(updates)

    return Job(times * size, lambda: asyncio.run(go()))
