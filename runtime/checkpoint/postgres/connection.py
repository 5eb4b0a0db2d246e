"""How a saver's work is done on a connection or a pool, with or without a pipeline, in each colour.

A pool gives another connection for one that was lost, and then the work is done again: once, and after all of the
pool's connections have been looked at. Whoever brings a single connection makes another saver on a new one.

A connection that does not commit by itself is given a transaction for each piece of work, so that nothing stays behind
uncommitted; inside a transaction of the program's own, it is the program that commits.

Statements are prepared as the connection says, and never in a pipeline. There psycopg may forget what it has prepared,
after a table was altered or a transaction rolled back, only when the next statement has been prepared already, and that
one is gone then.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncPipeline, Connection, Pipeline
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from runtime.checkpoint.postgres.base import Work
from runtime.checkpoint.postgres.routines import Routine

T = TypeVar("T")

Conn = Connection[Any] | ConnectionPool[Any]
AsyncConn = AsyncConnection[Any] | AsyncConnectionPool[Any]

_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError)


class PostgresSaverError(psycopg.OperationalError):
    """PostgreSQL could not do its part: what was asked, of which thread and checkpoint, why, and the way out."""

    def __init__(self, work: Work, error: psycopg.Error) -> None:
        lost = error.sqlstate is None or error.sqlstate.startswith("57P")  # the server's own word when it stops
        where = "" if work.thread_id is None else f" of thread {work.thread_id!r}"
        what = "the checkpoints" if work.checkpoint_id is None else f"checkpoint {work.checkpoint_id!r}"
        reason = "the connection is closed or was lost" if lost else "the server could not"
        way_out = (
            "Invoke the thread again with a saver on a new connection: it goes on from what is saved. A pool makes "
            "new connections by itself"
            if lost
            else "Mend that, and invoke the thread again: it goes on from what is saved"
        )
        said = " ".join(str(error).split())
        super().__init__(f"Can't {work.verb} {what}{where}: {reason} ({type(error).__name__}: {said}). {way_out}.")
        self.thread_id = work.thread_id
        self.checkpoint_id = work.checkpoint_id
        self.sqlstate = error.sqlstate


def explain(work: Work, error: psycopg.Error) -> None:
    """Say what was being done: as a `PostgresSaverError` where the server or the connection failed, else as a note."""
    if isinstance(error, psycopg.errors.UndefinedTable):
        error.add_note("Call the saver's setup() once: it makes the tables.")
    elif isinstance(error, _LOST):
        raise PostgresSaverError(work, error) from error
    else:
        thread = "" if work.thread_id is None else f" thread {work.thread_id!r}"
        error.add_note(f"This came up when PostgreSQL was asked to {work.verb} checkpoints of{thread}.")


class Connected:
    """Does work on a connection, one piece after the other, or on a pool."""

    def __init__(self, conn: Conn, pipe: Pipeline | None) -> None:
        check_pipeline(isinstance(conn, ConnectionPool), pipe)
        self.conn = conn
        self.pipe = pipe
        self.lock = threading.RLock()

    def do(self, work: Work) -> Any:
        """The result of the work."""
        try:
            if isinstance(self.conn, ConnectionPool):
                return self._in_pool(self.conn, work)
            with self.lock:
                return self._on(self.conn, work)
        except psycopg.Error as error:
            explain(work, error)
            raise

    def _in_pool(self, pool: ConnectionPool[Any], work: Work) -> Any:
        with pool.connection() as connection:
            try:
                return self._on(connection, work)
            except _LOST:
                if not connection.closed:
                    raise
        pool.check()
        with pool.connection() as connection:
            return self._on(connection, work)

    def _on(self, connection: Connection[Any], work: Work) -> Any:
        cursor = connection.cursor(binary=True, row_factory=tuple_row)
        if connection.autocommit and not work.atomic:
            return self._done(cursor, work)
        with connection.transaction():
            return self._done(cursor, work)

    def _done(self, cursor: psycopg.Cursor[Any], work: Work) -> Any:
        if self.pipe is None:
            return _drive(cursor, work.begin(), None)
        try:
            result = _drive(cursor, work.begin(), prepare=False)
        except psycopg.Error:
            with suppress(psycopg.Error):  # it tells the same error again; then it takes statements anew
                self.pipe.sync()
            raise
        self.pipe.sync()
        return result


def _drive(cursor: psycopg.Cursor[Any], routine: Routine[T], prepare: bool | None) -> T:
    try:
        asked = next(routine)
        while True:
            cursor.execute(asked.sql, asked.parameters, prepare=prepare)
            asked = routine.send(cursor.fetchall() if asked.reads else ())
    except StopIteration as end:
        result: T = end.value
        return result


class AsyncConnected:
    """The same for asyncio."""

    def __init__(self, conn: AsyncConn, pipe: AsyncPipeline | None) -> None:
        check_pipeline(isinstance(conn, AsyncConnectionPool), pipe)
        self.conn = conn
        self.pipe = pipe
        self.lock = asyncio.Lock()

    async def do(self, work: Work) -> Any:
        """The result of the work."""
        try:
            if isinstance(self.conn, AsyncConnectionPool):
                return await self._in_pool(self.conn, work)
            async with self.lock:
                return await self._on(self.conn, work)
        except psycopg.Error as error:
            explain(work, error)
            raise

    async def _in_pool(self, pool: AsyncConnectionPool[Any], work: Work) -> Any:
        async with pool.connection() as connection:
            try:
                return await self._on(connection, work)
            except _LOST:
                if not connection.closed:
                    raise
        await pool.check()
        async with pool.connection() as connection:
            return await self._on(connection, work)

    async def _on(self, connection: AsyncConnection[Any], work: Work) -> Any:
        cursor = connection.cursor(binary=True, row_factory=tuple_row)
        if connection.autocommit and not work.atomic:
            return await self._done(cursor, work)
        async with connection.transaction():
            return await self._done(cursor, work)

    async def _done(self, cursor: psycopg.AsyncCursor[Any], work: Work) -> Any:
        if self.pipe is None:
            return await _adrive(cursor, work.begin(), None)
        try:
            result = await _adrive(cursor, work.begin(), prepare=False)
        except psycopg.Error:
            with suppress(psycopg.Error):
                await self.pipe.sync()
            raise
        await self.pipe.sync()
        return result


async def _adrive(cursor: psycopg.AsyncCursor[Any], routine: Routine[T], prepare: bool | None) -> T:
    try:
        asked = next(routine)
        while True:
            await cursor.execute(asked.sql, asked.parameters, prepare=prepare)
            asked = routine.send(await cursor.fetchall() if asked.reads else ())
    except StopIteration as end:
        result: T = end.value
        return result


def check_pipeline(pool: bool, pipe: object) -> None:
    """ValueError for a pipeline beside a pool."""
    if pool and pipe is not None:
        raise ValueError(
            "A pipeline belongs to one connection, and a pool has several. Give the saver the pool alone, or a "
            "connection with its pipeline."
        )
