"""How PostgreSQL is asked, for whoever keeps something there: on a connection or a pool, with or without a pipeline.

Work is a routine that asks for statements and is given their rows, and there is a driver for each colour. It may be
begun again, so no statement may mind having been carried out before:

1. A pool gives another connection for one that was lost, and then the work is done again: once, and after all of the
   pool's connections have been looked at. Whoever brings a single connection makes another one.
2. What the server gives up because two of its clients wait for each other is done again, but inside a transaction of
   the program's own, which nobody but the program can begin again.

Work that must be one transaction is one, also on a connection that commits by itself. A connection that does not is
given a transaction for each piece of work, so that nothing stays behind uncommitted; inside a transaction of the
program's own, it is the program that commits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncPipeline, Connection, Pipeline
from psycopg.errors import DeadlockDetected
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Conn = Connection[Any] | ConnectionPool[Any]
AsyncConn = AsyncConnection[Any] | AsyncConnectionPool[Any]

LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError)
"""The errors of a connection that is no more; the server's own troubles come by these names too."""

_TRIES: Final = 10  # of what the server gives up because two clients wait for each other


class Statement(NamedTuple):
    """What is asked of the server, once for each of these parameters. Only one that `reads` gives rows."""

    sql: str | bytes
    parameters: Sequence[Any]
    reads: bool = False


Rows = Sequence[tuple[Any, ...]]

Routine = Generator[Sequence[Statement], list[Rows], T]
"""Asks for statements that do not need each other's rows, and is given the rows of each."""


class Work(Protocol[T_co]):
    """What is to be done."""

    @property
    def begin(self) -> Callable[[], Routine[T_co]]:
        """Begins the routine, once more if need be."""

    @property
    def atomic(self) -> bool:
        """True where several statements must be one transaction."""

    @property
    def alters(self) -> bool:
        """True where tables are altered.

        This is not done in a pipeline of its own. In one psycopg sees too late that what it has prepared is to go, and
        drops with it what the next statement prepares.
        """

    def explain(self, error: psycopg.Error) -> None:
        """Say what was being done: by a note on the error, or by an error of one's own."""


class Connected:
    """Does work on a connection, one piece after the other, or on a pool. ValueError for a pool with a pipeline."""

    def __init__(self, conn: Conn, pipe: Pipeline | None) -> None:
        _check_pipeline(isinstance(conn, ConnectionPool), pipe)
        self.conn = conn
        self.pipe = pipe
        self.lock = threading.RLock()

    def do(self, work: Work[T]) -> T:
        """The result of the work."""
        tries = 1
        while True:
            try:
                return self._once(work)
            except psycopg.Error as error:
                if not _is_given_up(error, self.conn, tries):
                    work.explain(error)
                    raise
                tries += 1

    def _once(self, work: Work[T]) -> T:
        if not isinstance(self.conn, ConnectionPool):
            with self.lock:
                return self._on(self.conn, work)
        with self.conn.connection() as connection:
            try:
                return self._on(connection, work)
            except LOST:
                if not connection.closed:
                    raise
        self.conn.check()
        with self.conn.connection() as connection:
            return self._on(connection, work)

    def _on(self, connection: Connection[Any], work: Work[T]) -> T:
        whole = work.atomic or not connection.autocommit
        try:
            with (
                connection.pipeline() if _is_one_go(work) else nullcontext(),
                connection.transaction() if whole else nullcontext(),
            ):
                result = self._driven(connection, work.begin())
            if self.pipe is not None:
                self.pipe.sync()
        except Exception:
            if self.pipe is not None:
                with suppress(psycopg.Error):  # it tells the same error again; then it takes statements anew
                    self.pipe.sync()
            raise
        return result

    def _driven(self, connection: Connection[Any], routine: Routine[T]) -> T:
        try:
            asked = next(routine)
            while True:
                asked = routine.send(self._answered(connection, asked))
        except StopIteration as end:
            result: T = end.value
            return result

    def _answered(self, connection: Connection[Any], asked: Sequence[Statement]) -> list[Rows]:
        with connection.pipeline() if _are_several(asked) else nullcontext():
            cursors = [connection.cursor(binary=True, row_factory=tuple_row) for _ in asked]
            prepare = _preparing(connection)
            for cursor, statement in zip(cursors, asked, strict=True):
                for parameters in statement.parameters:
                    cursor.execute(statement.sql, parameters, prepare=prepare)
            return [each.fetchall() if one.reads else () for each, one in zip(cursors, asked, strict=True)]


class AsyncConnected:
    """The same for asyncio."""

    def __init__(self, conn: AsyncConn, pipe: AsyncPipeline | None) -> None:
        _check_pipeline(isinstance(conn, AsyncConnectionPool), pipe)
        self.conn = conn
        self.pipe = pipe
        self.lock = asyncio.Lock()

    async def do(self, work: Work[T]) -> T:
        """The result of the work."""
        tries = 1
        while True:
            try:
                return await self._once(work)
            except psycopg.Error as error:
                if not _is_given_up(error, self.conn, tries):
                    work.explain(error)
                    raise
                tries += 1

    async def _once(self, work: Work[T]) -> T:
        if not isinstance(self.conn, AsyncConnectionPool):
            async with self.lock:
                return await self._on(self.conn, work)
        async with self.conn.connection() as connection:
            try:
                return await self._on(connection, work)
            except LOST:
                if not connection.closed:
                    raise
        await self.conn.check()
        async with self.conn.connection() as connection:
            return await self._on(connection, work)

    async def _on(self, connection: AsyncConnection[Any], work: Work[T]) -> T:
        whole = work.atomic or not connection.autocommit
        try:
            async with (
                connection.pipeline() if _is_one_go(work) else nullcontext(),
                connection.transaction() if whole else nullcontext(),
            ):
                result = await self._driven(connection, work.begin())
            if self.pipe is not None:
                await self.pipe.sync()
        except Exception:
            if self.pipe is not None:
                with suppress(psycopg.Error):
                    await self.pipe.sync()
            raise
        return result

    async def _driven(self, connection: AsyncConnection[Any], routine: Routine[T]) -> T:
        try:
            asked = next(routine)
            while True:
                asked = routine.send(await self._answered(connection, asked))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _answered(self, connection: AsyncConnection[Any], asked: Sequence[Statement]) -> list[Rows]:
        async with connection.pipeline() if _are_several(asked) else nullcontext():
            cursors = [connection.cursor(binary=True, row_factory=tuple_row) for _ in asked]
            prepare = _preparing(connection)
            for cursor, statement in zip(cursors, asked, strict=True):
                for parameters in statement.parameters:
                    await cursor.execute(statement.sql, parameters, prepare=prepare)
            return [await each.fetchall() if one.reads else () for each, one in zip(cursors, asked, strict=True)]


def _is_given_up(error: psycopg.Error, conn: Conn | AsyncConn, tries: int) -> bool:
    """Whether the server gave something up that may be done again."""
    if not isinstance(error, DeadlockDetected) or tries == _TRIES:
        return False
    if isinstance(conn, (ConnectionPool, AsyncConnectionPool)):
        return True
    return conn.info.transaction_status == TransactionStatus.IDLE


def _is_one_go(work: Work[Any]) -> bool:
    """Whether to send a transaction in one go, so that its beginning and its end take no time."""
    return work.atomic and not work.alters and Pipeline.is_supported()


def _are_several(asked: Sequence[Statement]) -> bool:
    """Whether to send statements in one go, as far as psycopg can."""
    return sum(len(each.parameters) for each in asked) > 1 and Pipeline.is_supported()


def _preparing(connection: Connection[Any] | AsyncConnection[Any]) -> bool | None:
    """Whether statements are prepared: as the connection says, and never in a pipeline.

    There psycopg may forget what it has prepared, after a table was altered or a transaction rolled back, only when the
    next statement has been prepared already, and that one is gone then.
    """
    return None if connection.pgconn.pipeline_status == PipelineStatus.OFF else False


def _check_pipeline(pool: bool, pipe: object) -> None:
    if pool and pipe is not None:
        raise ValueError(
            "A pipeline belongs to one connection, and a pool has several. Give the pool alone, or a connection with "
            "its pipeline."
        )
