"""Runs a graph and keeps what happened: `record`, `arecord`, and `recording()` for whatever runs in a block.

    rec = record(graph, {"x": 1}, thread="tea")
    with recording() as rec:
        anything_that_runs_graphs()

A run that fails or is interrupted gives its recording as well. Where the error goes on, it carries it:
`error.recording`, and `last()` has it, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

from runtime.events import (
    CheckpointRestored,
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
)
from runtime.rows import Later, Row, parts
from workbench import sources, text
from workbench.freeze import ATOMS, Freezer, freeze
from workbench.inplace import InputChanged, Inputs
from workbench.recording import NOTHING, Recording
from workbench.window import Window

_EMPTY: Mapping[str, Any] = MappingProxyType({})
_WRITES, _RAN, _BEFORE = 10, 8, 10  # where these stand, or begin, in rows


class Recorder:
    """An observer that keeps every event, with values that no later change in place can reach.

    `graph` limits it to the runs of that graph and of those that run inside it. `keep` is the number of supersteps,
    the newest, whose values are kept; what is older is dropped, but never a row. None keeps all.
    """

    def __init__(self, graph: Any = None, *, keep: int | None = None) -> None:
        if keep is not None and keep < 0:
            raise ValueError(f"keep is a number of supersteps, 0 or more, or None for all; not {keep!r}.")
        self.events: list[Any] = []
        """Events, most of them as rows, and what only the recorder can see: `InputChanged`."""
        self.missing: list[str] = []
        self._graph = graph
        self._window = None if keep is None else Window(self.events, keep)
        self._freeze = Freezer()
        self._inputs = Inputs(self._freeze)
        self._lock = threading.Lock()
        self._rich: set[tuple[str, str]] = set()
        """The runs of which a task has written, since the last barrier, what can be changed in place."""
        self._followed: set[tuple[str, str]] = set()

    def event(self, event: Event) -> None:
        """Keep one event."""
        if self._graph is not None and not self._follows(event):
            return
        keeper = _KEEPERS.get(type(event))
        with self._lock:
            kept: Any = event if keeper is None else keeper(self._freeze, event)
            changed: list[InputChanged] = []
            if isinstance(event, SuperstepPlanned):
                for task, copied in zip(event.tasks, kept.tasks, strict=True):
                    if task.kind == "pull" and not task.hidden:
                        self._inputs.given(event[:2], task.task_id, task.node, task.input, copied.input)
            elif isinstance(event, TaskFinished):
                self._rich.add(event[:2])
                changed += self._inputs.ended(event[:2], event.task_id, event.step, event.at)
            self._keep(kept, changed)
            if isinstance(event, RunFinished):
                self._rich.discard(event[:2])
                self._inputs.left(event[:2])

    def later(self, told: Later) -> None:
        """Keep what would be an event as a row. Where all in it are atoms, that is all there is to do."""
        row = told.row
        if self._graph is not None and (row[1], row[2]) not in self._followed:
            return
        with self._lock:
            changed: Sequence[InputChanged] = ()
            kind = row[0]
            if kind == "updated":
                row = self._updated(row, told)
            elif kind == "planned":
                row = self._planned(row)
                self._freeze.others_ran()
            else:
                self._freeze.others_ran()
                if not ATOMS.issuperset(map(type, row[_WRITES:])):
                    self._rich.add((row[1], row[2]))
                    row = (*row[:_WRITES], *map(self._freeze, row[_WRITES:]))
                if self._inputs.running:
                    changed = [*self._inputs.ended((row[1], row[2]), row[5], row[3], row[4])]
            self._keep(row, changed)

    def _planned(self, row: Row) -> Row:
        kept: list[Any] | None = None
        for part in parts(row):
            values = row[part.values : part.end]
            if ATOMS.issuperset(map(type, values)):
                continue
            kept = kept or [*row]
            copied = kept[part.values : part.end] = [*map(self._freeze, values)]
            node, _, kind, hidden, _, _ = part.fixed
            if kind == "pull" and not hidden:
                given, copy = (_given(part.names, one) for one in (values, copied))
                self._inputs.given((row[1], row[2]), part.task_id, node, given, copy)
        return row if kept is None else tuple(kept)

    def _updated(self, row: Row, told: Later) -> Row:
        """Reducers may change what was written, that of messages gives them ids: then it is looked at again."""
        first = _BEFORE + len(row[_BEFORE - 1])
        place, plain, ran = (row[1], row[2]), ATOMS.issuperset(map(type, row[first:])), row[_RAN]
        rich = place in self._rich
        if plain and not rich:
            return row
        if ran:
            self._freeze.others_ran()
            if rich:
                ran = tuple(map(self._freeze, told.applied()))
        self._rich.discard(place)
        return (*row[:_RAN], ran, *row[_RAN + 1 : first], *map(self._freeze, row[first:]))

    def _keep(self, kept: Any, changed: Sequence[InputChanged]) -> None:
        if self._freeze.noticed:
            changed = [*self._inputs.noticed(), *changed]
        self.events.append(kept)
        if self._window is not None:
            self._window.grew()
        for one in changed:
            self.events.append(one)
            if self._window is not None:
                self._window.grew()

    def lacks(self, sentence: str) -> None:
        """Keep what cannot be told, once."""
        if sentence not in self.missing:
            self.missing.append(sentence)

    def close(self) -> None:
        """Let go of what is needed only while events come, and say what the recording lacks."""
        dropped = self._window.dropped if self._window is not None else 0
        if self._freeze.lost:
            self.missing.append(self._freeze.lost)
        if dropped:
            self.missing.append(f"The values of {text.count(dropped, 'superstep')} were dropped, as keep= asked.")
        self._freeze = Freezer()
        self._inputs = Inputs(self._freeze)

    def _follows(self, event: Event) -> bool:
        """True for events of the graph asked for, and of graphs that run inside it."""
        place = (event.run, event.ns)
        known = place in self._followed
        if not known and isinstance(event, RunStarted):
            known = event.graph is self._graph or bool(event.ns and self._followed)
            if known:
                self._followed.add(place)
        return known


@contextmanager
def recording(graph: Any = None, *, keep: int | None = None, everywhere: bool = False) -> Iterator[Recording]:
    """Record the runs that start inside the `with` block: those of one graph, or of every graph.

    Runs that nodes start, and those in threads or asyncio tasks that copy the context, belong to it; with `everywhere`
    those of any thread.

    The recording grows while the block goes on and can be looked at; when the block has ended it never changes. An
    error goes on, and carries it as `error.recording`. `keep` is for how many supersteps the values are kept.
    """
    recorder = Recorder(graph, keep=keep)
    rec = Recording(recorder.events, missing=recorder.missing, live=True)
    try:
        with sources.watching(recorder, everywhere=everywhere):
            yield rec
    except BaseException as error:
        _carry(error, rec)
        raise
    finally:
        recorder.close()
        _remember(rec.closed())


def record(
    graph: Any,
    input: Any,
    config: Any = None,
    *,
    thread: str | None = None,
    keep: int | None = None,
    raise_errors: bool = True,
    **kw: Any,
) -> Recording:
    """Run the graph on the input, as `invoke` does, and give the recording; the answer of `invoke` is `rec.output`.

    All that `invoke` takes is passed on; `thread` names the thread in the config. `keep` is for how many supersteps,
    the newest, values are kept (None: all). An interrupted run gives its recording like any other. When the run
    fails, its error goes on and carries the recording as `error.recording`; with `raise_errors=False` the recording
    is given back, and the error is `rec.error`.
    """
    output: Any = NOTHING
    caught: Exception | None = None
    with recording(graph, keep=keep) as rec:
        try:
            output = graph.invoke(input, _config(config, thread), **kw)
        except Exception as error:
            if raise_errors:
                raise
            caught = error
    return _finish(rec, output, caught)


async def arecord(
    graph: Any,
    input: Any,
    config: Any = None,
    *,
    thread: str | None = None,
    keep: int | None = None,
    raise_errors: bool = True,
    **kw: Any,
) -> Recording:
    """Like `record`, through `ainvoke`."""
    output: Any = NOTHING
    caught: Exception | None = None
    with recording(graph, keep=keep) as rec:
        try:
            output = await graph.ainvoke(input, _config(config, thread), **kw)
        except Exception as error:
            if raise_errors:
                raise
            caught = error
    return _finish(rec, output, caught)


def last() -> Recording | None:
    """The recording that was finished last in this process; None before the first."""
    return _last[0] if _last else None


_last: list[Recording] = []


def _remember(rec: Recording) -> None:
    _last[:] = [rec]


def _finish(rec: Recording, output: Any, error: BaseException | None) -> Recording:
    finished = rec.closed(output=freeze(output) if output is not NOTHING else NOTHING, error=error)
    _remember(finished)
    return finished


def _carry(error: BaseException, rec: Recording) -> None:
    with suppress(Exception):  # an exception class may refuse attributes of its own
        error.recording = rec  # type: ignore[attr-defined]  # documented: how the recording of a failed run is reached


def _config(config: Any, thread: str | None) -> Any:
    """The caller's config, with the thread named in it."""
    if thread is None:
        return config
    given = dict(config) if config is not None else {}
    configurable = dict(given.get("configurable") or {})
    named = configurable.setdefault("thread_id", thread)
    if named != thread:
        raise ValueError(f"thread={thread!r}, but the config names the thread {named!r}. Give one of them.")
    return {**given, "configurable": configurable}


def _given(names: Sequence[str] | None, values: Sequence[Any]) -> Any:
    return values[0] if names is None else dict(zip(names, values, strict=True))


# -- how each event is kept -------------------------------------------------------------------------------------------


def _started(freeze: Freezer, event: RunStarted) -> RunStarted:
    return event._replace(
        input=freeze(event.input),
        channels=dict(event.channels),
        versions=dict(event.versions),
        values={name: freeze(value) for name, value in event.values.items()},
        seen={node: dict(versions) for node, versions in event.seen.items()},
    )


def _planned(freeze: Freezer, event: SuperstepPlanned) -> SuperstepPlanned:
    run, ns, step, at, tasks = event
    kept = [
        Planned(
            task.task_id, task.node, task.path, task.kind, freeze(task.input), task.triggers, task.reads, task.hidden,
            task.all_triggers, _EMPTY, task.tags,
        )
        for task in tasks
    ]  # fmt: skip
    return SuperstepPlanned(run, ns, step, at, tuple(kept))


def _begun(freeze: Freezer, event: TaskStarted) -> TaskStarted:
    freeze.others_ran()
    return event


def _streamed(freeze: Freezer, event: TaskStreamed) -> TaskStreamed:
    freeze.others_ran()
    return event._replace(value=freeze(event.value))


def _finished(freeze: Freezer, event: TaskFinished) -> TaskFinished:
    freeze.others_ran()
    return event._replace(
        writes=tuple([(channel, freeze(value)) for channel, value in event.writes]),
        interrupts=tuple(map(freeze, event.interrupts)),
        answers=tuple(map(freeze, event.answers)),
        questions=tuple(map(freeze, event.questions)),
        values=_EMPTY,
    )


def _updated(freeze: Freezer, event: SuperstepUpdated) -> SuperstepUpdated:
    """The values of untouched channels follow from the changes before, so they are not kept again."""
    freeze.others_ran()  # reducers, which may change what was written: that of messages gives them ids
    run, ns, step, at, source, writes, changes, _, updated = event
    kept = tuple([_with_value(write, freeze(write.value)) for write in writes])
    made = tuple([_with_value(change, freeze(change.value)) for change in changes])
    return SuperstepUpdated(run, ns, step, at, source, kept, made, _EMPTY, updated)


def _with_value(item: Any, value: Any) -> Any:
    return item if item.value is value else item._replace(value=value)


def _checkpoint(_: Freezer, event: CheckpointSaved | CheckpointRestored) -> CheckpointSaved | CheckpointRestored:
    return event if event.snapshot is None else event._replace(snapshot=None)


def _interrupted(freeze: Freezer, event: RunInterrupted) -> RunInterrupted:
    return event._replace(
        interrupts=tuple([asked._replace(interrupt=freeze(asked.interrupt)) for asked in event.interrupts])
    )


def _ended(freeze: Freezer, event: RunFinished) -> RunFinished:
    return event._replace(output=freeze(event.output))


_KEEPERS: Mapping[type[Any], Callable[[Freezer, Any], Any]] = {
    RunStarted: _started,
    SuperstepPlanned: _planned,
    TaskStarted: _begun,
    TaskStreamed: _streamed,
    TaskFinished: _finished,
    SuperstepUpdated: _updated,
    CheckpointSaved: _checkpoint,
    CheckpointRestored: _checkpoint,
    RunInterrupted: _interrupted,
    RunFinished: _ended,
}
