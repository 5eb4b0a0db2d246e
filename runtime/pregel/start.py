"""How a run starts: which state it goes on from, and what the caller brings.

It starts from nothing, from the thread as it stands, or from a checkpoint that the caller names; then it is a replay,
and nested graphs go back too. What the caller brings is an answer, a word to a thread that waits, or a new input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from runtime._words import CHECKPOINT_ID, CONF, INPUT, INTERRUPT, NULL_TASK_ID, PREVIOUS, RESUME
from runtime.checkpoint.base.calls import by_task
from runtime.errors import EmptyInputError
from runtime.events import RunStarted, SuperstepUpdated
from runtime.pregel import told
from runtime.pregel.commands import command_writes, input_writes
from runtime.pregel.deltas import rebuild, unread, versioned
from runtime.pregel.effects import Routine, SaveWrites, list_checkpoints, load, load_deltas
from runtime.pregel.lasting import at, belongs, counted
from runtime.pregel.node import PregelNode
from runtime.pregel.plan import Planner
from runtime.pregel.program import as_names
from runtime.pregel.progress import Pending, Progress, advance, forget, persist, shelf_of, store, versions_before
from runtime.pregel.state import State, Step
from runtime.pregel.task import Task
from runtime.pregel.update import update
from runtime.types import Command

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.checkpoint.base import CheckpointTuple
    from runtime.pregel.run import Run

_NOBODY = PregelNode(channels=[], triggers=[])


def restore(run: Run, input: Any) -> Routine[Progress]:
    """The state that the run starts from: the thread's, a checkpoint's, or an empty one."""
    if run.saver is None:
        progress = _from_nothing(run)
    else:
        found, stale = yield from _find(run, input)
        progress = _from_nothing(run) if found is None else _from_checkpoint(run, found, stale)
        if found is not None and (names := unread(run.program, found.checkpoint)):
            rebuild(progress.state, (yield from load_deltas(found.config, names)))
        progress.beside = not stale and (found is not None or run.durability == "exit")
        progress.replayed = stale and run.replay is not None and run.asked_id is not None
    run.stored, run.origin = progress.pending, progress.saved_id or ""
    run.previous = progress.state.values.get(PREVIOUS)
    if RunStarted in run.wanted:
        yield told.started(run, progress, input)
    return progress


def _from_nothing(run: Run) -> Progress:
    state = State.fresh(run.program, run.new_checkpoint_id())
    return Progress(run, state, -1, run.limit, None, {})


def _from_checkpoint(run: Run, found: CheckpointTuple, stale: bool) -> Progress:
    state = State.restored(run.program, run.graph.migrated(found.checkpoint))
    step = found.metadata.get("step", -2) + 1
    beside = by_task(found.pending_writes)
    pending: Pending = {**beside}
    if stale:  # what a caller said without a task belongs to the checkpoint; what tasks did does not
        said = [pair for pair in beside.get(NULL_TASK_ID, ()) if pair[0] != RESUME]
        pending = {NULL_TASK_ID: said} if said else {}
    progress = Progress(run, state, step, step + run.limit + 1, found.checkpoint["id"], pending)
    progress.found = {**beside}
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
    found = yield from load(at(config, run.asked_id))
    if found is None:
        return None, False
    if input is None or (isinstance(input, Command) and input.resume is None):
        run.replay = yield from _before_edit(found)
        return found, True
    newest = yield from load(config)
    return found, newest is not None and newest.checkpoint["id"] != run.asked_id


def _before_edit(found: CheckpointTuple) -> Routine[str]:
    """The id of this checkpoint, or of the one that it was edited or forked from."""
    if found.metadata.get("source") in ("update", "fork") and found.parent_config is not None:
        found = (yield from load(found.parent_config)) or found
    return found.checkpoint["id"]


def _find_nested(run: Run, config: RunnableConfig) -> Routine[tuple[CheckpointTuple | None, bool]]:
    """The same for a nested graph: in a replay it goes back too, on its first visit.

    It goes on from the checkpoint that the caller named for it; else it starts anew, on the state that it had before
    the replayed checkpoint. Without a replay, a state that outlives its task may not be this superstep's.
    """
    lasts = run.graph.checkpointer is True
    first = run.visits.first(run.ns)
    if run.replay is None or not first:
        found = yield from load(config)
        if lasts and first:
            found = yield from counted(run, found)
        if lasts and run.resuming and found is not None:
            run.resuming = yield from belongs(run, found)
        return found, False
    if run.asked_id is not None:
        return (yield from load(at(config, run.asked_id))), True
    run.resuming = False
    before = cast("RunnableConfig", {CONF: {CHECKPOINT_ID: run.replay}})
    older = yield from list_checkpoints(config, before=before, limit=1)
    return (older[0] if older else None), True


def begin(run: Run, progress: Progress, input: Any) -> Routine[None]:
    """Take the caller's input in: as an answer, as a word to a thread that waits, or as a new start."""
    state = progress.state
    resuming = bool(state.versions) and _goes_on(run, progress, input)
    forks = resuming and progress.replayed and not (yield from _stands_at_own_fork(run, progress))
    stored = list(progress.pending.pop(NULL_TASK_ID, ()))
    spent = any(channel == RESUME for writes in progress.pending.values() for channel, _ in writes)
    if isinstance(input, Command):
        given = command_writes(run, input, progress.pending)
        if given:
            stored = [pair for pair in stored if pair[0] != RESUME] + given
            if not forks:  # what is said in a replay belongs to the fork that it begins with
                written = store(run, progress, NULL_TASK_ID, stored, "")
                if written is not None:
                    yield SaveWrites(shelf_of(progress), written, progress.step)
    elif not spent:
        run.answers.first.extend(value for channel, value in stored if channel == RESUME)
    null = [(channel, value) for channel, value in stored if channel != RESUME]
    if not run.nested:
        run.resuming = resuming
    if resuming:
        before = dict(state.versions) if SuperstepUpdated in run.wanted else {}
        step = _apply_null(run, progress, null)
        if forks:  # it will hold all delta channels whole, which is no news to a breakpoint
            versioned(state, run.program.deltas)
        progress.seen[INTERRUPT] = state.seen[INTERRUPT] = dict(state.versions)
        progress.shown = True
        if SuperstepUpdated in run.wanted:
            yield told.updated(run, progress, step, "resume", before)
        if forks:
            yield from _fork(run, progress)
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
    progress.applying = True
    step = update(progress.state, [task], progress.next_version, progress.step)
    advance(progress, step)
    progress.state.updated = None if waiting is None else waiting | step.updated  # what waited before still does
    progress.applying = False
    return step


def _stands_at_own_fork(run: Run, progress: Progress) -> Routine[bool]:
    """True when the run starts from its thread's newest checkpoint and that is an update or a fork already."""
    if progress.metadata.get("source") not in ("update", "fork"):
        return False
    newest = yield from load(run.saver_config)
    return newest is not None and newest.checkpoint["id"] == progress.saved_id


def _fork(run: Run, progress: Progress) -> Routine[None]:
    """Begin a replay with a checkpoint of its own, which does not say what woke the tasks that are next."""
    state = progress.state
    waiting, state.updated = state.updated, None
    yield from persist(run, progress, "fork")
    state.updated = waiting


def _take_input(run: Run, progress: Progress, input: Any) -> Routine[None]:
    state = progress.state
    writes = input_writes(run.program.input_channels, input, run.program)
    if not writes:
        raise EmptyInputError(
            f"The input {input!r} has none of the graph's input channels: "
            f"{', '.join(as_names(run.program.input_channels))}."
        )
    dropped = Planner(run, state, progress.step, progress.stop, {}).tasks() if state.versions else []
    for task in dropped:
        task.writes = []
    given = Task(NULL_TASK_ID, INPUT, (INPUT,), "", None, _NOBODY, ())
    given.writes = writes
    progress.applying = True
    step = update(state, [*dropped, given], progress.next_version, progress.step)
    before = versions_before(state, step) if SuperstepUpdated in run.wanted else {}
    advance(progress, step)
    forget(run, progress, step)
    progress.applying = False
    if SuperstepUpdated in run.wanted:
        yield told.updated(run, progress, step, "input", before)
    yield from persist(run, progress, "input")
