"""The barrier: what the writes of a superstep make of the channels.

`update` is pure: it reads the state and gives a `Step`, and changes neither the state nor a channel in it. It keeps
the model's promises:

1. Writes are applied in the order of the tasks' paths, whatever order the tasks finished in.
2. All channels that change in one superstep get one new version, greater than every version before.
3. A write of this superstep is read by nobody in this superstep.
4. A superstep with triggers lets every channel that may react to silence react; and when nothing that changed would
   wake a node, it tells the channels that wait for the end of all work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime._words import INPUT, START
from runtime.errors import InvalidUpdateError
from runtime.pregel.program import Channel, Program
from runtime.pregel.state import State, Step, Version
from runtime.pregel.task import SPECIAL, Task, task_path_str

logger = logging.getLogger(__name__)

NextVersion = Callable[[Version, Any], Version]


def int_version(current: Version, _channel: Any = None) -> Version:
    """Versions as counted from 1, for a run without a saver."""
    return 1 if current is None else current + 1


def update(state: State, tasks: Sequence[Task], next_version: NextVersion, number: int) -> Step:
    """What these finished tasks change. `number` is the superstep's, for what an error says.

    Raises InvalidUpdateError when the writes do not fit a channel; then nothing has changed.
    """
    program = state.program
    if len(tasks) > 1:
        tasks = sorted(tasks, key=lambda task: task_path_str(task.path))
    bump = any(task.triggers for task in tasks)
    version = next_version(state.highest, None)
    work = _Work(state, version)
    seen: dict[str, Mapping[str, Version]] = {}
    for task in tasks:
        _see(state, task, seen)
        for trigger in task.triggers:
            if trigger in program.consumable and trigger in state.channels and work.fork(trigger).consume():
                work.stamp(trigger)
    writes, by_channel = _gather(program, tasks)
    alone = tasks[0] if len(tasks) == 1 else None
    for name, values in by_channel.items():
        _apply(work, name, values, alone, number, writes)
    if bump:
        for name in (
            sorted(state.alive - by_channel.keys()) if len(state.alive) > 1 else state.alive - by_channel.keys()
        ):
            if work.available(name) and work.fork(name).update([]):
                work.changed(name)
        if program.finishing and not any(name in program.listeners for name in work.updated):
            for name in program.finishing:
                if (name in state.channels or name in work.channels) and work.fork(name).finish():
                    work.changed(name)
    return Step(version, work.channels, work.versions, seen, frozenset(work.updated), writes)


class _Work:
    """The channels that change, as copies; the state itself is only read."""

    __slots__ = ("channels", "state", "updated", "version", "versions")

    def __init__(self, state: State, version: Version) -> None:
        self.state = state
        self.version = version
        self.channels: dict[str, Channel] = {}
        self.versions: dict[str, Version] = {}
        self.updated: set[str] = set()

    def fork(self, name: str) -> Channel:
        found = self.channels.get(name)
        if found is None:
            current = self.state.channels.get(name)
            found = current.copy() if current is not None else self.state.channel(name)
            found.key = name
            self.channels[name] = found
        return found

    def available(self, name: str) -> bool:
        found = self.channels.get(name)
        return found.is_available() if found is not None else self.state.available(name)

    def stamp(self, name: str) -> None:
        self.versions[name] = self.version

    def changed(self, name: str) -> None:
        self.stamp(name)
        if self.channels[name].is_available():
            self.updated.add(name)


def _see(state: State, task: Task, seen: dict[str, Mapping[str, Version]]) -> None:
    before = seen.get(task.node) or state.seen.get(task.node) or {}
    now = {trigger: state.versions[trigger] for trigger in task.triggers if trigger in state.versions}
    seen[task.node] = {**before, **now} if before else now


def _gather(program: Program, tasks: Sequence[Task]) -> tuple[list[tuple[Task, str, Any]], dict[str, list[Any]]]:
    writes: list[tuple[Task, str, Any]] = []
    by_channel: dict[str, list[Any]] = {}
    for task in tasks:
        for name, value in task.writes:
            if name in SPECIAL:
                continue
            if name not in program.channels:
                logger.warning(
                    "Node '%s' wrote to %r, which %s. The write is ignored.",
                    task.node,
                    name,
                    "is a managed value and takes no writes" if name in program.managed else "is no channel",
                )
                continue
            writes.append((task, name, value))
            by_channel.setdefault(name, []).append(value)
    return writes, by_channel


def _apply(
    work: _Work, name: str, values: list[Any], alone: Task | None, number: int, writes: Sequence[tuple[Task, str, Any]]
) -> None:
    ready = alone.fresh.get(name) if alone is not None else None
    if ready is not None and ready[0] == len(values) and name not in work.channels:
        # The task's own router has read its writes: what it saw was computed from these very values.
        work.channels[name] = ready[1]
        work.changed(name)
        return
    channel = work.fork(name)
    if name in work.state.program.defaulted and alone is not None and alone.node in (START, INPUT):
        channel.set_default_aside()  # type: ignore[attr-defined]  # only channels with a default are listed there
    try:
        changed = channel.update(values)
    except InvalidUpdateError as error:
        nodes = ", ".join(f"'{task.node}'" for task, written, _ in writes if written == name)
        raise InvalidUpdateError(f"At superstep {number}, in the writes of {nodes}: {error}") from error
    if changed:
        work.changed(name)
