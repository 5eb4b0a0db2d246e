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
from runtime.store.sql import Row, Write

_LIFETIME: Final = "interval '1 minute'"
_FIELD: Final = "s.value -> ?::text"


class PostgresDialect(SqlDialect):
    """Compares as JSONB does: numbers by value, objects whatever the order of their keys; a key is a field's name."""

    columns = "s.prefix, s.key, s.value::text, s.created_at, s.updated_at, s.ttl_minutes"
    begins = "s.prefix ~>=~ ? AND s.prefix ~<~ ?"  # bytewise, as the index on prefixes is
    newest = "s.updated_at DESC, s.prefix, s.key"
    keep = (
        "INSERT INTO store (prefix, key, value, expires_at, ttl_minutes)"
        f" VALUES (?, ?, ?::jsonb, CURRENT_TIMESTAMP + ?::float8 * {_LIFETIME}, ?::float8)"
        " ON CONFLICT (prefix, key) DO UPDATE SET value = EXCLUDED.value, updated_at = CURRENT_TIMESTAMP,"
        " expires_at = EXCLUDED.expires_at, ttl_minutes = EXCLUDED.ttl_minutes"
    )

    def __init__(self, *, omit_expired: bool, column: VectorColumn | None) -> None:
        super().__init__(omit_expired=omit_expired, vectors=column is not None)
        self._column = column

    def expired(self) -> Condition:
        return Condition("expires_at < CURRENT_TIMESTAMP")

    def row(self, prefix: str, key: str, value: str, ttl: float | None) -> Sequence[Any]:
        return prefix, key, value, ttl, ttl

    def puts(self, batch: Batch, vectors: Vectors) -> list[Write]:
        """What writes a batch, in one order of rows always: so two batches at once never wait for each other."""
        return super().puts(batch._replace(puts=dict(sorted(batch.puts.items()))), vectors)

    def renewals(self, rows: list[Row]) -> list[Write]:
        sql = (
            f"UPDATE store SET expires_at = CURRENT_TIMESTAMP + ttl_minutes * {_LIFETIME}"
            " WHERE prefix = ? AND key = ? AND ttl_minutes IS NOT NULL"
        )
        return [Write(sql, sorted((row.prefix, row.key) for row in rows))]

    def likeness(self, query: Numbers) -> Condition:
        assert self._column is not None
        return Condition(self._column.likeness, (self.vector(query),))

    def vector(self, numbers: Numbers) -> str:
        return orjson.dumps([float(number) for number in numbers]).decode()

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


def _compared(key: str, kind: str, cast: str, sign: str, other: str) -> Condition:
    """The comparison with a field of that kind; one of another kind does not match, nor is it cast."""
    sql = (
        f"(CASE WHEN jsonb_typeof({_FIELD}) = '{kind}' THEN (s.value ->> ?::text){cast} {sign} ?{cast} ELSE FALSE END)"
    )
    return Condition(sql, (key, key, other))
