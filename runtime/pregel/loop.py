"""The loop: plan, execute, update, until nothing is left to run. Written once, for both colours.

How to think about it. A run owns its state; nobody else touches it. Between two barriers the loop is one straight
story: it plans the tasks that newer versions have woken, asks a driver to run them, and takes their writes in as they
come, each beside the checkpoint that the superstep started from. At the barrier `update` says what all writes
together change, and the new state becomes the next checkpoint. So at every moment the saver holds a barrier, plus the
writes of those tasks that have finished since; a thread that is taken up again runs the others, and no others.

What must stay true:

1. A write of superstep N is read by no task of superstep N, but by the routers of its own task.
2. A task's writes are stored before anybody is told that it has finished.
3. A superstep is applied whole or not at all: a failure leaves the last barrier, with what had finished beside it.
4. Whatever happens, the saver has been flushed and `RunFinished` told before the caller gets the result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from runtime._words import (
    CHECKPOINT_ID,
    CONF,
    ERROR,
    ERROR_SOURCE_NODE,
    INPUT,
    INTERRUPT,
    MISSING,
    NO_WRITES,
    NULL_TASK_ID,
    PREVIOUS,
    RESUME,
    TASKS,
)
from runtime.errors import (
    EmptyInputError,
    ErrorCode,
    GraphBubbleUp,
    GraphDrained,
    GraphInterrupt,
    GraphRecursionError,
    create_error_message,
    is_invalid_resume,
)
from runtime.events import (
    Change,
    CheckpointSaved,
    Interrupted,
    Planned,
    RunFinished,
    RunInterrupted,
    RunStarted,
    RunStatus,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
    Write,
)
from runtime.pregel.attempt import finish_idle
from runtime.pregel.commands import command_writes, input_writes
from runtime.pregel.deltas import COUNTERS, counted, overwrites, rebuild, unread, with_ids
from runtime.pregel.effects import (
    CachePut,
    Cancel,
    Finished,
    Flush,
    Receive,
    Routine,
    SaveCheckpoint,
    SaveWrites,
    Spawned,
    Start,
    cache_get,
    list_checkpoints,
    load,
    load_deltas,
)
from runtime.pregel.node import PregelNode
from runtime.pregel.plan import Planner, fired, versions_of
from runtime.pregel.policy import cache_key, node_namespace
from runtime.pregel.program import as_names
from runtime.pregel.snapshot import snapshot_of
from runtime.pregel.state import State, Step
from runtime.pregel.task import UNFINISHED, Task, is_outcome, task_path_str
from runtime.pregel.update import int_version, update
from runtime.types import Command

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.checkpoint.base import CheckpointMetadata, CheckpointTuple
    from runtime.pregel.run import Run
    from runtime.types import Interrupt

Pending = dict[str, list[tuple[str, Any]]]

_NOBODY = PregelNode(channels=[], triggers=[])


class Outcome(NamedTuple):
    """How a run ended that raised nothing: its output (None when it never showed one), and its open questions."""

    output: Any
    interrupts: tuple[Interrupt, ...]


class Progress:
    """Where a run stands: its state, the number of the superstep that comes next, and what the saver has of it."""

    __slots__ = (
        "beside", "changed", "last_output", "metadata", "parent_id", "paths", "pending", "replayed", "saved_id",
        "shown", "source", "state", "step", "stop", "tasks", "unsaved", "whole",
    )  # fmt: skip

    def __init__(self, state: State, step: int, stop: int, saved_id: str | None, pending: Pending) -> None:
        self.state = state
        self.step = step
        self.stop = stop
        self.saved_id = saved_id
        self.parent_id: str | None = None
        self.pending = pending
        self.paths: dict[str, Any] = {}
        self.metadata: Mapping[str, Any] = {}
        self.changed: dict[str, Any] = {}
        self.tasks: list[Task] = []
        self.unsaved = False
        self.replayed = False
        self.beside = True
        self.whole: frozenset[str] = frozenset()
        self.shown = False
        self.source = ""
        self.last_output: Any = MISSING

    def resumes(self) -> Mapping[str, list[Any]]:
        """The answers that were stored, by task."""
        stored = self.pending.items()
        return {id: value for id, writes in stored for channel, value in writes if channel == RESUME}


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
        while tasks := (yield from prepare(run, progress)):
            yield from execute(run, progress, tasks)
            yield from barrier(run, progress, tasks)
    except BaseException as error:
        failure = error
    status = _status(failure)
    asked: tuple[Interrupt, ...] = ()
    try:
        if isinstance(failure, GraphInterrupt):
            asked = tuple(failure.args[0]) if failure.args else ()
            yield from _stop_at(run, progress, failure, asked)
        elif status == "cancelled":
            yield from _mark_cancelled(run, progress)
        yield from _settle(run, progress, failure is not None)
    except BaseException as error:
        if failure is None or status == "interrupted":
            status, failure = "failed", error
    if status == "interrupted" and not run.nested:
        failure = None
    output = _output(run, progress) if failure is None else None
    if run.watched:
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


# -- where it starts --------------------------------------------------------------------------------------------------


def restore(run: Run, input: Any) -> Routine[Progress]:
    """The state that the run starts from: the thread's, a checkpoint's, or an empty one."""
    if run.saver is None:
        progress = _from_nothing(run)
    else:
        found, stale = yield from _find(run, input)
        progress = _from_nothing(run) if found is None else _from_checkpoint(run, found, stale)
        if found is not None and (names := unread(run.program, found.checkpoint)):
            rebuild(progress.state, (yield from load_deltas(found.config, names)))
        progress.beside = not stale and found is not None
        progress.replayed = stale and run.replay is not None and run.asked_id is not None
    run.stored = progress.pending
    run.previous = progress.state.values.get(PREVIOUS)
    if run.watched:
        yield _started(run, progress, input)
    return progress


def _from_nothing(run: Run) -> Progress:
    state = State.fresh(run.program, run.new_checkpoint_id())
    return Progress(state, -1, run.limit, None, {})


def _from_checkpoint(run: Run, found: CheckpointTuple, stale: bool) -> Progress:
    state = State.restored(run.program, run.graph.migrated(found.checkpoint))
    step = found.metadata.get("step", -2) + 1
    pending: Pending = {}
    for task_id, channel, value in () if stale else found.pending_writes or ():
        pending.setdefault(task_id, []).append((channel, value))
    progress = Progress(state, step, step + run.limit + 1, found.checkpoint["id"], pending)
    progress.metadata = found.metadata
    if found.parent_config is not None:
        progress.parent_id = found.parent_config[CONF].get(CHECKPOINT_ID)
    return progress


def _find(run: Run, input: Any) -> Routine[tuple[CheckpointTuple | None, bool]]:
    """The checkpoint to start from, and whether the writes stored beside it belong to another run of it."""
    config = run.saver_config
    if run.nested:
        return (yield from _find_nested(run, config))
    if run.asked_id is None:
        return (yield from load(config)), False
    found = yield from load(_at(config, run.asked_id))
    if found is None:
        return None, False
    if input is None:
        run.set_replay((yield from _before_edits(found)))
        return found, True
    newest = yield from load(config)
    return found, newest is not None and newest.checkpoint["id"] != run.asked_id


def _before_edits(found: CheckpointTuple) -> Routine[str]:
    """The id of the checkpoint that a superstep made: this one, or the one that it was edited or forked from."""
    while found.metadata.get("source") in ("update", "fork") and found.parent_config is not None:
        parent = yield from load(found.parent_config)
        if parent is None:
            break
        found = parent
    return found.checkpoint["id"]


def _find_nested(run: Run, config: RunnableConfig) -> Routine[tuple[CheckpointTuple | None, bool]]:
    """The same for a nested graph: in a replay it goes back too, on its first visit.

    It goes on from the checkpoint that the caller named for it; else it starts anew, on the state that it had before
    the replayed checkpoint.
    """
    if run.replay is None or not run.replay.first_visit(run.ns):
        return (yield from load(config)), False
    if run.asked_id is not None:
        return (yield from load(_at(config, run.asked_id))), True
    run.resuming = False
    before = cast("RunnableConfig", {CONF: {CHECKPOINT_ID: run.replay.checkpoint_id}})
    older = yield from list_checkpoints(config, before=before, limit=1)
    return (older[0] if older else None), True


def _at(config: RunnableConfig, id: str) -> RunnableConfig:
    return cast("RunnableConfig", {CONF: {**config[CONF], CHECKPOINT_ID: id}})


def _started(run: Run, progress: Progress, input: Any) -> RunStarted:
    state = progress.state
    kind: Any = "input"
    if isinstance(input, Command):
        kind = "command"
    elif input is None:
        kind = "replay" if run.asked_id is not None else "resume"
    kinds = {name: type(channel).__name__ for name, channel in run.program.channels.items()}
    return RunStarted(
        run.id, run.ns, progress.step, run.clock(), run.graph, run.thread_id, progress.saved_id, kind, input,
        kinds, dict(state.versions), dict(state.values), dict(state.seen),
    )  # fmt: skip


def begin(run: Run, progress: Progress, input: Any) -> Routine[None]:
    """Take the caller's input in: as an answer, as a word to a thread that waits, or as a new start."""
    state = progress.state
    resuming = bool(state.versions) and _goes_on(run, progress, input)
    replaying = progress.replayed
    stored = list(progress.pending.pop(NULL_TASK_ID, ()))
    spent = any(channel == RESUME for writes in progress.pending.values() for channel, _ in writes)
    if isinstance(input, Command):
        given = command_writes(run, input, progress.pending)
        if given:
            stored = [pair for pair in stored if pair[0] != RESUME] + given
            yield from _store(run, progress, NULL_TASK_ID, given, "")
    elif not spent:
        run.answers.first.extend(value for channel, value in stored if channel == RESUME)
    null = [(channel, value) for channel, value in stored if channel != RESUME]
    if not run.nested:
        run.resuming = resuming
    if resuming:
        before = dict(state.versions) if run.watched else {}
        step = _apply_null(run, progress, null)
        state.seen[INTERRUPT] = dict(state.versions)
        progress.shown = True
        if run.watched:
            yield _updated(run, progress, step, "resume", before)
        if replaying and not (yield from _stands_at_own_fork(run, progress)):
            yield from persist(run, progress, "fork")
        return
    if null:
        _apply_null(run, progress, null)
    if input is None:
        raise EmptyInputError(
            "There is nothing to run: the input is None, and "
            + (
                f"thread {run.thread_id!r} has no checkpoint to go on from."
                if run.saver
                else "there is no checkpointer."
            )
            + " Pass an input, for example {}."
        )
    yield from _take_input(run, progress, input)


def _goes_on(run: Run, progress: Progress, input: Any) -> bool:
    if run.nested and run.resuming is not None:
        return run.resuming
    if input is None or isinstance(input, Command):
        return True
    run_id = run.config.get("metadata", {}).get("run_id")
    return not run.nested and run_id is not None and run_id == progress.metadata.get("run_id")


def _apply_null(run: Run, progress: Progress, writes: Sequence[tuple[str, Any]]) -> Step | None:
    if not writes:
        return None
    task = Task(NULL_TASK_ID, INPUT, (INPUT,), "", None, _NOBODY, ())
    task.writes = list(writes)
    waiting = progress.state.updated
    step = update(progress.state, [task], _next_version(run), progress.step)
    _advance(progress, step)
    progress.state.updated = None if waiting is None else waiting | step.updated  # what waited before still does
    return step


def _stands_at_own_fork(run: Run, progress: Progress) -> Routine[bool]:
    """True when the run starts from its thread's newest checkpoint and that is an update or a fork already."""
    if progress.metadata.get("source") not in ("update", "fork"):
        return False
    newest = yield from load(run.saver_config)
    return newest is not None and newest.checkpoint["id"] == progress.saved_id


def _take_input(run: Run, progress: Progress, input: Any) -> Routine[None]:
    state = progress.state
    writes = input_writes(run.program.input_channels, input, run.program)
    if not writes:
        raise EmptyInputError(
            f"The input {input!r} has none of the graph's input channels: "
            f"{', '.join(as_names(run.program.input_channels))}."
        )
    dropped = Planner(run, state, progress.step, progress.stop, {}).tasks()
    for task in dropped:
        task.writes = []
    given = Task(NULL_TASK_ID, INPUT, (INPUT,), "", None, _NOBODY, ())
    given.writes = writes
    step = update(state, [*dropped, given], _next_version(run), progress.step)
    before = _versions_before(state, step) if run.watched else {}
    _advance(progress, step)
    progress.pending.clear()
    progress.paths.clear()
    if run.watched:
        yield _updated(run, progress, step, "input", before)
    yield from persist(run, progress, "input")


# -- plan -------------------------------------------------------------------------------------------------------------


def prepare(run: Run, progress: Progress) -> Routine[list[Task]]:
    """The tasks of the next superstep, ready to be executed; none when the run has come to its end.

    Raises GraphRecursionError, GraphDrained, and GraphInterrupt at a breakpoint.
    """
    state = progress.state
    executed = progress.tasks
    tasks = Planner(run, state, progress.step, progress.stop, progress.resumes()).tasks()
    if run.watched and progress.source and run.saver is not None:
        yield _saved(run, progress, tasks)
    if (
        executed
        and progress.source == "loop"
        and run.breaks_after
        and (nodes := _breaks(state, run.breaks_after, executed))
    ):
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
        return []
    if progress.pending:
        _reattach(run, progress, tasks)
    if run.breaks_before and (nodes := _breaks(state, run.breaks_before, tasks)):
        raise _Breakpoint("before", nodes)
    if run.control.drain_requested:
        raise GraphDrained(run.control.drain_reason or "shutdown")
    if run.watched:
        yield SuperstepPlanned(
            run.id, run.ns, progress.step, run.clock(), tuple(_planned(run, progress, t) for t in tasks)
        )
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
            task.writes = [(channel, value) for channel, value in stored if channel not in UNFINISHED]
            task.finished = task.cached = True
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
    if run.watched:
        for task in tasks:
            if task.finished:
                yield _finished(run, progress, task)
    running = [task for task in tasks if not task.finished and not task.handled]
    if not running:
        return
    if run.watched:
        for task in running:
            yield TaskStarted(run.id, run.ns, progress.step, run.clock(), task.id, task.node, 1)
    done = [task for task in running if task.proc.idle and finish_idle(run, task)]
    if len(done) < len(running):
        yield Start([task for task in running if task not in done] if done else running)
    left = len(running)
    limit = run.graph.step_timeout
    deadline = None if limit is None else time.monotonic() + limit
    ends = _Ends()
    bare = run.saver is None and run.cache is None and run.tell_finished is None and not run.watched
    while left:
        try:
            message = Finished(done.pop()) if done else (yield Receive(deadline))
        except TimeoutError as error:
            ends.failure, deadline = ends.failure or error, None
            yield Cancel(running)
            continue
        if isinstance(message, Spawned):
            left += 1
            running.append(message.task)
            if run.watched:
                yield from _told_of_call(run, progress, message.task)
            continue
        if not isinstance(message, Finished):
            continue
        left -= 1
        task = message.task
        if bare and task.finished:
            task.writes = task.writes or [(NO_WRITES, None)]
            continue
        handler = _handler_of(run, progress, task)
        yield from commit(run, progress, task)
        if handler is not None:
            left += 1
            running.append(handler)
            progress.tasks.append(handler)
            yield Start([handler])
        elif task.error is not None and not task.called and ends.take(task) and left:
            yield Cancel(running)
    ends.raise_first()


class _Ends:
    """How the tasks of a superstep ended that did not succeed. Only a failure stops the siblings."""

    __slots__ = ("asked", "failure", "softly", "stopped")

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self.softly: BaseException | None = None
        self.asked: list[Interrupt] = []
        self.stopped = False

    def take(self, task: Task) -> bool:
        """Take an end in; True for the first failure."""
        error = task.error
        if isinstance(error, GraphInterrupt):
            self.stopped = True
            self.asked.extend(task.interrupts)
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
            raise GraphInterrupt(tuple(self.asked))


def _handler_of(run: Run, progress: Progress, task: Task) -> Task | None:
    """The handler that takes over from a task whose tries are used up."""
    error = task.error
    if error is None or isinstance(error, (GraphBubbleUp, asyncio.CancelledError)) or is_invalid_resume(error):
        return None
    handler = Planner(run, progress.state, progress.step, progress.stop, {}).handler(task, error)
    task.handled = handler is not None
    return handler


def _told_of_call(run: Run, progress: Progress, task: Task) -> Routine[None]:
    if task.cached:
        return
    at = run.clock()
    yield SuperstepPlanned(run.id, run.ns, progress.step, at, (_planned(run, progress, task),))
    yield TaskStarted(run.id, run.ns, progress.step, at, task.id, task.node, 1)


def commit(run: Run, progress: Progress, task: Task) -> Routine[None]:
    """Store what a task's end leaves behind, then tell that it has finished."""
    if task.called and task.cached and task.cache_key is None:
        return  # its result was stored by an earlier run, and told then
    writes = _to_store(run, progress, task)
    if writes:
        yield from _store(run, progress, task.id, writes, task.path)
    if task.finished:
        if run.cache is not None and task.cache_key is not None and not task.cached:
            yield CachePut({task.cache_key: task.writes})
        if run.tell_finished is not None and not task.hidden:
            run.tell_finished(task.node)
    if run.watched:
        yield _finished(run, progress, task)


def _to_store(run: Run, progress: Progress, task: Task) -> list[tuple[str, Any]]:
    resumes = task.context.resumes if task.context is not None else []
    answers = [(RESUME, list(resumes))] if resumes else []
    if task.finished:
        with_ids(run.program, task.writes)
        if not task.writes:
            task.writes.append((NO_WRITES, None))
        return [*_tracked(run, task.writes), *answers]
    if task.interrupts:
        return [(INTERRUPT, task.interrupts), *answers]
    if task.error is None or isinstance(task.error, _CONTROL) or is_invalid_resume(task.error):
        return []
    asked_before = any(channel == INTERRUPT for channel, _ in progress.pending.get(task.id, ()))
    source = [(ERROR_SOURCE_NODE, task.node)] if task.handled else []
    return [(ERROR, task.error), *source, *answers, *([(INTERRUPT, ())] if asked_before else [])]


def _tracked(run: Run, writes: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The writes without the channels that nothing stores, in the arguments of Sends too."""
    untracked = run.program.untracked
    if not untracked:
        return list(writes)
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
        task = wanted[key]
        task.writes = [(channel, value) for channel, value in writes]
        task.finished = task.cached = True


# -- update -----------------------------------------------------------------------------------------------------------


def barrier(run: Run, progress: Progress, tasks: Sequence[Task]) -> Routine[None]:
    """Apply the writes of a superstep, and save what has become of the state."""
    step = update(progress.state, tasks, _next_version(run), progress.step)
    before = _versions_before(progress.state, step) if run.watched else {}
    if run.program.vanishing and progress.shown and progress.last_output is MISSING:
        progress.last_output = progress.state.show(run.output_keys)
    _advance(progress, step)
    if not step.updated.isdisjoint(run.output_names):
        progress.shown, progress.last_output = True, MISSING
    progress.pending.clear()
    progress.paths.clear()
    run.resuming = None
    if run.watched:
        yield _updated(run, progress, step, "loop", before)
    if run.saver is None:
        progress.source, progress.step = "loop", progress.step + 1
    else:
        yield from persist(run, progress, "loop")


def _versions_before(state: State, step: Step) -> Mapping[str, Any]:
    """The versions that a step's channels have as long as it is not taken in."""
    return {name: state.versions.get(name) for name in step.channels}


def _advance(progress: Progress, step: Step) -> None:
    program = progress.state.program
    progress.state.advance(step)
    progress.changed.update(step.versions)
    if program.deltas:
        progress.whole |= overwrites(program, step)


def _next_version(run: Run) -> Any:
    return run.saver.get_next_version if run.saver is not None else int_version


def persist(run: Run, progress: Progress, source: Any) -> Routine[None]:
    """Make the state a checkpoint, and the next superstep's number one higher."""
    progress.source = source
    state = progress.state
    if run.saver is not None:
        progress.parent_id = progress.saved_id
        state.checkpoint_id = run.new_checkpoint_id()
        progress.metadata = {"source": source, "step": progress.step, "parents": run.parents, **_deltas(run, progress)}
        if run.durability != "exit":
            yield from _save(run, progress)
        else:
            progress.unsaved = True
    progress.step += 1


def _deltas(run: Run, progress: Progress) -> dict[str, Any]:
    """The counters of delta channels; those that this checkpoint must hold whole are noted in `progress.whole`."""
    program = run.program
    if not program.deltas:
        return {}
    if not progress.beside or run.durability == "exit":
        progress.whole |= progress.changed.keys() & set(program.deltas)
    counters, progress.whole = counted(program, progress.metadata.get(COUNTERS), progress.changed, progress.whole)
    return {COUNTERS: counters} if counters else {}


def _save(run: Run, progress: Progress) -> Routine[None]:
    state = progress.state
    checkpoint = state.to_checkpoint(state.checkpoint_id, run.clock(), progress.whole)
    progress.whole, progress.beside = frozenset(), True
    config = run.put_config(progress.saved_id)
    yield SaveCheckpoint(config, checkpoint, cast("CheckpointMetadata", progress.metadata), progress.changed)
    progress.changed = {}
    progress.saved_id = state.checkpoint_id
    progress.unsaved = False


def _store(run: Run, progress: Progress, task_id: str, writes: Sequence[tuple[str, Any]], path: Any) -> Routine[None]:
    progress.pending[task_id] = list(writes)
    progress.paths[task_id] = path
    if run.saver is not None and run.durability != "exit":
        yield SaveWrites(run.put_config(progress.saved_id), list(writes), task_id, task_path_str(path))


# -- how it ends ------------------------------------------------------------------------------------------------------


def _stop_at(run: Run, progress: Progress, stop: GraphInterrupt, asked: tuple[Interrupt, ...]) -> Routine[None]:
    """Show what the siblings of a question have written, though no checkpoint holds it yet; then tell of the stop."""
    if not run.nested:
        yield from _show_finished(run, progress)
    if run.watched:
        tasks = progress.tasks
        when: Literal["asked", "before", "after", "inside"] = "asked" if asked else "inside"
        nodes: tuple[str, ...] = ()
        if isinstance(stop, _Breakpoint):
            when, nodes = stop.when, stop.nodes
        nodes = nodes or tuple(task.node for task in tasks if isinstance(task.error, GraphInterrupt))
        told = tuple(Interrupted(task.id, task.node, item) for task in tasks for item in task.interrupts)
        yield RunInterrupted(run.id, run.ns, progress.step, run.clock(), when, nodes, told)


def _show_finished(run: Run, progress: Progress) -> Routine[None]:
    done = [task for task in progress.tasks if task.finished]
    shown = run.program.output_names | run.output_names
    if not any(name in shown for task in done for name, _ in task.writes):
        return
    state = progress.state.copy()
    step = update(state, done, _next_version(run), progress.step)
    before = _versions_before(state, step)
    state.advance(step)
    progress.state, kept = state, progress.state
    progress.shown, progress.last_output = True, state.show(run.output_keys)
    if run.watched:
        yield _updated(run, progress, step, "partial", before)
    progress.state = kept


def _mark_cancelled(run: Run, progress: Progress) -> Routine[None]:
    """A run that was stopped from outside marks the tasks that were cut off; the finished ones are stored already."""
    for task in progress.tasks:
        if not task.finished and not task.interrupts and task.started_at:
            yield from _store(run, progress, task.id, [(ERROR, asyncio.CancelledError())], task.path)


def _settle(run: Run, progress: Progress, unfinished: bool) -> Routine[None]:
    """Leave the saver with all that it was given, and in durability "exit" with the state and what has finished.

    A nested graph that has come to its end leaves nothing then, unless its state outlives the parent's superstep.
    """
    if run.saver is None:
        return
    if run.durability == "exit" and (unfinished or not run.nested or run.graph.checkpointer is True):
        if progress.unsaved or (progress.changed and progress.saved_id is None):
            yield from _save(run, progress)
        for id, writes in progress.pending.items():
            if id in progress.paths:
                yield SaveWrites(run.put_config(progress.saved_id), writes, id, task_path_str(progress.paths[id]))
    yield Flush()


_CONTROL: tuple[type[BaseException], ...] = (GraphBubbleUp,)


# -- events -----------------------------------------------------------------------------------------------------------


def _planned(run: Run, progress: Progress, task: Task) -> Planned:
    pull = task.path[0] == "__pregel_pull"
    reads = versions_of(task.context.state, task.proc.channels) if pull and task.context is not None else ()
    metadata = run.template["metadata"]
    if task.proc.metadata:
        metadata = {**metadata, **task.proc.metadata}
    return Planned(
        task.id, task.node, task.path, "pull" if pull else "push", task.input, fired(progress.state, task), reads,
        task.hidden, tuple(task.triggers), metadata, (*run.template["tags"], *task.proc.tags),
    )  # fmt: skip


def _finished(run: Run, progress: Progress, task: Task) -> TaskFinished:
    status: Any = "cached" if task.cached else "ok"
    if not task.finished:
        status = "failed"
        if isinstance(task.error, GraphInterrupt):
            status = "interrupted"
        elif isinstance(task.error, asyncio.CancelledError):
            status = "cancelled"
    context = task.context
    answers = tuple(context.resumes[: context.asked]) if context is not None else ()
    at = task.started_at + task.duration if task.duration else run.clock()
    return TaskFinished(
        run.id, run.ns, progress.step, at, task.id, task.node, status, task.attempts, task.duration,
        tuple(w for w in task.writes if w[0] != NO_WRITES), task.error, task.interrupts, answers, task.path,
        task.hidden, progress.state.values,
    )  # fmt: skip


def _updated(
    run: Run, progress: Progress, step: Step | None, source: Any, before: Mapping[str, Any]
) -> SuperstepUpdated:
    values = progress.state.values
    at = run.clock()
    if step is None:
        return SuperstepUpdated(run.id, run.ns, progress.step, at, source, (), (), values, frozenset())
    writes = tuple(Write(task.id, task.node, name, value) for task, name, value in step.writes)
    changes = []
    for name, channel in step.channels.items():
        available = channel.is_available()
        writers = tuple(task.node for task, written, _ in step.writes if written == name)
        changes.append(
            Change(
                name,
                type(channel).__name__,
                before.get(name),
                step.versions.get(name, before.get(name)),
                available,
                channel.get() if available else None,
                writers,
            )
        )
    return SuperstepUpdated(run.id, run.ns, progress.step, at, source, writes, tuple(changes), values, step.updated)


def _saved(run: Run, progress: Progress, tasks: Sequence[Task]) -> CheckpointSaved:
    wants = any({"checkpoints", "debug"} & outlet.modes for outlet in run.outlets)
    state = progress.state
    snapshot = None
    if wants:
        snapshot = snapshot_of(
            run.graph,
            state,
            tasks,
            {},
            run.saver_config,
            state.checkpoint_id,
            progress.parent_id,
            progress.metadata,
            None,
        )
    return CheckpointSaved(
        run.id, run.ns, progress.metadata["step"], run.clock(), run.thread_id or "", state.checkpoint_id,
        progress.parent_id, progress.metadata["source"], tuple(task.node for task in tasks), snapshot,
    )  # fmt: skip
