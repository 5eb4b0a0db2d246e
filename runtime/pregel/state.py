"""The state of a run between two supersteps, and its way from and to a checkpoint.

One loop owns it: `update` says what a superstep changes and touches nothing, `State.advance` takes the change in. So
no lock is needed, and a superstep costs what it writes, not what the graph holds.

What holds between supersteps, and `check` asserts:

1. A channel that holds a value or a version is known to the graph.
2. `values` has an entry for exactly the readable channels that are available, and it is their value.
3. `highest` is the greatest version; no version is used twice, and none is greater than it.
4. A node has seen no version that its channel has not reached.
5. `alive` names exactly the available channels that react to silence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime._words import MISSING, TASKS
from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.base import FrozenCheckpoint, Layers
from runtime.pregel.isolate import Values
from runtime.pregel.program import Channel, Program

if TYPE_CHECKING:
    from runtime.checkpoint.base import Checkpoint
    from runtime.checkpoint.base.frozen import Logs
    from runtime.pregel.task import Task

Version = Any

Maps = tuple[Layers[Version], Layers[Mapping[str, Version]]]
"""A state's versions and what its nodes have seen, as they do not change any more."""


class Step(NamedTuple):
    """What one superstep changes: channels (whole, new objects), their versions, and what its nodes have seen.

    `updated` names the channels that changed and hold a value: what the next plan starts from. `touched` are all that
    were written, also without effect.
    """

    version: Version
    channels: Mapping[str, Channel]
    versions: Mapping[str, Version]
    seen: Mapping[str, Mapping[str, Version]]
    updated: frozenset[str]
    writes: Sequence[tuple[Task, str, Any]]


class State:
    """The channels of a graph at a barrier, with their versions and what each node has seen of them."""

    __slots__ = (
        "alive", "channels", "checkpoint_id", "highest", "old", "program", "seen", "updated", "values",
        "versions",
    )  # fmt: skip

    def __init__(self, program: Program, checkpoint_id: str) -> None:
        self.program = program
        self.checkpoint_id = checkpoint_id
        self.old = False  # True next to a checkpoint of version 1, whose tasks have ids of another hash
        self.channels: dict[str, Channel] = {}
        self.values = Values(program.readable)
        self.alive: set[str] = set()
        self.versions: dict[str, Version] = {}
        self.seen: dict[str, Mapping[str, Version]] = {}
        self.highest: Version = None
        self.updated: frozenset[str] | None = None

    @classmethod
    def fresh(cls, program: Program, checkpoint_id: str) -> State:
        """The state before anything was written: reducers hold their first value, all else is empty."""
        state = cls(program, checkpoint_id)
        for name in program.initial:
            state.put(name, program.channels[name].from_checkpoint(MISSING))
        return state

    @classmethod
    def restored(cls, program: Program, checkpoint: Checkpoint) -> State:
        """The state that a checkpoint tells. Channels that the graph no longer has are left out."""
        state, values = cls(program, checkpoint["id"]), checkpoint["channel_values"]
        state.old = checkpoint.get("v", 1) <= 1
        for name in program.initial:
            if name not in values:
                state.put(name, program.channels[name].from_checkpoint(MISSING))
        for name, value in values.items():
            channel = program.channels.get(name)
            if channel is not None:
                state.put(name, channel.from_checkpoint(value))
        versions = checkpoint["channel_versions"]
        state.versions = dict(versions)
        state.highest = max(versions.values(), default=None)
        state.seen = {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()}
        updated = checkpoint.get("updated_channels")
        state.updated = None if updated is None else frozenset(updated)
        return state

    def put(self, name: str, channel: Channel) -> None:
        """Have this channel under this name from now on."""
        self.channels[name] = channel
        program = self.program
        available = channel.is_available()
        if name in program.silent:
            if available:
                self.alive.add(name)
            else:
                self.alive.discard(name)
        if name in program.readable:
            if available:
                self.values.keep(name, channel.get())
            else:
                self.values.drop(name)

    def advance(self, step: Step) -> None:
        """Take in what a superstep changed."""
        for name, channel in step.channels.items():
            self.put(name, channel)
        self.versions.update(step.versions)
        self.seen.update(step.seen)
        if step.versions:
            self.highest = step.version
        self.updated = step.updated

    def channel(self, name: str) -> Channel:
        """The channel of this name; an empty one, that other runs share, where nothing was written yet."""
        found = self.channels.get(name)
        return self.program.empty[name] if found is None else found

    def available(self, name: str) -> bool:
        """True when the channel holds a value."""
        found = self.channels.get(name)
        return found is not None and found.is_available()

    def read(self, names: str | Sequence[str], but: Collection[str] = ()) -> Any:
        """One channel's value (MISSING when empty), or a dict of those that hold one; containers are copies.

        Those in `but` are only held a place.
        """
        return self.values.give(names, self.program.is_whole(names), but)

    def show(self, names: str | Sequence[str]) -> Any:
        """The same for a reader outside of the run: None for an empty single channel."""
        value = self.read(names)
        return None if value is MISSING else value

    def give_up(self, names: str | Sequence[str]) -> Any:
        """What `show` gives, without the copies: for whoever does not go on with this state."""
        values = self.values
        return values.get(names) if isinstance(names, str) else {name: values[name] for name in names if name in values}

    def pending_sends(self) -> Sequence[Any]:
        """The Sends that were queued by the last superstep."""
        topic = self.channels.get(TASKS)
        if topic is None or not topic.is_available():
            return ()
        sends: Sequence[Any] = topic.get()
        return sends

    def to_checkpoint(
        self,
        id: str,
        at: float,
        new: Mapping[str, Version],
        whole: Collection[str] = (),
        maps: Maps | None = None,
        logs: Logs = MappingProxyType({}),
    ) -> FrozenCheckpoint:
        """The state as a checkpoint of that id; the delta channels in `whole` are held by their value.

        One that has no version, as nothing in the state has, is as empty as a fresh one: it needs no value.
        Without `maps`, which are this state's own, it holds all values and not only those of the channels in `new`.
        """
        values = self._stored(self.versions if maps is None else new)
        for name in whole:
            channel = self.channels.get(name) if name in new else None
            if channel is not None and channel.is_available():
                values[name] = DeltaSnapshot(channel.get())
        versions, seen = maps or self.maps()
        updated = None if self.updated is None else sorted(self.updated)
        told = {name: logs.get(name, ()) for name in self.program.deltas if name not in whole}
        return FrozenCheckpoint(id, at, versions, seen, updated, new, values, told)

    def maps(self) -> Maps:
        """The state's maps, copied."""
        return Layers(dict(self.versions)), Layers(dict(self.seen))

    def _stored(self, names: Iterable[str]) -> dict[str, Any]:
        """What these channels have to store."""
        values = {}
        for name in names:
            channel = self.channels.get(name)
            value: Any = MISSING if channel is None else channel.checkpoint()
            if value is not MISSING:
                values[name] = [self.program.tracked(send) for send in value] if name == TASKS else value
        return values

    def copy(self) -> State:
        """A state that can go on apart from this one; channels and values are shared."""
        twin = State(self.program, self.checkpoint_id)
        twin.channels = dict(self.channels)
        twin.values = self.values.twin()
        twin.alive = set(self.alive)
        twin.versions = dict(self.versions)
        twin.seen = dict(self.seen)
        twin.highest = self.highest
        twin.updated = self.updated
        twin.old = self.old
        return twin


def check(state: State) -> None:
    """Assert the invariants of this module's docstring. For tests; it looks at every channel."""
    program = state.program
    known = program.channels.keys()
    assert state.channels.keys() <= known, f"1: unknown channels {state.channels.keys() - known}"
    shown = {n: c.get() for n, c in state.channels.items() if n in program.readable and c.is_available()}
    assert shown.keys() == state.values.keys(), f"2: {shown.keys() ^ state.values.keys()}"
    assert all(shown[n] is v or shown[n] == v for n, v in state.values.items()), "2: a value is not its channel's"
    versions: Iterable[Version] = state.versions.values()
    assert all(v <= state.highest for v in versions), f"3: a version is greater than {state.highest!r}"
    for node, seen in state.seen.items():
        for name, version in seen.items():
            if name in state.versions:
                assert version <= state.versions[name], f"4: {node} saw {version!r} of {name} before it was reached"
    alive = {n for n, c in state.channels.items() if n in program.silent and c.is_available()}
    assert alive == state.alive, f"5: {alive ^ state.alive}"
