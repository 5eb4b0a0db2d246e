"""Events as flat rows, which cost little to make and next to nothing to keep; and the events again, when one looks.

Four kinds of events come in every superstep, and most of what makes them dear is their many small objects: to keep one
more object costs more, in the garbage collector, than to make it. So an observer that has a method `later` is told of
these in one call each, with a `Later` that holds a row: a plain tuple of texts, numbers and values, of which the
collector lets go at once. `played` makes events of the rows.

    ("planned",  run, ns, step, at, begin, tasks)
    ("finished", run, ns, step, at, task_id, node, path, hidden, status, attempts, duration, writes)
    ("updated",  run, ns, step, at, version, changed, order, names, before, values, ran)

- *planned* is `SuperstepPlanned`, and where `begin` is True the `TaskStarted` of each of its tasks, too. A task is
  (task_id, fixed, triggers, reads, versions, names, values): `fixed` is (node, path, kind, hidden, all_triggers, tags);
  `triggers` are plain tuples; `reads` and `versions` are parallel. A dict that the task was given stands there as
  `names` and `values`; of any other input `names` is None, and `values` holds it alone.
- *finished* is the `TaskFinished` of a task that ended well and asked nothing; `writes` has channel, value, channel,
  value. Other ends come as the event.
- *updated* is the `SuperstepUpdated` of a superstep that ran tasks; those of what a caller brings come as the event.
  `names`, `before` (versions) and `values` are parallel, of all channels that were touched; an empty one has the value
  MISSING. `changed` are those that got `version`, None for all. `order` are the ids of the tasks in the order applied;
  the writes are those of their *finished* rows. `ran` is True where code of others, such as a reducer, ran since the
  first of these: it may have changed in place what was written. Whoever keeps copies of values asks then for
  `Later.applied`, and puts what that gives in the place of `ran`.

Values in rows are the live ones, as those in events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from runtime._words import MISSING
from runtime.events import (
    Change,
    Event,
    Planned,
    RunFinished,
    RunStarted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
    Trigger,
    Write,
)

__all__ = ("EMPTY", "Later", "Row", "played")

Row = tuple[Any, ...]

EMPTY: Final = MISSING
"""The value of a channel that holds none."""


class Later:
    """Events that are made when somebody asks for them, and the row that says the same.

    It is good for the call that tells of it: state and tasks go on.
    """

    __slots__ = ("_applied", "_events", "_make", "row")

    def __init__(
        self, row: Row, make: Callable[[], Sequence[Event]], applied: Callable[[], tuple[Any, ...]] | None = None
    ) -> None:
        self.row = row
        self._make = make
        self._applied = applied
        self._events: Sequence[Event] | None = None

    @property
    def events(self) -> Sequence[Event]:
        """The events, made once."""
        if self._events is None:
            self._events = self._make()
        return self._events

    def applied(self) -> tuple[Any, ...]:
        """Of an *updated*: its writes as they are now, in the order applied, as task id, node, channel, value."""
        return self._applied() if self._applied is not None else ()


def played(kept: Iterable[Any]) -> Iterator[Any]:
    """The events of which these are the rows, in order; what is no row is handed on as it is.

    The `RunStarted` of each run stands before its rows.
    """
    runs: dict[tuple[str, str], _Run] = {}
    for one in kept:
        if type(one) is not tuple:
            _note(runs, one)
            yield one
            continue
        run = runs[one[1], one[2]]
        match one[0]:
            case "planned":
                yield from _planned(one)
            case "finished":
                yield run.finished(one)
            case "updated":
                yield run.updated(one)


def _note(runs: dict[tuple[str, str], _Run], event: Any) -> None:
    if isinstance(event, RunStarted):
        runs[event.run, event.ns] = _Run(event.channels)
    elif isinstance(event, TaskFinished) and (event.run, event.ns) in runs:
        runs[event.run, event.ns].done[event.task_id] = (event.node, event.writes)
    elif isinstance(event, RunFinished):
        runs.pop((event.run, event.ns), None)


def _planned(row: Row) -> Iterator[Event]:
    _, run, ns, step, at, begin, tasks = row
    place = (run, ns, step, at)
    yield SuperstepPlanned(*place, tuple(_task(task) for task in tasks))
    if begin:
        for task in tasks:
            yield TaskStarted(*place, task[0], task[1][0], 1)


def _task(task: Row) -> Planned:
    id, (node, path, kind, hidden, listens, tags), triggers, reads, versions, names, values = task
    given = values[0] if names is None else dict(zip(names, values, strict=True))
    woken = tuple(Trigger(*trigger) for trigger in triggers)
    return Planned(
        id, node, path, kind, given, woken, tuple(zip(reads, versions, strict=True)), hidden, listens, tags=tags
    )


class _Run:
    """A run whose rows are played: its channels' kinds, and what its tasks wrote since the last barrier."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.kinds = kinds
        self.done: dict[str, tuple[str, Sequence[tuple[str, Any]]]] = {}

    def finished(self, row: Row) -> TaskFinished:
        _, run, ns, step, at, id, node, path, hidden, status, attempts, duration, flat = row
        writes = tuple(zip(flat[::2], flat[1::2], strict=True))
        self.done[id] = (node, writes)
        return TaskFinished(
            run, ns, step, at, id, node, status, attempts, duration, writes, None, (), (), path, hidden
        )  # fmt: skip

    def updated(self, row: Row) -> SuperstepUpdated:
        _, run, ns, step, at, version, changed, order, names, before, values, applied = row
        if not isinstance(applied, tuple):
            writes = tuple(Write(id, *wrote) for id in order for wrote in self._writes(id))
        else:
            writes = tuple(Write(*applied[place : place + 4]) for place in range(0, len(applied), 4))
        self.done.clear()
        writers: dict[str, list[str]] = {}
        for write in writes:
            writers.setdefault(write.channel, []).append(write.node)
        new = names if changed is None else changed
        changes = tuple(
            Change(
                name, self.kinds[name], old, version if name in new else old, value is not EMPTY,
                None if value is EMPTY else value, tuple(writers.get(name, ())),
            )
            for name, old, value in zip(names, before, values, strict=True)
        )  # fmt: skip
        updated = frozenset(change.channel for change in changes if change.available and change.channel in new)
        return SuperstepUpdated(run, ns, step, at, "loop", writes, changes, updated=updated)

    def _writes(self, id: str) -> Iterator[tuple[str, str, Any]]:
        node, writes = self.done[id]
        return ((node, channel, value) for channel, value in writes if channel in self.kinds)
