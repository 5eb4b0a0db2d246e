"""A store that keeps its items in memory, for tests, notebooks and short-lived programs.

Values are copied when they are stored and when they are read: nobody changes an item but by `put`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import UTC, datetime

from runtime.store.base import (
    BaseStore,
    Embeddings,
    GetOp,
    IndexConfig,
    Item,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from runtime.store.batches import Batch, Namespace, Place
from runtime.store.index import NO_VECTORS, Index, Vectors
from runtime.store.likeness import Vector, likeness, vector
from runtime.store.matching import copied, listed, passes

__all__ = ("InMemoryStore",)


class InMemoryStore(BaseStore):
    """Keeps items in memory. With `index` a search can sort by likeness to a query.

    `index` is `{"dims": length, "embed": …, "fields": paths}`; without fields, the whole value is looked at.
    """

    __slots__ = ("_data", "_index", "_lock", "_vectors", "embeddings", "index_config")

    def __init__(self, *, index: IndexConfig | None = None) -> None:
        self.index_config = index
        self._index = None if index is None else Index(index)
        self.embeddings: Embeddings | None = None if self._index is None else self._index.embeddings
        self._data: dict[Namespace, dict[str, Item]] = {}
        self._vectors: dict[Place, list[Vector]] = {}
        self._lock = threading.Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch.of(ops)
        return self._run(batch, NO_VECTORS if self._index is None else self._index.embed(batch))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch.of(ops)
        return self._run(batch, NO_VECTORS if self._index is None else await self._index.aembed(batch))

    def _run(self, batch: Batch, vectors: Vectors) -> list[Result]:
        """All reads of a batch, then its puts, in one moment."""
        results: list[Result] = [None] * batch.size
        with self._lock:
            for at, get in batch.gets.items():
                results[at] = self._found(get)
            for at, search in batch.searches.items():
                results[at] = self._ranked(search, self._candidates(search), vectors)
            for at, listing in batch.listings.items():
                results[at] = listed(self._data, listing)
            for place, put in batch.puts.items():
                self._apply(place, put, vectors)
        return results

    def _found(self, op: GetOp) -> Item | None:
        item = self._data.get(tuple(op.namespace), {}).get(op.key)
        if item is None:
            return None
        return Item(
            value=copied(item.value),
            key=item.key,
            namespace=item.namespace,
            created_at=item.created_at,
            updated_at=item.updated_at,
        )

    def _candidates(self, op: SearchOp) -> list[Item]:
        size = len(op.namespace_prefix)
        prefix = tuple(op.namespace_prefix)
        return [
            item
            for namespace, items in self._data.items()
            if namespace[:size] == prefix
            for item in items.values()
            if passes(item.value, op.filter)
        ]

    def _ranked(self, op: SearchOp, items: list[Item], vectors: Vectors) -> list[SearchItem]:
        """The page of items that the search asks for: the likest first, and those without a vector at the end."""
        scored: list[tuple[float | None, Item]] = [(None, item) for item in items]
        query = vectors.queries.get(op.query or "")
        if query is not None:
            held = [self._vectors.get((item.namespace, item.key), []) for item in items]
            scored = list(zip(likeness(vector(query), held), items, strict=True))
            scored.sort(key=lambda pair: float("-inf") if pair[0] is None else pair[0], reverse=True)
        return [
            SearchItem(item.namespace, item.key, copied(item.value), item.created_at, item.updated_at, score)
            for score, item in scored[op.offset : op.offset + op.limit]
        ]

    def _apply(self, place: Place, op: PutOp, vectors: Vectors) -> None:
        namespace, key = place
        self._vectors.pop(place, None)
        if op.value is None:
            self._data.get(namespace, {}).pop(key, None)
            return
        now = datetime.now(UTC)
        self._data.setdefault(namespace, {})[key] = Item(
            value=copied(dict(op.value)), key=key, namespace=namespace, created_at=now, updated_at=now
        )
        if place in vectors.items:
            self._vectors[place] = [vector(numbers) for _, numbers in vectors.items[place]]
