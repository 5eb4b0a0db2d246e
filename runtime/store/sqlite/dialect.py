"""A store's statements in SQLite's words. Times are text that sorts as time does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from runtime.store.batches import Batch
from runtime.store.dialect import Condition, SqlDialect
from runtime.store.index import Numbers, Vectors
from runtime.store.sql import Row, Write, as_json, prefix
from runtime.store.sqlite.vectors import as_blob

_KEY: Final = re.compile(r"[A-Za-z0-9_.-]+")
_VALUE: Final = "CAST(s.value AS TEXT)"  # LangGraph writes the text as bytes, which newer SQLites take for another form


class SqliteDialect(SqlDialect):
    """Compares a field with what is of its kind only; True is 1, and a missing field is None."""

    columns = "s.prefix, s.key, s.value, s.created_at, s.updated_at, s.ttl_minutes"
    begins = "s.prefix >= ? AND s.prefix < ?"
    newest = "s.updated_at DESC, s.rowid DESC"

    def __init__(self, *, omit_expired: bool, vectors: bool) -> None:
        super().__init__(omit_expired=omit_expired)
        self._vectors = vectors

    def expired(self) -> Condition:
        return Condition("expires_at < ?", (_as_text(datetime.now(UTC)),))

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
        if self._vectors:
            found = [
                (prefix(namespace), key, name, as_blob(numbers))
                for (namespace, key), fields in vectors.items.items()
                for name, numbers in fields
            ]
            places = [(prefix(namespace), key) for namespace, key in batch.puts]
            writes += [
                Write("DELETE FROM store_vectors WHERE prefix = ? AND key = ?", places),
                Write("INSERT INTO store_vectors (prefix, key, field_name, embedding) VALUES (?, ?, ?, ?)", found),
            ]
        return [write for write in writes if write.rows]

    def renewals(self, rows: list[Row]) -> list[Write]:
        sql = "UPDATE store SET expires_at = ? WHERE prefix = ? AND key = ? AND ttl_minutes IS NOT NULL"
        return [Write(sql, [(_expiry(row.ttl_minutes), row.prefix, row.key) for row in rows])]

    def likeness(self, query: Numbers) -> Condition:
        return Condition("1 - vec_distance_cosine(v.embedding, ?)", (as_blob(query),))

    def sweeps(self) -> list[Write]:
        """What takes away all that has expired; the last of the statements does so with the items."""
        sql, params = self.expired()
        items = Write(f"DELETE FROM store WHERE {sql}", [params])
        if not self._vectors:
            return [items]
        theirs = f"DELETE FROM store_vectors WHERE (prefix, key) IN (SELECT prefix, key FROM store WHERE {sql})"
        return [Write(theirs, [params]), items]

    def present(self, key: str) -> Condition:
        return Condition(f"json_type({_VALUE}, ?) IS NOT NULL", (_path(key),))

    def equal(self, key: str, other: Any) -> Condition:
        if other is None or isinstance(other, (int, float)):
            return Condition(f"(json_extract({_VALUE}, ?) IS ?)", (_path(key), other))
        return _compared(key, "=", _kinds(other), other if isinstance(other, str) else orjson.dumps(other).decode())

    def ordered(self, key: str, sign: str, other: float | str) -> Condition:
        return _compared(key, sign, _kinds(other), other)


def _compared(key: str, sign: str, kinds: str, param: Any) -> Condition:
    """The comparison with a field of these kinds. Most rows fail it, so their kind need not be looked at."""
    path = _path(key)
    sql = f"(json_extract({_VALUE}, ?) {sign} ? AND json_type({_VALUE}, ?) IN {kinds})"
    return Condition(sql, (path, param, path))


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


def _path(key: str) -> str:
    """Where a key leads to in a value, in SQLite's words for JSON: its dots part the fields."""
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"Invalid filter key: {key!r}. It is made of letters, digits, '_' and '-', with dots where it leads into a "
            "field of a field."
        )
    return "$" + "".join(f'."{field}"' for field in key.split("."))


def _expiry(minutes: float | None) -> str | None:
    """When so many minutes will have passed; never for None."""
    return None if minutes is None else _as_text(datetime.now(UTC) + timedelta(minutes=minutes))


def _as_text(time: datetime) -> str:
    """A time in the form that LangGraph writes for an expiry."""
    return time.isoformat(" ", timespec="microseconds")
