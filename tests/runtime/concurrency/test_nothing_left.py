"""What a run leaves behind, however it ends: no asyncio task, no started node, no open file."""

import asyncio
import gc
import os
import sqlite3
import sys
import threading
from concurrent.futures import CancelledError
from contextlib import aclosing, closing, suppress

import pytest

from runtime.cache.sqlite import SqliteCache
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.errors import NodeTimeoutError
from runtime.func import entrypoint, task
from runtime.graph import START
from tests.runtime.scenarios.build import builder, says, thread

pytestmark = pytest.mark.filterwarnings("error")


async def forever(state=None):
    await asyncio.Event().wait()


async def fails_in_the_end(state):
    try:
        await forever()
    finally:
        raise ValueError("no")


async def fails(state=None):
    raise ValueError("no")


def graph(nodes, saver=None, **more):
    """Nodes that all start at once."""
    app = builder(nodes, [(START, name) for name in nodes]).compile(checkpointer=saver)
    for name, value in more.items():
        setattr(app, name, value)
    return app


async def pending():
    """The asyncio tasks that are left, but for the one that asks."""
    return [job.get_coro() for job in asyncio.all_tasks() if job is not asyncio.current_task()]


def left_after(scenario):
    """The asyncio tasks that are left when the scenario, a coroutine function, has ended."""

    async def main():
        await scenario()
        return await pending()

    return asyncio.run(main())


@pytest.fixture(params=["memory", "database"])
def with_saver(request, tmp_path):
    """Runs a scenario with a saver, and gives the tasks that are left before the saver is closed."""

    async def main(scenario):
        if request.param == "memory":
            await scenario(InMemorySaver())
            return await pending()
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "d.sqlite"), synchronous="NORMAL") as saver:
            await scenario(saver)
            return await pending()

    return lambda scenario: asyncio.run(main(scenario))


def test_no_task_is_left_after_a_run(with_saver):
    async def scenario(saver):
        await graph({"a": says("a"), "b": says("b")}, saver).ainvoke({"log": []}, thread())

    assert with_saver(scenario) == []


def test_no_task_is_left_after_an_error(with_saver):
    async def scenario(saver):
        with pytest.raises(ValueError, match="no"):
            await graph({"fails": fails, "forever": forever}, saver).ainvoke({"log": []}, thread())

    assert with_saver(scenario) == []


def test_no_task_is_left_after_the_time_of_a_superstep_is_up(with_saver):
    async def scenario(saver):
        with pytest.raises(TimeoutError):
            await graph({"forever": forever, "quick": says("q")}, saver, step_timeout=0.01).ainvoke({}, thread())

    assert with_saver(scenario) == []


def test_no_task_is_left_after_the_time_of_a_node_is_up():
    async def scenario():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        app = builder({}, []).add_node("slow", fails_in_the_end, timeout=0.01).add_edge(START, "slow").compile()
        with pytest.raises(NodeTimeoutError):
            await app.ainvoke({"log": []})
        gc.collect()

    complaints = []
    assert (left_after(scenario), complaints) == ([], [])


def test_no_task_is_left_after_a_cancel_from_outside(with_saver):
    async def scenario(saver):
        begun = asyncio.Event()

        async def begins(state):
            begun.set()
            await forever()

        run = asyncio.create_task(graph({"begins": begins, "other": forever}, saver).ainvoke({"log": []}, thread()))
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    assert with_saver(scenario) == []


def test_no_task_is_left_after_the_callers_time_is_up(with_saver):
    async def scenario(saver):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(graph({"forever": forever}, saver).ainvoke({"log": []}, thread()), 0.01)

    assert with_saver(scenario) == []


@pytest.mark.parametrize("mode", ["updates", "values", "custom", ["updates", "custom"]], ids=str)
def test_no_task_is_left_after_a_stream_is_closed(with_saver, mode):
    async def scenario(saver):
        stream = graph({"quick": says("q"), "forever": forever, "talks": talks}, saver).astream(
            {"log": []}, thread(), stream_mode=mode
        )
        async with aclosing(stream):
            async for _ in stream:
                break

    assert with_saver(scenario) == []


async def talks(state, writer):
    writer("word")
    await forever()


def test_no_task_is_left_after_a_reader_breaks_and_the_stream_is_forgotten(with_saver):
    async def scenario(saver):
        async for _ in graph({"quick": says("q"), "forever": forever}, saver).astream({"log": []}, thread()):
            break
        gc.collect()
        while others := [job for job in asyncio.all_tasks() if job is not asyncio.current_task()]:
            await asyncio.wait(others)  # the event loop closes a forgotten stream in a task of its own

    assert with_saver(scenario) == []


@task
async def endless():
    await forever()


@task
async def broken():
    raise ValueError("no")


@pytest.mark.parametrize("ending", ["error", "cancel"])
def test_tasks_that_a_function_called_end_with_it(with_saver, ending):
    async def scenario(saver):
        begun = asyncio.Event()

        @entrypoint(checkpointer=saver)
        async def program(number):
            endless()
            begun.set()
            await (broken() if ending == "error" else endless())

        run = asyncio.create_task(program.ainvoke(1, thread()))
        await begun.wait()
        if ending == "cancel":
            run.cancel()
        with pytest.raises((ValueError, asyncio.CancelledError)):
            await run

    assert with_saver(scenario) == []


def test_a_called_task_may_be_called_off_before_it_has_begun():
    @entrypoint()
    async def program(number):
        future = endless()
        future.cancel()
        with suppress(asyncio.CancelledError):
            await future
        return "went on"

    async def scenario():
        assert await program.ainvoke(1) == "went on"

    assert left_after(scenario) == []


def test_what_is_being_saved_at_a_cancel_is_saved_before_the_run_ends():
    release, saved = asyncio.Event(), []

    class Slow(InMemorySaver):
        immediate = False

        async def aput(self, config, checkpoint, *rest):
            await release.wait()
            saved.append(checkpoint["id"])
            return self.put(config, checkpoint, *rest)

    async def scenario():
        begun = asyncio.Event()

        async def begins(state):
            begun.set()
            await forever()

        run = asyncio.create_task(graph({"begins": begins}, Slow()).ainvoke({"log": []}, thread()))
        await begun.wait()
        run.cancel()
        asyncio.get_running_loop().call_soon(release.set)
        with pytest.raises(asyncio.CancelledError):
            await run
        assert len(saved) == 2

    assert left_after(scenario) == []


@pytest.mark.parametrize("close", ["close", "break"])
def test_a_sync_stream_that_is_left_starts_no_more_nodes(close):
    begun, release = [], threading.Event()

    def node(name):
        def run(state, writer):
            begun.append(name)
            writer(name)
            release.wait(10)

        return run

    names = [f"n{index}" for index in range(6)]
    app = graph({name: node(name) for name in names}, InMemorySaver())
    stream = app.stream({"log": []}, {**thread(), "max_concurrency": 2}, stream_mode="custom")
    next(stream)
    if close == "close":
        stream.close()
    else:
        del stream
    release.set()
    state = app.get_state(thread())
    assert len(begun) <= 2
    assert len([task for task in state.tasks if task.error]) == 6


def test_a_node_that_could_not_be_stopped_starts_no_tasks_afterwards():
    left, ended, result = threading.Event(), threading.Event(), []

    @task
    def more():
        result.append("ran")

    @entrypoint()
    def program(number, *, writer):
        writer("begun")
        left.wait(10)
        try:
            more().result()
        except CancelledError:
            result.append("called off")
        ended.set()

    stream = program.stream(1, stream_mode="custom")
    assert next(stream) == "begun"
    stream.close()
    left.set()
    ended.wait(10)
    assert result == ["called off"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is open")
def test_no_file_is_left_open_by_savers_and_caches(tmp_path):
    def open_files():
        gc.collect()
        return {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if is_open(fd)}

    def is_open(fd):
        return os.path.lexists(f"/proc/self/fd/{fd}")

    def use(path):
        with SqliteSaver.from_conn_string(path) as saver:
            graph({"a": says("a")}, saver).invoke({"log": []}, thread())
        with closing(sqlite3.connect(path, check_same_thread=False)) as conn:
            graph({"a": says("a")}, SqliteSaver(conn)).invoke({"log": []}, thread())

    async def ause(path):
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            await graph({"a": says("a")}, saver).ainvoke({"log": []}, thread())

    before = open_files()
    for index in range(3):
        use(str(tmp_path / f"{index}.sqlite"))
        asyncio.run(ause(str(tmp_path / f"a{index}.sqlite")))
        cache = SqliteCache(path=str(tmp_path / "cache.sqlite"))
        cache.set({(("ns",), "k"): (1, None)})
        del cache
    assert open_files() - before == set()
