"""A batch of operations as statements, and rows as its results: what the stores in SQL databases share.

A store embeds the texts of a batch, then runs its `Work`: it fetches the `reads`, makes `results` of their rows, does
the `writes`. Nothing here touches a database, so both colours and every database share it; a `Dialect` knows a
database's words. All that comes from a caller is a parameter of a statement, never a part of its text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson

from runtime.store.base import GetOp, Item, ListNamespacesOp, Result, SearchItem, SearchOp
from runtime.store.batches import Batch, Namespace, Place
from runtime.store.index import Numbers, Vectors
from runtime.store.matching import listed

Deserializer = Callable[[Any], dict[str, Any]]
"""The JSON of a value, text or bytes, to the value."""


Reading = GetOp | SearchOp | ListNamespacesOp


class Read(NamedTuple):
    """A statement whose rows are wanted."""

    sql: str
    params: Sequence[Any]


class Write(NamedTuple):
    """A statement that is done for each of these rows of parameters."""

    sql: str
    rows: Sequence[Sequence[Any]]


class Row(NamedTuple):
    """An item as a statement finds it."""

    prefix: str
    key: str
    value: Any
    created_at: Any
    updated_at: Any
    ttl_minutes: float | None
    score: float | None = None


class Dialect(Protocol):
    """A database's statements. `get` and `search` find the columns of `Row`, `namespaces` one of prefixes."""

    def get(self, op: GetOp) -> Read: ...
    def search(self, op: SearchOp, query: Numbers | None) -> Read: ...
    def namespaces(self, op: ListNamespacesOp) -> Read: ...
    def puts(self, batch: Batch, vectors: Vectors) -> list[Write]: ...
    def renewals(self, rows: list[Row]) -> list[Write]: ...


class Work:
    """One batch on its way through a database."""

    def __init__(self, dialect: Dialect, batch: Batch, vectors: Vectors, deserializer: Deserializer) -> None:
        self._dialect = dialect
        self._size = batch.size
        self._asked: list[tuple[int, Reading]] = [*batch.gets.items(), *batch.searches.items(), *batch.listings.items()]
        self._deserializer = deserializer
        self.reads = [self._read(op, vectors) for _, op in self._asked]
        """What is to be read, before anything is written."""
        self.writes = dialect.puts(batch, vectors) if batch.puts else []
        """What is to be written after that."""

    @property
    def atomic(self) -> bool:
        """Whether it writes more than once, so that all of it must be kept, or nothing."""
        return sum(len(write.rows) for write in self.writes) > 1

    def results(self, found: Sequence[Sequence[Sequence[Any]]]) -> tuple[list[Result], list[Write]]:
        """The operations' results, made of the rows of each read; and what is to be written because it was read."""
        results: list[Result] = [None] * self._size
        read: dict[tuple[str, str], Row] = {}
        for (at, op), rows in zip(self._asked, found, strict=True):
            if isinstance(op, ListNamespacesOp):
                results[at] = listed((labels(prefix) for (prefix,) in rows), op)
                continue
            items = [Row(*row) for row in rows]
            if isinstance(op, SearchOp):
                results[at] = [self._search_item(row) for row in items]
            elif items:
                results[at] = self._item(items[0])
            if op.refresh_ttl:
                read.update({(row.prefix, row.key): row for row in items if row.ttl_minutes is not None})
        return results, self._dialect.renewals(list(read.values())) if read else []

    def _read(self, op: Reading, vectors: Vectors) -> Read:
        match op:
            case GetOp():
                return self._dialect.get(op)
            case SearchOp():
                return self._dialect.search(op, vectors.queries.get(op.query or ""))
            case ListNamespacesOp():
                return self._dialect.namespaces(op)

    def _item(self, row: Row) -> Item:
        return Item(
            value=self._deserializer(row.value),
            key=row.key,
            namespace=labels(row.prefix),
            created_at=row.created_at,
            updated_at=row.updated_at,
        )

    def _search_item(self, row: Row) -> SearchItem:
        value = self._deserializer(row.value)
        return SearchItem(labels(row.prefix), row.key, value, row.created_at, row.updated_at, row.score)


def prefix(namespace: Namespace) -> str:
    """A namespace as the tables hold it."""
    return ".".join(namespace)


def labels(prefix: str) -> Namespace:
    """The namespace of a prefix."""
    return tuple(prefix.split(".")) if prefix else ()


def as_json(place: Place, value: Mapping[str, Any]) -> str:
    """An item's value as JSON. TypeError, naming the field, for what JSON can't hold; a time or a UUID is its text."""
    try:
        return orjson.dumps(dict(value)).decode()
    except TypeError as error:
        raise TypeError(_cannot_store(place, value, error)) from error


def plain(wanted: Any) -> Any:
    """What a filter compares with, as a stored value would be read. TypeError for what JSON can't hold."""
    if isinstance(wanted, (int, float)) and not -(2**63) <= wanted < 2**63:
        return _as_float(wanted)  # no JSON, but a limit all the same
    try:
        return orjson.loads(orjson.dumps(wanted))
    except TypeError as error:
        raise TypeError(
            f"A filter can't compare with {wanted!r} of type {type(wanted).__name__}: {error}. Give text, a number, "
            "True, False, None, or a list of such."
        ) from error


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _cannot_store(place: Place, value: Mapping[str, Any], error: TypeError) -> str:
    where = f"the item {place[1]!r} of namespace {place[0]!r}"
    for name, part in value.items():
        try:
            orjson.dumps({name: part})
        except TypeError as cause:
            return f"Can't store {where}: its field {name!r}, of type {type(part).__name__}, is no JSON. {cause}."
    return f"Can't store {where}: {error}."
