"""Events as flat rows, which cost little to make and next to nothing to keep; and the events again, when one looks.

Four kinds of events come in every superstep, and most of what makes them dear is their many small objects: to keep one
more object costs more, in the garbage collector, than to make it. So an observer that has a method `later` is told of
these in one call each, with a `Later` that holds a row: a plain tuple of texts, numbers and values, of which the
collector lets go at once, since no tuple of its own is in it. `played` makes events of the rows.

    ("planned",  run, ns, step, at, begin, task_id, fixed, reads, names, woken, …, task_id, fixed, …)
    ("finished", run, ns, step, at, task_id, fixed, status, attempts, duration, channel, value, channel, value, …)
    ("updated",  run, ns, step, at, version, changed, order, ran, names, version before, …, value, …)

- *planned* is `SuperstepPlanned`, and where `begin` is True the `TaskStarted` of each of its tasks, too. `fixed` is
  (node, path, kind, hidden, all_triggers, tags), which is the same tuple for all tasks of a node. Behind the five parts
  of a task come its `woken` triggers, as channel, version and seen; the versions of `reads`; and its input: one value
  for each of `names` where that is a dict, else, with None for `names`, the input itself.
- *finished* is the `TaskFinished` of a task that ended well and asked nothing, with its writes. Other ends come as the
  event.
- *updated* is the `SuperstepUpdated` of a superstep that ran tasks; those of what a caller brings come as the event.
  `names` are all channels that were touched; behind it come their versions before, then their values, EMPTY for none.
  `changed` are those that got `version`, None for all. `order` is the id of the one task that ran, or the ids in the
  order applied; the writes are those of their *finished* rows. `ran` is True where code of others, such as a reducer,
  ran since the first of these: it may have changed in place what was written. Whoever keeps copies of values asks then
  for `Later.applied`, and puts what that gives in the place of `ran`.

Values in rows are the live ones, as those in events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

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

__all__ = ("EMPTY", "Later", "Part", "Row", "parts", "played")

Row = tuple[Any, ...]

EMPTY: Final = MISSING
"""The value of a channel that holds none."""


class Part(NamedTuple):
    """A task in a *planned* row: where its triggers, the versions that it reads, and its input begin, and its end."""

    task_id: str
    fixed: tuple[Any, ...]
    reads: tuple[str, ...]
    names: tuple[str, ...] | None
    woken: int
    versions: int
    values: int
    end: int


def parts(row: Row) -> Iterator[Part]:
    """The tasks of a *planned* row."""
    at = 6
    while at < len(row):
        id, fixed, reads, names, many = row[at : at + 5]
        woken = at + 5
        versions = woken + 3 * many
        values = versions + len(reads)
        at = values + (1 if names is None else len(names))
        yield Part(id, fixed, reads, names, woken, versions, values, at)


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
    _, run, ns, step, at, begin, *_ = row
    tasks = [*parts(row)]
    yield SuperstepPlanned(run, ns, step, at, tuple([_task(row, task) for task in tasks]))
    if begin:
        for task in tasks:
            yield TaskStarted(run, ns, step, at, task.task_id, task.fixed[0], 1)


def _task(row: Row, task: Part) -> Planned:
    node, path, kind, hidden, listens, tags = task.fixed
    values = row[task.values : task.end]
    given = values[0] if task.names is None else dict(zip(task.names, values, strict=True))
    woken = tuple([Trigger(*row[at : at + 3]) for at in range(task.woken, task.versions, 3)])
    reads = tuple(zip(task.reads, row[task.versions : task.values], strict=True))
    return Planned(task.task_id, node, path, kind, given, woken, reads, hidden, listens, tags=tags)


class _Run:
    """A run whose rows are played: its channels' kinds, and what its tasks wrote since the last barrier."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.kinds = kinds
        self.done: dict[str, tuple[str, Sequence[tuple[str, Any]]]] = {}

    def finished(self, row: Row) -> TaskFinished:
        _, run, ns, step, at, id, (node, path, _, hidden, _, _), status, attempts, duration, *flat = row
        writes = tuple(zip(flat[::2], flat[1::2], strict=True))
        self.done[id] = (node, writes)
        return TaskFinished(
            run, ns, step, at, id, node, status, attempts, duration, writes, None, (), (), path, hidden
        )  # fmt: skip

    def updated(self, row: Row) -> SuperstepUpdated:
        _, run, ns, step, at, version, changed, order, applied, names, *rest = row
        before, values = rest[: len(names)], rest[len(names) :]
        flat = zip(*[iter(applied)] * 4, strict=True) if isinstance(applied, tuple) else self._writes(order)
        writes = tuple([_new(Write, wrote) for wrote in flat])
        self.done.clear()
        writers: dict[str, tuple[str, ...]] = {}
        for _, node, channel, _ in writes:
            writers[channel] = (*writers[channel], node) if channel in writers else (node,)
        kinds, changes, updated = self.kinds, [], []
        for name, old, value in zip(names, before, values, strict=True):
            now = version if changed is None or name in changed else old
            held = value is not EMPTY
            facts = (name, kinds[name], old, now, held, value if held else None, writers.get(name, ()))
            changes.append(_new(Change, facts))
            if held and now is version:
                updated.append(name)
        return SuperstepUpdated(run, ns, step, at, "loop", writes, tuple(changes), updated=frozenset(updated))

    def _writes(self, order: str | tuple[str, ...]) -> Iterator[tuple[str, str, str, Any]]:
        for id in (order,) if isinstance(order, str) else order:
            node, writes = self.done[id]
            for channel, value in writes:
                if channel in self.kinds:
                    yield id, node, channel, value


_new = tuple.__new__
"""A named tuple made so takes half the time, and a long run has a million."""
