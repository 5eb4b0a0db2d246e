"""The async store of an SQLite database. It needs the package aiosqlite (`pip install aiosqlite`).

All that concerns the database is `SqliteStore`'s own code, run on the connection's thread: one hop for each batch, so
nothing of one comes between the statements of another, cancelled or not.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

import aiosqlite
import orjson

from runtime.store.base import Embeddings, Op, Result, TTLConfig
from runtime.store.batches import Batch
from runtime.store.index import NO_VECTORS
from runtime.store.sql import Deserializer
from runtime.store.sqlite.database import Database
from runtime.store.sqlite.vectors import SqliteIndexConfig, index_of
from runtime.store.sweeping import AsyncSweptStore

__all__ = ("AsyncSqliteStore",)

T = TypeVar("T")


class AsyncSqliteStore(AsyncSweptStore):
    """Keeps items in the database of an aiosqlite connection; make it where the event loop runs.

    The operations of one turn of the loop are one batch. Its sync methods wait for that loop, so they are for other
    threads than the loop's own. All else is as in `SqliteStore`.
    """

    renews_on_read = False

    def __init__(
        self,
        conn: aiosqlite.Connection,
        *,
        deserializer: Deserializer | None = None,
        index: SqliteIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__(ttl)
        self.conn = conn
        self.lock = asyncio.Lock()
        self.index_config = index
        self._index = index_of(index)
        self.embeddings: Embeddings | None = None if self._index is None else self._index.embeddings
        self._database = Database(ttl, with_vectors=index is not None, deserializer=deserializer or orjson.loads)

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: SqliteIndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> AsyncIterator[AsyncSqliteStore]:
        """A store in the file of that name, or in memory for ":memory:"; the connection is closed in the end."""
        async with aiosqlite.connect(conn_string) as conn, cls(conn, index=index, ttl=ttl) as store:
            yield store

    async def setup(self) -> None:
        """Make the tables, or bring older ones up to date. Every method does so when it needs them."""
        await self._on(self._database.ready)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch.of(ops)
        vectors = NO_VECTORS if self._index is None else await self._index.aembed(batch)
        return await self._on(lambda db: self._database.run(db, batch, vectors))

    async def sweep_ttl(self) -> int:
        return await self._on(self._database.sweep)

    async def _on(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the database, on the connection's thread."""
        async with self.lock:
            if self.conn._connection is None:
                await self.conn
        # Each public method of aiosqlite's connection is such a hop for one statement; a batch takes several.
        found: T = await self.conn._execute(work, self.conn._conn)  # type: ignore[no-untyped-call]
        return found
