"""A compiled graph as the engine walks it: tables made once, so that a superstep looks nothing up twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import MISSING, PREVIOUS, TASKS
from runtime.channels.base import BaseChannel
from runtime.channels.delta import DeltaChannel
from runtime.channels.untracked_value import UntrackedValue
from runtime.managed.base import ManagedValueSpec, is_managed_value
from runtime.pregel.node import PregelNode
from runtime.pregel.task import pull_suffix
from runtime.types import Send

if TYPE_CHECKING:
    from runtime.pregel.main import Pregel

Channel = BaseChannel[Any, Any, Any]

_MANY = 16
"""So many channels are read faster as a copy of all than name by name."""


class Program:
    """The tables of one graph.

    `listeners` gives the nodes that a channel wakes. `readable` are the channels whose value somebody may read, in the
    order of their declaration; the others only wake. `kinds` are the channels' classes, by name. `defaulted` are
    reducers whose schema gives a first value, which an input replaces. `silent`, `finishing` and `consumable` are the
    channels that react to a superstep without a write, to the end of all work, and to being used as a trigger: a
    superstep looks at these and not at the rest.
    """

    __slots__ = (
        "_wide", "channels", "consumable", "defaulted", "deltas", "finishing", "initial", "input_channels", "kinds",
        "listeners", "managed", "nodes", "order", "output_channels", "output_names", "pulls", "readable", "silent",
        "stream_channels", "stream_names", "untracked", "vanishing",
    )  # fmt: skip

    def __init__(self, graph: Pregel[Any, Any, Any, Any]) -> None:
        self.nodes: Mapping[str, PregelNode] = graph.nodes
        self.order = {name: index for index, name in enumerate(graph.nodes)}
        self.managed: dict[str, ManagedValueSpec] = {k: v for k, v in graph.channels.items() if is_managed_value(v)}
        self.channels: dict[str, Channel] = {k: v for k, v in graph.channels.items() if isinstance(v, BaseChannel)}
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
        read = self._readable()
        self.readable = dict.fromkeys(name for name in self.channels if name in read)
        names = self.channels.items()
        self.kinds: Mapping[str, str] = {n: type(c).__name__ for n, c in names}
        self.silent = frozenset(n for n, c in names if c.reacts_to_silence)
        self.finishing = frozenset(n for n, c in names if c.may_finish)
        self.consumable = frozenset(n for n, c in names if c.may_consume)
        self.defaulted = frozenset(n for n, c in names if getattr(c, "has_default", False))
        self.untracked = frozenset(n for n, c in names if isinstance(c, UntrackedValue))
        self.vanishing = bool(self.silent & self.output_names)
        self.deltas = tuple(n for n, c in names if isinstance(c, DeltaChannel))
        self.initial = tuple(n for n, c in names if c.from_checkpoint(MISSING).is_available())
        self.pulls: dict[str, str] = {}
        self._wide = {id(names): names for names in self._read_together() if [*self.readable] == [*names]}

    def _readable(self) -> set[str]:
        found = {*self.output_names, *self.stream_names, PREVIOUS}
        for node in self.nodes.values():
            found.update(as_names(node.channels))
            for branch in node.branches:
                found.update(as_names(branch.read))
        return found - {TASKS}

    def _read_together(self) -> Iterator[Sequence[str]]:
        """The lists of many channels that nodes, routers and callers read."""
        read: list[str | Sequence[str]] = [self.output_channels, self.stream_channels]
        for node in self.nodes.values():
            read += [node.channels, *(branch.read for branch in node.branches)]
        return (names for names in read if not isinstance(names, str) and len(names) > _MANY)

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
