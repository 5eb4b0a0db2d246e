"""The sync driver: answers a routine's effects with plain calls and threads.

A superstep of one task runs it in the caller's own thread. Of several, the caller works off the queue itself, and
each worker that is woken wakes one more while work is left; so short tasks never wait for a thread, and blocking ones
overlap. Only where somebody reads or watches, or a saver writes to more than memory, are several tasks, or all tasks of
a live stream, moved to workers altogether, so that each end is told, or stored, when it happens.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import nullcontext, suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from runtime._workers import PATIENCE, workers
from runtime.checkpoint.base.calls import takes_path
from runtime.events import KINDS, TaskFinished
from runtime.pregel import effects as fx
from runtime.pregel.attempt import attempt
from runtime.pregel.called import result_of
from runtime.pregel.enter import call_sync, closings, enter, openings
from runtime.pregel.lifecycle import lifecycle_of
from runtime.pregel.loop import keep
from runtime.pregel.policy import cache_key, task_namespace
from runtime.pregel.projections import publish
from runtime.pregel.run import Chunk
from runtime.rows import Later

if TYPE_CHECKING:
    from runtime.cache.base import BaseCache
    from runtime.checkpoint.base import BaseCheckpointSaver
    from runtime.pregel.progress import Progress
    from runtime.pregel.run import Run
    from runtime.pregel.task import Task
    from runtime.types import CacheKey

T = TypeVar("T")
Answers = dict[type[Any], Callable[[Any], Any]]


class Abandoned(BaseException):
    """The reader of a stream went away; the run stops at the last barrier."""


def drive(routine: fx.Routine[T], answers: Answers, error: BaseException | None = None) -> T:
    """Run a routine to its end and give its result; with an error, go on by raising it where the routine waits.

    Whatever goes wrong outside of the routine, Ctrl-C included and wherever it comes, is raised in it, so that it
    settles what it has begun.
    """
    reply: Any = None
    while True:
        try:
            step = routine.send(reply) if error is None else routine.throw(error)
            error = None
            while True:
                reply = answers[type(step)](step)
                step = routine.send(reply)
        except BaseException as failure:
            if has_ended(routine):
                error = None
                if isinstance(failure, StopIteration):
                    result: T = failure.value
                    return result
                raise
            error = failure


def has_ended(routine: fx.Routine[Any]) -> bool:
    """True for a routine that has returned or raised."""
    return routine.gi_frame is None  # type: ignore[attr-defined]  # a Routine is a generator object


class SyncDriver:
    """Answers the effects of one run."""

    def __init__(self, run: Run, live: bool) -> None:
        self.run = run
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.waiting: deque[tuple[Task, Context]] = deque()
        self.called: dict[CalledFuture, None] = {}
        self.stopped = False
        self.progress: Progress | None = None
        self.live = live or run.graph.step_timeout is not None
        self.handed = self.live
        self.stores = run.saver is not None and run.durability != "exit" and not getattr(run.saver, "immediate", False)
        self.width = run.config.get("max_concurrency") or 0
        self.busy = 0
        self.writer = Writer(run.saver) if run.durability == "async" and run.saver is not None else None
        run.caller = self.call
        self.answers: Answers = dict.fromkeys((*KINDS, Later), self._publish)
        self.answers[fx.Start], self.answers[fx.Cancel] = self._start, self._cancel
        self.answers[fx.Receive] = self._receive
        self.answers.update(saver_answers(run.saver, self.writer))
        self.answers.update(cache_answers(run.cache))

    def _publish(self, event: Any) -> None:
        publish(self.run, event)
        if self.run.lifecycle is not None and (told := lifecycle_of(self.run, event)) is not None:
            self.run.lifecycle.tell_now(told)

    # -- tasks --------------------------------------------------------------------------------------------------------

    def _start(self, effect: fx.Start) -> fx.Finished | None:
        tasks = effect.tasks
        count = len(tasks)
        self.progress = effect.progress
        if effect.alone and not self.live:
            return self._run_here(tasks[0], copy_context())
        for task in tasks:
            self.waiting.append((task, copy_context()))
        self.handed = self.live or (count > 1 and (self.stores or TaskFinished in self.run.wanted))
        if self.handed:
            for _ in range(min(count, self.width or count)):
                workers.submit(self._work)
        elif count > 1 and self.width != 1:
            self.busy = 1
            workers.submit(self._work, True)
        return None

    def _run_here(self, task: Task, context: Context) -> fx.Finished | None:
        """Run a task in this thread; it stands behind the messages that came meanwhile."""
        context.run(run_attempt, self.run, task)
        done = fx.Finished(task)
        if self.inbox.empty():
            return done
        self.inbox.put(done)
        return None

    def call(self, task: Task) -> Future[Any]:
        """Start a task that a running one calls; whoever asks for its result first runs it, if no worker has."""
        self.inbox.put(fx.Spawned(task))
        if task.finished:
            self.inbox.put(fx.Finished(task))
            done: Future[Any] = Future()
            done.set_result(result_of(task))
            return done
        future = CalledFuture(self, task)
        self.called[future] = None
        if self.stopped:
            future.cancel_call()
        else:
            workers.submit(future.run)
        return future

    def _cancel(self, effect: fx.Cancel) -> None:
        """Nothing else begins. A thread cannot be made to leave what it runs, so what has begun goes on."""
        self.stopped = True
        while self.waiting:
            try:
                task, _ = self.waiting.popleft()
            except IndexError:
                break
            self.cut_off(task)
        for future in list(self.called):
            future.cancel_call()

    def keep_called(self, task: Task) -> None:
        """Store what a called task's end leaves behind, before its caller hears of it."""
        if self.progress is not None and self.run.saver is not None and not self.stopped:
            drive(keep(self.run, self.progress, task), self.answers)

    def cut_off(self, task: Task) -> None:
        """Tell that the task will not begin."""
        task.error = asyncio.CancelledError("This task was called off before it began.")
        self.inbox.put(fx.Finished(task))

    def _receive(self, effect: fx.Receive) -> Any:
        if not self.handed and self.inbox.empty() and self.waiting:
            try:
                task, context = self.waiting.popleft()
            except IndexError:
                pass  # a worker was quicker
            else:
                done = self._run_here(task, context)
                if done is not None:
                    return done
        return self._await_message(effect.deadline)

    def _await_message(self, deadline: float | None) -> Any:
        while True:
            left = PATIENCE if deadline is None else deadline - time.monotonic()
            try:
                return self.inbox.get(timeout=max(0.0, min(PATIENCE, left)))
            except queue.Empty:
                if left <= 0.0:
                    limit = self.run.graph.step_timeout
                    raise TimeoutError(f"A superstep took longer than step_timeout={limit} s.") from None

    def _work(self, wake: bool = False) -> None:
        """One worker: take tasks while there are any, and wake one more first."""
        while True:
            try:
                task, context = self.waiting.popleft()
            except IndexError:
                return
            if wake and self.waiting and (not self.width or self.busy + 1 < self.width):
                self.busy += 1
                workers.submit(self._work, True)
                wake = False
            try:
                context.run(run_attempt, self.run, task)
            except BaseException as error:
                task.error = error
            self.inbox.put(fx.Finished(task))

    # -- the run ------------------------------------------------------------------------------------------------------

    def stream(self, routine: fx.Routine[T], chunks: deque[Chunk]) -> Generator[Chunk, None, T]:
        """Run the routine, and give its chunks as they come."""
        reply, error = None, None
        while True:
            try:
                step = routine.send(reply) if error is None else routine.throw(error)
                error = None
                while True:
                    if chunks:
                        yield from _drain(chunks)
                    if type(step) is fx.Receive and self.live:
                        reply = yield from self._receive_live(step, chunks)
                    else:
                        reply = self.answers[type(step)](step)
                    if chunks:
                        yield from _drain(chunks)
                    step = routine.send(reply)
            except GeneratorExit:
                self._abandon(routine)
                raise
            except BaseException as failure:
                if has_ended(routine):
                    error = None
                    yield from _drain(chunks)
                    if isinstance(failure, StopIteration):
                        result: T = failure.value
                        return result
                    raise
                error = failure

    def _receive_live(self, effect: fx.Receive, chunks: deque[Chunk]) -> Generator[Chunk, None, Any]:
        while True:
            message = self._receive(effect)
            yield from _drain(chunks)
            if message is not None:
                return message

    def nudge(self) -> None:
        """Wake the reader: there are chunks."""
        self.inbox.put(None)

    def _abandon(self, routine: fx.Routine[T]) -> None:
        """Keep pumping until the routine has settled, so that what was done is saved."""
        with suppress(Abandoned):
            drive(routine, self.answers, Abandoned())


class CalledFuture(Future[Any]):
    """The result of a called task. Asking for it runs the task, when no worker has begun with it."""

    def __init__(self, driver: SyncDriver, task: Task) -> None:
        super().__init__()
        self._driver = driver
        self._task = task
        self._context = copy_context()

    def _take_turn(self) -> bool:
        """True once: for whoever begins with the task, or calls it off."""
        return self._driver.called.pop(self, self) is None

    def run(self) -> None:
        """Run the task, unless that has been begun."""
        if not self._take_turn():
            return
        driver, task = self._driver, self._task
        if not self.set_running_or_notify_cancel():
            driver.cut_off(task)
            return
        try:
            self._context.run(run_called, driver.run, task)
            driver.keep_called(task)
        except BaseException as error:
            task.error = error
        driver.inbox.put(fx.Finished(task))
        if task.error is not None:
            self.set_exception(task.error)
        else:
            self.set_result(result_of(task))

    def cancel_call(self) -> None:
        """Call the task off, if it has not begun."""
        if self._take_turn():
            self.cancel()
            self.set_running_or_notify_cancel()
            self._driver.cut_off(self._task)

    def result(self, timeout: float | None = None) -> Any:
        """What the task returned; raises what it raised."""
        if timeout is None:
            self.run()
            while not self.done():
                wait([self], PATIENCE)
        return super().result(timeout)


def run_called(run: Run, task: Task) -> None:
    """Run a called task, or take its result from the cache."""
    key = call_cache_key(run, task)
    if key is not None and run.cache is not None:
        hit = run.cache.get([(key.ns, key.key)])
        if hit:
            task.take(next(iter(hit.values())))
            return
    run_attempt(run, task)


def call_cache_key(run: Run, task: Task) -> CacheKey | None:
    """Where the result of a called task is cached, if anywhere."""
    policy = task.proc.cache_policy
    if policy is None or run.cache is None:
        return None
    args, kwargs = task.input
    key = task.cache_key = cache_key(policy, task_namespace(task.proc), *args, **kwargs)
    return key


def _drain(chunks: deque[Chunk]) -> Iterator[Chunk]:
    while chunks:
        yield chunks.popleft()


def run_attempt(run: Run, task: Task) -> None:
    """Drive one task's attempts, inside its own context."""
    routine = attempt(run, task)
    try:
        step = next(routine)
        while True:
            try:
                reply: Any = None
                if type(step) is fx.Invoke:
                    enter(step)
                    reply = call_sync(step)
                elif type(step) is fx.Sleep:
                    time.sleep(step.seconds)
                elif type(step) is fx.Open:
                    calls, joined = openings(run, task, step.config)
                    reply = joined([call() for call in calls])
                elif type(step) is fx.Close:
                    for call in closings(task, step.manager, step.output, step.error):
                        call()
            except BaseException as error:
                step = routine.throw(error)
            else:
                step = routine.send(reply)
    except StopIteration:
        return


# -- savers and caches ------------------------------------------------------------------------------------------------


class Writer:
    """Writes to a saver in order, behind the run; what went wrong comes out at `flush`.

    One worker at a time takes whatever is waiting, as one transaction where the saver can make one of several calls
    (a method `together`). After an error the rest is dropped: a checkpoint is not stored on one that is not there. And
    nothing more is taken, so that the run does not go on with what nobody keeps.
    """

    def __init__(self, saver: Any) -> None:
        self.together: Callable[[], Any] = getattr(saver, "together", nullcontext)
        self.waiting: deque[tuple[fx.Saving, Callable[..., Any], tuple[Any, ...]]] = deque()
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.busy = False
        self.error: BaseException | None = None

    def submit(self, effect: fx.Saving, function: Callable[..., Any], *args: Any) -> None:
        """Do this after all that was given before; raises what went wrong there."""
        with self.lock:
            if self.error is not None:
                raise self.error
            self.waiting.append((effect, function, args))
            if self.busy:
                return
            self.busy = True
        turn = [True]
        try:
            workers.submit(self._work, turn)
        except BaseException:  # Ctrl-C came just now: what was given must be written all the same
            self._work(turn)
            raise

    def _work(self, turn: list[bool]) -> None:
        try:
            turn.pop()
        except IndexError:
            return
        while True:
            with self.lock:
                if not self.waiting or self.error is not None:
                    self.waiting.clear()
                    self.busy = False
                    self.changed.notify_all()
                    return
            effect = self.waiting[0][0]
            try:
                with self.together():
                    while self.waiting:
                        effect, function, args = self.waiting.popleft()
                        function(*args)
            except BaseException as error:
                fx.note_superstep(error, effect)
                self.error = error

    def flush(self) -> None:
        """Wait until all is written, and raise the first error."""
        with self.lock:
            while self.busy:
                self.changed.wait(PATIENCE)
            error, self.error = self.error, None
        if error is not None:
            raise error


_NO_SAVER: Answers = {fx.Flush: lambda _: None}
_NO_CACHE: Answers = {fx.CacheGet: lambda _: {}, fx.CachePut: lambda _: None}


def saver_answers(saver: BaseCheckpointSaver[Any] | None, writer: Writer | None = None) -> Answers:
    """Answers to the effects that concern a saver; with a writer, checkpoints are stored one step behind."""
    if saver is None:
        return _NO_SAVER
    behind = writer if not getattr(saver, "immediate", False) else None

    def submit(effect: fx.Saving, function: Callable[..., Any], *args: Any) -> None:
        if behind is not None:
            behind.submit(effect, function, *args)
            return
        try:
            function(*args)
        except Exception as error:
            fx.note_superstep(error, effect)
            raise

    def flush(_: fx.Flush | None = None) -> None:
        if behind is not None:
            behind.flush()

    def read(function: Callable[[], Any]) -> Any:
        flush()
        return function()

    def put(e: fx.SaveCheckpoint) -> None:
        if e.shelf.frozen:
            submit(e, saver.keep, *e)
            return
        if e.last is not None:
            put_writes(fx.SaveWrites(e.shelf, e.last, e.step))
        submit(e, saver.put, *put_arguments(e))

    def put_writes(e: fx.SaveWrites) -> None:
        if e.shelf.frozen:
            submit(e, saver.keep_writes, e.shelf, e.written)
        else:
            submit(e, saver.put_writes, *writes_arguments(saver.put_writes, e))

    return {
        fx.Load: lambda e: read(lambda: saver.get_tuple(e.config)),
        fx.ListCheckpoints: lambda e: read(
            lambda: list(saver.list(e.config, filter=e.filter, before=e.before, limit=e.limit))
        ),
        fx.LoadDeltas: lambda e: read(lambda: saver.get_delta_channel_history(config=e.config, channels=e.channels)),
        fx.SaveCheckpoint: put,
        fx.SaveWrites: put_writes,
        fx.Flush: flush,
    }


def put_arguments(effect: fx.SaveCheckpoint) -> tuple[Any, ...]:
    """What `put` is called with."""
    checkpoint = effect.checkpoint
    return effect.shelf.config(effect.parent_id), checkpoint.whole(), effect.metadata, dict(checkpoint.new)


def writes_arguments(put_writes: Callable[..., Any], effect: fx.SaveWrites) -> tuple[Any, ...]:
    """What `put_writes` is called with; older savers take no task path."""
    id, writes, task_id, task_path = effect.written
    arguments = (effect.shelf.config(id), list(writes), task_id)
    return (*arguments, task_path) if takes_path(put_writes) else arguments


def cache_answers(cache: BaseCache[Any] | None) -> Answers:
    """Answers to the effects that concern a cache."""
    if cache is None:
        return _NO_CACHE
    return {
        fx.CacheGet: lambda e: cache.get(e.keys),
        fx.CachePut: lambda e: cache.set({(k.ns, k.key): (writes, k.ttl) for k, writes in e.entries.items()}),
    }
