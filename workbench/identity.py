"""The ids of tasks, by which a saver's writes find the task that made them.

An id is a hash of all that determines a task: its checkpoint, namespace and superstep, its node, and what woke, sent or
called it. Both engines make it alike. So where a saver keeps writes by id only, the task is found by making the ids of
all tasks that there may have been: one that is equal is that task, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from runtime.pregel.task import child_ns, id_bytes, pull_suffix, task_id, task_ns, task_path_str
from workbench.work import PULL

_PUSH: Final = "__pregel_push"
_CALLS: Final = 1000
"""How many calls by one caller are looked through."""


class Place(NamedTuple):
    """A task that there may have been: its id, its node, its path as text, and the channels that can wake it."""

    id: str
    node: str
    place: str
    listens: tuple[str, ...] = ()


class Superstep(NamedTuple):
    """Where tasks stand: on which checkpoint, in which namespace, in which superstep."""

    checkpoint_id: str
    ns: str
    step: int
    old: bool = False

    def pulled(self, node: str, triggers: Iterable[str]) -> str:
        """The id of the node's task, if all these channels can wake it."""
        return self._id(node, pull_suffix(node, sorted(triggers)))

    def sent(self, node: str, index: int) -> str:
        """The id of the task that the Send at this place ordered."""
        return self._id(node, f"{node}{_PUSH}{index}")

    def called(self, node: str, caller: Place, index: int) -> tuple[str, str]:
        """The ids that the task may have which this one called: the engines name its namespace differently."""
        identity = f"{node}{_PUSH}{caller.place}{index}"
        inside = self._replace(ns=task_ns(child_ns(self.ns, caller.node), caller.id))
        return self._id(node, identity), inside._id(node, identity)

    def handling(self, node: str, failed: str) -> str:
        """The id of the task that stands in for a failed one, by that one's id."""
        return self._id(node, f"{node}{_PUSH}node_error_handler{failed}")

    def _id(self, node: str, identity: str) -> str:
        return task_id(id_bytes(self.checkpoint_id), f"{child_ns(self.ns, node)}{self.step}{identity}", self.old)


def pulled(at: Superstep, node: str, triggers: Iterable[str]) -> Place:
    """The task of a node that a channel woke."""
    listens = tuple(sorted(triggers))
    return Place(at.pulled(node, listens), node, f"{PULL}{node}", listens)


def sent(at: Superstep, sends: Sequence[Any]) -> Iterator[Place]:
    """The tasks that the waiting Sends order."""
    for index, send in enumerate(sends):
        yield Place(at.sent(send.node, index), send.node, task_path_str((_PUSH, index, False)))


def called(at: Superstep, node: str, callers: Iterable[Place], wanted: str) -> list[Place]:
    """The task of this id and node, if one of these tasks called it."""
    return [
        Place(wanted, node, f"~{_PUSH}, {caller.place}, {index:010d}, {1:010d}")
        for caller in callers
        for index in range(_CALLS)
        if wanted in at.called(node, caller, index)
    ]
