"""How a store's steps are done on a connection or a pool, with or without a pipeline, in each colour.

A pool gives another connection for one that was lost, and then the steps are done again: once, and no statement minds
having been carried out before. So are they where the server undoes one of two batches that wait for each other. What is
to be one transaction is one, also on a connection that commits by itself; inside a transaction of the program's own, it
is the program that commits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncPipeline, Connection, Pipeline
from psycopg.errors import DeadlockDetected
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from runtime.store.postgres.steps import Rows, Steps
from runtime.store.sql import Read, Write

T = TypeVar("T")

Conn = Connection[Any] | ConnectionPool[Any]
AsyncConn = AsyncConnection[Any] | AsyncConnectionPool[Any]

_TRIES: Final = 10  # of what the server gives up because two batches wait for each other

_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError)


class Connected:
    """Does steps on a connection, one after the other, or on a pool."""

    def __init__(self, conn: Conn, pipe: Pipeline | None) -> None:
        _check_pipeline(isinstance(conn, ConnectionPool), pipe)
        self._conn = conn
        self._pipe = pipe
        self.lock = threading.RLock()

    def do(self, begin: Callable[[], Steps[T]], *, atomic: bool) -> T:
        """What the steps return."""
        with _explained():
            for _ in range(_TRIES - 1):
                try:
                    return self._once(begin, atomic)
                except DeadlockDetected:
                    if _is_inside(self._conn):
                        raise
            return self._once(begin, atomic)

    def _once(self, begin: Callable[[], Steps[T]], atomic: bool) -> T:
        if isinstance(self._conn, ConnectionPool):
            return self._in_pool(self._conn, begin, atomic)
        with self.lock:
            return self._on(self._conn, begin(), atomic)

    def _in_pool(self, pool: ConnectionPool[Any], begin: Callable[[], Steps[T]], atomic: bool) -> T:
        with pool.connection() as connection:
            try:
                return self._on(connection, begin(), atomic)
            except _LOST:
                if not connection.closed:
                    raise
        pool.check()
        with pool.connection() as connection:
            return self._on(connection, begin(), atomic)

    def _on(self, connection: Connection[Any], steps: Steps[T], atomic: bool) -> T:
        with self._scope(connection, atomic):
            try:
                asked = next(steps)
                while True:
                    asked = steps.send(self._answered(connection, asked))
            except StopIteration as end:
                result: T = end.value
                return result

    def _answered(self, connection: Connection[Any], asked: Sequence[Read | Write]) -> list[Rows]:
        """The rows of each statement; several are sent in one go."""
        with ExitStack() as stack:
            if _several(asked):
                stack.enter_context(connection.pipeline())
            cursors = [stack.enter_context(connection.cursor(row_factory=tuple_row)) for _ in asked]
            prepare = _preparing(connection)
            for cursor, statement in zip(cursors, asked, strict=True):
                for params in statement.rows if isinstance(statement, Write) else [statement.params]:
                    cursor.execute(_in_psycopg(statement.sql), params, prepare=prepare)
            return [
                cursor.fetchall() if isinstance(statement, Read) else ()
                for cursor, statement in zip(cursors, asked, strict=True)
            ]

    @contextmanager
    def _scope(self, connection: Connection[Any], atomic: bool) -> Iterator[None]:
        try:
            with ExitStack() as stack:
                if atomic and Pipeline.is_supported():
                    stack.enter_context(connection.pipeline())  # so that its beginning and end take no time
                if atomic or not connection.autocommit:
                    stack.enter_context(connection.transaction())
                yield
        except psycopg.Error:
            if self._pipe is not None:
                with suppress(psycopg.Error):  # it tells the same error again; then it takes statements anew
                    self._pipe.sync()
            raise
        if self._pipe is not None:
            self._pipe.sync()


class AsyncConnected:
    """The same for asyncio."""

    def __init__(self, conn: AsyncConn, pipe: AsyncPipeline | None) -> None:
        _check_pipeline(isinstance(conn, AsyncConnectionPool), pipe)
        self._conn = conn
        self._pipe = pipe
        self.lock = asyncio.Lock()

    async def do(self, begin: Callable[[], Steps[T]], *, atomic: bool) -> T:
        """What the steps return."""
        with _explained():
            for _ in range(_TRIES - 1):
                try:
                    return await self._once(begin, atomic)
                except DeadlockDetected:
                    if _is_inside(self._conn):
                        raise
            return await self._once(begin, atomic)

    async def _once(self, begin: Callable[[], Steps[T]], atomic: bool) -> T:
        if isinstance(self._conn, AsyncConnectionPool):
            return await self._in_pool(self._conn, begin, atomic)
        async with self.lock:
            return await self._on(self._conn, begin(), atomic)

    async def _in_pool(self, pool: AsyncConnectionPool[Any], begin: Callable[[], Steps[T]], atomic: bool) -> T:
        async with pool.connection() as connection:
            try:
                return await self._on(connection, begin(), atomic)
            except _LOST:
                if not connection.closed:
                    raise
        await pool.check()
        async with pool.connection() as connection:
            return await self._on(connection, begin(), atomic)

    async def _on(self, connection: AsyncConnection[Any], steps: Steps[T], atomic: bool) -> T:
        async with self._scope(connection, atomic):
            try:
                asked = next(steps)
                while True:
                    asked = steps.send(await self._answered(connection, asked))
            except StopIteration as end:
                result: T = end.value
                return result

    async def _answered(self, connection: AsyncConnection[Any], asked: Sequence[Read | Write]) -> list[Rows]:
        async with AsyncExitStack() as stack:
            if _several(asked):
                await stack.enter_async_context(connection.pipeline())
            cursors = [await stack.enter_async_context(connection.cursor(row_factory=tuple_row)) for _ in asked]
            prepare = _preparing(connection)
            for cursor, statement in zip(cursors, asked, strict=True):
                for params in statement.rows if isinstance(statement, Write) else [statement.params]:
                    await cursor.execute(_in_psycopg(statement.sql), params, prepare=prepare)
            return [
                await cursor.fetchall() if isinstance(statement, Read) else ()
                for cursor, statement in zip(cursors, asked, strict=True)
            ]

    @asynccontextmanager
    async def _scope(self, connection: AsyncConnection[Any], atomic: bool) -> AsyncIterator[None]:
        try:
            async with AsyncExitStack() as stack:
                if atomic and AsyncPipeline.is_supported():
                    await stack.enter_async_context(connection.pipeline())
                if atomic or not connection.autocommit:
                    await stack.enter_async_context(connection.transaction())
                yield
        except psycopg.Error:
            if self._pipe is not None:
                with suppress(psycopg.Error):
                    await self._pipe.sync()
            raise
        if self._pipe is not None:
            await self._pipe.sync()


def _is_inside(conn: Conn | AsyncConn) -> bool:
    """Whether there is a transaction of the program's own, which nobody but the program can begin again."""
    return isinstance(conn, (Connection, AsyncConnection)) and conn.info.transaction_status != TransactionStatus.IDLE


def _several(asked: Sequence[Read | Write]) -> bool:
    """Whether to send statements in one go, as far as psycopg can."""
    rows = sum(len(each.rows) if isinstance(each, Write) else 1 for each in asked)
    return rows > 1 and Pipeline.is_supported()


def _preparing(connection: Connection[Any] | AsyncConnection[Any]) -> bool | None:
    """Whether statements are prepared: as the connection says, but never in a pipeline.

    There psycopg learns too late that what it had prepared went with a transaction that was rolled back.
    """
    return None if connection.pgconn.pipeline_status == PipelineStatus.OFF else False


@lru_cache(maxsize=512)
def _in_psycopg(sql: str) -> bytes:
    """A statement with its parameters marked as psycopg wants them."""
    return sql.replace("?", "%s").encode()


@contextmanager
def _explained() -> Iterator[None]:
    """PostgreSQL's errors, with the way out where there is one."""
    try:
        yield
    except psycopg.errors.UndefinedTable as error:
        error.add_note("Call the store's setup() once: it makes the tables, and with an index those of vectors.")
        raise
    except psycopg.errors.FeatureNotSupported as error:
        error.add_note("A search by likeness needs the extension pgvector on the server.")
        raise
    except _LOST as error:
        error.add_note("A store on a pool makes new connections by itself; one on a connection needs a new one.")
        raise


def _check_pipeline(pool: bool, pipe: object) -> None:
    if pool and pipe is not None:
        raise ValueError(
            "A pipeline belongs to one connection, and a pool has several. Give the store the pool alone, or a "
            "connection with its pipeline."
        )
