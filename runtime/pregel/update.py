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
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    work = _Work(state, next_version(state.highest, None))
    seen: dict[str, Mapping[str, Version]] = {}
    bump = False
    for task in tasks:
        bump = bump or bool(task.triggers)
        _see(state, task, seen)
        if program.consumable:
            work.consume(task.triggers)
    writes, by_channel = _gather(program, tasks)
    alone = tasks[0] if len(tasks) == 1 else None
    if program.defaulted and alone is not None and alone.node in (START, INPUT):
        for name in program.defaulted & by_channel.keys():
            work.fork(name).set_default_aside()  # type: ignore[attr-defined]  # only such channels are listed there
    fresh = alone.fresh if alone is not None else {}
    name = ""
    try:
        for name, values in by_channel.items():
            if name not in fresh or not work.take(name, fresh[name], len(values)):
                work.write(name, values)
    except InvalidUpdateError as error:
        nodes = ", ".join(f"'{task.node}'" for task, written, _ in writes if written == name)
        raise InvalidUpdateError(f"At key {name!r}, superstep {number}, in the writes of {nodes}: {error}") from error
    if bump:
        for name in state.alive:
            if name not in by_channel:
                work.silence(name)
        if program.finishing and program.listeners.keys().isdisjoint(work.updated):
            work.finish()
    return Step(work.version, work.channels, work.versions, seen, frozenset(work.updated), writes)


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
        """The channel as a copy that may be changed; the same one each time."""
        found = self.channels.get(name)
        if found is None:
            state = self.state
            current = state.channels.get(name)
            found = self.channels[name] = (state.program.empty[name] if current is None else current).copy()
        return found

    def changed(self, name: str, channel: Channel) -> None:
        """Give a channel the new version."""
        self.versions[name] = self.version
        if channel.is_available():
            self.updated.add(name)

    def write(self, name: str, values: Sequence[Any]) -> None:
        """Let a channel take the writes of the superstep."""
        channel = self.fork(name)
        if channel.update(values):
            self.versions[name] = self.version
            if channel.is_available():
                self.updated.add(name)

    def consume(self, triggers: Iterable[str]) -> None:
        """Tell the channels that woke a task that they have been used."""
        for name in triggers:
            if name in self.state.program.consumable and name in self.state.channels and self.fork(name).consume():
                self.versions[name] = self.version

    def take(self, name: str, ready: tuple[int, Channel], count: int) -> bool:
        """Use a channel that the task's own router has seen already: it was computed from these very values."""
        if ready[0] != count or name in self.channels:
            return False
        self.channels[name] = ready[1]
        self.changed(name, ready[1])
        return True

    def silence(self, name: str) -> None:
        """Let a channel react to a superstep in which nobody wrote to it."""
        channel = self.fork(name)
        if channel.is_available() and channel.update([]):
            self.changed(name, channel)

    def finish(self) -> None:
        """Tell the channels that wait for the end of all work."""
        for name in self.state.program.finishing:
            if name in self.state.channels or name in self.channels:
                channel = self.fork(name)
                if channel.finish():
                    self.changed(name, channel)


def _see(state: State, task: Task, seen: dict[str, Mapping[str, Version]]) -> None:
    versions = state.versions
    before = seen.get(task.node) or state.seen.get(task.node)
    now = {trigger: versions[trigger] for trigger in task.triggers if trigger in versions}
    seen[task.node] = {**before, **now} if before else now


def _gather(program: Program, tasks: Sequence[Task]) -> tuple[list[tuple[Task, str, Any]], dict[str, list[Any]]]:
    writes: list[tuple[Task, str, Any]] = []
    by_channel: dict[str, list[Any]] = {}
    known = program.channels
    for task in tasks:
        for name, value in task.writes:
            if name in known:
                writes.append((task, name, value))
                if name in by_channel:
                    by_channel[name].append(value)
                else:
                    by_channel[name] = [value]
            elif name not in SPECIAL:
                logger.warning(
                    "Node '%s' wrote to %r, which %s. The write is ignored.",
                    task.node,
                    name,
                    "is a managed value and takes no writes" if name in program.managed else "is no channel",
                )
    return writes, by_channel
