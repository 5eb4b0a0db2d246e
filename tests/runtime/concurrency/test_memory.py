"""Runs leave no memory behind: thousands of them, however they end, take no more blocks than the first few."""

import asyncio
import gc
import sys
import threading
from contextlib import aclosing, suppress
from itertools import pairwise

import pytest

from runtime._workers import workers
from runtime.checkpoint.memory import InMemorySaver
from runtime.func import entrypoint, task
from runtime.graph import START
from runtime.types import Command, interrupt
from tests.runtime.scenarios.build import builder, says, thread

pytestmark = pytest.mark.slow

RUNS = 250
ROUNDS = 3


def fails(state):
    raise ValueError("no")


def asks(state):
    return {"log": [interrupt("go?")]}


@task
def double(number):
    return 2 * number


@entrypoint()
def program(number):
    return [double(number + index).result() for index in range(3)]


PLAIN = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")]).compile()
PARALLEL = builder({"a": says("a"), "b": says("b")}, [(START, "a"), (START, "b")]).compile()
FAILING = builder({"a": says("a"), "fails": fails}, [(START, "a"), (START, "fails")]).compile()
NESTED = builder({"inner": PLAIN, "b": says("b")}, [(START, "inner"), ("inner", "b")]).compile()


def kept(node=says("a")):  # noqa: B008 - a node is no state
    saver = InMemorySaver()
    return builder({"a": node, "b": says("b")}, [(START, "a"), ("a", "b")]).compile(checkpointer=saver), saver


class Ways:
    """Ways for a run to end, in the sync colour."""

    def __init__(self):
        self.kept, self.saver = kept()
        self.asking, self.asked = kept(asks)
        self.count = 0

    def plain(self):
        PLAIN.invoke({"log": []})

    def parallel(self):
        PARALLEL.invoke({"log": []})

    def nested(self):
        NESTED.invoke({"log": []})

    def called(self):
        program.invoke(1)

    def failed(self):
        with suppress(ValueError):
            FAILING.invoke({"log": []})

    def saved(self):
        self.count += 1
        self.kept.invoke({"log": []}, thread(f"t{self.count}"))
        self.saver.delete_thread(f"t{self.count}")

    def interrupted(self):
        self.count += 1
        config = thread(f"t{self.count}")
        self.asking.invoke({"log": []}, config)
        self.asking.invoke(Command(resume="yes"), config)
        self.asked.delete_thread(f"t{self.count}")

    def streamed(self):
        for _ in PARALLEL.stream({"log": []}, stream_mode=["updates", "custom"]):
            pass

    def abandoned(self):
        for _ in PARALLEL.stream({"log": []}, stream_mode=["updates", "custom"]):
            break


class AsyncWays(Ways):
    """The same in the async colour."""

    async def plain(self):
        await PLAIN.ainvoke({"log": []})

    async def parallel(self):
        await PARALLEL.ainvoke({"log": []})

    async def nested(self):
        await NESTED.ainvoke({"log": []})

    async def called(self):
        await program.ainvoke(1)

    async def failed(self):
        with suppress(ValueError):
            await FAILING.ainvoke({"log": []})

    async def saved(self):
        self.count += 1
        await self.kept.ainvoke({"log": []}, thread(f"t{self.count}"))
        await self.saver.adelete_thread(f"t{self.count}")

    async def interrupted(self):
        self.count += 1
        config = thread(f"t{self.count}")
        await self.asking.ainvoke({"log": []}, config)
        await self.asking.ainvoke(Command(resume="yes"), config)
        await self.asked.adelete_thread(f"t{self.count}")

    async def streamed(self):
        async for _ in PARALLEL.astream({"log": []}, stream_mode=["updates", "custom"]):
            pass

    async def abandoned(self):
        async with aclosing(PARALLEL.astream({"log": []}, stream_mode=["updates", "custom"])) as stream:
            async for _ in stream:
                break

    async def cancelled(self):
        run = asyncio.create_task(PARALLEL.ainvoke({"log": []}))
        await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait([run])


@pytest.fixture(autouse=True)
def _only_new_objects_are_looked_at():
    """What stands already is left out of the collector's rounds, which makes them quick."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def blocks():
    caught_up = threading.Event()
    workers.submit(caught_up.set)  # behind all that the threads have still to do
    assert caught_up.wait(30)
    gc.collect()
    return sys.getallocatedblocks()


def check(counts):
    """A leak shows in every round; a thread that begins, or has a last piece of work in hand, in one or two."""
    growth = [after - before for before, after in pairwise(counts)]
    assert min(growth) < RUNS / 2, growth  # caches fill up at first


WAYS = ["plain", "parallel", "nested", "called", "failed", "saved", "interrupted", "streamed", "abandoned"]


@pytest.mark.parametrize("way", WAYS)
def test_sync_runs_leave_no_memory_behind(way):
    run, counts = getattr(Ways(), way), []
    for _ in range(ROUNDS):
        for _ in range(RUNS):
            run()
        counts.append(blocks())
    check(counts)


@pytest.mark.parametrize("way", [*WAYS, "cancelled"])
def test_async_runs_leave_no_memory_behind(way):
    async def scenario():
        run, counts = getattr(AsyncWays(), way), []
        for _ in range(ROUNDS):
            for _ in range(RUNS):
                await run()
            counts.append(blocks())
        return counts

    check(asyncio.run(scenario()))
