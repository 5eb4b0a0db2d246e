"""A cache that lives as long as the program."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple

from runtime.cache.base import BaseCache, FullKey, Namespace, ValueT
from runtime.checkpoint.serde.base import SerializerProtocol

__all__ = ("InMemoryCache",)


class _Kept(NamedTuple):
    pair: tuple[str, bytes]
    expiry: float | None


class InMemoryCache(BaseCache[ValueT], Generic[ValueT]):
    """Keeps values in memory, as bytes, so that nobody can change what is cached. Many threads may use it at once."""

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._kept: dict[Namespace, dict[str, _Kept]] = {}
        self._lock = threading.Lock()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        found: dict[FullKey, tuple[str, bytes]] = {}
        now = time.time()
        with self._lock:
            for namespace, key in keys:
                values = self._kept.get(namespace, {})
                kept = values.get(key)
                if kept is None:
                    continue
                if kept.expiry is not None and now >= kept.expiry:
                    del values[key]
                else:
                    found[namespace, key] = kept.pair
        return {key: self.serde.loads_typed(pair) for key, pair in found.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        return self.get(keys)

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        now = time.time()
        kept = {
            key: _Kept(self.serde.dumps_typed(value), None if ttl is None else now + ttl)
            for key, (value, ttl) in pairs.items()
        }
        with self._lock:
            for (namespace, key), each in kept.items():
                self._kept.setdefault(namespace, {})[key] = each

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        self.set(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock:
            if namespaces is None:
                self._kept.clear()
                return
            for namespace in namespaces:
                self._kept.pop(namespace, None)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        self.clear(namespaces)
