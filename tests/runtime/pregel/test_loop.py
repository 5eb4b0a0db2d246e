"""The loop, pumped by hand: what it asks for, in which order. And the drivers, which must answer all of it."""

import asyncio

import pytest

from runtime.checkpoint.base import Shelf, Written
from runtime.checkpoint.memory import InMemorySaver
from runtime.events import KINDS, observe
from runtime.pregel import effects as fx
from runtime.pregel.adriver import AsyncWriter, acache_answers, asaver_answers
from runtime.pregel.driver import SyncDriver, Writer, cache_answers, saver_answers
from runtime.pregel.loop import supersteps
from runtime.pregel.run import Outlet, Run, whole_config
from tests.runtime.pregel.graphs import chain

CONFIG = {"configurable": {"thread_id": "t"}}


def pump(run, input):
    """Run to the end, and tell each effect and event by name."""
    driver, routine, told = SyncDriver(run, False), supersteps(run, input), []
    try:
        step = next(routine)
        while True:
            told.append(type(step).__name__)
            step = routine.send(driver.answers[type(step)](step))
    except StopIteration as end:
        return told, end.value


def test_a_task_that_is_alone_is_answered_at_once():
    told, outcome = pump(Run(chain(), whole_config(None, None), asynchronous=False, output_keys="out"), 1)
    assert told == ["Start"] * 2
    assert outcome.output == 20


def test_where_nobody_is_told_a_superstep_is_stored_at_once():
    told, _ = pump(Run(chain(checkpointer=InMemorySaver()), whole_config(None, CONFIG), asynchronous=False), 1)
    superstep = ["Start", "SaveCheckpoint"]
    assert told == ["Load", "SaveCheckpoint", *superstep, *superstep, "Flush"]


def test_where_somebody_is_told_writes_are_stored_before_and_the_checkpoint_after_the_barrier():
    class Watcher:
        def event(self, event):
            """Any watcher will do."""

    with observe(Watcher()):
        run = Run(chain(checkpointer=InMemorySaver()), whole_config(None, CONFIG), asynchronous=False)
        told, _ = pump(run, 1)
    kept = [name for name in told if name in ("SaveWrites", "TaskFinished", "SuperstepUpdated", "SaveCheckpoint")]
    superstep = ["SaveWrites", "TaskFinished", "SuperstepUpdated", "SaveCheckpoint"]
    assert kept == ["SuperstepUpdated", "SaveCheckpoint", *superstep, *superstep]


def test_in_durability_exit_the_saver_is_asked_once_at_the_end():
    run = Run(chain(checkpointer=InMemorySaver()), whole_config(None, CONFIG), asynchronous=False, durability="exit")
    told, _ = pump(run, 1)
    assert told == ["Load", *["Start"] * 2, "SaveCheckpoint", "Flush"]


def test_a_watched_run_tells_plan_execute_update_in_this_order():
    class Names:
        def __init__(self):
            self.seen = []

        def event(self, event):
            self.seen.append(type(event).__name__)

    names = Names()
    with observe(names):
        chain().invoke(1)
    superstep = ["SuperstepPlanned", "TaskStarted", "TaskFinished", "SuperstepUpdated"]
    assert names.seen == ["RunStarted", "SuperstepUpdated", *superstep, *superstep, "RunFinished"]


def test_an_event_that_nobody_wants_is_not_made():
    class Ends:
        def task_finished(self, event):
            pass

    run = Run(chain(), whole_config(None, None), asynchronous=False)
    run.outlets = (Outlet(frozenset({"updates"}), False, lambda chunk: None, "", False),)
    assert pump(run, 1)[0] == ["Start", "TaskFinished"] * 2
    with observe(Ends()):
        run = Run(chain(), whole_config(None, None), asynchronous=False)
    assert pump(run, 1)[0] == ["Start", "TaskFinished"] * 2


def test_both_drivers_answer_every_effect_and_every_event():
    saver, graph = InMemorySaver(), chain()
    run = Run(graph, whole_config(None, None), asynchronous=False)
    wanted = {*fx.LOOP_EFFECTS, *KINDS}
    assert wanted <= {*SyncDriver(run, False).answers, *saver_answers(saver)}
    stored = {
        fx.Load,
        fx.ListCheckpoints,
        fx.LoadDeltas,
        fx.SaveCheckpoint,
        fx.SaveWrites,
        fx.Flush,
        fx.CacheGet,
        fx.CachePut,
    }
    assert {*saver_answers(saver), *cache_answers(None)} == stored
    assert {*asaver_answers(saver), *acache_answers(None)} == stored


def test_a_writer_keeps_the_order_and_stops_at_the_first_error():
    done, writer = [], Writer(object())

    def fail():
        raise OSError("disk full")

    def write():
        for call in (lambda: done.append(1), lambda: done.append(2), fail, lambda: done.append(3)):
            writer.submit(saving(), call)
        writer.flush()

    with pytest.raises(OSError, match="disk full\nWhat a task wrote of superstep 7 of thread 't' was not stored"):
        write()
    assert done == [1, 2]


def saving():
    shelf = Shelf({"thread_id": "t", "checkpoint_ns": ""}, {}, {}, True)
    return fx.SaveWrites(shelf, Written("1", (), "id", ""), 7)


def test_a_writer_that_has_failed_takes_nothing_more():
    writer = Writer(object())
    writer.error = OSError("disk full")
    with pytest.raises(OSError, match="disk full"):
        writer.submit(saving(), print)
    assert not writer.waiting


def test_an_async_writer_that_has_failed_takes_nothing_more():
    done = []

    async def fail():
        raise OSError("disk full")

    async def late():
        done.append("late")

    async def run():
        writer = AsyncWriter()
        writer.submit(saving(), fail)
        await asyncio.wait([writer.last])
        with pytest.raises(OSError, match="disk full\nWhat a task wrote of superstep 7 of thread 't' was not stored"):
            writer.submit(saving(), late)
        with pytest.raises(OSError, match="disk full"):
            await writer.flush()

    asyncio.run(run())
    assert done == []
