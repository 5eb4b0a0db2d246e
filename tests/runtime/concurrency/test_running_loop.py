"""A sync run where an event loop runs already, as in a cell of a notebook."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest

from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.func import entrypoint, task
from runtime.graph import START
from runtime.types import Send, interrupt
from tests.runtime.scenarios.build import builder, says, thread


def in_a_loop(function):
    """What the function returns that is called in a coroutine."""

    async def scenario():
        return function()

    return asyncio.run(scenario())


def parallel(checkpointer=None):
    """Two nodes that meet, so that both must run at a time, then a nested graph."""
    meet = threading.Barrier(2)

    def meeting(name):
        def node(state):
            meet.wait(10)
            return {"log": [name]}

        return node

    inner = builder({"x": says("x"), "y": says("y")}, [(START, "x"), ("x", "y")]).compile()
    nodes = {"a": meeting("a"), "b": meeting("b"), "inner": lambda state: {"log": inner.invoke({"log": []})["log"]}}
    return builder(nodes, [(START, "a"), (START, "b"), (["a", "b"], "inner")]).compile(checkpointer=checkpointer)


def test_invoke_runs_parallel_tasks_and_nested_graphs():
    assert in_a_loop(lambda: parallel().invoke({"log": []})) == {"log": ["a", "b", "x", "y"]}


def test_stream_gives_its_chunks():
    chunks = in_a_loop(lambda: list(parallel().stream({"log": []}, stream_mode=["updates", "custom"])))
    assert sorted(next(iter(chunk)) for _, chunk in chunks) == ["a", "b", "inner"]


@pytest.mark.parametrize("durability", ["async", "sync", "exit"])
def test_a_database_keeps_the_thread(durability):
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as conn:
        app = parallel(SqliteSaver(conn))
        in_a_loop(lambda: app.invoke({"log": []}, thread(), durability=durability))
        assert in_a_loop(lambda: app.get_state(thread())).values == {"log": ["a", "b", "x", "y"]}


def test_an_entrypoint_waits_for_the_results_of_its_tasks():
    @task
    def double(number):
        return 2 * number

    @entrypoint()
    def program(number):
        futures = [double(number + index) for index in range(3)]
        return [future.result() for future in futures]

    assert in_a_loop(lambda: program.invoke(1)) == [2, 4, 6]


def test_a_sync_run_inside_a_node_of_an_async_run_is_nested_in_it(saver):
    inner = builder({"x": lambda state: {"log": [interrupt("go?")]}}, [(START, "x")]).compile()

    async def outer(state):
        return {"log": inner.invoke({"log": []})["log"]}

    app = builder({"outer": outer}, [(START, "outer")]).compile(checkpointer=saver)
    result = asyncio.run(app.ainvoke({"log": []}, thread()))
    assert [item.value for item in result["__interrupt__"]] == ["go?"]


async def asynchronous(state):
    """A node of the other colour."""


async def router(state):
    """A router of the other colour."""


def with_async_router():
    return builder({"a": says("a")}, [(START, "a")]).add_conditional_edges("a", router, ["a"])


ONLY_ASYNC = {
    "a lone node": lambda: builder({"asynchronous": asynchronous}, [(START, "asynchronous")]),
    "one of two nodes": lambda: builder(
        {"a": says("a"), "asynchronous": asynchronous}, [(START, "a"), (START, "asynchronous")]
    ),
    "a sent node": lambda: builder(
        {"a": says("a"), "asynchronous": asynchronous}, [(START, "a")]
    ).add_conditional_edges("a", lambda state: [Send("asynchronous", {})], ["asynchronous"]),
    "a router": with_async_router,
}


@pytest.mark.parametrize("graph", ONLY_ASYNC.values(), ids=ONLY_ASYNC)
def test_what_is_only_async_is_named_and_the_way_out(graph):
    with pytest.raises(TypeError, match="'(asynchronous|router)' is async and was called by a sync run. Use the async"):
        in_a_loop(lambda: graph().compile().invoke({"log": []}))


def test_an_async_task_in_a_sync_entrypoint_is_named_too():
    @task
    async def later():
        return 1

    @entrypoint()
    def program(number):
        return later().result()

    with pytest.raises(TypeError, match="'later' is async and was called by a sync run"):
        in_a_loop(lambda: program.invoke(1))


def test_a_saver_of_that_loop_says_that_it_would_wait_for_itself():
    async def scenario():
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver)
            with pytest.raises(asyncio.InvalidStateError, match="Await aget_tuple"):
                app.invoke({"log": []}, thread())
            return await asyncio.to_thread(app.invoke, {"log": []}, thread())

    assert asyncio.run(scenario()) == {"log": ["a"]}
