"""What both colours do with a connection, each call on one thread and in one go."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Final

from runtime.checkpoint.sqlite.transaction import reading, writing
from runtime.store.base import Result, TTLConfig
from runtime.store.batches import Batch
from runtime.store.index import Vectors
from runtime.store.sql import Deserializer, Work, Write
from runtime.store.sqlite.dialect import SqliteDialect
from runtime.store.sqlite.tables import has_vectors, migrate
from runtime.store.sqlite.vectors import teach

_WAYS_OUT: Final = {
    sqlite3.SQLITE_BUSY: "Another connection is writing: let it finish, or connect with a longer timeout.",
    sqlite3.SQLITE_READONLY: "The file can only be read: look at the permissions of the file and of its folder.",
    sqlite3.SQLITE_FULL: "The disk is full: make room, and try again.",
    sqlite3.SQLITE_CANTOPEN: "A file of the database can't be opened: look at the permissions of its folder.",
    sqlite3.SQLITE_IOERR: "The disk refused: look at the disk, and try again.",
}


class Database:
    """The tables of a connection, made ready when they are first needed."""

    def __init__(self, ttl: TTLConfig | None, *, with_vectors: bool, deserializer: Deserializer) -> None:
        self._omit_expired = bool((ttl or {}).get("omit_expired"))
        self._with_vectors = with_vectors
        self._deserializer = deserializer
        self._dialect: SqliteDialect | None = None

    def ready(self, db: sqlite3.Connection) -> SqliteDialect:
        """The statements for these tables, which are there from now on."""
        if self._dialect is None:
            with suppress(sqlite3.OperationalError):  # it can only be read, or another connection is doing the same
                if db.execute("PRAGMA journal_mode").fetchone()[0].lower() == "delete":
                    db.execute("PRAGMA journal_mode = WAL")
            migrate(db, self._with_vectors)
            if self._with_vectors:
                teach(db)
            self._dialect = SqliteDialect(omit_expired=self._omit_expired, vectors=has_vectors(db))
        return self._dialect

    def run(self, db: sqlite3.Connection, batch: Batch, vectors: Vectors) -> list[Result]:
        """The batch's results. What is read is renewed in a transaction that follows."""
        with _explained():
            work = Work(self.ready(db), batch, vectors, self._deserializer)
            with _moment(db, work):
                found = [db.execute(read.sql, read.params).fetchall() for read in work.reads]
                _write(db, work.writes)
            results, renewals = work.results(found)
            if renewals:
                with writing(db):
                    _write(db, renewals)
            return results

    def sweep(self, db: sqlite3.Connection) -> int:
        """Take away what has expired: how many items."""
        with _explained():
            dialect = self.ready(db)
            with writing(db):
                return _write(db, dialect.sweeps())


@contextmanager
def _explained() -> Iterator[None]:
    """SQLite's errors, with the way out where the cause is the file's surroundings."""
    try:
        yield
    except sqlite3.OperationalError as error:
        way_out = _WAYS_OUT.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if way_out:
            error.add_note(way_out)
        raise


def _moment(db: sqlite3.Connection, work: Work) -> AbstractContextManager[object]:
    """What keeps a batch together: one statement that reads needs nothing."""
    if work.writes:
        return writing(db)
    return reading(db) if len(work.reads) > 1 else nullcontext()


def _write(db: sqlite3.Connection, writes: Iterable[Write]) -> int:
    """Do the statements; how many rows the last one changed."""
    changed = 0
    for write in writes:
        changed = db.executemany(write.sql, write.rows).rowcount
    return changed
