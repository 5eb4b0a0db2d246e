"""The async saver of an SQLite database. It needs the package aiosqlite (`pip install aiosqlite`).

All that concerns the database is `SqliteSaver`'s own code, run on the connection's thread: one hop for each call, so
nothing of one call comes between the statements of another, cancelled or not.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import aiosqlite

from runtime.checkpoint.base import (
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
from runtime.checkpoint.base.outside import LoopBound
from runtime.checkpoint.base.versions import following
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.sqlite.coding import Listing, histories_of, rows_of, tuple_of
from runtime.checkpoint.sqlite.database import Opened, Synchronous
from runtime.checkpoint.sqlite.layout import Layout, write_rows
from runtime.checkpoint.sqlite.transaction import SqliteSaverError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("AsyncSqliteSaver", "SqliteSaverError")

T = TypeVar("T")


class AsyncSqliteSaver(LoopBound):
    """Keeps threads in the database of an aiosqlite connection; make it where the event loop runs.

    Its sync methods wait for that loop, so they are for other threads than the loop's own. What a commit means, and
    `synchronous`, are as in `SqliteSaver`.
    """

    def __init__(
        self,
        conn: aiosqlite.Connection,
        *,
        serde: SerializerProtocol | None = None,
        synchronous: Synchronous | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.conn = conn
        self.lock = asyncio.Lock()
        self._opened = Opened(synchronous)

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, serde: SerializerProtocol | None = None, synchronous: Synchronous | None = None
    ) -> AsyncIterator[AsyncSqliteSaver]:
        """A saver of the file of that name, or of memory for ":memory:"; the connection is closed in the end.

        `file:…?mode=ro` opens a file for reading only.
        """
        async with aiosqlite.connect(conn_string, uri=conn_string.startswith("file:")) as conn:
            yield cls(conn, serde=serde, synchronous=synchronous)

    @property
    def takes_frozen(self) -> bool:
        """True in our layout, once it is known to be the database's."""
        return self._opened.layout is not None and self._opened.layout.frozen

    async def setup(self) -> None:
        """Open the connection and make the tables. Every method does so when it needs them."""
        await self._ready()

    # -- reading -------------------------------------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        place = address(config)
        found = await self._on(lambda layout, db: layout.find(db, self.serde, *place))
        return None if found is None else tuple_of(self.serde, found, config if place[2] else None)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints that the config covers, newest first over all its threads and namespaces.

        A key of `filter` is the metadata's own, or leads into it with dots. ValueError for one that looks like SQL.
        """
        listing = Listing.of(config, filter, before, limit)
        keys = await self._on(lambda layout, db: listing.keys(layout, db, self.serde))
        while keys:
            for found in await self._on(lambda layout, db: layout.page(db, self.serde, keys)):
                yield tuple_of(self.serde, found)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        place = address(config)
        walk = await self._on(lambda layout, db: layout.histories(db, self.serde, *place, channels))
        return histories_of(self.serde, walk, place)

    # -- writing -------------------------------------------------------------------------------------------------------

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread_id, ns, parent_id = address(config)
        key = (thread_id, ns, checkpoint["id"])
        stored = get_checkpoint_metadata(config, metadata)
        record = (await self._ready()).record(self.serde, key, parent_id, checkpoint, stored, new_versions)
        await self._on(lambda layout, db: layout.put(db, record))
        return named(*key)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        thread_id, ns, _ = address(config)
        key = (thread_id, ns, config["configurable"]["checkpoint_id"])
        rows = write_rows(key, task_id, task_path, coded(self.serde, writes, thread_id, task_path))
        await self._on(lambda layout, db: layout.put_writes(db, key, rows))

    async def akeep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        key, stored = (shelf.thread_id, shelf.ns, checkpoint.id), shelf.labelled(metadata)
        rows = None if last is None else rows_of(self.serde, shelf, last)
        try:
            record = (await self._ready()).kept(self.serde, key, parent_id, checkpoint, stored)
        except TypeError:
            if last is not None:
                await self.akeep_writes(shelf, last)
            raise
        await self._on(lambda layout, db: layout.put(db, record, rows))

    async def akeep_writes(self, shelf: Shelf, written: Written) -> None:
        key, rows = (shelf.thread_id, shelf.ns, written.checkpoint_id), rows_of(self.serde, shelf, written)
        await self._on(lambda layout, db: layout.put_writes(db, key, rows))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._on(lambda layout, db: layout.delete_thread(db, str(thread_id)))

    async def adelete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        ids = several(checkpoint_ids, "checkpoint_ids")
        await self._on(lambda layout, db: layout.delete_checkpoints(db, self.serde, str(thread_id), checkpoint_ns, ids))

    async def athread_ids(self) -> Sequence[str]:
        return await self._on(lambda layout, db: layout.thread_ids(db))

    async def aoutline(self, thread_id: str) -> Sequence[Outline]:
        return await self._on(lambda layout, db: layout.outline(db, self.serde, str(thread_id)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        runs = [str(id) for id in several(run_ids, "run_ids")]
        await self._on(lambda layout, db: layout.delete_for_runs(db, self.serde, runs))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._on(lambda layout, db: layout.copy_thread(db, str(source_thread_id), str(target_thread_id)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        whole = is_whole_deletion(strategy)
        for thread_id in map(str, several(thread_ids, "thread_ids")):
            if whole:
                await self.adelete_thread(thread_id)
            else:
                await self._on(partial(_prune, self.serde, thread_id))

    def get_next_version(self, current: str | float | None, channel: None) -> str:
        """The version that follows: a counter, padded so that text sorts like numbers, and a random fraction."""
        return following(current)

    # -- helpers -------------------------------------------------------------------------------------------------------

    async def _on(self, work: Callable[[Layout, sqlite3.Connection], T]) -> T:
        """Do something with the database, on the connection's thread."""
        return await self._hop(work, await self._ready())

    async def _ready(self) -> Layout:
        if self._opened.layout is not None:
            return self._opened.layout
        async with self.lock:
            if self.conn._connection is None:
                await self.conn
            return await self._hop(_laid_out, self._opened)

    async def _hop(self, work: Callable[[Any, sqlite3.Connection], T], argument: Any) -> T:
        # Each public method of aiosqlite's connection is such a hop for one statement; a call here takes several.
        found: T = await self.conn._execute(work, argument, self.conn._conn)  # type: ignore[no-untyped-call]
        return found


def _laid_out(opened: Opened, db: sqlite3.Connection) -> Layout:
    return opened.ready(db)


def _prune(serde: SerializerProtocol, thread_id: str, layout: Layout, db: sqlite3.Connection) -> None:
    layout.prune(db, serde, thread_id)
