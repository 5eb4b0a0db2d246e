"""A store's statements in SQLite's words.

A namespace is stored as its labels with dots between, so all that lies under `a.b` is between `a.b.` and `a.b/`: the
slash is the sign that follows the dot. Times are text that sorts as time does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any, Final, NamedTuple

import orjson

from runtime.store.base import GetOp, ListNamespacesOp, NamespacePath, SearchOp
from runtime.store.batches import Batch, Namespace
from runtime.store.index import Numbers, Vectors
from runtime.store.sql import Read, Row, Write, as_json, plain, prefix
from runtime.store.sqlite.vectors import as_blob

_KEY: Final = re.compile(r"[A-Za-z0-9_.-]+")
_COLUMNS: Final = "s.prefix, s.key, s.value, s.created_at, s.updated_at, s.ttl_minutes"
_VALUE: Final = "CAST(s.value AS TEXT)"  # LangGraph writes the text as bytes, which newer SQLites take for another form
_ORDER: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Condition(NamedTuple):
    """A part of a statement's WHERE, and the parameters in it."""

    sql: str
    params: tuple[Any, ...] = ()


class SqliteDialect(NamedTuple):
    """`omit_expired` hides what has expired and is not swept yet; `vectors`: there is a table of them."""

    omit_expired: bool
    vectors: bool

    def get(self, op: GetOp) -> Read:
        where = [Condition("s.prefix = ? AND s.key = ?", (prefix(op.namespace), op.key)), *self._living()]
        return _read(f"SELECT {_COLUMNS} FROM store s", where)

    def search(self, op: SearchOp, query: Numbers | None) -> Read:
        where = [*_under(op.namespace_prefix), *conditions(op.filter or {}), *self._living()]
        page = Condition("LIMIT ? OFFSET ?", (op.limit, op.offset))
        if query is None:
            return _read(
                f"SELECT {_COLUMNS} FROM store s", where, Condition("ORDER BY s.updated_at DESC, s.rowid DESC"), page
            )
        likest = "max(1 - vec_distance_cosine(v.embedding, ?)) AS score"
        vectors = "JOIN store_vectors v ON v.prefix = s.prefix AND v.key = s.key"
        read = _read(
            f"SELECT {_COLUMNS}, {likest} FROM store s {vectors}",
            where,
            Condition("GROUP BY s.prefix, s.key ORDER BY score DESC, s.updated_at DESC, s.rowid DESC"),
            page,
        )
        return Read(read.sql, (as_blob(query), *read.params))

    def namespaces(self, op: ListNamespacesOp) -> Read:
        """The prefixes under the labels that all that is asked for begins with; the rest is decided in Python."""
        where = [
            each
            for condition in op.match_conditions or ()
            if condition.match_type == "prefix"
            for each in _under(_beginning(condition.path))
        ]
        return _read("SELECT DISTINCT s.prefix FROM store s", [*where, *self._living()])

    def puts(self, batch: Batch, vectors: Vectors) -> list[Write]:
        gone = [(prefix(namespace), key) for (namespace, key), op in batch.puts.items() if op.value is None]
        kept = [
            (prefix(place[0]), place[1], as_json(place, op.value), _expiry(op.ttl), op.ttl)
            for place, op in batch.puts.items()
            if op.value is not None
        ]
        writes = [
            Write("DELETE FROM store WHERE prefix = ? AND key = ?", gone),
            Write(
                "INSERT OR REPLACE INTO store (prefix, key, value, expires_at, ttl_minutes) VALUES (?, ?, ?, ?, ?)",
                kept,
            ),
        ]
        if self.vectors:
            places = [(prefix(namespace), key) for namespace, key in batch.puts]
            found = [
                (prefix(namespace), key, name, as_blob(numbers))
                for (namespace, key), fields in vectors.items.items()
                for name, numbers in fields
            ]
            writes += [
                Write("DELETE FROM store_vectors WHERE prefix = ? AND key = ?", places),
                Write("INSERT INTO store_vectors (prefix, key, field_name, embedding) VALUES (?, ?, ?, ?)", found),
            ]
        return writes

    def renewal(self, row: Row) -> Write:
        sql = "UPDATE store SET expires_at = ? WHERE prefix = ? AND key = ? AND ttl_minutes IS NOT NULL"
        return Write(sql, [(_expiry(row.ttl_minutes), row.prefix, row.key)])

    def sweeps(self) -> list[Write]:
        """What takes away all that has expired; the last of the statements does so with the items."""
        expired, now = "expires_at < ?", [(as_text(datetime.now(UTC)),)]
        vectors = f"DELETE FROM store_vectors WHERE (prefix, key) IN (SELECT prefix, key FROM store WHERE {expired})"
        items = Write(f"DELETE FROM store WHERE {expired}", now)
        return [Write(vectors, now), items] if self.vectors else [items]

    def _living(self) -> list[Condition]:
        if not self.omit_expired:
            return []
        return [Condition("(s.expires_at IS NULL OR s.expires_at >= ?)", (as_text(datetime.now(UTC)),))]


def conditions(filter: Mapping[str, Any]) -> Iterator[Condition]:
    """A filter's parts. ValueError for a key that leads nowhere, and for an operator that there is not."""
    for key, wanted in filter.items():
        path = _path(key)
        comparisons = wanted.items() if isinstance(wanted, Mapping) else [("$eq", wanted)]
        for sign, other in comparisons:
            yield _comparison(path, sign, plain(other))


def as_text(time: datetime) -> str:
    """A time in the form that LangGraph writes for an expiry."""
    return time.isoformat(" ", timespec="microseconds")


def _expiry(minutes: float | None) -> str | None:
    return None if minutes is None else as_text(datetime.now(UTC) + timedelta(minutes=minutes))


def _read(select: str, where: Iterable[Condition], *rest: Condition) -> Read:
    conditions = list(where)
    parts = [select]
    if conditions:
        parts.append("WHERE " + " AND ".join(each.sql for each in conditions))
    parts += [each.sql for each in rest]
    return Read(" ".join(parts), tuple(param for each in (*conditions, *rest) for param in each.params))


def _under(namespace: Namespace) -> list[Condition]:
    """That an item lies in the namespace, or in one that begins with all of its labels."""
    if not namespace:
        return []
    whole = prefix(namespace)
    return [Condition("(s.prefix = ? OR (s.prefix >= ? AND s.prefix < ?))", (whole, whole + ".", whole + "/"))]


def _path(key: str) -> str:
    """Where a key leads to in a value, in SQLite's words for JSON: its dots part the fields."""
    if not _KEY.fullmatch(str(key)):
        raise ValueError(
            f"Invalid filter key: {key!r}. It is made of letters, digits, '_' and '-', with dots where it leads into a "
            "field of a field."
        )
    return "$" + "".join(f'."{field}"' for field in str(key).split("."))


def _comparison(path: str, sign: str, other: Any) -> Condition:
    if sign == "$eq":
        return _equal(path, other)
    if sign == "$ne":
        equal = _equal(path, other)
        return Condition(f"(json_type({_VALUE}, ?) IS NOT NULL AND NOT {equal.sql})", (path, *equal.params))
    if sign not in _ORDER:
        raise ValueError(f"Unsupported operator: {sign}. A filter knows $eq, $ne, $gt, $gte, $lt and $lte.")
    if not isinstance(other, (str, int, float)):
        return Condition("FALSE")  # what is neither a number nor text has no order
    return _compared(path, _ORDER[sign], other, other)


def _equal(path: str, other: Any) -> Condition:
    if other is None:
        return Condition(f"(coalesce(json_type({_VALUE}, ?), 'null') = 'null')", (path,))
    return _compared(path, "=", other, orjson.dumps(other).decode() if isinstance(other, (list, dict)) else other)


def _compared(path: str, sign: str, other: Any, param: Any) -> Condition:
    """The comparison with a field of the same kind; one of another kind does not match."""
    sql = f"(json_type({_VALUE}, ?) IN {_kinds(other)} AND json_extract({_VALUE}, ?) {sign} ?)"
    return Condition(sql, (path, path, param))


def _kinds(value: Any) -> str:
    match value:
        case str():
            return "('text')"
        case list():
            return "('array')"
        case dict():
            return "('object')"
        case _:
            return "('integer', 'real', 'true', 'false')"


def _beginning(path: NamespacePath) -> Namespace:
    """The labels of a path before its first star."""
    return tuple(takewhile(lambda label: label != "*", path))
