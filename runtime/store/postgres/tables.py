"""The store's tables in PostgreSQL, which are LangGraph's: both can share a database.

A table of migrations says how far a database has come. They are numbered from 0, and recorded as they are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime._postgres import Routine
from runtime.store.postgres.index import VectorColumn
from runtime.store.postgres.steps import Job, asked
from runtime.store.sql import Read, Write

_TIMES: Final = (
    "created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP,"
    " updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP"
)

_ITEMS: Final = (
    f"""CREATE TABLE IF NOT EXISTS store (
        prefix text NOT NULL, key text NOT NULL, value jsonb NOT NULL, {_TIMES}, PRIMARY KEY (prefix, key)
    )""",
    "CREATE INDEX IF NOT EXISTS store_prefix_idx ON store USING btree (prefix text_pattern_ops)",
    """ALTER TABLE store
        ADD COLUMN IF NOT EXISTS expires_at TIMESTAMP WITH TIME ZONE, ADD COLUMN IF NOT EXISTS ttl_minutes INT""",
    "CREATE INDEX IF NOT EXISTS idx_store_expires_at ON store (expires_at) WHERE expires_at IS NOT NULL",
)

_SETTING_UP: Final = 6_203_915_377_840_226_519  # any number, as long as all processes mean the same by it


def set_up(column: VectorColumn | None) -> Job[None]:
    """Make the tables, or bring older ones up to date; those of vectors where they are wanted.

    It is one transaction, and waits for another process that is doing the same.
    """

    def begin() -> Routine[None]:
        yield asked([Read("SELECT pg_advisory_xact_lock(?)", (_SETTING_UP,))])
        yield from _migrate("store_migrations", _ITEMS)
        if column is not None:
            yield from _migrate("vector_migrations", _vectors(column))

    return Job(begin, atomic=True, alters=True)


def _migrate(table: str, migrations: Sequence[str]) -> Routine[None]:
    yield asked([Write(f"CREATE TABLE IF NOT EXISTS {table} (v INTEGER PRIMARY KEY)", [()])])
    (((done,),),) = yield asked([Read(f"SELECT coalesce(max(v), -1) FROM {table}", ())])
    for number, statement in enumerate(migrations):
        if number > done:
            yield asked([Write(statement, [()])])
            yield asked([Write(f"INSERT INTO {table} (v) VALUES (?)", [(number,)])])


def _vectors(column: VectorColumn) -> list[str]:
    migrations = [
        "CREATE EXTENSION IF NOT EXISTS vector",
        f"""CREATE TABLE IF NOT EXISTS store_vectors (
            prefix text NOT NULL, key text NOT NULL, field_name text NOT NULL, embedding {column.type}, {_TIMES},
            PRIMARY KEY (prefix, key, field_name),
            FOREIGN KEY (prefix, key) REFERENCES store(prefix, key) ON DELETE CASCADE
        )""",
    ]
    if column.index is not None:
        migrations.append(
            f"CREATE INDEX IF NOT EXISTS store_vectors_embedding_idx ON store_vectors USING {column.index}"
        )
    return migrations
