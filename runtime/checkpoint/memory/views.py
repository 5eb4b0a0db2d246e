"""A saver's writes and values under one flat key each, for whoever looks into a store in memory by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Final, TypeVar

from runtime.checkpoint.base.versions import Version
from runtime.checkpoint.memory.blobs import Blob
from runtime.checkpoint.memory.lineage import Lineage, Write

K = TypeVar("K")
V = TypeVar("V")

Storage = dict[str, dict[str, Lineage]]

_EMPTY: Final = ("empty", b"")
"""LangGraph's blob for a version at which a channel has no value; here that is no blob."""

Find = Callable[[str, str], Lineage]
"""The lineage of a thread's namespace, which is made where there is none."""


class _View(MutableMapping[K, V]):
    __slots__ = ("_find", "_storage")

    def __init__(self, storage: Storage, find: Find) -> None:
        self._storage = storage
        self._find = find

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Writes(_View[tuple[str, str, str], dict[tuple[str, int], Write]]):
    """(thread, namespace, checkpoint) to its pending writes by (task, place). A key that is not there is made."""

    __slots__ = ()

    def __getitem__(self, key: tuple[str, str, str]) -> dict[tuple[str, int], Write]:
        thread_id, ns, checkpoint_id = key
        return self._find(thread_id, ns).writes.setdefault(checkpoint_id, {})

    def __setitem__(self, key: tuple[str, str, str], writes: dict[tuple[str, int], Any]) -> None:
        thread_id, ns, checkpoint_id = key
        self._find(thread_id, ns).writes[checkpoint_id] = writes

    def __delitem__(self, key: tuple[str, str, str]) -> None:
        thread_id, ns, checkpoint_id = key
        del self._find(thread_id, ns).writes[checkpoint_id]

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        for thread_id, lineages in self._storage.items():
            for ns in lineages:
                yield from ((thread_id, ns, checkpoint_id) for checkpoint_id in self._find(thread_id, ns).writes)


class Blobs(_View[tuple[str, str, str, Version], Blob]):
    """(thread, namespace, channel, version) to the value, frozen as `blobs` says."""

    __slots__ = ()

    def __getitem__(self, key: tuple[str, str, str, Version]) -> Blob:
        thread_id, ns, channel, version = key
        return self._find(thread_id, ns).values[channel, version]

    def __setitem__(self, key: tuple[str, str, str, Version], blob: Blob) -> None:
        thread_id, ns, channel, version = key
        if blob == _EMPTY:
            self._find(thread_id, ns).values.pop((channel, version), None)
        else:
            self._find(thread_id, ns).values[channel, version] = blob

    def __delitem__(self, key: tuple[str, str, str, Version]) -> None:
        thread_id, ns, channel, version = key
        del self._find(thread_id, ns).values[channel, version]

    def __iter__(self) -> Iterator[tuple[str, str, str, Version]]:
        for thread_id, lineages in self._storage.items():
            for ns in lineages:
                yield from ((thread_id, ns, *item) for item in self._find(thread_id, ns).values)
