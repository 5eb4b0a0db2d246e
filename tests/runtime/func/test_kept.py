"""The result of a called task is stored before its caller has it, so that not even a killed process loses it."""

import asyncio

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.func import entrypoint, task
from tests.runtime.scenarios.build import thread


@task
def double(number):
    return 2 * number


@task
def fails():
    raise ValueError("no")


def stored(saver):
    """What stands beside the newest checkpoint, by channel."""
    return [(channel, value) for _, channel, value in saver.get_tuple(thread()).pending_writes]


@pytest.fixture(params=["memory", "database"])
def any_saver(request):
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(":memory:") as saver:
        yield saver


@pytest.mark.parametrize("workers", [False, True], ids=["asked at once", "asked later"])
def test_a_sync_caller_finds_results_stored(any_saver, workers):
    seen = []

    @entrypoint(checkpointer=any_saver)
    def program(number):
        if workers:
            futures = [double(number), double(number + 1)]
            results = [future.result() for future in futures]
        else:
            results = [double(number).result(), double(number + 1).result()]
        seen.extend(stored(any_saver))
        return results

    assert program.invoke(1, thread(), durability="sync") == [2, 4]
    assert sorted(seen) == [("__return__", 2), ("__return__", 4)]
    assert len(stored(any_saver)) == 0


def test_an_async_caller_finds_results_stored():
    saver, seen = InMemorySaver(), []

    @task
    async def later(number):
        await asyncio.sleep(0)
        return number

    @entrypoint(checkpointer=saver)
    async def program(number):
        results = [await later(number), *await asyncio.gather(later(2), later(3))]
        seen.extend(stored(saver))
        return results

    assert asyncio.run(program.ainvoke(1, thread(), durability="sync")) == [1, 2, 3]
    assert sorted(seen) == [("__return__", 1), ("__return__", 2), ("__return__", 3)]


def test_a_failure_is_stored_too_and_each_once():
    saver, puts = InMemorySaver(), []

    class Counting(InMemorySaver):
        def put_writes(self, config, writes, task_id, task_path=""):
            puts.append([channel for channel, _ in writes])
            super().put_writes(config, writes, task_id, task_path)

    saver = Counting()

    @entrypoint(checkpointer=saver)
    def program(number):
        with pytest.raises(ValueError, match="no"):
            fails().result()
        puts.append("caught")
        return double(number).result()

    assert program.invoke(1, thread()) == 2
    assert puts == [["__error__"], "caught", ["__return__"], ["__end__", "__previous__"]]
