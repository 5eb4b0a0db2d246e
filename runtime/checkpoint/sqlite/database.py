"""A connection that has its tables: which layout a database has, and how it is made ready."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import suppress
from typing import Literal

from runtime.checkpoint.sqlite.foreign import ForeignLayout, is_foreign
from runtime.checkpoint.sqlite.layout import Layout
from runtime.checkpoint.sqlite.tables import OurLayout, is_ours
from runtime.checkpoint.sqlite.transaction import explained

logger = logging.getLogger(__name__)

Synchronous = Literal["FULL", "NORMAL"]
"""When a commit is through: FULL, once it is on the disk; NORMAL, once the system has it."""


class Opened:
    """What is known of a saver's connection. A saver and those that `with_allowlist` made of it share it."""

    __slots__ = ("_layout", "_synchronous")

    def __init__(self, synchronous: Synchronous | None) -> None:
        if synchronous not in (None, "FULL", "NORMAL"):
            raise ValueError(
                f"synchronous is {synchronous!r}: it is 'FULL', 'NORMAL', or None for the connection's own."
            )
        self._synchronous = synchronous
        self._layout: Layout | None = None

    @property
    def layout(self) -> Layout | None:
        """The database's layout, once it is known."""
        return self._layout

    def ready(self, db: sqlite3.Connection) -> Layout:
        """The database's layout, its tables made. A file that LangGraph's saver began stays in LangGraph's layout."""
        if self._layout is None:
            self._layout = _prepared(db, self._synchronous)
        return self._layout


def _prepared(db: sqlite3.Connection, synchronous: Synchronous | None) -> Layout:
    if db.in_transaction:
        db.commit()
    with explained(db, "open"):
        ours, foreign = is_ours(db), is_foreign(db)
        if ours and foreign:
            logger.warning(
                "This database holds our tables and LangGraph's. Ours are used; threads in LangGraph's are not seen."
            )
        layout: Layout = ForeignLayout() if foreign and not ours else OurLayout()
        if not ours and not foreign:  # whoever only reads a database must not change it
            with suppress(sqlite3.OperationalError):  # it can only be read, or another connection is doing the same
                if db.execute("PRAGMA journal_mode").fetchone()[0].lower() == "delete":
                    db.execute("PRAGMA journal_mode = WAL")
        if synchronous is not None:
            db.execute(f"PRAGMA synchronous = {synchronous}")
        layout.create(db)
    return layout
