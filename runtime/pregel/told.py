"""What the loop tells of a run, as events: made from its state at the moment, and only where somebody wants them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from runtime._words import MISSING, NO_WRITES, PULL
from runtime.errors import GraphInterrupt
from runtime.events import (
    Change,
    CheckpointRestored,
    CheckpointSaved,
    Event,
    Planned,
    RunStarted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
    Write,
)
from runtime.pregel.plan import fired, versions_of, woken_by
from runtime.pregel.program import as_names
from runtime.pregel.progress import Pending, Progress
from runtime.pregel.snapshot import snapshot_of
from runtime.pregel.state import State, Step
from runtime.pregel.task import Task
from runtime.rows import Later
from runtime.types import Command

if TYPE_CHECKING:
    from runtime.pregel.run import Run


def started(run: Run, progress: Progress, input: Any) -> RunStarted:
    """A run starts, from this state."""
    state = progress.state
    kind: Any = "input"
    if isinstance(input, Command):
        kind = "command"
    elif input is None:
        kind = "replay" if run.asked_id is not None else "resume"
    return RunStarted(
        run.id, run.ns, progress.step, run.clock(), run.graph, run.thread_id, progress.saved_id, kind, input,
        run.program.kinds, dict(state.versions), _held(state), dict(state.seen), run.limit,
    )  # fmt: skip


def _held(state: State) -> dict[str, Any]:
    """The values of all channels that hold one, also of those that only wake nodes."""
    unread = {name: channel for name, channel in state.channels.items() if name not in state.values}
    return {**state.values, **{name: channel.get() for name, channel in unread.items() if channel.is_available()}}


def superstep(run: Run, progress: Progress, tasks: Sequence[Task]) -> SuperstepPlanned | Later:
    """The tasks of a superstep, before any of them runs; told flat, also that they begin, where they do so at once."""
    at = run.clock()
    if not run.flat:
        return _superstep(run, progress, tasks, at)
    begin = begins(run, tasks)
    row: list[Any] = ["planned", run.id, run.ns, progress.step, at, begin]
    for task in tasks:
        _add_task(row, run, progress, task)
    return Later(tuple(row), lambda: _planned_events(run, progress, tasks, at, begin))


def _superstep(run: Run, progress: Progress, tasks: Sequence[Task], at: float) -> SuperstepPlanned:
    told = tuple([planned(run, progress, task) for task in tasks])
    return SuperstepPlanned(run.id, run.ns, progress.step, at, told)


def _planned_events(run: Run, progress: Progress, tasks: Sequence[Task], at: float, begin: bool) -> list[Event]:
    began = [TaskStarted(run.id, run.ns, progress.step, at, task.id, task.node, 1) for task in tasks if begin]
    return [_superstep(run, progress, tasks, at), *began]


def begins(run: Run, tasks: Sequence[Task]) -> bool:
    """True for a superstep all of whose tasks run: none has finished before, or may be found in the cache."""
    if run.cache is not None:
        return False
    return not any(task.finished or task.handled for task in tasks)


def planned(run: Run, progress: Progress, task: Task) -> Planned:
    """A task of the plan, with what woke it and what it reads."""
    pull = task.path[0] == "__pregel_pull"
    reads = versions_of(task.state, task.proc.channels) if pull else ()
    metadata = run.template["metadata"]
    if task.proc.metadata:
        metadata = {**metadata, **task.proc.metadata}
    return Planned(
        task.id, task.node, task.path, "pull" if pull else "push", task.input, fired(progress.state, task), reads,
        task.hidden, tuple(task.triggers), metadata, (*run.template["tags"], *task.proc.tags),
    )  # fmt: skip


def _add_task(row: list[Any], run: Run, progress: Progress, task: Task) -> None:
    proc, given = task.proc, task.input
    names = run.shared(tuple(given)) if type(given) is dict else None
    reads: tuple[str, ...] = ()
    if task.path[0] == PULL:
        if names is not None and proc.mapper is None and not (isinstance(proc.channels, str) or run.program.managed):
            reads = names
        else:
            reads = run.shared(tuple([name for name in as_names(proc.channels) if name in task.state.values]))
    woken = woken_by(progress.state, task)
    row += (task.id, _fixed(run, task), reads, names, len(woken))
    for trigger in woken:
        row += trigger
    row += map(task.state.versions.get, reads)
    if names is None:
        row.append(given)
    else:
        row += given.values()


def _fixed(run: Run, task: Task) -> tuple[Any, ...]:
    """What rows tell of a task's node; one tuple for all tasks of a node that channels wake."""
    pull = task.path[0] == PULL
    found = run.fixed.get(task.node) if pull else None
    if found is None:
        tags = (*run.template["tags"], *task.proc.tags)
        kind = "pull" if pull else "push"
        found = (task.node, task.path, kind, task.hidden, tuple(task.triggers), tags)
        if pull:
            run.fixed[task.node] = found
    return found


def finished(run: Run, progress: Progress, task: Task) -> TaskFinished | Later:
    """A task has ended, one way or another; told flat where it has ended well."""
    if run.flat and task.finished and not (task.questions or task.resumes or task.interrupts or task.error):
        at = _end(run, task)
        writes = task.writes
        flat = () if not writes or writes[0][0] == NO_WRITES else chain.from_iterable(writes)
        status = "cached" if task.cached else "ok"
        row = (
            "finished", run.id, run.ns, progress.step, at, task.id, _fixed(run, task), status, task.attempt,
            task.duration, *flat,
        )  # fmt: skip
        return Later(row, lambda: [ended(run, progress, task, at)])
    return ended(run, progress, task)


def ended(run: Run, progress: Progress, task: Task, at: float | None = None) -> TaskFinished:
    """The event of a task's end."""
    status: Any = "cached" if task.cached else "ok"
    if not task.finished:
        status = "failed"
        if isinstance(task.error, GraphInterrupt):
            status = "interrupted"
        elif isinstance(task.error, asyncio.CancelledError):
            status = "cancelled"
    answers = tuple(task.resumes[: len(task.questions)])
    at = _end(run, task) if at is None else at
    return TaskFinished(
        run.id, run.ns, progress.step, at, task.id, task.node, status, task.attempt, task.duration,
        tuple([write for write in task.writes if write[0] != NO_WRITES]), task.error, task.interrupts, answers,
        task.path, task.hidden, progress.state.values, task.questions,
    )  # fmt: skip


def _end(run: Run, task: Task) -> float:
    return task.started_at + task.duration if task.duration else run.clock()


def updated(
    run: Run, progress: Progress, step: Step | None, source: Any, before: Mapping[str, Any]
) -> SuperstepUpdated | Later:
    """A step was taken in; `before` are the versions that its channels had. None where nothing was written."""
    at = run.clock()
    if run.flat and step is not None and source == "loop":
        row = _updated_row(run, progress, step, before, at)
        return Later(row, lambda: [_updated(run, progress, step, source, before, at)], lambda: _applied(step))
    return _updated(run, progress, step, source, before, at)


def _updated_row(run: Run, progress: Progress, step: Step, before: Mapping[str, Any], at: float) -> tuple[Any, ...]:
    channels, names = step.channels, tuple(before)
    values = [*map(progress.state.values.get, names, repeat(MISSING))]
    for name in channels.keys() - progress.state.values.keys():  # empty, or a channel that only wakes nodes
        if channels[name].is_available():
            values[names.index(name)] = channels[name].get()
    changed = None if len(step.versions) == len(names) else tuple(step.versions)
    tasks = progress.tasks
    alone = tasks[0] if len(tasks) == 1 else None
    order = alone.id if alone is not None else tuple(dict.fromkeys([task.id for task, _, _ in step.writes]))
    return (
        "updated", run.id, run.ns, progress.step, at, step.version, changed, order,
        alone is None or _reduced(run, alone, step), run.shared(names), *before.values(), *values,
    )  # fmt: skip


def _reduced(run: Run, task: Task, step: Step) -> bool:
    """True where the barrier ran code of others: reducers, but for those that the task's routers had called for."""
    for name in step.channels.keys() - run.program.inert:
        if name not in task.fresh or task.fresh[name][1] is not step.channels[name]:
            return True
    return False


def _applied(step: Step) -> tuple[Any, ...]:
    return tuple([part for task, name, value in step.writes for part in (task.id, task.node, name, value)])


def _updated(
    run: Run, progress: Progress, step: Step | None, source: Any, before: Mapping[str, Any], at: float
) -> SuperstepUpdated:
    values = progress.state.values
    if step is None:
        return SuperstepUpdated(run.id, run.ns, progress.step, at, source, (), (), values, frozenset())
    writers: dict[str, tuple[str, ...]] = {}
    for task, name, _ in step.writes:
        writers[name] = (*writers.get(name, ()), task.node)
    writes = tuple([Write(task.id, task.node, name, value) for task, name, value in step.writes])
    changes = []
    for name, channel in step.channels.items():
        old, available = before.get(name), channel.is_available()
        value = channel.get() if available else None
        now = step.versions.get(name, old)
        changes.append(Change(name, type(channel).__name__, old, now, available, value, writers.get(name, ())))
    return SuperstepUpdated(run.id, run.ns, progress.step, at, source, writes, tuple(changes), values, step.updated)


def saved(run: Run, progress: Progress, tasks: Sequence[Task]) -> CheckpointSaved:
    """A checkpoint was handed to the saver, and these tasks are next."""
    return CheckpointSaved(*_checkpoint(run, progress, tasks, {}))


def restored(run: Run, progress: Progress, tasks: Sequence[Task]) -> CheckpointRestored:
    """The run goes on from a checkpoint that the saver has, with these tasks."""
    return CheckpointRestored(*_checkpoint(run, progress, tasks, progress.found))


def _checkpoint(run: Run, progress: Progress, tasks: Sequence[Task], beside: Pending) -> tuple[Any, ...]:
    state, metadata = progress.state, progress.metadata
    snapshot = None
    if any({"checkpoints", "debug"} & outlet.modes for outlet in run.outlets):
        values = state.show(run.program.stream_channels)
        snapshot = snapshot_of(
            run.graph, values, tasks, beside, run.saver_config, state.checkpoint_id, progress.parent_id,
            metadata, None,
        )  # fmt: skip
    # With durability "exit" the state waits, to be saved on what the run started from; streams don't show it yet.
    parent_id = progress.saved_id if progress.unsaved else progress.parent_id
    return (
        run.id, run.ns, metadata.get("step", progress.step - 1), run.clock(), run.thread_id or "",
        state.checkpoint_id, parent_id, metadata.get("source", "loop"), tuple(t.node for t in tasks), snapshot,
    )  # fmt: skip
