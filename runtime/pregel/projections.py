"""Stream modes: from an event to the chunks of each mode. One function for each mode, and a table of them.

A projection is pure: it sees the run's fixed facts and one event. `values` and `updates` show the run's output keys;
`tasks`, `checkpoints` and `debug` the graph's stream channels. Live items (`custom`, `messages`, `tools`) come from
the thread of the task; all else comes from the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import INTERRUPT, RETURN
from runtime.events import (
    CheckpointSaved,
    Event,
    RunInterrupted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStreamed,
)
from runtime.pregel import debug
from runtime.pregel.isolate import isolate
from runtime.pregel.program import as_names
from runtime.pregel.task import SPECIAL, Task

if TYPE_CHECKING:
    from runtime.pregel.run import Run

Payloads = Iterable[Any]


def _values(run: Run, event: Event) -> Payloads:
    if isinstance(event, SuperstepUpdated):
        names = as_names(run.output_keys)
        if event.source == "resume" or (event.source in ("loop", "partial") and not event.updated.isdisjoint(names)):
            yield pick(event.values, run.output_keys)
    elif isinstance(event, TaskFinished) and event.interrupts and not _is_call(event):
        shown = pick(event.values, run.output_keys)
        stop = {INTERRUPT: event.interrupts}
        yield {**shown, **stop} if isinstance(shown, dict) else stop


def _updates(run: Run, event: Event) -> Payloads:
    if isinstance(event, TaskFinished):
        if event.interrupts:
            if not _is_call(event):
                yield {INTERRUPT: event.interrupts}
        elif event.status in ("ok", "cached") and not event.hidden:
            chunk = {event.node: update_of(event.writes, run.output_keys)}
            if event.status == "cached":
                chunk["__metadata__"] = {"cached": True}
            yield chunk
    elif isinstance(event, RunInterrupted) and event.when != "asked" and not run.nested:
        yield {INTERRUPT: ()}


def _is_call(event: TaskFinished) -> bool:
    return len(event.path) == 4 and event.path[3] is True


def _tasks(run: Run, event: Event) -> Payloads:
    if isinstance(event, SuperstepPlanned):
        for task in event.tasks:
            if not task.hidden:
                yield debug.task_payload(task)
    elif isinstance(event, TaskFinished) and not event.hidden and event.status != "cached":
        yield debug.result_payload(event, run.program.stream_channels)


def _checkpoints(run: Run, event: Event) -> Payloads:
    if isinstance(event, CheckpointSaved) and event.snapshot is not None:
        yield debug.checkpoint_payload(event.snapshot)


def _debug(run: Run, event: Event) -> Payloads:
    for kind, project in (("checkpoint", _checkpoints), ("task", _tasks)):
        for payload in project(run, event):
            named = "task_result" if isinstance(event, TaskFinished) else kind
            yield debug.wrapped(event.step, event.at, named, payload)


def _streamed(mode: str) -> Callable[[Run, Event], Payloads]:
    def project(run: Run, event: Event) -> Payloads:
        if isinstance(event, TaskStreamed) and event.mode == mode:
            yield event.value

    return project


PROJECTIONS: Mapping[str, Callable[[Any, Event], Payloads]] = {
    "updates": _updates,
    "values": _values,
    "tasks": _tasks,
    "checkpoints": _checkpoints,
    "debug": _debug,
    "custom": _streamed("custom"),
    "messages": _streamed("messages"),
    "tools": _streamed("tools"),
}


def publish(run: Run, event: Event) -> None:
    """Hand an event to the run's observers and, projected, to the readers of its streams."""
    for watch in run.watches:
        watch(event)
    for outlet in run.outlets:
        for mode, project in PROJECTIONS.items():
            if mode in outlet.modes:
                for payload in project(run, event):
                    outlet.put((run.ns_parts, mode, payload))


def streamed(run: Run, task: Task, mode: str, value: Any) -> None:
    """Publish a live item of a task; called in the task's own thread."""
    context = task.context
    step = context.step if context is not None else -1
    if mode == "attempt":
        if run.watches:
            from runtime.events import TaskStarted  # noqa: PLC0415

            publish(run, TaskStarted(run.id, run.ns, step, run.clock(), task.id, task.node, value))
        return
    publish(run, TaskStreamed(run.id, run.ns, step, run.clock(), task.id, task.node, mode, value))


def pick(values: Mapping[str, Any], names: str | Sequence[str]) -> Any:
    """What a reader gets of the values: one of them bare, or a dict of those that are there; containers are copies."""
    if isinstance(names, str):
        return isolate(values.get(names))
    return {name: isolate(values[name]) for name in names if name in values}


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
