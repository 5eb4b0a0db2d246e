"""What the loop tells of a run, as events: made from its state at the moment, and only where somebody wants them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import NO_WRITES
from runtime.errors import GraphInterrupt
from runtime.events import (
    Change,
    CheckpointRestored,
    CheckpointSaved,
    Planned,
    RunStarted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    Write,
)
from runtime.pregel.plan import fired, versions_of
from runtime.pregel.progress import Pending, Progress
from runtime.pregel.snapshot import snapshot_of
from runtime.pregel.state import State, Step
from runtime.pregel.task import Task
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


def superstep(run: Run, progress: Progress, tasks: Sequence[Task]) -> SuperstepPlanned:
    """The tasks of a superstep, before any of them runs."""
    told = tuple([planned(run, progress, task) for task in tasks])
    return SuperstepPlanned(run.id, run.ns, progress.step, run.clock(), told)


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


def finished(run: Run, progress: Progress, task: Task) -> TaskFinished:
    """A task has ended, one way or another."""
    status: Any = "cached" if task.cached else "ok"
    if not task.finished:
        status = "failed"
        if isinstance(task.error, GraphInterrupt):
            status = "interrupted"
        elif isinstance(task.error, asyncio.CancelledError):
            status = "cancelled"
    answers = tuple(task.resumes[: len(task.questions)])
    at = task.started_at + task.duration if task.duration else run.clock()
    return TaskFinished(
        run.id, run.ns, progress.step, at, task.id, task.node, status, task.attempt, task.duration,
        tuple([write for write in task.writes if write[0] != NO_WRITES]), task.error, task.interrupts, answers,
        task.path, task.hidden, progress.state.values, task.questions,
    )  # fmt: skip


def updated(
    run: Run, progress: Progress, step: Step | None, source: Any, before: Mapping[str, Any]
) -> SuperstepUpdated:
    """A step was taken in; `before` are the versions that its channels had. None where nothing was written."""
    values = progress.state.values
    at = run.clock()
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
