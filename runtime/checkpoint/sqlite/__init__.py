"""A saver that keeps threads in an SQLite database: one file, one commit a superstep, no server.

A file that LangGraph's `SqliteSaver` began is gone on with in its own layout; any other gets ours (see `tables`).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    FrozenCheckpoint,
    Outline,
    Shelf,
    Written,
    get_checkpoint_metadata,
)
from runtime.checkpoint.base.arguments import address, coded, is_whole_deletion, named, several
from runtime.checkpoint.base.versions import following
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.sqlite.coding import Listing, histories_of, rows_of, tuple_of
from runtime.checkpoint.sqlite.database import Opened, Synchronous
from runtime.checkpoint.sqlite.layout import Layout, write_rows
from runtime.checkpoint.sqlite.transaction import SqliteSaverError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("SqliteSaver", "SqliteSaverError")

T = TypeVar("T")


class SqliteSaver(BaseCheckpointSaver[str]):
    """Keeps threads in the database of a connection, which many threads may share (`check_same_thread=False`).

    Every put is a transaction of its own, on the disk when it returns. `synchronous="NORMAL"` leaves the last ones to
    the operating system: a crash of the program loses nothing, one of the machine the last supersteps. By default the
    connection's own mode counts, which is FULL. For the async methods of a graph use `aio.AsyncSqliteSaver`.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        serde: SerializerProtocol | None = None,
        synchronous: Synchronous | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.conn = conn
        self.lock = threading.RLock()
        self._opened = Opened(synchronous)

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, serde: SerializerProtocol | None = None, synchronous: Synchronous | None = None
    ) -> Iterator[SqliteSaver]:
        """A saver of the file of that name, or of memory for ":memory:"; the connection is closed in the end.

        `file:…?mode=ro` opens a file for reading only.
        """
        uri = conn_string.startswith("file:")
        with closing(sqlite3.connect(conn_string, check_same_thread=False, uri=uri)) as conn:
            yield cls(conn, serde=serde, synchronous=synchronous)

    @property
    def takes_frozen(self) -> bool:
        """True in our layout, once it is known to be the database's."""
        return self._opened.layout is not None and self._opened.layout.frozen

    def setup(self) -> None:
        """Make the tables, where they are not there. Every method does so when it needs them."""
        with self.lock:
            self._opened.ready(self.conn)

    @contextmanager
    def together(self) -> Iterator[None]:
        """One commit for all that this thread puts inside; the saver's other threads wait.

        A put that fails leaves the others: what went well is kept also where the block ends by an error. Only where
        the disk fails or is full does SQLite undo all of it.
        """
        with self.lock:
            error: Exception | None = None
            with self._opened.ready(self.conn).gathering(self.conn):
                try:
                    yield
                except Exception as caught:
                    if not self.conn.in_transaction:
                        raise
                    error = caught
            if error is not None:
                raise error

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        place = address(config)
        found = self._on(lambda layout: layout.find(self.conn, self.serde, *place))
        return None if found is None else tuple_of(self.serde, found, config if place[2] else None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints that the config covers, newest first over all its threads and namespaces.

        A key of `filter` is the metadata's own, or leads into it with dots. ValueError for one that looks like SQL.
        """
        listing = Listing.of(config, filter, before, limit)
        keys = self._on(lambda layout: listing.keys(layout, self.conn, self.serde))
        while keys:
            for found in self._on(lambda layout: layout.page(self.conn, self.serde, keys)):
                yield tuple_of(self.serde, found)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        place = address(config)
        walk = self._on(lambda layout: layout.histories(self.conn, self.serde, *place, channels))
        return histories_of(self.serde, walk, place)

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread_id, ns, parent_id = address(config)
        key = (thread_id, ns, checkpoint["id"])
        stored = get_checkpoint_metadata(config, metadata)
        record = self._on(_itself).record(self.serde, key, parent_id, checkpoint, stored, new_versions)
        self._on(lambda layout: layout.put(self.conn, record))
        return named(*key)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        thread_id, ns, _ = address(config)
        key = (thread_id, ns, config["configurable"]["checkpoint_id"])
        rows = write_rows(key, task_id, task_path, coded(self.serde, writes, thread_id, task_path))
        self._on(lambda layout: layout.put_writes(self.conn, key, rows))

    def keep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        key, stored = (shelf.thread_id, shelf.ns, checkpoint.id), shelf.labelled(metadata)
        rows = None if last is None else rows_of(self.serde, shelf, last)
        with self.lock:
            layout = self._opened.ready(self.conn)
            try:
                record = layout.kept(self.serde, key, parent_id, checkpoint, stored)
            except TypeError:
                if last is not None:
                    self.keep_writes(shelf, last)
                raise
            layout.put(self.conn, record, rows)

    def keep_writes(self, shelf: Shelf, written: Written) -> None:
        key, rows = (shelf.thread_id, shelf.ns, written.checkpoint_id), rows_of(self.serde, shelf, written)
        self._on(lambda layout: layout.put_writes(self.conn, key, rows))

    def delete_thread(self, thread_id: str) -> None:
        self._on(lambda layout: layout.delete_thread(self.conn, str(thread_id)))

    def delete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        ids = several(checkpoint_ids, "checkpoint_ids")
        self._on(lambda layout: layout.delete_checkpoints(self.conn, self.serde, str(thread_id), checkpoint_ns, ids))

    def thread_ids(self) -> Sequence[str]:
        return self._on(lambda layout: layout.thread_ids(self.conn))

    def outline(self, thread_id: str) -> Sequence[Outline]:
        return self._on(lambda layout: layout.outline(self.conn, self.serde, str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        runs = [str(id) for id in several(run_ids, "run_ids")]
        self._on(lambda layout: layout.delete_for_runs(self.conn, self.serde, runs))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._on(lambda layout: layout.copy_thread(self.conn, str(source_thread_id), str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget the history of threads: all but each namespace's newest checkpoint, or with "delete" that one too.

        Of a delta channel's history as much stays as its value is made of.
        """
        whole = is_whole_deletion(strategy)
        for thread_id in map(str, several(thread_ids, "thread_ids")):
            if whole:
                self.delete_thread(thread_id)
            else:
                self._on(partial(_prune, self.conn, self.serde, thread_id))

    def get_next_version(self, current: str | float | None, channel: None) -> str:
        """The version that follows: a counter, padded so that text sorts like numbers, and a random fraction."""
        return following(current)

    # -- the async twins: that there are none --------------------------------------------------------------------------

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        raise self._lacks("aget_delta_channel_history")

    def _lacks(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"SqliteSaver has no {method}(): it would block the event loop. Use AsyncSqliteSaver of "
            "runtime.checkpoint.sqlite.aio for the async methods of a graph; it needs the package aiosqlite."
        )

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _on(self, work: Callable[[Layout], T]) -> T:
        """Do something with the database while no other thread does."""
        with self.lock:
            return work(self._opened.ready(self.conn))


def _itself(layout: Layout) -> Layout:
    return layout


def _prune(conn: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, layout: Layout) -> None:
    layout.prune(conn, serde, thread_id)
