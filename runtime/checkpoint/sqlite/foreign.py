"""LangGraph's layout: a checkpoint with its values in one blob, its metadata as JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from typing import ClassVar, Final

from runtime.checkpoint.base import Checkpoint, CheckpointMetadata
from runtime.checkpoint.base.arguments import cannot_save
from runtime.checkpoint.base.unreadable import checked_frame, checked_metadata
from runtime.checkpoint.base.versions import Version
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.sqlite.frame import Frame
from runtime.checkpoint.sqlite.layout import Key, Known, Layout, Pair, Record, Rows
from runtime.checkpoint.sqlite.tails import Stored
from runtime.checkpoint.sqlite.transaction import explained

_COLUMNS: Final = {
    "checkpoints": {"thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id"}
    | {"type", "checkpoint", "metadata"},
    "writes": {"thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "value"},
}


_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS checkpoints (
        thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
        parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))""",
    """CREATE TABLE IF NOT EXISTS writes (
        thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
        task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', idx INTEGER NOT NULL, channel TEXT NOT NULL,
        type TEXT, value BLOB,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))""",
)


def is_foreign(db: sqlite3.Connection) -> bool:
    """True where the database holds LangGraph's tables, whatever release made them."""
    return all(expected <= _columns(db, table) for table, expected in _COLUMNS.items())


class ForeignLayout(Layout):
    """Goes on in a database of LangGraph's SqliteSaver, which can read what is added but for our own types."""

    checkpoints: ClassVar[str] = "checkpoints"
    writes: ClassVar[str] = "writes"
    columns: ClassVar[str] = "type, checkpoint, metadata"
    metadata_type: ClassVar[str] = "'json'"
    run_id: ClassVar[str] = "json_extract(CAST(metadata AS TEXT), '$.run_id')"

    def create(self, db: sqlite3.Connection) -> None:
        if not is_foreign(db):
            with self.writing(db):
                for statement in _TABLES:
                    db.execute(statement)
        if "task_path" not in _columns(db, "writes"):  # older releases did not keep it
            with self.writing(db):
                db.execute("ALTER TABLE writes ADD COLUMN task_path TEXT NOT NULL DEFAULT ''")

    def record(
        self,
        serde: SerializerProtocol,
        key: Key,
        parent_id: str | None,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new: Collection[str],
    ) -> Record:
        try:
            frame = serde.dumps_typed({**checkpoint})
        except TypeError as error:
            raise cannot_save(serde, checkpoint["channel_values"].items(), key[0], error) from error
        text = json.dumps(metadata, ensure_ascii=False).encode("utf-8", "replace")
        return Record(key, parent_id, frame, ("json", text), metadata.get("run_id"), (), ())

    def put(self, db: sqlite3.Connection, record: Record, last: Rows | None = None) -> None:
        row = (*record.key, record.parent_id, *record.frame, record.metadata[1])
        with explained(db, "save", record.key[0], record.key[2]), self.putting(db, last or ()):
            if last:
                self._put_rows(db, last)
            db.execute(
                "INSERT OR REPLACE INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,"
                " type, checkpoint, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def load_metadata(self, serde: SerializerProtocol, pair: Pair) -> CheckpointMetadata:
        metadata: CheckpointMetadata = checked_metadata(json.loads(pair[1])) if pair[1] else {}
        return metadata

    def frame(self, serde: SerializerProtocol, pair: Pair) -> Frame:
        return Frame(checked_frame(serde.loads_typed(pair)), {}, {})

    def values(self, db: sqlite3.Connection, key: Key, asked: Mapping[str, Version], known: Known) -> dict[str, Stored]:
        return {}

    def stored(self, db: sqlite3.Connection, thread_id: str) -> set[tuple[str, str, Version]]:
        return set()

    def drop_unused(self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, ns: str) -> None:
        """Nothing: values went with their checkpoints."""

    def copy_values(self, db: sqlite3.Connection, source: str, target: str) -> None:
        """Nothing: values went with their checkpoints."""

    def drop_values(self, db: sqlite3.Connection, thread_id: str) -> None:
        """Nothing: values went with their checkpoints."""


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
