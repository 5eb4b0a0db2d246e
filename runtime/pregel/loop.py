"""The loop: plan, execute, update, until nothing is left to run. Written once, for both colours.

How to think about it. A run owns its state; nobody else touches it. Between two barriers the loop is one straight
story: it plans the tasks that newer versions have woken, asks a driver to run them, and takes their writes in as they
come, each beside the checkpoint that the superstep started from. At the barrier `update` says what all writes
together change, and the new state becomes the next checkpoint. So at every moment the saver holds a barrier, plus the
writes of those tasks that have finished since; a thread that is taken up again runs the others, and no others.

What must stay true:

1. A write of superstep N is read by no task of superstep N, but by the routers of its own task.
2. A task's writes are stored before anybody is told that it has finished. Those of the task that ends a superstep,
   where nobody is told, go to the saver with the checkpoint that follows, or, when there is none, as the run ends.
3. A superstep is applied whole or not at all: a failure leaves the last barrier, with what had finished beside it.
4. Whatever happens, the saver has been flushed and `RunFinished` told before the caller gets the result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from runtime._words import (
    ERROR,
    ERROR_SOURCE_NODE,
    INTERRUPT,
    MISSING,
    NO_WRITES,
    RESUME,
    TASKS,
    UNFINISHED,
)
from runtime.errors import (
    ErrorCode,
    GraphBubbleUp,
    GraphDrained,
    GraphInterrupt,
    GraphRecursionError,
    create_error_message,
    is_invalid_resume,
)
from runtime.events import (
    CheckpointSaved,
    Interrupted,
    RunFinished,
    RunInterrupted,
    RunStatus,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
)
from runtime.pregel import told
from runtime.pregel.attempt import finish_idle
from runtime.pregel.effects import (
    CachePut,
    Cancel,
    Finished,
    Receive,
    Routine,
    SaveWrites,
    Spawned,
    Start,
    cache_get,
)
from runtime.pregel.plan import Planner
from runtime.pregel.policy import cache_key, node_namespace
from runtime.pregel.progress import Progress, advance, forget, persist, settle, shelf_of, store, versions_before
from runtime.pregel.start import begin, restore
from runtime.pregel.state import State, Step
from runtime.pregel.task import Task, is_outcome
from runtime.pregel.update import update

if TYPE_CHECKING:
    from runtime.pregel.run import Run
    from runtime.types import Interrupt


class Outcome(NamedTuple):
    """How a run ended that raised nothing: its output (None when it never showed one), and its open questions."""

    output: Any
    interrupts: tuple[Interrupt, ...]


# -- the story --------------------------------------------------------------------------------------------------------


def supersteps(run: Run, input: Any) -> Routine[Outcome]:
    """Run the graph to its end, its next question, or its failure.

    Raises what a task raised; GraphRecursionError, GraphDrained; and in a nested graph GraphInterrupt.
    """
    run.look_around()
    progress = yield from restore(run, input)
    failure: BaseException | None = None
    try:
        yield from begin(run, progress, input)
        while True:
            planned = plan(run, progress)
            if run.saver is not None and CheckpointSaved in run.wanted:
                yield told.saved(run, progress, planned) if progress.source else told.restored(run, progress, planned)
            tasks = release(run, progress, planned)
            if not tasks:
                break
            if SuperstepPlanned in run.wanted:
                yield told.superstep(run, progress, tasks)
            yield from execute(run, progress, tasks)
            step, before = barrier(run, progress, tasks)
            if SuperstepUpdated in run.wanted:
                yield told.updated(run, progress, step, "loop", before)
            if run.lent is None:
                progress.passed("loop")
            else:
                yield from persist(run, progress, "loop")
    except BaseException as error:
        failure = error
    status = _status(failure)
    asked: tuple[Interrupt, ...] = ()
    try:
        try:
            if isinstance(failure, GraphInterrupt):
                asked = tuple(failure.args[0]) if failure.args else ()
                yield from _stop_at(run, progress, failure, asked)
            elif status == "cancelled":
                yield from _cut_off(run, progress)
        finally:
            yield from settle(run, progress, failure is not None)
    except BaseException as error:
        if failure is None or status == "interrupted":
            status, failure = "failed", error
    if status == "interrupted" and not run.nested:
        failure = None
    output = _output(run, progress) if failure is None else None
    if RunFinished in run.wanted:
        yield RunFinished(run.id, run.ns, progress.step, run.clock(), status, output, failure)
    if failure is not None:
        raise failure
    return Outcome(output, asked)


def _status(failure: BaseException | None) -> RunStatus:
    """How a run ended that ended so."""
    if failure is None:
        return "done"
    if isinstance(failure, GraphInterrupt):
        return "interrupted"
    if isinstance(failure, GraphDrained):
        return "drained"
    if isinstance(failure, GraphRecursionError):
        return "out_of_steps"
    stopped = isinstance(failure, asyncio.CancelledError) or not isinstance(failure, Exception)
    return "cancelled" if stopped else "failed"


def _output(run: Run, progress: Progress) -> Any:
    if not progress.shown:
        return None
    if progress.last_output is not MISSING:
        return progress.last_output
    return progress.state.show(run.output_keys)


# -- plan -------------------------------------------------------------------------------------------------------------


def plan(run: Run, progress: Progress) -> list[Task]:
    """The tasks of the next superstep, with their inputs; none when the run has come to its end."""
    resumes = progress.resumes() if progress.pending else {}
    return Planner(run, progress.state, progress.step, progress.stop, resumes).tasks()


def release(run: Run, progress: Progress, tasks: list[Task]) -> list[Task]:
    """The planned tasks, once nothing stands against running them, with the writes of those that had finished before.

    Raises GraphRecursionError, GraphDrained, and GraphInterrupt at a breakpoint.
    """
    if run.breaks_after and progress.source == "loop" and progress.tasks:
        nodes = _breaks(progress.state, run.breaks_after, progress.tasks)
        if nodes:
            progress.tasks = []
            raise _Breakpoint("after", nodes)
    progress.tasks = tasks
    progress.source = ""
    if progress.step > progress.stop:
        raise GraphRecursionError(
            create_error_message(
                message=f"The run reached its limit of {run.limit} supersteps without coming to an end; "
                f"next would be {', '.join(sorted({task.node for task in tasks})) or 'nothing'}. Give the loop a way "
                "out, or raise the limit with config={'recursion_limit': …}.",
                error_code=ErrorCode.GRAPH_RECURSION_LIMIT,
            )
        )
    if not tasks:
        return tasks
    if progress.pending:
        _reattach(run, progress, tasks)
    if run.breaks_before and (nodes := _breaks(progress.state, run.breaks_before, tasks)):
        raise _Breakpoint("before", nodes)
    if run.control.drain_requested:
        raise GraphDrained(run.control.drain_reason or "shutdown")
    return tasks


def _reattach(run: Run, progress: Progress, tasks: list[Task]) -> None:
    """Give tasks that had finished before the writes which were stored for them.

    Where a task had failed and its handler had taken over, the handler goes on, and the task is not tried again.
    """
    for task in list(tasks):
        stored = progress.pending.get(task.id)
        if not stored:
            continue
        if is_outcome(stored):
            task.take(write for write in stored if write[0] not in UNFINISHED)
        elif any(channel == ERROR_SOURCE_NODE for channel, _ in stored):
            error = next((value for channel, value in stored if channel == ERROR), None)
            known = error if isinstance(error, BaseException) else Exception(error)
            handler = Planner(run, progress.state, progress.step, progress.stop, {}).handler(task, known)
            if handler is not None:
                task.handled = True
                tasks.append(handler)
                _reattach(run, progress, [handler])


def _breaks(state: State, nodes: Any, tasks: Sequence[Task]) -> tuple[str, ...]:
    """The nodes at which to stop here, if any channel has moved since the last stop."""
    marked = [t.node for t in tasks if (not t.hidden if nodes == "*" else t.node in nodes)]
    if not marked:
        return ()
    seen = state.seen.get(INTERRUPT, {})
    moved = any(name not in seen or version > seen[name] for name, version in state.versions.items())
    return tuple(marked) if moved else ()


class _Breakpoint(GraphInterrupt):
    """The run stops before or after these nodes, and nobody is asked anything."""

    def __init__(self, when: Literal["before", "after"], nodes: tuple[str, ...]) -> None:
        super().__init__(())
        self.when = when
        self.nodes = nodes


# -- execute ----------------------------------------------------------------------------------------------------------


def execute(run: Run, progress: Progress, tasks: Sequence[Task]) -> Routine[None]:
    """Run the tasks that have not finished, and store the writes of each as it comes.

    Raises the first failure once nothing runs any more, or GraphInterrupt with all questions that were asked.
    """
    if run.cache is not None:
        yield from _from_cache(run, tasks)
    if TaskFinished in run.wanted:
        for task in tasks:
            if task.finished:
                yield told.finished(run, progress, task)
    running = [task for task in tasks if not task.finished and not task.handled]
    if not running:
        return
    if TaskStarted in run.wanted and not (run.flat and told.begins(run, tasks)):
        for task in running:
            yield TaskStarted(run.id, run.ns, progress.step, run.clock(), task.id, task.node, 1)
    ready: list[Finished] = []
    waiting: list[Task] = []
    for task in running:
        if task.proc.idle and finish_idle(run, task):
            ready.append(Finished(task))
        else:
            waiting.append(task)
    left = len(running)
    limit = run.graph.step_timeout
    deadline = None if limit is None else time.monotonic() + limit
    ends = _Ends()
    if waiting:
        first = yield Start(waiting, len(waiting) == 1, progress)
        if first is not None:
            ready.append(first)
    while left:
        try:
            message = ready.pop() if ready else (yield Receive(deadline))
        except TimeoutError as error:
            ends.failure, deadline = ends.failure or error, None
            yield Cancel(running)
            continue
        if type(message) is Spawned:
            left += 1
            running.append(message.task)
            if not run.wanted.isdisjoint((SuperstepPlanned, TaskStarted)):
                yield from _told_of_call(run, progress, message.task)
            continue
        left -= 1
        task = message.task
        if run.quiet and task.finished and (run.saver is None or not (left or task.called)):
            if not task.writes:
                task.writes = [(NO_WRITES, None)]
            if run.saver is not None:  # nobody hears of this end before the barrier, where it is stored
                progress.held = store(run, progress, task.id, _to_store(run, progress, task), task.path)
            continue
        handler = _handler_of(run, progress, task)
        yield from commit(run, progress, task)
        if handler is not None:
            first = yield Start([handler], left == 0, progress)
            left += 1
            running.append(handler)
            progress.tasks.append(handler)
            if first is not None:
                ready.append(first)
        elif task.error is not None and not task.called and ends.take(task) and left:
            yield Cancel(running)
    ends.raise_first()


class _Ends:
    """How the tasks of a superstep ended that did not succeed. Only a failure stops the siblings."""

    failure: BaseException | None = None
    softly: BaseException | None = None
    asked: tuple[Interrupt, ...] = ()
    stopped = False

    def take(self, task: Task) -> bool:
        """Take an end in; True for the first failure."""
        error = task.error
        if isinstance(error, GraphInterrupt):
            self.stopped = True
            self.asked = (*self.asked, *task.interrupts)
        elif error is None or self.failure is not None:
            return False
        elif isinstance(error, (GraphDrained, asyncio.CancelledError)) or is_invalid_resume(error):
            self.softly = self.softly or error
        else:
            self.failure = error
            return True
        return False

    def raise_first(self) -> None:
        """Raise the failure, or all questions together."""
        error = self.failure or self.softly
        if error is not None:
            raise error
        if self.stopped:
            raise GraphInterrupt(self.asked)


def _handler_of(run: Run, progress: Progress, task: Task) -> Task | None:
    """The handler that takes over from a task whose tries are used up."""
    error = task.error
    if error is None or isinstance(error, (GraphBubbleUp, asyncio.CancelledError)) or is_invalid_resume(error):
        return None
    handler = Planner(run, progress.state, progress.step, progress.stop, {}).handler(task, error)
    task.handled = handler is not None
    return handler


def _told_of_call(run: Run, progress: Progress, task: Task) -> Routine[None]:
    at = run.clock()
    if SuperstepPlanned in run.wanted:
        yield SuperstepPlanned(run.id, run.ns, progress.step, at, (told.planned(run, progress, task),))
    if TaskStarted in run.wanted and not task.cached:
        yield TaskStarted(run.id, run.ns, progress.step, at, task.id, task.node, 1)


def commit(run: Run, progress: Progress, task: Task) -> Routine[None]:
    """Store what a task's end leaves behind, then tell that it has finished."""
    if task.called and task.cached and task.cache_key is None:
        if TaskFinished in run.wanted:  # its result was stored by an earlier run, and streams showed it then
            yield told.ended(run, progress, task)._replace(hidden=True)
        return
    yield from keep(run, progress, task)
    if task.finished and run.tell_finished is not None and not task.hidden:
        run.tell_finished(task.node)
    if TaskFinished in run.wanted:
        yield told.finished(run, progress, task)


def keep(run: Run, progress: Progress, task: Task) -> Routine[None]:
    """Store what a task's end leaves behind, once. Where a called task has ended, it may be in another thread."""
    if task.id in progress.paths or (task.called and task.cached and task.cache_key is None):
        return
    writes = _to_store(run, progress, task)
    written = store(run, progress, task.id, writes, task.path) if writes else None
    if written is not None:
        yield SaveWrites(shelf_of(progress), written, progress.step)
    if task.finished and run.cache is not None and task.cache_key is not None and not task.cached:
        yield CachePut({task.cache_key: task.writes})


def _to_store(run: Run, progress: Progress, task: Task) -> Sequence[tuple[str, Any]]:
    answers = [(RESUME, list(task.resumes))] if task.resumes else []
    if task.finished:
        if not task.writes:
            task.writes = [(NO_WRITES, None)]
        writes = _tracked(run, task.writes)
        return [*answers, *writes] if answers else writes  # the answers came first; a write is kept by its position
    if task.interrupts:
        return [(INTERRUPT, task.interrupts), *answers]
    if task.error is None or isinstance(task.error, _CONTROL) or is_invalid_resume(task.error):
        return []
    asked_before = any(channel == INTERRUPT for channel, _ in progress.pending.get(task.id, ()))
    source = [(ERROR_SOURCE_NODE, task.node)] if task.handled else []
    return [(ERROR, task.error), *source, *answers, *([(INTERRUPT, ())] if asked_before else [])]


def _tracked(run: Run, writes: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
    """The writes without the channels that nothing stores, in the arguments of Sends too."""
    untracked = run.program.untracked
    if not untracked:
        return writes
    return [
        (channel, run.program.tracked(value) if channel == TASKS else value)
        for channel, value in writes
        if channel not in untracked
    ]


def _from_cache(run: Run, tasks: Sequence[Task]) -> Routine[None]:
    for task in tasks:
        policy = task.proc.cache_policy or run.graph.cache_policy
        if policy is not None and not task.finished:
            task.cache_key = cache_key(policy, node_namespace(task.node, task.proc), task.input)
    wanted = {(t.cache_key.ns, t.cache_key.key): t for t in tasks if t.cache_key is not None}
    if not wanted:
        return
    hits = yield from cache_get(tuple(wanted))
    for key, writes in hits.items():
        wanted[key].take(writes)


# -- update -----------------------------------------------------------------------------------------------------------


def barrier(run: Run, progress: Progress, tasks: Sequence[Task]) -> tuple[Step, Mapping[str, Any]]:
    """Apply the writes of a superstep; the step, and the versions that its channels had."""
    state = progress.state
    progress.applying = True
    step = update(state, tasks, progress.next_version, progress.step)
    before = versions_before(state, step) if SuperstepUpdated in run.wanted else {}
    if run.program.vanishing and progress.shown and progress.last_output is MISSING:
        progress.last_output = state.show(run.output_keys)
    advance(progress, step)
    if not step.updated.isdisjoint(run.output_names):
        progress.shown, progress.last_output = True, MISSING
    forget(run, progress, step)
    progress.source, progress.applying = "loop", False
    run.resuming = None
    if not run.nested:
        run.answers.first.clear()
    return step, before


# -- how it ends ------------------------------------------------------------------------------------------------------


def _stop_at(run: Run, progress: Progress, stop: GraphInterrupt, asked: tuple[Interrupt, ...]) -> Routine[None]:
    """Show what the siblings of a question have written, though no checkpoint holds it yet; then tell of the stop."""
    if not run.nested:
        yield from _show_finished(run, progress)
    if RunInterrupted in run.wanted:
        tasks = progress.tasks
        when: Literal["asked", "before", "after", "inside"] = "asked" if asked else "inside"
        nodes: tuple[str, ...] = ()
        if isinstance(stop, _Breakpoint):
            when, nodes = stop.when, stop.nodes
        nodes = nodes or tuple(task.node for task in tasks if isinstance(task.error, GraphInterrupt))
        questions = tuple(Interrupted(task.id, task.node, item) for task in tasks for item in task.interrupts)
        yield RunInterrupted(run.id, run.ns, progress.step, run.clock(), when, nodes, questions)


def _show_finished(run: Run, progress: Progress) -> Routine[None]:
    done = [task for task in progress.tasks if task.finished]
    shown = run.program.output_names | run.output_names
    if not any(name in shown for task in done for name, _ in task.writes):
        return
    state = progress.state.copy()
    step = update(state, done, progress.next_version, progress.step)
    before = versions_before(state, step)
    state.advance(step)
    progress.state, kept = state, progress.state
    progress.shown, progress.last_output = True, state.show(run.output_keys)
    if SuperstepUpdated in run.wanted:
        yield told.updated(run, progress, step, "partial", before)
    progress.state = kept


def _cut_off(run: Run, progress: Progress) -> Routine[None]:
    """Stop the tasks of a run that was stopped from outside: what has finished is kept, the others are marked."""
    if progress.applying or progress.source:
        return  # between two supersteps nothing runs, and the saver has all writes
    yield Cancel(progress.tasks)
    while True:
        try:
            message = yield Receive(0.0)
        except TimeoutError:
            break
        if isinstance(message, Finished):
            yield from commit(run, progress, message.task)
    for task in progress.tasks:
        if not task.started_at or task.cached or task.error is not None or task.id in progress.paths:
            continue
        if not task.finished:  # it runs in a thread, which cannot be made to stop
            task.error = asyncio.CancelledError("The run was stopped while this task ran.")
        yield from commit(run, progress, task)


_CONTROL: tuple[type[BaseException], ...] = (GraphBubbleUp,)
