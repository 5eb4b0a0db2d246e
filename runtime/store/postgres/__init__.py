"""A store in a PostgreSQL database, in LangGraph's tables. It needs the packages psycopg and psycopg-pool.

`aio` holds its async twin. What both say to the server is in `dialect` and `tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from psycopg import Connection, Pipeline
from psycopg_pool import ConnectionPool

from runtime._postgres import Conn, Connected
from runtime._workers import in_thread
from runtime.store.base import Embeddings, Op, Result, TTLConfig
from runtime.store.batches import Batch
from runtime.store.index import NO_VECTORS
from runtime.store.postgres.aio import AsyncPostgresStore
from runtime.store.postgres.base import CONNECTING, PoolConfig, Tables, pool_arguments
from runtime.store.postgres.index import ANNIndexConfig, HNSWConfig, IVFFlatConfig, PostgresIndexConfig
from runtime.store.sql import Deserializer
from runtime.store.sweeping import SweptStore

__all__ = (
    "ANNIndexConfig",
    "AsyncPostgresStore",
    "HNSWConfig",
    "IVFFlatConfig",
    "PoolConfig",
    "PostgresIndexConfig",
    "PostgresStore",
)


class PostgresStore(SweptStore):
    """Keeps items in the database of a connection or a pool, which many threads may share. Call `setup` once.

    A batch that writes is one transaction. With `index` a search can sort by likeness to a query (see
    `PostgresIndexConfig`; the server needs pgvector): it compares all vectors in the namespaces searched, so that what
    it finds is the likest. `ttl` says how long items live (see `TTLConfig`), in whole minutes. Expired items are seen
    until a sweep takes them, or with `omit_expired` until they expire; a read gives them new time, but where
    `refresh_on_read` or `refresh_ttl` is False. With a pipeline, `conn` is the connection that it belongs to.
    """

    def __init__(
        self,
        conn: Conn,
        *,
        pipe: Pipeline | None = None,
        deserializer: Deserializer | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__(ttl)
        self.conn = conn
        self.pipe = pipe
        self.index_config = index
        self._tables = Tables(index, ttl, deserializer)
        self.embeddings: Embeddings | None = None if self._tables.index is None else self._tables.index.embeddings
        self._connected = Connected(conn, pipe)

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: PoolConfig | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Iterator[Self]:
        """A store on a new connection, or on a pool where one is configured; closed in the end.

        `pipeline` is for a single connection: a pool's need none.
        """
        with ExitStack() as stack:
            pipe: Pipeline | None = None
            conn: Conn
            if pool_config is not None:
                conn = stack.enter_context(ConnectionPool(conn_string, open=True, **pool_arguments(pool_config)))
            else:
                conn = stack.enter_context(Connection.connect(conn_string, **CONNECTING))
                pipe = stack.enter_context(conn.pipeline()) if pipeline else None
            store = cls(conn, pipe=pipe, index=index, ttl=ttl)
            stack.callback(store.stop_ttl_sweeper)
            yield store

    def setup(self) -> None:
        """Make the tables, or bring older ones up to date. Where all is there this only looks."""
        self._connected.do(self._tables.set_up())

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch.of(ops)
        vectors = NO_VECTORS if self._tables.index is None else self._tables.index.embed(batch)
        return self._connected.do(self._tables.batch(batch, vectors))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, in a thread; for async programs there is `AsyncPostgresStore`."""
        return await in_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        return self._connected.do(self._tables.sweep())
