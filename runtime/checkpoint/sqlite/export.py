"""Threads of any saver as a database that LangGraph's own SqliteSaver opens and goes on with.

    with SqliteSaver.from_conn_string("threads.db") as saver:
        export(saver, "for_langgraph.db")

Nothing is lost on the way: checkpoints of all namespaces with all their values, parents and metadata, and pending
writes at their places. From a saver of this package the paths of tasks come along; others tell only their order, and
then paths are made that say it. Values of types that LangGraph has no form for are stored as here, and it gives them
back as plain data.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from os import PathLike, fspath
from typing import Any, NamedTuple

from runtime.checkpoint.base import CheckpointTuple
from runtime.checkpoint.base.arguments import address, coded
from runtime.checkpoint.base.calls import PutWrites, writes_of
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.database import Opened
from runtime.checkpoint.sqlite.foreign import ForeignLayout, is_foreign
from runtime.checkpoint.sqlite.layout import Key, Layout, Rows, write_rows
from runtime.checkpoint.sqlite.tables import is_ours

__all__ = ("Exported", "aexport", "export")

File = str | PathLike[str]


class Exported(NamedTuple):
    """How much was written."""

    threads: int
    checkpoints: int
    writes: int


def export(
    saver: Any, file: File, threads: Iterable[str] | None = None, *, serde: SerializerProtocol | None = None
) -> Exported:
    """Write these threads of a saver, or all, into a file with LangGraph's tables, and say how much that was.

    The file may exist, if LangGraph's saver made it: checkpoints that are there already are replaced. It is written in
    one transaction. `serde` is by default the saver's; LangGraph's saver must be given one that reads what it writes.
    """
    has_rows = isinstance(saver, SqliteSaver)
    with _target(file, saver, serde) as target:
        for config in _configs(threads):
            for found in saver.list(config):
                read = partial(_stored, found)
                target.keep(found, saver._on(lambda layout, read=read: read(layout, saver.conn)) if has_rows else None)
        return target.done


async def aexport(
    saver: Any, file: File, threads: Iterable[str] | None = None, *, serde: SerializerProtocol | None = None
) -> Exported:
    """`export`, from a saver's async methods; the file is written on the event loop's thread."""
    has_rows = isinstance(getattr(saver, "_opened", None), Opened)
    with _target(file, saver, serde) as target:
        for config in _configs(threads):
            async for found in saver.alist(config):
                target.keep(found, await saver._on(partial(_stored, found)) if has_rows else None)
        return target.done


class _Target:
    """The database that is written, in the middle of its transaction."""

    def __init__(self, db: sqlite3.Connection, layout: ForeignLayout, saver: Any, serde: Any) -> None:
        self._db = db
        self._layout = layout
        self._source = getattr(saver, "serde", None) or JsonPlusSerializer()
        self._serde: SerializerProtocol = serde or self._source
        self._counts = [0, 0]
        self._threads: set[str] = set()

    @property
    def done(self) -> Exported:
        """How much has been written so far."""
        return Exported(len(self._threads), *self._counts)

    def keep(self, found: CheckpointTuple, rows: Rows | None) -> None:
        """Write a checkpoint, and its pending writes: those rows, or what the checkpoint tells of them."""
        thread_id, ns, _ = address(found.config)
        key = (thread_id, ns, found.checkpoint["id"])
        parent = None if found.parent_config is None else address(found.parent_config)[2]
        record = self._layout.record(self._serde, key, parent, found.checkpoint, found.metadata, ())
        if rows is None:
            rows = [row for call in writes_of(found) for row in self._coded(key, call)]
        else:
            rows = [(*row[:-2], *self._serde.dumps_typed(self._source.loads_typed(row[-2:]))) for row in rows]
        self._layout.put(self._db, record)
        self._layout.drop_writes(self._db, key)
        self._layout.put_writes(self._db, key, rows)
        self._threads.add(thread_id)
        self._counts[0] += 1
        self._counts[1] += len(rows)

    def _coded(self, key: Key, call: PutWrites) -> Rows:
        return write_rows(key, call.task_id, call.task_path, coded(self._serde, call.writes, key[0]))


@contextmanager
def _target(file: File, saver: Any, serde: SerializerProtocol | None) -> Iterator[_Target]:
    with closing(sqlite3.connect(fspath(file), isolation_level=None)) as db:
        if is_ours(db):
            raise ValueError(f"{fspath(file)!r} holds threads in this package's layout. Export into another file.")
        if not is_foreign(db):
            db.execute("PRAGMA journal_mode = WAL")
        layout = ForeignLayout()
        layout.create(db)
        with layout.gathering(db):
            yield _Target(db, layout, saver, serde)


def _configs(threads: Iterable[str] | None) -> list[Any]:
    return [None] if threads is None else [{"configurable": {"thread_id": thread}} for thread in threads]


def _stored(found: CheckpointTuple, layout: Layout, db: sqlite3.Connection) -> Rows:
    thread_id, ns, _ = address(found.config)
    return layout.write_rows(db, (thread_id, ns, found.checkpoint["id"]))
