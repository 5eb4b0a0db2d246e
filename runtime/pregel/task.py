"""A task: one run of one node in one superstep; its identity, and the writes that wait at the barrier.

A task's id is a hash of what determines it (the checkpoint, the namespace, the superstep, the node, its triggers or
its place in the queue) and of nothing else, so that a thread that is taken up again finds the writes of the tasks
which had already finished.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import xxhash

from runtime._context import TaskContext
from runtime._words import (
    ERROR,
    ERROR_SOURCE_NODE,
    INTERRUPT,
    MISSING,
    NO_WRITES,
    NS_END,
    NS_SEP,
    PULL,
    PUSH,
    RESUME,
    RETURN,
    UNFINISHED,
)

if TYPE_CHECKING:
    from runtime.channels.base import BaseChannel
    from runtime.pregel.node import PregelNode
    from runtime.pregel.run import Run
    from runtime.pregel.state import State
    from runtime.types import Interrupt, TimeoutPolicy

# Writes that say something about the task and are nothing that a channel holds.
SPECIAL = frozenset({NO_WRITES, PUSH, RESUME, INTERRUPT, RETURN, ERROR, ERROR_SOURCE_NODE})

Path = tuple[Any, ...]


class Task(TaskContext):
    """One run of a node; once it has finished, its `writes` wait for the barrier.

    What is rarely set stands here as a default: a task is made for every node of every superstep.
    """

    sent: list[tuple[str, Any]]
    writes: Sequence[tuple[str, Any]] = ()
    fresh: Mapping[str, tuple[int, BaseChannel[Any, Any, Any]]] = MappingProxyType({})
    finished = False
    cached = False
    handled = False
    error: BaseException | None = None
    interrupts: tuple[Interrupt, ...] = ()
    started_at = 0.0
    duration = 0.0
    cache_key: Any = None
    node_error: Any = None
    view: dict[str, Any] | None = None

    def __init__(
        self,
        id: str,
        node: str,
        path: Path,
        ns: str,
        input: Any,
        proc: PregelNode,
        triggers: Sequence[str],
        timeout: TimeoutPolicy | None = None,
    ) -> None:
        self.id = id
        self.node = node
        self.path = path
        self.ns = ns
        self.input = input
        self.proc = proc
        self.triggers = triggers
        self.timeout = timeout

    @property
    def hidden(self) -> bool:
        """True for a task of the machine's own, such as START."""
        return self.proc.hidden

    @property
    def called(self) -> bool:
        """True for a task that a function called, not a channel or a Send."""
        return len(self.path) == 4 and self.path[3] is True

    def place(self, run: Run, state: State, step: int, stop: int, resumes: list[Any]) -> None:
        """Say in which run the task stands, on which state, and which answers it has been given."""
        self.run = run
        self.state = state
        self.checkpoint_id = state.checkpoint_id
        self.step = step
        self.stop = stop
        self.resumes = resumes
        self.resuming = run.resuming

    def take(self, writes: Iterable[tuple[str, Any]]) -> None:
        """Have finished with these writes, which an earlier run or the cache has kept."""
        self.writes = [(channel, value) for channel, value in writes]
        self.finished = self.cached = True

    def knows(self) -> dict[str, Any]:
        """The fields of this task's `Runtime`."""
        return self.run.known(self)

    def send(self, writes: Sequence[tuple[str, Any]]) -> None:
        """Add writes, before those that the node's answer makes."""
        if self.closed:
            return  # the attempt was stopped; what it still does no longer counts
        self.sent.extend(writes)
        self.sign()

    def read_fresh(self, state: State, names: str | Sequence[str]) -> Any:
        """The state with this task's own writes on top, as its routers see it; siblings' writes are not in it.

        A node and its routers are one task: what the state held before, they are given one copy of.

        The channels computed on the way are kept, and used at the barrier when no other task wrote to them.
        """
        fresh = self._written(state, names)
        if isinstance(names, str):
            if names not in fresh:
                return state.read(names)
            return state.values.give_ahead(names, fresh[names].get()) if fresh[names].is_available() else MISSING
        if self.view is not None and names == self.proc.channels:
            view = self.view.copy()
        else:
            view = self.read_state(state, names, but=fresh)
        for name, channel in fresh.items():
            if channel.is_available():
                view[name] = state.values.give_ahead(name, channel.get())
            else:
                view.pop(name, None)
        return view

    def read_state(self, state: State, names: Sequence[str], but: Collection[str] = ()) -> dict[str, Any]:
        """The channels of these names that hold a value, and managed values; those in `but` are held a place."""
        view: dict[str, Any] = state.read(names, but)
        managed = state.program.managed
        if managed:
            for name in names:
                if name in managed:
                    view[name] = managed[name].get(self)
        return view

    def _written(self, state: State, names: str | Sequence[str]) -> dict[str, BaseChannel[Any, Any, Any]]:
        """The channels of these names as this task's writes so far make them."""
        mine: dict[str, list[Any]] = {}
        for name, value in self.writes:
            if (name == names if isinstance(names, str) else name in names) and name in state.program.channels:
                mine.setdefault(name, []).append(value)
        if not mine:
            return {}
        ready = self.fresh = dict(self.fresh)
        for name, values in mine.items():
            if name not in ready or ready[name][0] != len(values):
                channel = state.channel(name).copy()
                if channel.update(values):
                    ready[name] = (len(values), channel)
        return {name: ready[name][1] for name in mine if name in ready}

    def __repr__(self) -> str:
        return f"Task({self.node}, {task_path_str(self.path)})"


def task_path_str(path: Any) -> str:
    """A path as text that sorts as the writes are applied: pulls by name, then pushes by index."""
    if type(path) is tuple and len(path) == 2 and path[0] == PULL:
        return _pulled(path[1])
    if isinstance(path, (tuple, list)):
        return "~" + ", ".join(task_path_str(part) for part in path)
    if isinstance(path, int):
        return f"{path:010d}"
    return str(path)


@lru_cache(maxsize=1024)
def _pulled(node: str) -> str:
    return f"~{PULL}, {node}"


@lru_cache(maxsize=64)
def id_bytes(checkpoint_id: str) -> bytes:
    """The 16 bytes of a checkpoint id, with which each of its tasks' ids begins."""
    try:
        return bytes.fromhex(checkpoint_id.replace("-", ""))
    except ValueError:  # an id that some other program chose
        return xxhash.xxh3_128_digest(checkpoint_id.encode())


def task_id(seed: bytes, identity: str, old: bool = False) -> str:
    """The id of a task: 128 bits of the seed and of what tells it from its siblings, written as a UUID is.

    Next to a checkpoint of version 1 they are bits of another hash.
    """
    hexdigest = _sha1_hexdigest if old else xxhash.xxh3_128_hexdigest
    text = hexdigest(seed + identity.encode())
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _sha1_hexdigest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()[:32]


def child_ns(parent: str, node: str) -> str:
    """The namespace of a node's tasks, without the task's id."""
    return f"{parent}{NS_SEP}{node}" if parent else node


def task_ns(ns: str, id: str) -> str:
    """The namespace of one task."""
    return f"{ns}{NS_END}{id}"


def lasting_ns(ns: str) -> str:
    """A namespace without its task ids: where a graph keeps the state that outlives its task."""
    return NS_SEP.join(part.split(NS_END)[0] for part in ns.split(NS_SEP))


def without_ids(ns: str) -> str:
    """A namespace without its task ids and counters: the path of nodes that leads to a nested graph."""
    return NS_SEP.join(part for part in lasting_ns(ns).split(NS_SEP) if not part.isdigit())


def pull_suffix(node: str, triggers: Sequence[str]) -> str:
    """The part of a pulled task's identity that is the same in every superstep."""
    return f"{node}{PULL}{''.join(triggers)}"


def is_outcome(writes: Sequence[tuple[str, Any]]) -> bool:
    """True when these stored writes say that their task has finished."""
    return any(channel not in UNFINISHED for channel, _ in writes)
