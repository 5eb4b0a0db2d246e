"""A piece of a saver's work, and the words for it where it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg

from runtime._postgres import LOST, Routine


class Work(NamedTuple):
    """What is to be done, and the words for it where it fails. It may be begun more than once."""

    verb: str
    begin: Callable[[], Routine[Any]]
    thread_id: str | None = None
    checkpoint_id: str | None = None
    atomic: bool = False
    alters: bool = False

    def explain(self, error: psycopg.Error) -> None:
        """A `PostgresSaverError` where the server or the connection failed, else a note."""
        if isinstance(error, psycopg.errors.UndefinedTable):
            error.add_note("Call the saver's setup() once: it makes the tables.")
        elif isinstance(error, LOST):
            raise PostgresSaverError(self, error) from error
        else:
            thread = "" if self.thread_id is None else f" thread {self.thread_id!r}"
            error.add_note(f"This came up when PostgreSQL was asked to {self.verb} checkpoints of{thread}.")


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
