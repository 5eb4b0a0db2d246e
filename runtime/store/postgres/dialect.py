"""A store's statements in PostgreSQL's words. The server's clock says when an item expires."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import orjson

from runtime.store.batches import Batch
from runtime.store.dialect import NEVER, Condition, SqlDialect
from runtime.store.index import Numbers, Vectors
from runtime.store.postgres.index import VectorColumn
from runtime.store.sql import Read, Row, Write, as_json, prefix

_PLACES: Final = "SELECT * FROM unnest(?::text[], ?::text[])"
_LOCK: Final = f"""
    SELECT FROM store WHERE (prefix, key) IN ({_PLACES})
    ORDER BY prefix COLLATE "C", key COLLATE "C" FOR UPDATE"""
_DELETE: Final = f"DELETE FROM store WHERE (prefix, key) IN ({_PLACES})"
_KEEP: Final = """
    INSERT INTO store (prefix, key, value, expires_at, ttl_minutes)
    SELECT prefix, key, value::jsonb, CURRENT_TIMESTAMP + minutes * interval '1 minute', minutes
    FROM unnest(?::text[], ?::text[], ?::text[], ?::float8[]) AS new (prefix, key, value, minutes)
    ON CONFLICT (prefix, key) DO UPDATE SET
        value = EXCLUDED.value, updated_at = CURRENT_TIMESTAMP,
        expires_at = EXCLUDED.expires_at, ttl_minutes = EXCLUDED.ttl_minutes"""
_DELETE_VECTORS: Final = f"DELETE FROM store_vectors WHERE (prefix, key) IN ({_PLACES})"
_KEEP_VECTORS: Final = """
    INSERT INTO store_vectors (prefix, key, field_name, embedding)
    SELECT prefix, key, name, numbers::{type}
    FROM unnest(?::text[], ?::text[], ?::text[], ?::text[]) AS new (prefix, key, name, numbers)"""
_RENEW: Final = f"""
    UPDATE store SET expires_at = CURRENT_TIMESTAMP + ttl_minutes * interval '1 minute'
    WHERE (prefix, key) IN (
        SELECT prefix, key FROM store
        WHERE (prefix, key) IN ({_PLACES}) AND ttl_minutes IS NOT NULL FOR UPDATE SKIP LOCKED
    )"""
_SWEEP: Final = """
    WITH gone AS (
        DELETE FROM store WHERE (prefix, key) IN (
            SELECT prefix, key FROM store WHERE {expired} FOR UPDATE SKIP LOCKED
        ) RETURNING 1
    ) SELECT count(*) FROM gone"""
_FIELD: Final = "s.value -> ?::text"


class PostgresDialect(SqlDialect):
    """Compares as JSONB does: numbers by value, objects whatever the order of their keys; a key is a field's name."""

    columns = "s.prefix, s.key, s.value::text, s.created_at, s.updated_at, s.ttl_minutes"
    begins = "s.prefix ~>=~ ? AND s.prefix ~<~ ?"  # bytewise, as the index on prefixes is
    newest = "s.updated_at DESC, s.prefix, s.key"

    def __init__(self, *, omit_expired: bool, column: VectorColumn | None) -> None:
        super().__init__(omit_expired=omit_expired)
        self._column = column

    def expired(self) -> Condition:
        return Condition("expires_at < CURRENT_TIMESTAMP")

    def puts(self, batch: Batch, vectors: Vectors) -> list[Write]:
        """A statement for each kind of change, whatever the number of items.

        Batches at once hardly wait for each other in a circle: each goes through its places in one order, and one that
        deletes, which is out of turn, first locks in that order what is there.
        """
        puts = sorted(batch.puts.items())
        places = [(prefix(namespace), key) for (namespace, key), _ in puts]
        gone = [(prefix(namespace), key) for (namespace, key), op in puts if op.value is None]
        kept = [
            (prefix(place[0]), place[1], as_json(place, op.value), None if op.ttl is None else float(op.ttl))
            for place, op in puts
            if op.value is not None
        ]
        writes: list[tuple[str, Sequence[Sequence[Any]]]] = [(_DELETE, gone), (_KEEP, kept)]
        if gone and len(places) > 1:
            writes.insert(0, (_LOCK, places))
        if self._column is not None:
            found = [
                (prefix(namespace), key, name, _as_text(numbers))
                for (namespace, key), fields in sorted(vectors.items.items())
                for name, numbers in fields
            ]
            writes += [
                (_DELETE_VECTORS, [row[:2] for row in kept]),
                (_KEEP_VECTORS.format(type=self._column.type), found),
            ]
        return [_for_all(sql, rows) for sql, rows in writes if rows]

    def renewals(self, rows: list[Row]) -> list[Write]:
        """Whoever writes one of the items at the moment gives it time anew, so nobody is waited for."""
        return [_for_all(_RENEW, [(row.prefix, row.key) for row in rows])]

    def sweep(self) -> Read:
        """What takes away all that has expired, and says how many items that were. Vectors go with their items."""
        return Read(_SWEEP.format(expired=self.expired().sql), ())

    def likeness(self, query: Numbers) -> Condition:
        assert self._column is not None
        return Condition(self._column.likeness, (_as_text(query),))

    def present(self, key: str) -> Condition:
        return Condition(f"({_FIELD} IS NOT NULL)", (key,))

    def equal(self, key: str, other: Any) -> Condition:
        if isinstance(other, float) and math.isinf(other):
            return NEVER  # JSON has no such number
        return Condition(f"({_FIELD} = ?::jsonb)", (key, orjson.dumps(other).decode()))

    def ordered(self, key: str, sign: str, other: float | str) -> Condition:
        if isinstance(other, str):
            return _compared(key, "string", '::text COLLATE "C"', sign, other)
        return _compared(key, "number", "::numeric", sign, repr(float(other) if isinstance(other, bool) else other))


def _for_all(sql: str, rows: Sequence[Sequence[Any]]) -> Write:
    """A statement that takes its rows as one array for each column."""
    return Write(sql, [[list(column) for column in zip(*rows, strict=True)]])


def _as_text(numbers: Numbers) -> str:
    """A vector as pgvector reads it."""
    return orjson.dumps([float(number) for number in numbers]).decode()


def _compared(key: str, kind: str, cast: str, sign: str, other: str) -> Condition:
    """The comparison with a field of that kind; one of another kind does not match, nor is it cast."""
    sql = (
        f"(CASE WHEN jsonb_typeof({_FIELD}) = '{kind}' THEN (s.value ->> ?::text){cast} {sign} ?{cast} ELSE FALSE END)"
    )
    return Condition(sql, (key, key, other))
