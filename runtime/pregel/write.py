"""From a node's answer to the writes it stands for.

A writer is a pure function of the answer. A branch is a writer that has to ask a user's function first; the attempt
at a task calls that function, and `Branch.writes` makes writes of what it said. All of a node's writes go into one
list, in this order: writers as declared, then branches.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime._words import END, START, TASKS
from runtime.errors import InvalidUpdateError
from runtime.types import Send

if TYPE_CHECKING:
    from langchain_core.runnables.base import Runnable

__all__ = ("Branch", "ChannelWrite", "Pair", "Writer")

logger = logging.getLogger(__name__)

Pair = tuple[str, Any]
Writer = Callable[[Any], Sequence[Pair]]
"""From a node's answer to (channel, value) pairs."""


class _Passthrough:
    def __repr__(self) -> str:
        return "PASSTHROUGH"


PASSTHROUGH = _Passthrough()


@dataclass(frozen=True, slots=True)
class ChannelWrite:
    """A writer of one channel: a constant, the node's answer, or what a function makes of it."""

    channel: str
    value: Any = PASSTHROUGH
    mapper: Callable[[Any], Any] | None = None
    skip_none: bool = False

    def __call__(self, output: Any, /) -> Sequence[Pair]:
        value = output if self.value is PASSTHROUGH else self.value
        if self.mapper is not None:
            value = self.mapper(value)
        return () if self.skip_none and value is None else ((self.channel, value),)


def branch_channel(node: str) -> str:
    """The channel that wakes a node of a state graph."""
    return "branch:to:" + node  # a name may be an enum's member, whose f-string is another text


@dataclass(slots=True)
class Branch:
    """A router after a node: its path function, what that reads, and where its answers lead.

    `ends` maps answers to nodes; None takes an answer as the node's name itself. `targets` are the nodes that exist.
    """

    source: str
    name: str
    path: Runnable[Any, Any]
    ends: Mapping[Any, str] | None
    targets: frozenset[str]
    read: str | Sequence[str] = ()
    mapper: Callable[[Any], Any] | None = None
    typed: bool = False
    tag: str | None = field(default=None)

    def input(self, state: Any, output: Any) -> Any:
        """What the path function is given: the fresh state, under which a dict answer of the node is laid."""
        if isinstance(state, dict) and isinstance(output, dict) and not self.typed:
            state = {**output, **state}
        return self.mapper(state) if self.mapper is not None else state

    def writes(self, answer: Any) -> list[Pair]:
        """The writes that wake what the router chose. KeyError for an answer that the path map lacks."""
        answers = answer if isinstance(answer, (list, tuple)) else [answer]
        return [pair for item in answers for pair in self._writes_of(item)]

    def _writes_of(self, item: Any) -> list[Pair]:
        target = item if isinstance(item, Send) or self.ends is None else self._mapped(item)
        if isinstance(target, Send):
            if target.node == END:
                raise InvalidUpdateError(
                    f"Router '{self.name}' of node '{self.source}' sent a task to END, which runs nothing. "
                    "Return END by itself."
                )
            return send_writes(target, self.targets, f"Router '{self.name}' of node '{self.source}'")
        if target is None or target == START:
            raise ValueError(
                f"Router '{self.name}' of node '{self.source}' answered {target!r}, which is no destination. "
                "Return the name of a node, END, or a Send."
            )
        return goto_writes(target, self.targets, f"Router '{self.name}' of node '{self.source}'")

    def _mapped(self, item: Any) -> Any:
        try:
            return self.ends[item]  # type: ignore[index]  # only called where there is a map
        except KeyError:
            known = ", ".join(map(repr, self.ends or ()))
            raise KeyError(
                f"Router '{self.name}' of node '{self.source}' answered {item!r}, which its path map lacks. "
                f"It knows: {known}."
            ) from None


def goto_writes(target: Any, targets: frozenset[str], who: str, value: Any = None) -> list[Pair]:
    """The write that wakes a node; none for END, nor for a name that no node has (a warning says so)."""
    if target == END:
        return []
    if target not in targets:
        logger.warning("%s goes to %r, but no node has that name. The move is dropped.", who, target)
        return []
    return [(branch_channel(target), value)]


def send_writes(send: Send, targets: frozenset[str], who: str) -> list[Pair]:
    """The write that queues a Send; none when no node has that name (a warning says so)."""
    if send.node not in targets:
        logger.warning("%s sends a task to %r, but no node has that name. The Send is dropped.", who, send.node)
        return []
    return [(TASKS, send)]
