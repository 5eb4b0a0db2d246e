"""The async savers of a PostgreSQL database. They need the packages psycopg and psycopg-pool."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from psycopg import AsyncConnection, AsyncPipeline
from psycopg.rows import dict_row

from runtime._postgres import AsyncConn as Conn
from runtime._postgres import AsyncConnected
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
)
from runtime.checkpoint.base.outside import LoopBound
from runtime.checkpoint.postgres.base import DEPRECATED, BasePostgresSaver
from runtime.checkpoint.postgres.coding import Scope
from runtime.checkpoint.postgres.layout import SHALLOW
from runtime.checkpoint.postgres.routines import AT_ONCE
from runtime.checkpoint.postgres.tables import SHALLOW_MIGRATIONS
from runtime.checkpoint.postgres.work import PostgresSaverError
from runtime.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("AsyncPostgresSaver", "AsyncShallowPostgresSaver", "Conn", "PostgresSaverError")


class AsyncPostgresSaver(LoopBound, BasePostgresSaver):
    """Keeps threads in the database of an async connection or pool; make it where the event loop runs.

    Its sync methods wait for that loop, so they are for other threads than the loop's own. All else is as in
    `PostgresSaver`.
    """

    def __init__(self, conn: Conn, pipe: AsyncPipeline | None = None, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self.conn = conn
        self.pipe = pipe
        self._connected = AsyncConnected(conn, pipe)

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, pipeline: bool = False, serde: SerializerProtocol | None = None
    ) -> AsyncIterator[Self]:
        """A saver on a new connection, which is closed in the end."""
        async with await AsyncConnection.connect(
            conn_string, autocommit=True, prepare_threshold=0, row_factory=dict_row
        ) as conn:
            if pipeline:
                async with conn.pipeline() as pipe:
                    yield cls(conn, pipe, serde=serde)
            else:
                yield cls(conn, serde=serde)

    async def setup(self) -> None:
        """Make the tables, or what is missing of older ones. Where all is there this only looks."""
        await self._connected.do(self._setup())

    # -- reading -------------------------------------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found: list[CheckpointTuple] = await self._connected.do(self._get(config))
        return found[0] if found else None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints that the config covers, newest first over all its threads and namespaces.

        `filter` is a part of the metadata, as JSON: a dict in it need not have all keys, nor a list all items.
        """
        if limit is not None and limit <= 0:
            return
        found = await self._connected.do(self._list(Scope.of(config, filter, before), limit))
        if limit is not None and limit <= AT_ONCE:
            for each in found:
                yield each
            return
        for start in range(0, len(found), AT_ONCE):
            for each in await self._connected.do(self._these(found[start : start + AT_ONCE])):
                yield each

    async def athread_ids(self) -> Sequence[str]:
        ids: Sequence[str] = await self._connected.do(self._thread_ids())
        return ids

    async def aoutline(self, thread_id: str) -> Sequence[Outline]:
        found: Sequence[Outline] = await self._connected.do(self._outline(thread_id))
        return found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        histories: Mapping[str, DeltaChannelHistory] = await self._connected.do(self._histories(config, channels))
        return histories

    # -- writing -------------------------------------------------------------------------------------------------------

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        work, made = self._put(config, checkpoint, metadata, new_versions)
        await self._connected.do(work)
        return made

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._connected.do(self._put_writes(config, writes, task_id, task_path))

    async def akeep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        work, error = self._keep(shelf, parent_id, checkpoint, metadata, last)
        await self._connected.do(work)
        if error is not None:
            raise error

    async def akeep_writes(self, shelf: Shelf, written: Written) -> None:
        await self._connected.do(self._keep_writes(shelf, written))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._connected.do(self._delete_threads([thread_id]))

    async def adelete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        await self._connected.do(self._delete_checkpoints(thread_id, checkpoint_ns, checkpoint_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._connected.do(self._delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._connected.do(self._copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self._connected.do(self._prune(thread_ids, strategy))


class AsyncShallowPostgresSaver(AsyncPostgresSaver):
    """Keeps only the newest checkpoint of each thread and namespace; see `ShallowPostgresSaver`. Deprecated."""

    MIGRATIONS = SHALLOW_MIGRATIONS
    _layout = SHALLOW

    def __init__(self, conn: Conn, pipe: AsyncPipeline | None = None, serde: SerializerProtocol | None = None) -> None:
        message = DEPRECATED.format("AsyncShallowPostgresSaver", "AsyncPostgresSaver")
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        super().__init__(conn, pipe, serde=serde)
