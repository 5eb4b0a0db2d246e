"""LangGraph's tables, as the steps by which those of any age become today's.

| table | a row is |
|---|---|
| `checkpoint_migrations` | a step that has been taken, by its number |
| `checkpoints` | a checkpoint as JSON, with those of its values that JSON can hold, its parent and its metadata |
| `checkpoint_blobs` | another value, by its channel and the channel's version; or what made a delta channel's version |
| `checkpoint_writes` | what a task wrote, with the checkpoint that it started from |

The shallow savers have tables of their own kind under the same names: one checkpoint for each thread and namespace,
and one value for each channel. The two can't share a database.
"""

from __future__ import annotations

from typing import Final

_FIRST: Final = "CREATE TABLE IF NOT EXISTS checkpoint_migrations (v INTEGER PRIMARY KEY)"

_WRITES: Final = """CREATE TABLE IF NOT EXISTS checkpoint_writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, blob BYTEA NOT NULL,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))"""

_INDEXES: Final = tuple(
    f"CREATE INDEX IF NOT EXISTS {table}_thread_id_idx ON {table} (thread_id)"
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
)

_TASK_PATH: Final = "ALTER TABLE checkpoint_writes ADD COLUMN IF NOT EXISTS task_path TEXT NOT NULL DEFAULT ''"

MIGRATIONS: Final = (
    _FIRST,
    """CREATE TABLE IF NOT EXISTS checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint JSONB NOT NULL, metadata JSONB NOT NULL DEFAULT '{}',
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))""",
    """CREATE TABLE IF NOT EXISTS checkpoint_blobs (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', channel TEXT NOT NULL, version TEXT NOT NULL,
    type TEXT NOT NULL, blob BYTEA, PRIMARY KEY (thread_id, checkpoint_ns, channel, version))""",
    _WRITES,
    "ALTER TABLE checkpoint_blobs ALTER COLUMN blob DROP NOT NULL",
    "SELECT 1",  # a number that was given away and came to nothing
    *_INDEXES,
    _TASK_PATH,
)

SHALLOW_MIGRATIONS: Final = (
    _FIRST,
    """CREATE TABLE IF NOT EXISTS checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', type TEXT, checkpoint JSONB NOT NULL,
    metadata JSONB NOT NULL DEFAULT '{}', PRIMARY KEY (thread_id, checkpoint_ns))""",
    """CREATE TABLE IF NOT EXISTS checkpoint_blobs (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', channel TEXT NOT NULL,
    type TEXT NOT NULL, blob BYTEA, PRIMARY KEY (thread_id, checkpoint_ns, channel))""",
    _WRITES,
    *_INDEXES,
    _TASK_PATH,
)
