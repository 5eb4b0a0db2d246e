"""A store that keeps its items in memory, for tests, notebooks and short-lived programs.

Values are copied when they are stored and when they are read: nobody changes an item but by `put`.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from runtime.store.base import (
    BaseStore,
    Embeddings,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)
from runtime.store.memory.query import copied, namespace_matches, passes
from runtime.store.memory.vectors import Vector, likeness, vector

__all__ = ("InMemoryStore",)

Namespace = tuple[str, ...]
Place = tuple[Namespace, str]


class _Embed(NamedTuple):
    """What a batch asks for on its way: vectors of these texts, which are queries or documents."""

    texts: list[str]
    queries: bool


_Vectors = Sequence[Sequence[float]]
_Steps = Generator[_Embed, _Vectors, list[Result]]


class InMemoryStore(BaseStore):
    """Keeps items in memory. With `index` a search can sort by likeness to a query.

    `index` is `{"dims": length, "embed": …, "fields": paths}`; without fields, the whole value is looked at.
    """

    __slots__ = ("_data", "_fields", "_lock", "_vectors", "embeddings", "index_config")

    def __init__(self, *, index: IndexConfig | None = None) -> None:
        self.index_config = index
        self.embeddings: Embeddings | None = None if index is None else ensure_embeddings(index.get("embed"))
        self._fields = [] if index is None else _paths(index.get("fields") or ["$"])
        self._data: dict[Namespace, dict[str, Item]] = {}
        self._vectors: dict[Place, list[Vector]] = {}
        self._lock = threading.Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        steps = self._steps(list(ops))
        try:
            asked = next(steps)
            while True:
                asked = steps.send(_embedded(self.embeddings, asked))
        except StopIteration as end:
            results: list[Result] = end.value
            return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        steps = self._steps(list(ops))
        try:
            asked = next(steps)
            while True:
                asked = steps.send(await _aembedded(self.embeddings, asked))
        except StopIteration as end:
            results: list[Result] = end.value
            return results

    def _steps(self, ops: list[Op]) -> _Steps:
        """Run a batch: reads first, then searches, then puts. Vectors are asked for, in either colour."""
        results: list[Result] = [None] * len(ops)
        searches: dict[int, tuple[SearchOp, list[Item]]] = {}
        puts: dict[Place, PutOp] = {}
        with self._lock:
            for at, op in enumerate(ops):
                _check(op)
                if isinstance(op, GetOp):
                    item = self._data.get(tuple(op.namespace), {}).get(op.key)
                    results[at] = None if item is None else _copy(item)
                elif isinstance(op, SearchOp):
                    searches[at] = op, self._candidates(op)
                elif isinstance(op, ListNamespacesOp):
                    results[at] = self._namespaces(op)
                else:
                    puts[tuple(op.namespace), op.key] = op
        queries = yield from self._query_vectors([op.query for op, _ in searches.values() if op.query])
        for at, (op, items) in searches.items():
            results[at] = self._ranked(op, items, queries.get(op.query or ""))
        vectors = yield from self._item_vectors(puts)
        with self._lock:
            self._apply(puts, vectors)
        return results

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

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {
            tuple(namespace[: op.max_depth])
            for namespace in self._data
            if all(namespace_matches(namespace, condition) for condition in op.match_conditions or ())
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _query_vectors(self, queries: list[str]) -> Generator[_Embed, _Vectors, dict[str, Vector]]:
        texts = list(dict.fromkeys(queries))
        if self.embeddings is None or not texts:
            return {}
        vectors = yield _Embed(texts, queries=True)
        return {text: vector(numbers) for text, numbers in zip(texts, vectors, strict=True)}

    def _ranked(self, op: SearchOp, items: list[Item], query: Vector | None) -> list[SearchItem]:
        """The page of items that the search asks for: the likest first, and those without a vector at the end."""
        scored: list[tuple[float | None, Item]] = [(None, item) for item in items]
        if query is not None:
            likest = likeness(query, [self._vectors.get((item.namespace, item.key), []) for item in items])
            scored = list(zip(likest, items, strict=True))
            scored.sort(key=lambda pair: float("-inf") if pair[0] is None else pair[0], reverse=True)
        return [
            SearchItem(item.namespace, item.key, copied(item.value), item.created_at, item.updated_at, score)
            for score, item in scored[op.offset : op.offset + op.limit]
        ]

    def _item_vectors(self, puts: dict[Place, PutOp]) -> Generator[_Embed, _Vectors, dict[Place, list[Vector]]]:
        if self.embeddings is None:
            return {}
        texts = {place: self._texts(op) for place, op in puts.items() if op.value is not None and op.index is not False}
        distinct = list(dict.fromkeys(text for found in texts.values() for text in found))
        if not distinct:
            return {}
        vectors = yield _Embed(distinct, queries=False)
        by_text = dict(zip(distinct, map(vector, vectors), strict=True))
        return {place: [by_text[text] for text in found] for place, found in texts.items()}

    def _texts(self, op: PutOp) -> list[str]:
        paths = _paths(op.index) if op.index else self._fields
        return [text for path in paths for text in get_text_at_path(op.value, path)]

    def _apply(self, puts: dict[Place, PutOp], vectors: dict[Place, list[Vector]]) -> None:
        for place, op in puts.items():
            namespace, key = place
            self._vectors.pop(place, None)
            if op.value is None:
                self._data.get(namespace, {}).pop(key, None)
                continue
            now = datetime.now(UTC)
            self._data.setdefault(namespace, {})[key] = Item(
                value=copied(dict(op.value)), key=key, namespace=namespace, created_at=now, updated_at=now
            )
            if place in vectors:
                self._vectors[place] = vectors[place]


def _check(op: Op) -> None:
    if not isinstance(op, (GetOp, SearchOp, ListNamespacesOp, PutOp)):
        raise ValueError(f"Unknown operation type: {type(op)}. Give GetOp, SearchOp, ListNamespacesOp or PutOp.")
    validate_op_namespace(op)


def _copy(item: Item) -> Item:
    return Item(
        value=copied(item.value),
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _paths(fields: Sequence[str]) -> list[str | list[str]]:
    return [field if field == "$" else tokenize_path(field) for field in fields]


def _embedded(embeddings: Embeddings | None, asked: _Embed) -> _Vectors:
    assert embeddings is not None
    if asked.queries:
        return [embeddings.embed_query(text) for text in asked.texts]
    return embeddings.embed_documents(asked.texts)


async def _aembedded(embeddings: Embeddings | None, asked: _Embed) -> _Vectors:
    assert embeddings is not None
    if asked.queries:
        return [await embeddings.aembed_query(text) for text in asked.texts]
    return await embeddings.aembed_documents(asked.texts)
