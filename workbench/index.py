"""Events, arranged: the runs of a recording, their supersteps, and what each task did in them.

Frames, explanations and pictures all start from here, so that they cannot disagree. Pure, and one pass over the events:

    Index
      runs         in the order in which they began; one for each `RunStarted`, nested graphs included
      supersteps   sorted by namespace and step; those of equal step stay in the order in which they came
        tasks      in the order planned
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runtime.events import (
    Change,
    CheckpointSaved,
    Event,
    Planned,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
    TaskStreamed,
    Version,
)

StepStatus = Literal["ok", "interrupted", "failed", "cancelled", "out_of_steps", "drained", "running"]


@dataclass(slots=True, eq=False)
class Task:
    """One task of a superstep: as it was planned, as it began, as it ended."""

    id: str
    node: str
    superstep: Superstep
    planned: Planned | None = None
    started: TaskStarted | None = None
    finished: TaskFinished | None = None

    @property
    def ran(self) -> bool:
        """False for a task that was planned and never begun: the run stopped before."""
        return self.started is not None or self.finished is not None

    @property
    def hidden(self) -> bool:
        """True for the tasks that pictures leave out, such as START."""
        return self.planned.hidden if self.planned is not None else bool(self.finished and self.finished.hidden)

    @property
    def path(self) -> tuple[Any, ...]:
        """Where it comes from: a trigger, a place in the queue of sends, or the task that called it."""
        return (
            self.planned.path if self.planned is not None else self.finished.path if self.finished is not None else ()
        )

    @property
    def kind(self) -> Literal["pull", "push"] | None:
        """Whether a channel woke it ("pull"), or a Send, a task or a failure called for it ("push")."""
        if self.planned is not None:
            return self.planned.kind
        return "push" if self.path else None

    @property
    def called(self) -> bool:
        """True for a task that another task called."""
        return len(self.path) > 3 and self.path[3] is True

    @property
    def handles(self) -> Task | None:
        """The failed task of the same superstep whose error handler this is."""
        if "node_error_handler" not in self.path:
            return None
        failed = self.path[: self.path.index("node_error_handler")]
        others = (task for task in self.superstep.tasks.values() if task is not self)
        return next((task for task in others if task.path[: len(failed)] == failed), None)

    @property
    def began(self) -> float | None:
        """When its first attempt began; None where its writes were stored already."""
        if self.started is not None:
            return self.started.at
        if self.finished is None or self.finished.status == "cached" or self.planned is not None:
            return None
        return self.finished.at - self.finished.duration

    @property
    def status(self) -> str | None:
        """How it ended; None while it runs, or where it never ran."""
        return self.finished.status if self.finished is not None else None


@dataclass(slots=True, eq=False)
class Superstep:
    """Plan, execute and update of one superstep, as far as they have come."""

    run: Run
    step: int
    planned: SuperstepPlanned | None = None
    updated: SuperstepUpdated | None = None
    saved: CheckpointSaved | None = None
    tasks: dict[str, Task] = field(default_factory=dict)
    streamed: list[TaskStreamed] = field(default_factory=list)

    @property
    def ns(self) -> str:
        """The namespace of its graph, empty at the top."""
        return self.run.ns

    @property
    def source(self) -> str:
        """What made it: "loop", or "input", "resume", "update" or "fork" where no task ran."""
        if self.updated is not None:
            return self.updated.source
        return self.saved.source if self.saved is not None else "loop"

    @property
    def visible(self) -> list[Task]:
        """The tasks that a picture shows; those that were only planned count while nothing has run."""
        shown = [task for task in self.tasks.values() if not task.hidden]
        return [task for task in shown if task.ran] or shown

    @property
    def status(self) -> StepStatus:
        """How it ended: "ok" when its barrier was passed."""
        if self.updated is not None or (self.saved is not None and not self.tasks):
            return "ok"
        ended = {task.status for task in self.tasks.values()}
        if "failed" in ended:
            return "failed"
        if "interrupted" in ended or (self.run.stop is not None and self.run.stop.step == self.step):
            return "interrupted"
        end = self.run.finished
        if end is None:
            return "running"
        return "failed" if end.status == "failed" else "ok" if end.status == "done" else end.status

    @property
    def duration(self) -> float | None:
        """Seconds from the plan to the update; None where one of them is missing."""
        if self.planned is None or self.updated is None or self.planned.at is None:  # other engines leave it open
            return None
        return self.updated.at - self.planned.at

    def changes(self) -> tuple[Change, ...]:
        """The channels whose version its barrier raised."""
        if self.updated is None:
            return ()
        return tuple(change for change in self.updated.changes if change.version != change.version_before)


@dataclass(slots=True, eq=False)
class Run:
    """One run of one graph: from a `RunStarted` to its `RunFinished`."""

    id: str
    ns: str
    started: RunStarted | None = None
    stop: RunInterrupted | None = None
    finished: RunFinished | None = None
    supersteps: list[Superstep] = field(default_factory=list)

    @property
    def graph(self) -> Any:
        """The graph that ran, where it is known."""
        return self.started.graph if self.started is not None else None

    @property
    def kinds(self) -> Mapping[str, str]:
        """Each channel's kind, in the order in which the graph declares them."""
        return self.started.channels if self.started is not None else {}

    def latest(self, step: int) -> Superstep | None:
        """Its newest superstep, if that is number `step`."""
        return self.supersteps[-1] if self.supersteps and self.supersteps[-1].step == step else None

    def states(self) -> Iterator[tuple[Superstep, dict[str, Version], dict[str, Any]]]:
        """Each superstep that passed its barrier, with the versions and values after it.

        A channel without a value is not among the values. The two dicts are the same each time, brought up to date.
        """
        versions: dict[str, Version] = dict(self.started.versions) if self.started is not None else {}
        values: dict[str, Any] = dict(self.started.values) if self.started is not None else {}
        for superstep in self.supersteps:
            if superstep.updated is None:
                continue
            for change in superstep.updated.changes:
                versions[change.channel] = change.version
                if change.available:
                    values[change.channel] = change.value
                else:
                    values.pop(change.channel, None)
            yield superstep, versions, values


class Index:
    """The events of a recording, arranged by run, superstep and task."""

    __slots__ = ("made", "runs", "supersteps")

    def __init__(self, events: Iterable[Event]) -> None:
        self.made: dict[str, Any] = {}
        """What others have made of this index and keep with it."""
        self.runs: list[Run] = []
        current: dict[tuple[str, str], Run] = {}
        for event in events:
            key = (event.run, event.ns)
            if type(event) is RunStarted or key not in current:
                run = current[key] = Run(event.run, event.ns)
                self.runs.append(run)
            _place(current[key], event)
        every = [superstep for run in self.runs for superstep in run.supersteps]
        self.supersteps: list[Superstep] = sorted(every, key=lambda superstep: (superstep.ns, superstep.step))

    @property
    def roots(self) -> list[Run]:
        """The runs that no other run of this recording has started."""
        return [run for run in self.runs if not run.ns] or self.runs[:1]

    def tasks(self) -> Iterator[Task]:
        """Every task that began or ended, in the order of the supersteps."""
        for superstep in self.supersteps:
            for task in superstep.tasks.values():
                if task.ran:
                    yield task


def _place(run: Run, event: Event) -> None:
    match event:
        case SuperstepPlanned():
            if event.tasks:
                _plan(run, event)
        case TaskStarted():
            task = _task(run, event)
            if task.started is None:
                task.started = event
        case TaskFinished():
            _task(run, event).finished = event
        case SuperstepUpdated():
            _update(run, event)
        case CheckpointSaved():
            _save(run, event)
        case TaskStreamed():
            _superstep(run, event.step).streamed.append(event)
        case RunStarted():
            run.started = event
        case RunInterrupted():
            run.stop = event
        case RunFinished():
            run.finished = event


def _plan(run: Run, event: SuperstepPlanned) -> None:
    superstep = run.latest(event.step)
    if superstep is None or superstep.updated is not None:
        superstep = Superstep(run, event.step)
        run.supersteps.append(superstep)
    if superstep.planned is None:
        superstep.planned = event
    for planned in event.tasks:  # a task that is called from a task is planned later, in the same superstep
        task = superstep.tasks.get(planned.task_id)
        if task is None:
            task = superstep.tasks[planned.task_id] = Task(planned.task_id, planned.node, superstep)
        task.planned = planned


def _update(run: Run, event: SuperstepUpdated) -> None:
    if event.source == "resume" and not event.changes:
        return  # a run that goes on shows its state once; nothing was written
    if event.source == "partial":
        return  # what the siblings of a question have written so far; the barrier is not passed
    if event.source == "resume" and run.started is not None:  # what a command brings meets what the run has found
        found = run.started.versions
        changes = tuple(change._replace(version_before=found.get(change.channel)) for change in event.changes)
        event = event._replace(changes=changes)
    superstep = run.latest(event.step)
    if superstep is None or superstep.updated is not None:
        superstep = Superstep(run, event.step)
        run.supersteps.append(superstep)
    superstep.updated = event


def _save(run: Run, event: CheckpointSaved) -> None:
    superstep = run.latest(event.step)
    if superstep is None or (event.source == "fork" and superstep.saved is not None):
        superstep = Superstep(run, event.step)
        run.supersteps.append(superstep)
    superstep.saved = event


def _superstep(run: Run, step: int) -> Superstep:
    found = run.latest(step)
    if found is None:
        found = next((one for one in reversed(run.supersteps) if one.step == step), None)
    if found is None:
        found = Superstep(run, step)
        run.supersteps.append(found)
    return found


def _task(run: Run, event: TaskStarted | TaskFinished) -> Task:
    superstep = _superstep(run, event.step)
    task = superstep.tasks.get(event.task_id)
    if task is None:
        task = superstep.tasks[event.task_id] = Task(event.task_id, event.node, superstep)
    return task


# -- names and numbers ------------------------------------------------------------------------------------------------


def is_state(channel: str) -> bool:
    """True for a channel that holds state; False for those that only wake nodes."""
    return not channel.startswith(("branch:to:", "join:", "__")) or channel == "__root__"


def count_of(version: Version) -> int | None:
    """A version as the number that it counts; None for one that was never given, or that counts nothing.

    Savers may write versions as texts, such as "00000000000000000000000000000002.0.638": the counter is 2.
    """
    if version is None or type(version) is int:
        return version
    if isinstance(version, str):
        head = version.partition(".")[0]
        return int(head) if head.isdecimal() else None
    return int(version) if isinstance(version, int | float) else None
