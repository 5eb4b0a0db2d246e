"""The store's tables in SQLite, which are LangGraph's: either reads and writes what the other did.

A table of migrations says how far a database has come. They are numbered from 0, and recorded as they are done.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from runtime.checkpoint.sqlite.transaction import writing

_TIMES: Final = "created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP"

_ITEMS: Final = (
    f"""CREATE TABLE IF NOT EXISTS store (
        prefix text NOT NULL, key text NOT NULL, value text NOT NULL, {_TIMES}, PRIMARY KEY (prefix, key)
    )""",
    "CREATE INDEX IF NOT EXISTS store_prefix_idx ON store (prefix)",
    "ALTER TABLE store ADD COLUMN expires_at TIMESTAMP",
    "ALTER TABLE store ADD COLUMN ttl_minutes REAL",
    "CREATE INDEX IF NOT EXISTS idx_store_expires_at ON store (expires_at) WHERE expires_at IS NOT NULL",
)

_VECTORS: Final = (
    f"""CREATE TABLE IF NOT EXISTS store_vectors (
        prefix text NOT NULL, key text NOT NULL, field_name text NOT NULL, embedding BLOB, {_TIMES},
        PRIMARY KEY (prefix, key, field_name),
        FOREIGN KEY (prefix, key) REFERENCES store(prefix, key) ON DELETE CASCADE
    )""",
)


def migrate(db: sqlite3.Connection, vectors: bool) -> None:
    """Make the tables, or bring older ones up to date; those of vectors where they are wanted.

    A file that is up to date is only looked at.
    """
    if not _pending(db, vectors):
        return
    with writing(db):
        for table, number, statement in _pending(db, vectors):  # another connection may have come first
            db.execute(f"CREATE TABLE IF NOT EXISTS {table} (v INTEGER PRIMARY KEY)")
            db.execute(statement)
            db.execute(f"INSERT INTO {table} (v) VALUES (?)", (number,))


def has_vectors(db: sqlite3.Connection) -> bool:
    """Whether there is a table of vectors, so that an item that goes must take its own along."""
    return _exists(db, "store_vectors")


def _pending(db: sqlite3.Connection, vectors: bool) -> list[tuple[str, int, str]]:
    """The migrations that are to be done: where each is recorded, its number, its statement."""
    pending: list[tuple[str, int, str]] = []
    for table, migrations in [("store_migrations", _ITEMS), *([("vector_migrations", _VECTORS)] if vectors else [])]:
        done = -1
        if _exists(db, table):
            (done,) = db.execute(f"SELECT coalesce(max(v), -1) FROM {table}").fetchone()
        pending += [(table, number, statement) for number, statement in enumerate(migrations) if number > done]
    return pending


def _exists(db: sqlite3.Connection, table: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None
