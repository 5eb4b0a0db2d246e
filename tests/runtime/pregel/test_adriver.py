"""The async driver: a task that is alone runs where the run is awaited, and nobody can tell."""

import asyncio
from contextvars import ContextVar, copy_context
from typing import TypedDict

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.graph import END, START, StateGraph
from runtime.pregel.adriver import Within

CONFIG = {"configurable": {"thread_id": "t"}}
mark: ContextVar[str] = ContextVar("mark", default="outside")


def awaited(test):
    """The test, run in an event loop of its own."""
    return lambda: asyncio.run(test())


class Count(TypedDict):
    n: int


def graph_of(node, saver=None):
    builder = StateGraph(Count).add_node("node", node).add_edge(START, "node")
    return builder.add_conditional_edges("node", lambda state: "node" if state["n"] < 3 else END).compile(saver)


@awaited
async def test_what_a_node_sets_in_its_context_stays_there():
    seen = []

    async def node(state):
        seen.append(mark.get())
        mark.set("inside")
        await asyncio.sleep(0)
        assert mark.get() == "inside"
        return {"n": state["n"] + 1}

    assert await graph_of(node).ainvoke({"n": 0}) == {"n": 3}
    assert seen == ["outside"] * 3
    assert mark.get() == "outside"


@awaited
async def test_a_cancellation_reaches_the_node_and_leaves_a_thread_that_goes_on():
    entered, told = asyncio.Event(), []

    async def node(state):
        if not told:
            entered.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                told.append("cancelled")
                raise
        return {"n": 3}

    app = graph_of(node, InMemorySaver())
    job = asyncio.create_task(app.ainvoke({"n": 0}, CONFIG))
    await entered.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert told == ["cancelled"]
    assert (await app.aget_state(CONFIG)).next == ("node",)
    assert await app.ainvoke(None, CONFIG) == {"n": 3}


@awaited
async def test_a_run_whose_nodes_wait_for_nothing_leaves_the_loop_to_others():
    turns = []

    async def node(state):
        return {"n": 0}  # the graph has no end but its limit

    async def other():
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await graph_of(node).ainvoke({"n": 0}, {"recursion_limit": 10_000_000})
    beside.cancel()
    assert len(turns) > 1


@awaited
async def test_what_a_coroutine_waits_for_and_what_is_thrown_into_it_passes_through():
    async def work(ready):
        mark.set("inside")
        try:
            await ready
        except ValueError as error:
            told.append(str(error))
        told.append(mark.get())

    told, ready = [], asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(ready.set_exception, ValueError("not today"))
    await Within(copy_context(), work(ready))
    assert told == ["not today", "inside"]
    assert mark.get() == "outside"
