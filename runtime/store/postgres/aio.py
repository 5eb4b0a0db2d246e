"""The async store of a PostgreSQL database. It needs the packages psycopg and psycopg-pool."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Self

from psycopg import AsyncConnection, AsyncPipeline
from psycopg_pool import AsyncConnectionPool

from runtime._postgres import AsyncConn, AsyncConnected
from runtime.store.base import Embeddings, Op, Result, TTLConfig
from runtime.store.batches import Batch
from runtime.store.index import NO_VECTORS
from runtime.store.postgres.base import CONNECTING, PoolConfig, Tables, pool_arguments
from runtime.store.postgres.index import PostgresIndexConfig
from runtime.store.sql import Deserializer
from runtime.store.sweeping import AsyncSweptStore

__all__ = ("AsyncPostgresStore",)


class AsyncPostgresStore(AsyncSweptStore):
    """Keeps items in the database of a connection or a pool; make it where the event loop runs. Await `setup` once.

    The operations of one turn of the loop are one batch. Its sync methods wait for that loop, so they are for other
    threads than the loop's own. All else is as in `PostgresStore`.
    """

    def __init__(
        self,
        conn: AsyncConn,
        *,
        pipe: AsyncPipeline | None = None,
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
        self._connected = AsyncConnected(conn, pipe)

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: PoolConfig | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> AsyncIterator[Self]:
        """A store on a new connection, or on a pool where one is configured; closed in the end.

        `pipeline` is for a single connection: a pool's need none.
        """
        async with AsyncExitStack() as stack:
            pipe: AsyncPipeline | None = None
            conn: AsyncConn
            if pool_config is not None:
                pool = AsyncConnectionPool(conn_string, open=False, **pool_arguments(pool_config))
                conn = await stack.enter_async_context(pool)
            else:
                conn = await stack.enter_async_context(await AsyncConnection.connect(conn_string, **CONNECTING))
                pipe = await stack.enter_async_context(conn.pipeline()) if pipeline else None
            store = cls(conn, pipe=pipe, index=index, ttl=ttl)
            stack.push_async_callback(store.stop_ttl_sweeper)
            yield store

    async def setup(self) -> None:
        """Make the tables, or bring older ones up to date. Where all is there this only looks."""
        await self._connected.do(self._tables.set_up())

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = Batch.of(ops)
        index = self._tables.index
        return await self._connected.do(
            self._tables.batch(batch, NO_VECTORS if index is None else await index.aembed(batch))
        )

    async def sweep_ttl(self) -> int:
        return await self._connected.do(self._tables.sweep())
