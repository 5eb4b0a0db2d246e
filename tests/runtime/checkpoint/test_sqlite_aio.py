import asyncio
import operator
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from runtime.checkpoint.base import empty_checkpoint
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.graph import START, StateGraph
from runtime.types import Command, interrupt

aiosqlite = pytest.importorskip("aiosqlite")

from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver, SqliteSaverError  # noqa: E402

ROOT: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class Thread(TypedDict):
    log: Annotated[list[str], operator.add]


def with_saver(file: str, scenario: Callable[[AsyncSqliteSaver], Awaitable[Any]]) -> Any:
    """What the scenario gives for a saver of this file."""

    async def run() -> Any:
        async with AsyncSqliteSaver.from_conn_string(file) as saver:
            return await scenario(saver)

    return asyncio.run(run())


async def put(saver: AsyncSqliteSaver, config: Any = ROOT, step: int = 0, **values: Any) -> Any:
    checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": dict.fromkeys(values, step)}
    return await saver.aput(config, checkpoint, {"step": step, "run_id": str(step)}, dict.fromkeys(values, step))


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "threads.sqlite")


def test_a_checkpoint_comes_back_whole_and_the_sync_saver_reads_it(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> Any:
        config = await put(saver, await put(saver, a=1), step=1, a=["x"])
        await saver.aput_writes(config, [("a", 1)], "task")
        return await saver.aget_tuple(ROOT)

    found = with_saver(file, scenario)
    assert (found.checkpoint["channel_values"], found.pending_writes) == ({"a": ["x"]}, [("task", "a", 1)])
    with SqliteSaver.from_conn_string(file) as saver:
        assert saver.get_tuple(ROOT) == found


def test_a_list_is_filtered_and_limited(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> Any:
        configs = [await put(saver, step=step) for step in range(4)]
        kinds: list[dict[str, Any]] = [{"limit": 2}, {"filter": {"step": 1}}, {"before": configs[1]}, {"limit": 0}]
        return [[each.metadata["step"] async for each in saver.alist(ROOT, **kind)] for kind in kinds]

    assert with_saver(file, scenario) == [[3, 2], [1], [0], []]


def test_threads_are_copied_pruned_and_forgotten(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> Any:
        await put(saver, await put(saver), step=1)
        for target in ("a", "b", "c", "d"):
            await saver.acopy_thread("t", target)
        await saver.aprune(["a"])
        await saver.aprune(["b"], strategy="delete")
        await saver.adelete_thread("c")
        await saver.adelete_for_runs(["0"])
        return sorted([each.config["configurable"]["thread_id"] async for each in saver.alist(None)])

    assert with_saver(file, scenario) == ["a", "d", "t"]


def test_a_graph_is_interrupted_and_resumed_in_another_connection(file: str):
    graph = StateGraph(Thread).add_node("ask", lambda state: {"log": [interrupt("more?")]}).add_edge(START, "ask")

    async def run(input: Any, saver: AsyncSqliteSaver) -> Any:
        return await graph.compile(checkpointer=saver).ainvoke(input, {"configurable": {"thread_id": "t"}})

    asked = with_saver(file, lambda saver: run({"log": ["in"]}, saver))
    assert [each.value for each in asked["__interrupt__"]] == ["more?"]
    assert with_saver(file, lambda saver: run(Command(resume="yes"), saver)) == {"log": ["in", "yes"]}


def test_the_sync_methods_run_on_the_loop_from_another_thread(file: str):
    def outside(saver: AsyncSqliteSaver) -> Any:
        config = saver.put(ROOT, empty_checkpoint(), {"step": 3}, {})
        saver.put_writes(config, [("a", 1)], "task")
        saver.copy_thread("t", "copy")
        saver.prune(["copy"])
        saver.delete_for_runs(["none"])
        saver.delete_thread("copy")
        history = saver.get_delta_channel_history(config=config, channels=["a"])
        return saver.get_tuple(ROOT), list(saver.list(None)), saver.get(config)["id"], history

    found, listed, id, history = with_saver(file, lambda saver: asyncio.to_thread(outside, saver))
    assert (found.metadata["step"], found.pending_writes) == (3, [("task", "a", 1)])
    assert (listed, id, history) == ([found], found.checkpoint["id"], {"a": {"writes": []}})


def test_the_sync_methods_are_refused_on_the_loops_own_thread(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> None:
        for call in (
            lambda: saver.get_tuple(ROOT),
            lambda: next(saver.list(ROOT)),
            lambda: saver.put(ROOT, empty_checkpoint(), {}, {}),
            lambda: saver.put_writes(ROOT, [], "task"),
        ):
            with pytest.raises(asyncio.InvalidStateError, match="Await a.* here, or call .* from another thread"):
                call()

    with_saver(file, scenario)


def test_many_tasks_may_share_one_connection(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> int:
        async def work(number: int) -> None:
            config: Any = {"configurable": {"thread_id": str(number), "checkpoint_ns": ""}}
            for step in range(5):
                config = await put(saver, config, step=step, a=[number, step])
                assert (await saver.aget(config))["channel_values"] == {"a": [number, step]}

        await asyncio.gather(*map(work, range(10)))
        return len([each async for each in saver.alist(None)])

    assert with_saver(file, scenario) == 50


def test_a_connection_that_was_not_opened_is_opened(file: str):
    async def run() -> Any:
        conn = aiosqlite.connect(file)
        saver = AsyncSqliteSaver(conn)
        await saver.setup()
        found = await saver.aget_tuple(ROOT)
        await conn.close()
        return found

    assert asyncio.run(run()) is None


def test_a_locked_database_says_which_checkpoint_was_not_saved(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> None:
        await put(saver)
        await saver.conn.execute("PRAGMA busy_timeout = 0")
        async with aiosqlite.connect(file, isolation_level=None) as other:
            await other.execute("BEGIN IMMEDIATE")
            with pytest.raises(SqliteSaverError, match="Can't save checkpoint .* of thread 't': another connection"):
                await put(saver, step=1)

    with_saver(file, scenario)


def test_a_delta_history_is_found(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> Any:
        first = await put(saver, x=["seed"])
        await saver.aput_writes(first, [("x", ["more"])], "task")
        return await saver.aget_delta_channel_history(config=await put(saver, first, step=1), channels=["x"])

    assert with_saver(file, scenario) == {"x": {"writes": [("task", "x", ["more"])], "seed": ["seed"]}}


def test_versions_go_on_as_text(file: str):
    async def scenario(saver: AsyncSqliteSaver) -> str:
        return saver.get_next_version(saver.get_next_version(None, None), None)

    assert with_saver(file, scenario).startswith("0" * 31 + "2.0.")
