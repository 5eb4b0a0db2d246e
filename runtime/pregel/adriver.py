"""The async driver: answers a routine's effects with awaits and asyncio tasks.

A task that is alone in its superstep is awaited where the run is awaited, in a context of its own; several are asyncio
tasks. A function that is only sync runs in a worker thread. The loop itself runs where it is awaited.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from runtime._asyncio import running_loop
from runtime.events import KINDS
from runtime.pregel import effects as fx
from runtime.pregel.attempt import attempt
from runtime.pregel.called import result_of
from runtime.pregel.driver import Abandoned, call_cache_key, has_ended, put_arguments, writes_arguments
from runtime.pregel.enter import call_async, closings, enter, openings
from runtime.pregel.lifecycle import lifecycle_of
from runtime.pregel.loop import keep
from runtime.pregel.projections import publish
from runtime.pregel.run import Chunk
from runtime.pregel.timed import call_timed
from runtime.rows import Later

if TYPE_CHECKING:
    from runtime.cache.base import BaseCache
    from runtime.checkpoint.base import BaseCheckpointSaver
    from runtime.pregel.progress import Progress
    from runtime.pregel.run import Run
    from runtime.pregel.task import Task

T = TypeVar("T")
AsyncAnswers = dict[type[Any], Callable[[Any], Awaitable[Any]]]


LONGEST_TURN = 0.005
"""Seconds for which a run whose nodes wait for nothing may keep the event loop to itself."""


async def adrive(routine: fx.Routine[T], answers: AsyncAnswers, error: BaseException | None = None) -> T:
    """The async twin of `drive`."""
    reply: Any = None
    while True:
        try:
            step = routine.send(reply) if error is None else routine.throw(error)
            error = None
            while True:
                reply = await answers[type(step)](step)
                step = routine.send(reply)
        except BaseException as failure:
            if has_ended(routine):
                error = None
                if isinstance(failure, StopIteration):
                    result: T = failure.value
                    return result
                raise
            error = failure


class AsyncDriver:
    """Answers the effects of one run."""

    def __init__(self, run: Run, live: bool) -> None:
        self.run = run
        self.loop = asyncio.get_running_loop()
        self.live = live or run.graph.step_timeout is not None
        self.rested = time.monotonic()
        self.inbox: deque[Any] = deque()
        self.arrived = asyncio.Event()
        self.running: dict[asyncio.Task[Any], Task] = {}
        self.progress: Progress | None = None
        width = run.config.get("max_concurrency")
        self.width = asyncio.Semaphore(width) if width else None
        self.writer = AsyncWriter() if run.durability == "async" and run.saver is not None else None
        run.caller = self.call
        self.answers: AsyncAnswers = {
            fx.Start: self._start,
            fx.Cancel: self._cancel,
            fx.Receive: self._receive,
            **asaver_answers(run.saver, self.writer),
            **acache_answers(run.cache),
            **dict.fromkeys((*KINDS, Later), self._publish),
        }

    async def _publish(self, event: Any) -> None:
        publish(self.run, event)
        if self.run.lifecycle is not None and (told := lifecycle_of(self.run, event)) is not None:
            await self.run.lifecycle.aon_event(told)

    # -- tasks --------------------------------------------------------------------------------------------------------

    async def _start(self, effect: fx.Start) -> fx.Finished | None:
        self.progress = effect.progress
        if effect.alone and not self.live:
            return await self._run_here(effect.tasks[0])
        for task in effect.tasks:
            self._spawn(task)
        return None

    async def _run_here(self, task: Task) -> fx.Finished | None:
        """Run a task where the run is awaited; it stands behind the messages that came meanwhile."""
        if time.monotonic() - self.rested > LONGEST_TURN:
            await asyncio.sleep(0)
            self.rested = time.monotonic()
        await Within(copy_context(), arun_attempt(self.run, task))
        done = fx.Finished(task)
        if not self.inbox:
            return done
        self.post(done)
        return None

    def _spawn(self, task: Task) -> None:
        self._begin(task, self._work(task), copy_context())

    def _begin(self, task: Task, work: Coroutine[Any, Any, Any], context: Context) -> asyncio.Task[Any]:
        job = self.loop.create_task(work, context=context)
        self.running[job] = task
        job.add_done_callback(self._done)
        return job

    def call(self, task: Task) -> Any:
        """Start a task that a running one calls: an asyncio future on the loop, a concurrent one in a worker thread."""
        context = copy_context()
        if running_loop() is self.loop:
            self.post(fx.Spawned(task))
            return self._begin(task, self._called(task), context)
        done: Future[Any] = Future()

        def start() -> None:
            self.post(fx.Spawned(task))
            job = self._begin(task, self._called(task), context)
            job.add_done_callback(lambda job: _hand_over(job, done))

        self.loop.call_soon_threadsafe(start)
        return done

    async def _called(self, task: Task) -> Any:
        if not task.finished:
            await self._run_called(task)
            if self.progress is not None and self.run.saver is not None:
                await adrive(keep(self.run, self.progress, task), self.answers)
        return result_of(task)

    async def _run_called(self, task: Task) -> None:
        run = self.run
        key = call_cache_key(run, task)
        if key is not None and run.cache is not None:
            hit = await run.cache.aget([(key.ns, key.key)])
            if hit:
                task.take(next(iter(hit.values())))
                return
        await self._work(task)

    async def _work(self, task: Task) -> None:
        if self.width is None:
            await arun_attempt(self.run, task)
        else:
            async with self.width:
                await arun_attempt(self.run, task)

    def _done(self, job: asyncio.Task[Any]) -> None:
        task = self.running.pop(job)
        if job.cancelled():
            task.finished = False
            task.writes = []
            task.error = asyncio.CancelledError()
        elif (error := job.exception()) is not None:
            task.finished = False
            task.error = error
        self.post(fx.Finished(task))

    async def _cancel(self, effect: fx.Cancel) -> None:
        """Stop what runs, and wait until it has stopped."""
        jobs = list(self.running)
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    def post(self, message: Any) -> None:
        """Put a message into the inbox; None only wakes the reader."""
        self.inbox.append(message)
        self.arrived.set()

    def nudge(self) -> None:
        """Wake the reader: there are chunks. Any thread may call this."""
        if running_loop() is self.loop:
            self.post(None)
        else:
            with suppress(RuntimeError):  # the loop is closed, and its reader gone
                self.loop.call_soon_threadsafe(self.post, None)

    async def _receive(self, effect: fx.Receive) -> Any:
        while True:
            message = await self._next(effect)
            if message is not None:
                return message

    async def _next(self, effect: fx.Receive) -> Any:
        while not self.inbox:
            self.arrived.clear()
            if effect.deadline is None:
                await self.arrived.wait()
            elif effect.deadline <= 0.0:
                raise TimeoutError
            else:
                async with asyncio.timeout(max(0.0, effect.deadline - time.monotonic())):
                    await self.arrived.wait()
        return self.inbox.popleft()

    # -- the run ------------------------------------------------------------------------------------------------------

    async def stream(
        self, routine: fx.Routine[T], chunks: deque[Chunk], result: list[T]
    ) -> AsyncGenerator[Chunk, None]:
        """Run the routine and give its chunks as they come; its result is appended to `result`."""
        reply, error = None, None
        while True:
            try:
                step = routine.send(reply) if error is None else routine.throw(error)
                error = None
                while True:
                    while chunks:
                        yield chunks.popleft()
                    if type(step) is fx.Receive:
                        while (reply := await self._next(step)) is None:
                            while chunks:
                                yield chunks.popleft()
                    else:
                        reply = await self.answers[type(step)](step)
                    while chunks:
                        yield chunks.popleft()
                    step = routine.send(reply)
            except GeneratorExit:
                with suppress(Abandoned):
                    await adrive(routine, self.answers, Abandoned())
                raise
            except BaseException as failure:
                if has_ended(routine):
                    error = None
                    while chunks:
                        yield chunks.popleft()
                    if not isinstance(failure, StopIteration):
                        raise
                    result.append(failure.value)
                    return
                error = failure


class Within:
    """Awaits a coroutine in a context that is not the caller's, without an asyncio task of its own.

    What the coroutine awaits, and what is thrown into it (a cancellation), passes through.
    """

    __slots__ = ("context", "coroutine")

    def __init__(self, context: Context, coroutine: Coroutine[Any, Any, None]) -> None:
        self.context = context
        self.coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, None]:
        run, send, throw = self.context.run, self.coroutine.send, self.coroutine.throw
        reply, error = None, None
        while True:
            try:
                waits_for = run(send, reply) if error is None else run(throw, error)
            except StopIteration:
                return
            error = None
            try:
                reply = yield waits_for
            except BaseException as thrown:
                error = thrown


def _hand_over(job: asyncio.Task[Any], done: Future[Any]) -> None:
    if job.cancelled():
        done.cancel()
    elif (error := job.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(job.result())


async def arun_attempt(run: Run, task: Task) -> None:
    """Drive one task's attempts, inside its own context."""
    routine = attempt(run, task)
    try:
        step = next(routine)
        while True:
            try:
                reply: Any = None
                if type(step) is fx.Invoke:
                    enter(step)
                    reply = await (call_timed(task, step) if step.timed is not None else call_async(step))
                elif type(step) is fx.Sleep:
                    await asyncio.sleep(step.seconds)
                elif type(step) is fx.Open:
                    calls, joined = openings(run, task, step.config)
                    reply = joined([await call() for call in calls])
                elif type(step) is fx.Close:
                    for call in closings(task, step.manager, step.output, step.error):
                        await call()
            except BaseException as error:
                step = routine.throw(error)
            else:
                step = routine.send(reply)
    except StopIteration:
        return


# -- savers and caches ------------------------------------------------------------------------------------------------


class AsyncWriter:
    """Writes to a saver in order, beside the run; what went wrong comes out at `flush`."""

    def __init__(self) -> None:
        self.last: asyncio.Task[Any] | None = None

    def submit(self, effect: fx.Saving, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Do this after all that was given before; raises what went wrong there."""
        last = self.last
        if last is not None and last.done():
            last.result()
        self.last = asyncio.get_running_loop().create_task(_after(last, effect, function, *args))

    async def flush(self) -> None:
        """Wait for the last write, and raise the first error."""
        while (last := self.last) is not None:
            try:
                await asyncio.shield(last)
            finally:
                if last is self.last and last.done():
                    self.last = None


async def _after(
    previous: asyncio.Task[Any] | None, effect: fx.Saving, function: Callable[..., Awaitable[Any]], *args: Any
) -> None:
    if previous is not None:
        await previous
    await _store(effect, function, *args)


async def _store(effect: fx.Saving, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
    try:
        await function(*args)
    except Exception as error:
        fx.note_superstep(error, effect)
        raise


def asaver_answers(saver: BaseCheckpointSaver[Any] | None, writer: AsyncWriter | None = None) -> AsyncAnswers:
    """Answers to the effects that concern a saver; with a writer, checkpoints are stored one step behind."""
    if saver is None:
        return {fx.Flush: _nothing}
    behind = writer if not getattr(saver, "immediate", False) else None

    async def submit(effect: fx.Saving, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        if behind is not None:
            behind.submit(effect, function, *args)
        else:
            await _store(effect, function, *args)

    async def flush(_: fx.Flush | None = None) -> None:
        if behind is not None:
            await behind.flush()

    async def get(e: fx.Load) -> Any:
        await flush()
        return await saver.aget_tuple(e.config)

    async def list_all(e: fx.ListCheckpoints) -> Any:
        await flush()
        found = saver.alist(e.config, filter=e.filter, before=e.before, limit=e.limit)
        return [item async for item in found]

    async def deltas(e: fx.LoadDeltas) -> Any:
        await flush()
        return await saver.aget_delta_channel_history(config=e.config, channels=e.channels)

    async def put(e: fx.SaveCheckpoint) -> None:
        if e.shelf.frozen:
            await submit(e, saver.akeep, *e)
            return
        if e.last is not None:
            await put_writes(fx.SaveWrites(e.shelf, e.last, e.step))
        await submit(e, saver.aput, *put_arguments(e))

    async def put_writes(e: fx.SaveWrites) -> None:
        if e.shelf.frozen:
            await submit(e, saver.akeep_writes, e.shelf, e.written)
        else:
            await submit(e, saver.aput_writes, *writes_arguments(saver.aput_writes, e))

    return {
        fx.Load: get,
        fx.ListCheckpoints: list_all,
        fx.LoadDeltas: deltas,
        fx.SaveCheckpoint: put,
        fx.SaveWrites: put_writes,
        fx.Flush: flush,
    }


async def _nothing(_: Any) -> None:
    """There is nothing to do."""


async def _no_hits(_: Any) -> dict[Any, Any]:
    return {}


def acache_answers(cache: BaseCache[Any] | None) -> AsyncAnswers:
    """Answers to the effects that concern a cache."""
    if cache is None:
        return {fx.CacheGet: _no_hits, fx.CachePut: _nothing}

    async def put(e: fx.CachePut) -> None:
        await cache.aset({(k.ns, k.key): (writes, k.ttl) for k, writes in e.entries.items()})

    return {fx.CacheGet: lambda e: cache.aget(e.keys), fx.CachePut: put}
