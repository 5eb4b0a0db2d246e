"""Stream modes: from an event to the chunks of each mode. One function for each mode, and a table of them.

A projection is pure: it sees the run's fixed facts and one event. `values` and `updates` show the run's output keys;
`tasks`, `checkpoints` and `debug` the graph's stream channels. Live items (`custom`, `messages`, `tools`) come from
the thread of the task; all else comes from the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

from runtime._words import INTERRUPT, MISSING, RETURN
from runtime.errors import GraphInterrupt, ParentCommand
from runtime.events import (
    CheckpointRestored,
    CheckpointSaved,
    Event,
    RunInterrupted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
    TaskStreamed,
)
from runtime.pregel import debug
from runtime.pregel.isolate import Values
from runtime.pregel.task import SPECIAL, Task
from runtime.rows import Later

if TYPE_CHECKING:
    from runtime.pregel.run import Outlet, Run

Payloads = Iterable[Any]
Projection = Callable[[Any, Any], Payloads]


# -- values -----------------------------------------------------------------------------------------------------------


def _values_after(run: Run, event: SuperstepUpdated) -> Payloads:
    if event.source == "resume" or (event.source != "input" and not event.updated.isdisjoint(run.output_names)):
        yield _shown(run, event.values)


def _shown(run: Run, values: Mapping[str, Any]) -> Any:
    found = cast("Values", values).give(run.output_keys)
    return None if found is MISSING else found


def _values_at_question(run: Run, event: TaskFinished) -> Payloads:
    if event.interrupts and not _is_call(event):
        shown = _shown(run, event.values)
        stop = {INTERRUPT: event.interrupts}
        yield {**shown, **stop} if isinstance(shown, dict) else stop


# -- updates ----------------------------------------------------------------------------------------------------------


def _update(run: Run, event: TaskFinished) -> Payloads:
    if event.interrupts:
        if not _is_call(event):
            yield {INTERRUPT: event.interrupts}
    elif event.status in ("ok", "cached") and not event.hidden:
        chunk = {event.node: update_of(event.writes, run.output_keys)}
        if event.status == "cached":
            chunk["__metadata__"] = {"cached": True}
        yield chunk


def _breakpoint(run: Run, event: RunInterrupted) -> Payloads:
    if event.when != "asked" and not run.nested:
        yield {INTERRUPT: ()}


def _is_call(event: TaskFinished) -> bool:
    return len(event.path) == 4 and event.path[3] is True


# -- tasks, checkpoints, debug ----------------------------------------------------------------------------------------


def _begins(run: Run, event: SuperstepPlanned) -> Payloads:
    return [debug.task_payload(task) for task in event.tasks if not task.hidden]


def _ends(run: Run, event: TaskFinished) -> Payloads:
    silent = event.hidden or event.status in ("cached", "cancelled") or (event.interrupts and _is_call(event))
    if not silent and (event.interrupts or not isinstance(event.error, (GraphInterrupt, ParentCommand))):
        yield debug.result_payload(event, run.program.stream_channels)


def _checkpoint(run: Run, event: CheckpointSaved | CheckpointRestored) -> Payloads:
    if event.snapshot is not None:
        yield debug.checkpoint_payload(event.snapshot)


def _wrapped(kind: str, project: Projection) -> Projection:
    def wrapped(run: Run, event: Any) -> Payloads:
        return [debug.wrapped(event.step, event.at, kind, payload) for payload in project(run, event)]

    return wrapped


# -- live items -------------------------------------------------------------------------------------------------------


def _item(mode: str) -> Projection:
    def item(run: Run, event: TaskStreamed) -> Payloads:
        if event.mode == mode:
            yield event.value

    return item


PROJECTIONS: Mapping[str, Mapping[type[Any], Projection]] = {
    "updates": {TaskFinished: _update, RunInterrupted: _breakpoint},
    "values": {SuperstepUpdated: _values_after, TaskFinished: _values_at_question},
    "tasks": {SuperstepPlanned: _begins, TaskFinished: _ends},
    "checkpoints": {CheckpointSaved: _checkpoint, CheckpointRestored: _checkpoint},
    "debug": {
        SuperstepPlanned: _wrapped("task", _begins),
        TaskFinished: _wrapped("task_result", _ends),
        CheckpointSaved: _wrapped("checkpoint", _checkpoint),
        CheckpointRestored: _wrapped("checkpoint", _checkpoint),
    },
    "custom": {TaskStreamed: _item("custom")},
    "messages": {TaskStreamed: _item("messages")},
    "tools": {TaskStreamed: _item("tools")},
}


def publish(run: Run, told: Event | Later) -> None:
    """Hand an event to the run's observers and, projected, to the readers of its streams."""
    if isinstance(told, Later):
        for watch in run.watches:
            watch.tell_later(told)
        if run.outlets:
            for event in told.events:
                _project(run, event)
        return
    for watch in run.watches:
        watch(told)
    if run.outlets:
        _project(run, told)


def _project(run: Run, event: Any) -> None:
    kind = type(event)
    for outlet in run.outlets:
        ways = outlet.ways.get(kind)
        if ways is None:
            continue
        if len(ways) == 1:
            mode, project = ways[0]
            for payload in project(run, event):
                outlet.put((run.ns_parts, mode, payload))
        else:
            _in_turn(run, outlet, [(mode, project(run, event)) for mode, project in ways])


@lru_cache(maxsize=64)
def ways_of(modes: frozenset[str]) -> Mapping[type[Any], Sequence[tuple[str, Projection]]]:
    """What these modes make of an event, by its kind; kinds of which nobody wants anything are not in it."""
    ways: dict[type[Any], list[tuple[str, Projection]]] = {}
    for mode, by_event in PROJECTIONS.items():
        for kind, project in by_event.items() if mode in modes else ():
            ways.setdefault(kind, []).append((mode, project))
    return ways


def _in_turn(run: Run, outlet: Outlet, found: list[tuple[str, Payloads]]) -> None:
    """Hand on what several modes make of one event: the first of each, then the second of each."""
    for payloads in zip_longest(*(payloads for _, payloads in found), fillvalue=MISSING):
        for (mode, _), payload in zip(found, payloads, strict=True):
            if payload is not MISSING:
                outlet.put((run.ns_parts, mode, payload))


def streamed(run: Run, task: Task, mode: str, value: Any) -> None:
    """Publish a live item of a task; called in the task's own thread."""
    step = task.step
    if mode == "attempt":
        if run.watches:
            publish(run, TaskStarted(run.id, run.ns, step, run.clock(), task.id, task.node, value))
        return
    publish(run, TaskStreamed(run.id, run.ns, step, run.clock(), task.id, task.node, mode, value))


def update_of(writes: Sequence[tuple[str, Any]], names: str | Sequence[str]) -> Any:
    """What a task's writes say about these channels: None, a dict, a bare value, or a list when one says it twice."""
    returned = [value for channel, value in writes if channel == RETURN]
    if returned:
        return returned[0]
    if isinstance(names, str):
        found = [value for channel, value in writes if channel == names]
        return found if len(found) > 1 else found[0] if found else None
    wanted = frozenset(names)
    pairs = [(channel, value) for channel, value in writes if channel in wanted and channel not in SPECIAL]
    if not pairs:
        return None
    update = dict(pairs)
    return update if len(update) == len(pairs) else [{channel: value} for channel, value in pairs]
