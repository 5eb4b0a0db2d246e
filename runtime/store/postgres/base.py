"""What the stores of PostgreSQL have in common: all but the waiting."""

from __future__ import annotations

from typing import Any, Final

import orjson
from psycopg.rows import dict_row
from typing_extensions import TypedDict

from runtime.store.base import Result, TTLConfig
from runtime.store.batches import Batch
from runtime.store.index import Index, Vectors
from runtime.store.postgres.dialect import PostgresDialect
from runtime.store.postgres.index import PostgresIndexConfig, VectorColumn
from runtime.store.postgres.steps import Job, batch, sweep
from runtime.store.postgres.tables import set_up
from runtime.store.sql import Deserializer, Work

CONNECTING: Final[dict[str, Any]] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""How a store connects, where it is not told otherwise."""


class PoolConfig(TypedDict, total=False):
    """A pool of connections: how many at least (1) and at most (as many as at least), and how each is made."""

    min_size: int
    max_size: int | None
    kwargs: dict[str, Any]


def pool_arguments(config: PoolConfig) -> dict[str, Any]:
    """What psycopg's pools are made with."""
    return {
        "min_size": config.get("min_size", 1),
        "max_size": config.get("max_size"),
        "kwargs": CONNECTING | config.get("kwargs", {}),
    }


class Tables:
    """What a store knows of its tables: the statements for them, in either colour."""

    def __init__(
        self, index: PostgresIndexConfig | None, ttl: TTLConfig | None, deserializer: Deserializer | None
    ) -> None:
        self.index = None if index is None else Index(index)
        self._column = None if index is None else VectorColumn(index)
        self._deserializer = deserializer or orjson.loads
        self._dialect = PostgresDialect(omit_expired=bool((ttl or {}).get("omit_expired")), column=self._column)

    def set_up(self) -> Job[None]:
        return set_up(self._column)

    def batch(self, ops: Batch, vectors: Vectors) -> Job[list[Result]]:
        return batch(Work(self._dialect, ops, vectors, self._deserializer))

    def sweep(self) -> Job[int]:
        return sweep(self._dialect.sweep())
