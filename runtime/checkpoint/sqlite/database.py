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


def check_synchronous(synchronous: Synchronous | None) -> Synchronous | None:
    """The mode itself; ValueError for one that there is not."""
    if synchronous not in (None, "FULL", "NORMAL"):
        raise ValueError(f"synchronous is {synchronous!r}: it is 'FULL', 'NORMAL', or None for the connection's own.")
    return synchronous


def prepare(db: sqlite3.Connection, synchronous: Synchronous | None) -> Layout:
    """The database's layout, its tables made. A file that LangGraph's saver began goes on in LangGraph's layout."""
    if db.in_transaction:
        db.commit()
    with explained("make the tables for"):
        ours, foreign = is_ours(db), is_foreign(db)
        if ours and foreign:
            logger.warning(
                "This database holds our tables and LangGraph's. Ours are used; threads in LangGraph's are not seen."
            )
        layout: Layout = ForeignLayout() if foreign and not ours else OurLayout()
        with suppress(sqlite3.OperationalError):  # it can only be read, or another connection is doing the same
            if db.execute("PRAGMA journal_mode").fetchone()[0].lower() == "delete":
                db.execute("PRAGMA journal_mode = WAL")
        if synchronous is not None:
            db.execute(f"PRAGMA synchronous = {synchronous}")
        layout.create(db)
    return layout
