"""Event loops that begin a task at once, before anybody waits for it (Python 3.12 and newer)."""

import asyncio
import sys

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.func import entrypoint, task
from runtime.graph import START
from tests.runtime.scenarios.build import builder, says, thread

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brought eager tasks")


def run_eagerly(scenario):
    """What a coroutine function returns in a loop whose tasks begin at once."""

    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        return await scenario()

    return asyncio.run(main())


async def quick(state):
    return {"log": ["quick"]}


async def later(state):
    await asyncio.sleep(0)
    return {"log": ["later"]}


async def fails(state):
    raise ValueError("no")


async def forever(state):
    await asyncio.Event().wait()


def graph(**nodes):
    return builder(nodes, [(START, name) for name in nodes]).compile(checkpointer=InMemorySaver())


def test_nodes_that_end_as_they_begin_are_run_once():
    app = graph(a=quick, b=later, c=quick, d=says("sync"))
    result = run_eagerly(lambda: app.ainvoke({"log": []}, thread()))
    assert result == {"log": ["quick", "later", "quick", "sync"]}
    assert len(list(app.get_state_history(thread()))) == 3


def test_a_stream_gives_every_chunk():
    async def scenario():
        return [chunk async for chunk in graph(a=quick, b=later).astream({"log": []}, thread(), stream_mode="updates")]

    assert sorted(next(iter(chunk)) for chunk in run_eagerly(scenario)) == ["a", "b"]


def test_an_error_stops_the_others():
    with pytest.raises(ValueError, match="no"):
        run_eagerly(lambda: graph(a=fails, b=forever).ainvoke({"log": []}, thread()))


def test_called_tasks_give_their_results():
    @task
    async def double(number):
        return 2 * number

    @entrypoint()
    async def program(number):
        return await asyncio.gather(*(double(number + index) for index in range(3)))

    assert run_eagerly(lambda: program.ainvoke(1)) == [2, 4, 6]


def test_a_cancelled_run_ends():
    async def scenario():
        run = asyncio.create_task(graph(a=quick, b=forever).ainvoke({"log": []}, thread()))
        await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return [job for job in asyncio.all_tasks() if job is not asyncio.current_task()]

    assert run_eagerly(scenario) == []
