"""A compiled graph as the engine walks it: tables made once, so that a superstep looks nothing up twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import MISSING, PREVIOUS, TASKS
from runtime.channels.any_value import AnyValue
from runtime.channels.base import BaseChannel
from runtime.channels.delta import DeltaChannel
from runtime.channels.ephemeral_value import EphemeralValue
from runtime.channels.last_value import LastValue, LastValueAfterFinish
from runtime.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from runtime.channels.topic import Topic
from runtime.channels.untracked_value import UntrackedValue
from runtime.managed.base import ManagedValueSpec, is_managed_value
from runtime.pregel.node import PregelNode
from runtime.pregel.task import pull_suffix
from runtime.types import Send

if TYPE_CHECKING:
    from runtime.pregel.main import Pregel

Channel = BaseChannel[Any, Any, Any]

_INERT = frozenset(
    {
        AnyValue, EphemeralValue, LastValue, LastValueAfterFinish, NamedBarrierValue, NamedBarrierValueAfterFinish,
        Topic, UntrackedValue,
    }
)  # fmt: skip

_MANY = 16
"""So many channels are read faster as a copy of all than name by name."""


class Program:
    """The tables of one graph.

    `listeners` gives the nodes that a channel wakes. `readable` are the channels whose value somebody may read, in the
    order of their declaration; the others only wake. `kinds` are the channels' classes, by name. `empty` are the
    channels that hold nothing as long as nobody wrote to them, in that state: all runs copy these. `defaulted` are
    reducers whose schema gives a first value, which an input replaces. `silent`, `finishing` and `consumable` are the
    channels that react to a superstep without a write, to the end of all work, and to being used as a trigger: a
    superstep looks at these and not at the rest. `inert` channels run no code of others, as a reducer is.
    """

    __slots__ = (
        "_wide", "channels", "consumable", "defaulted", "deltas", "empty", "finishing", "inert", "initial",
        "input_channels", "kinds", "listeners", "managed", "nodes", "order", "output_channels", "output_names", "pulls",
        "readable", "silent", "stream_channels", "stream_names", "untracked", "vanishing",
    )  # fmt: skip

    def __init__(self, graph: Pregel[Any, Any, Any, Any]) -> None:
        self.nodes: Mapping[str, PregelNode] = graph.nodes
        self.order = {name: index for index, name in enumerate(graph.nodes)}
        self.managed: dict[str, ManagedValueSpec] = {}
        self.channels: dict[str, Channel] = {}
        for name, field in graph.channels.items():
            if isinstance(field, BaseChannel):
                self.channels[name] = field
            elif is_managed_value(field):
                self.managed[name] = field
        listeners: dict[str, list[str]] = defaultdict(list)
        for name, node in graph.nodes.items():
            for trigger in node.triggers:
                listeners[trigger].append(name)
        self.listeners: Mapping[str, Sequence[str]] = dict(listeners)
        self.input_channels = graph.input_channels
        self.output_channels = graph.output_channels
        self.stream_channels = graph.stream_channels_asis
        self.output_names = frozenset(as_names(self.output_channels))
        self.stream_names = frozenset(as_names(self.stream_channels))
        read = self._read()
        known = {PREVIOUS, *(name for names in read for name in as_names(names))} - {TASKS}
        self.readable = dict.fromkeys(name for name in self.channels if name in known)
        wide = [names for names in read if not isinstance(names, str) and len(names) > _MANY]
        self._wide = {id(names): names for names in wide if [*self.readable] == [*names]}
        self._sort_channels()
        self.vanishing = bool(self.silent & self.output_names)
        self.pulls: dict[str, str] = {}

    def _read(self) -> Iterable[str | Sequence[str]]:
        """What nodes, routers and callers read: a name, or names together. A list that many share is there once."""
        read = [self.output_channels, self.stream_channels]
        for node in self.nodes.values():
            read.append(node.channels)
            if node.branches:
                read += [branch.read for branch in node.branches]
        return {id(names): names for names in read}.values()

    def _sort_channels(self) -> None:
        """The channels by what their classes do, each class asked once."""
        names_of: dict[type[Channel], list[str]] = defaultdict(list)
        for name, channel in self.channels.items():
            names_of[type(channel)].append(name)

        def those(hold: Callable[[type[Channel]], bool]) -> frozenset[str]:
            return frozenset(name for kind, names in names_of.items() if hold(kind) for name in names)

        self.kinds: Mapping[str, str] = {name: type(channel).__name__ for name, channel in self.channels.items()}
        self.silent = those(lambda kind: kind.reacts_to_silence)
        self.finishing = those(lambda kind: kind.may_finish)
        self.consumable = those(lambda kind: kind.may_consume)
        self.inert = those(_INERT.__contains__)
        self.untracked = those(lambda kind: issubclass(kind, UntrackedValue))
        reducing = those(lambda kind: hasattr(kind, "has_default"))
        self.defaulted = frozenset(name for name in reducing if self.channels[name].has_default)  # type: ignore[attr-defined]  # looked for above
        deltas = those(lambda kind: issubclass(kind, DeltaChannel))
        self.deltas = tuple(name for name in self.channels if name in deltas)
        unwritten = {name: self._unwritten(name) for name in self.channels}
        self.initial = tuple(name for name, channel in unwritten.items() if channel.is_available())
        self.empty = {name: channel for name, channel in unwritten.items() if not channel.is_available()}

    def _unwritten(self, name: str) -> Channel:
        """A channel as it is before anything was written to it."""
        found = self.channels[name].from_checkpoint(MISSING)
        found.key = name
        return found

    def is_whole(self, names: str | Sequence[str]) -> bool:
        """True for a list of many channels that is all that is readable, in the order of the channels."""
        return id(names) in self._wide

    def tracked(self, send: Any) -> Any:
        """A Send as it is stored: its argument without the keys that nothing stores."""
        if not isinstance(send, Send) or not isinstance(send.arg, dict) or self.untracked.isdisjoint(send.arg):
            return send
        return Send(send.node, {k: v for k, v in send.arg.items() if k not in self.untracked}, timeout=send.timeout)

    def pull_suffix(self, name: str) -> str:
        """What a pulled task of this node hashes besides checkpoint, namespace and superstep."""
        found = self.pulls.get(name)
        if found is None:
            found = self.pulls[name] = pull_suffix(name, self.nodes[name].all_triggers)
        return found


def as_names(names: str | Sequence[str]) -> Sequence[str]:
    """One name or several, as a sequence."""
    return (names,) if isinstance(names, str) else names
