"""One transaction on a connection, and what goes wrong there in a sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from runtime.checkpoint.base.unreadable import Reading

_CAUSES: Final = {
    sqlite3.SQLITE_BUSY: "another connection holds the database. Let it finish, or connect with a longer timeout",
    sqlite3.SQLITE_LOCKED: "another user of this connection's cache holds a table. Let it finish and try again",
    sqlite3.SQLITE_READONLY: "the database can only be read. Open it for writing, and look at the permissions of its "
    "file and its folder",
    sqlite3.SQLITE_FULL: "the disk, or the database's page limit, is full. Make room and run the thread again",
    sqlite3.SQLITE_CANTOPEN: "a file of the database can't be opened. Look at its folder and at its permissions",
    sqlite3.SQLITE_IOERR: "the disk refused. Look at the disk and run the thread again",
}


class SqliteSaverError(sqlite3.OperationalError):
    """SQLite could not do its part: what was asked, of which thread and checkpoint, why, the way out, and the file."""

    def __init__(
        self, verb: str, thread_id: str | None, checkpoint_id: str | None, error: sqlite3.Error, file: str
    ) -> None:
        code = error.sqlite_errorcode
        where = "" if thread_id is None else f" of thread {thread_id!r}"
        what = "the checkpoints" if checkpoint_id is None else f"checkpoint {checkpoint_id!r}"
        super().__init__(
            f"Can't {verb} {what}{where}: {_CAUSES[code & 0xFF]} (SQLite: {error}; file: {file or 'in memory'})."
        )
        self.thread_id = thread_id
        self.checkpoint_id = checkpoint_id
        self.file = file
        self.sqlite_errorcode = code
        self.sqlite_errorname = error.sqlite_errorname


class explained:
    """A context that gives SQLite's errors as a `SqliteSaverError` where the cause is the database's surroundings."""

    __slots__ = ("_db", "_verb", "checkpoint_id", "thread_id")

    def __init__(
        self, db: sqlite3.Connection, verb: str, thread_id: str | None = None, checkpoint_id: str | None = None
    ) -> None:
        self._db = db
        self._verb = verb
        self.thread_id = thread_id
        self.checkpoint_id = checkpoint_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, sqlite3.OperationalError) or isinstance(error, SqliteSaverError):
            return
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _CAUSES:
            raise SqliteSaverError(self._verb, self.thread_id, self.checkpoint_id, error, _file_of(self._db)) from error


class SqliteReading(Reading):
    """A context in which stored bytes are read; what goes wrong in SQLite itself is SQLite's to say."""

    passing = (sqlite3.Error,)


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """A transaction that keeps all or nothing. What the program had left open on the connection is committed before."""
    if db.in_transaction:
        db.commit()
    if not _is_open(db):  # Python 3.12's autocommit=False opens the next one by itself
        db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if _is_open(db):  # a full disk has rolled back already
            db.execute("ROLLBACK")
        raise


@contextmanager
def joining(db: sqlite3.Connection) -> Iterator[None]:
    """A part of the transaction that is open: it is kept or undone as a whole, and committed with the rest."""
    db.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        if _is_open(db):
            db.execute("ROLLBACK TO part")
        raise
    finally:
        if _is_open(db):
            db.execute("RELEASE part")


class reading:
    """A context with one moment's view of the database, whatever other connections write meanwhile.

    It gives True where that is a transaction of its own, and False inside of one that is open.
    """

    __slots__ = ("_began", "_db")

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._began = False

    def __enter__(self) -> bool:
        if not self._db.in_transaction:
            self._db.execute("BEGIN")
            self._began = True
        return self._began

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._began and _is_open(self._db):
            self._db.execute("ROLLBACK")


def _is_open(db: sqlite3.Connection) -> bool:
    return db.in_transaction


def _file_of(db: sqlite3.Connection) -> str:
    """The path of the connection's database; "" for one in memory."""
    return next((row[2] for row in db.execute("PRAGMA database_list") if row[1] == "main"), "")
