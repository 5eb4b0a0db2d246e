"""What a thread's channels hold at a barrier, for a graph of any engine: read from checkpoints by its own channels.

A checkpoint holds a channel's value in a form of its own (a barrier as the names that have come, a deferred value with
whether all others have finished). The graph's channels read that form; without the graph it is taken as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from runtime.events import Trigger, Version
from workbench.index import count_of

TASKS: Final = "__pregel_tasks"
DELTA: Final = "DeltaChannel"
UNTRACKED: Final = "UntrackedValue"

Seen = dict[str, dict[str, Version]]


class Ledger:
    """The versions and values of a graph's channels, and the versions that its nodes have seen."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.models: Mapping[str, Any] = _channels(graph)
        self.kinds = {name: type(model).__name__ for name, model in self.models.items()}
        self.nodes: Mapping[str, Any] = getattr(graph, "nodes", None) or {}
        self.versions: dict[str, Version] = {}
        self.values: dict[str, Any] = {}
        self.seen: Seen = {}
        self.unknown: set[str] = set()
        """The channels whose value is not in the checkpoint, and was not told otherwise."""
        for name, model in self.models.items():
            held, value = _read(model, None) if self.kinds[name] == DELTA else _read(model)
            if held:
                self.values[name] = value

    def load(self, checkpoint: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Stand at this checkpoint; `values` are those in it, frozen."""
        self.versions = dict(checkpoint.get("channel_versions") or {})
        self.seen = seen_in(checkpoint)
        self.unknown = {name for name in self.versions if self.kinds.get(name) == DELTA and name not in values}
        for name in self.versions:
            self.take(name, values)

    def remember(self, name: str, history: Mapping[str, Any]) -> None:
        """Rebuild a channel whose value is not in the checkpoint from the writes since it was last kept."""
        try:
            channel = self.models[name].from_checkpoint(history.get("seed"))
            channel.replay_writes(history["writes"])
            self._keep(name, channel.is_available(), channel.get() if channel.is_available() else None)
            self.unknown.discard(name)
        except Exception:  # a reducer that does not take the writes: it stays unknown
            self._keep(name, False, None)

    def raised(self, checkpoint: Mapping[str, Any]) -> list[str]:
        """The channels that have another version in this checkpoint."""
        versions = checkpoint.get("channel_versions") or {}
        return [name for name, version in versions.items() if differ(version, self.versions.get(name))]

    def take(self, name: str, held: Mapping[str, Any], writes: Sequence[Any] = ()) -> None:
        """Read the channel's value from those that a checkpoint holds; `writes` are what made it."""
        model = self.models.get(name)
        if name in held:
            self.unknown.discard(name)
        if self.kinds.get(name) in (DELTA, UNTRACKED) and name not in held:  # no checkpoint has it
            self.fold(name, writes)
        elif name not in held:
            self.values.pop(name, None)
        else:
            self._keep(name, *(_read(model, held[name]) if model is not None else (True, held[name])))

    def fold(self, name: str, writes: Sequence[Any]) -> None:
        """Let a copy of the channel take these writes, and keep what it then holds."""
        if name in self.unknown:
            self._keep(name, False, None)
            return
        model, had = self.models[name], name in self.values and self.kinds[name] != UNTRACKED
        try:
            channel = model.from_checkpoint(self.values[name]) if had else model.copy()
            channel.update(list(writes))
            self._keep(name, channel.is_available(), channel.get() if channel.is_available() else None)
        except Exception:  # a reducer that does not take the writes
            self._keep(name, False, None)

    def _keep(self, name: str, available: bool, value: Any) -> None:
        if available:
            self.values[name] = value
        else:
            self.values.pop(name, None)

    def next_version(self) -> Version:
        """The version that the next writes get, in the form that the thread's have."""
        number = max((count_of(version) or 0 for version in self.versions.values()), default=0) + 1
        like = next(iter(self.versions.values()), 0)
        return f"{number:032d}.0" if isinstance(like, str) else number

    def listens(self, node: str) -> tuple[str, ...]:
        """The channels that wake a node, as the graph says; without the graph, those that it has seen."""
        declared = getattr(self.nodes.get(node), "triggers", None)
        return tuple(declared) if declared else tuple(self.seen.get(node, ()))

    def woken(self, node: str, listens: Sequence[str]) -> tuple[Trigger, ...]:
        """The channels that are newer than the node has seen, and hold a value."""
        found = ((name, self.versions.get(name), self.seen.get(node, {}).get(name)) for name in listens)
        return tuple(
            Trigger(name, version, seen)
            for name, version, seen in found
            if version is not None and name in self.values and (seen is None or version > seen)
        )

    def reads(self, node: str) -> tuple[tuple[str, Version], ...]:
        """The channels that the node is given and that hold a value, with their versions."""
        given = getattr(self.nodes.get(node), "channels", None) or ()
        names = [given] if isinstance(given, str) else given
        return tuple((name, self.versions.get(name)) for name in names if name in self.values and name in self.kinds)

    def given(self, node: str) -> Any:
        """What the node is given, by channel, before it is made an object of the schema; None where it is not known."""
        names = getattr(self.nodes.get(node), "channels", None)
        if names is None:
            return self.values.get(node) if node == "__start__" else None
        if isinstance(names, str):
            return self.values.get(names)
        return {name: self.values[name] for name in names if name in self.values}

    def argument(self, path: Sequence[Any]) -> Any:
        """What the Send at this path carries; None for a call, of which nothing is kept."""
        sends = self.sent()
        match path:
            case ("__pregel_push", int(index), False) if index < len(sends):
                return sends[index].arg
            case _:
                return None

    def sent(self) -> list[Any]:
        """The Sends that wait, in order."""
        waiting = self.values.get(TASKS)
        return [one for one in waiting if hasattr(one, "node")] if isinstance(waiting, list | tuple) else []

    def next(self) -> tuple[str, ...]:
        """The nodes that run next: one for each Send, then those that a channel has woken, by name."""
        woken = sorted(name for name in self.nodes if self.woken(name, self.listens(name)))
        return (*(str(one.node) for one in self.sent()), *woken)

    def output(self) -> Any:
        """What `invoke` gives of it."""
        named = getattr(self.graph, "output_channels", None)
        if isinstance(named, str):
            return self.values.get(named)
        return {name: self.values[name] for name in named or () if name in self.values}


def seen_in(checkpoint: Mapping[str, Any]) -> Seen:
    """The versions that each node has seen, copied."""
    return {node: dict(versions) for node, versions in (checkpoint.get("versions_seen") or {}).items()}


def differ(now: Version, before: Version) -> bool:
    """True when two versions of one thread are not the same: each superstep gives a number of its own."""
    return bool(now != before) and (count_of(now) is None or count_of(now) != count_of(before))


def _channels(graph: Any) -> dict[str, Any]:
    """The graph's channels by name, without what is no channel but made anew for each task."""
    found = getattr(graph, "channels", None) or {}
    return {
        name: model
        for name, model in found.items()
        if hasattr(model, "from_checkpoint") and not isinstance(model, type)
    }


def _read(model: Any, *held: Any) -> tuple[bool, Any]:
    """Whether a channel holds a value, and which: as it begins, or as a checkpoint holds it."""
    try:
        channel = model.from_checkpoint(*held) if held else model
        return (True, channel.get()) if channel.is_available() else (False, None)
    except Exception:  # one that says by an error that it is empty
        return False, None
