"""The store's tables in SQLite, which are LangGraph's: either reads and writes what the other did.

A table of migrations says how far a database has come. They are numbered from 0, and recorded as they are done.
"""

from __future__ import annotations

import sqlite3
from typing import Final

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
    """Make the tables, or bring older ones up to date; those of vectors where they are wanted."""
    _migrate(db, "store_migrations", _ITEMS)
    if vectors:
        _migrate(db, "vector_migrations", _VECTORS)


def has_vectors(db: sqlite3.Connection) -> bool:
    """Whether there is a table of vectors, so that an item that goes must take its own along."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'store_vectors'").fetchone() is not None


def _migrate(db: sqlite3.Connection, table: str, migrations: tuple[str, ...]) -> None:
    db.execute(f"CREATE TABLE IF NOT EXISTS {table} (v INTEGER PRIMARY KEY)")
    (done,) = db.execute(f"SELECT coalesce(max(v), -1) FROM {table}").fetchone()
    for number, statement in enumerate(migrations):
        if number > done:
            db.execute(statement)
            db.execute(f"INSERT INTO {table} (v) VALUES (?)", (number,))
