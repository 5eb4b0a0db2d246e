"""A store in an SQLite database, in LangGraph's tables: one file, no server, and items that may expire.

`aio` holds its async twin. What both do with the database is in `database`, in the words of `dialect` and `tables`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from runtime.store.base import Embeddings, Op, Result, TTLConfig
from runtime.store.batches import Batch
from runtime.store.index import NO_VECTORS
from runtime.store.sql import Deserializer
from runtime.store.sqlite.database import Database
from runtime.store.sqlite.vectors import SqliteIndexConfig, index_of
from runtime.store.sweeping import SweptStore

if TYPE_CHECKING:
    from runtime.store.sqlite.aio import AsyncSqliteStore

__all__ = ("AsyncSqliteStore", "SqliteIndexConfig", "SqliteStore")


class SqliteStore(SweptStore):
    """Keeps items in the database of a connection, which many threads may share (`check_same_thread=False`).

    A batch is one transaction: its reads see one moment, its writes are all kept or none. With `index` a search can
    sort by likeness to a query (see `SqliteIndexConfig`); `ttl` says how long items live (see `TTLConfig`). Expired
    items are seen until a sweep takes them, or with `omit_expired` until they expire; a read gives them new time where
    `refresh_on_read` or `refresh_ttl` says so. Times are UTC without a zone, in whole seconds. For async programs use
    `aio.AsyncSqliteStore`.
    """

    renews_on_read = False

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        deserializer: Deserializer | None = None,
        index: SqliteIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__(ttl)
        self.conn = conn
        self.lock = threading.Lock()
        self.index_config = index
        self._index = index_of(index)
        self.embeddings: Embeddings | None = None if self._index is None else self._index.embeddings
        self._database = Database(ttl, with_vectors=index is not None, deserializer=deserializer or orjson.loads)

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: SqliteIndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> Iterator[SqliteStore]:
        """A store in the file of that name, or in memory for ":memory:"; the connection is closed in the end."""
        connected = closing(sqlite3.connect(conn_string, check_same_thread=False))
        with connected as conn, cls(conn, index=index, ttl=ttl) as store:
            yield store

    def setup(self) -> None:
        """Make the tables, or bring older ones up to date. Every method does so when it needs them."""
        with self.lock:
            self._database.ready(self.conn)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch.of(ops)
        vectors = NO_VECTORS if self._index is None else self._index.embed(batch)
        with self.lock:
            return self._database.run(self.conn, batch, vectors)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError(
            "SqliteStore has no async methods: they would block the event loop. Use AsyncSqliteStore of "
            "runtime.store.sqlite.aio; it needs the package aiosqlite."
        )

    def sweep_ttl(self) -> int:
        with self.lock:
            return self._database.sweep(self.conn)


def __getattr__(name: str) -> Any:
    if name != "AsyncSqliteStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from runtime.store.sqlite.aio import AsyncSqliteStore  # noqa: PLC0415  # it needs aiosqlite, which is optional

    return AsyncSqliteStore
