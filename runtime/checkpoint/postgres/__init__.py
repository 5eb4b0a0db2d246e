"""A saver that keeps threads in a PostgreSQL database. It needs the packages psycopg and psycopg-pool.

The tables are LangGraph's, so that its programs and ours can share a database: a thread that one began goes on in the
other. A superstep is one statement, and so one round trip and one transaction.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from psycopg import Connection, Pipeline
from psycopg.rows import dict_row

from runtime._postgres import Conn, Connected
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
from runtime.checkpoint.postgres.base import DEPRECATED, BasePostgresSaver
from runtime.checkpoint.postgres.coding import Scope
from runtime.checkpoint.postgres.layout import SHALLOW
from runtime.checkpoint.postgres.routines import AT_ONCE
from runtime.checkpoint.postgres.tables import SHALLOW_MIGRATIONS
from runtime.checkpoint.postgres.work import PostgresSaverError
from runtime.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("BasePostgresSaver", "Conn", "PostgresSaver", "PostgresSaverError", "ShallowPostgresSaver")


class PostgresSaver(BasePostgresSaver):
    """Keeps threads in the database of a connection or a pool, which many threads may share.

    Call `setup` once, which makes the tables. With a pipeline, `conn` is the connection that it belongs to. For the
    async methods of a graph use `aio.AsyncPostgresSaver`. Where the server or the connection fails,
    `PostgresSaverError` says what was lost and how to go on; a pool replaces lost connections by itself.
    """

    def __init__(self, conn: Conn, pipe: Pipeline | None = None, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self.conn = conn
        self.pipe = pipe
        self._connected = Connected(conn, pipe)

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, pipeline: bool = False, serde: SerializerProtocol | None = None
    ) -> Iterator[Self]:
        """A saver on a new connection, which is closed in the end."""
        with Connection.connect(conn_string, autocommit=True, prepare_threshold=0, row_factory=dict_row) as conn:
            if pipeline:
                with conn.pipeline() as pipe:
                    yield cls(conn, pipe, serde=serde)
            else:
                yield cls(conn, serde=serde)

    def setup(self) -> None:
        """Make the tables, or what is missing of older ones. Where all is there this only looks."""
        self._connected.do(self._setup())

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found: list[CheckpointTuple] = self._connected.do(self._get(config))
        return found[0] if found else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints that the config covers, newest first over all its threads and namespaces.

        `filter` is a part of the metadata, as JSON: a dict in it need not have all keys, nor a list all items.
        """
        if limit is not None and limit <= 0:
            return
        found = self._connected.do(self._list(Scope.of(config, filter, before), limit))
        if limit is not None and limit <= AT_ONCE:
            yield from found
            return
        for start in range(0, len(found), AT_ONCE):
            yield from self._connected.do(self._these(found[start : start + AT_ONCE]))

    def thread_ids(self) -> Sequence[str]:
        ids: Sequence[str] = self._connected.do(self._thread_ids())
        return ids

    def outline(self, thread_id: str) -> Sequence[Outline]:
        found: Sequence[Outline] = self._connected.do(self._outline(thread_id))
        return found

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        histories: Mapping[str, DeltaChannelHistory] = self._connected.do(self._histories(config, channels))
        return histories

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        work, made = self._put(config, checkpoint, metadata, new_versions)
        self._connected.do(work)
        return made

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._connected.do(self._put_writes(config, writes, task_id, task_path))

    def keep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        work, error = self._keep(shelf, parent_id, checkpoint, metadata, last)
        self._connected.do(work)
        if error is not None:
            raise error

    def keep_writes(self, shelf: Shelf, written: Written) -> None:
        self._connected.do(self._keep_writes(shelf, written))

    def delete_thread(self, thread_id: str) -> None:
        self._connected.do(self._delete_threads([thread_id]))

    def delete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        self._connected.do(self._delete_checkpoints(thread_id, checkpoint_ns, checkpoint_ids))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._connected.do(self._delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._connected.do(self._copy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget the history of threads: all but each namespace's newest checkpoint, or with "delete" that one too.

        Of a delta channel's history as much stays as its value is made of.
        """
        self._connected.do(self._prune(thread_ids, strategy))

    # -- the async twins: that there are none --------------------------------------------------------------------------

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        raise self._lacks("aget_delta_channel_history")

    def _lacks(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} has no {method}(): it would block the event loop. Use Async{type(self).__name__} "
            "of runtime.checkpoint.postgres.aio for the async methods of a graph."
        )


class ShallowPostgresSaver(PostgresSaver):
    """Keeps only the newest checkpoint of each thread and namespace, in tables of its own kind. Deprecated.

    Without a history there is no time travel and no fork, and a DeltaChannel has no value.
    """

    MIGRATIONS = SHALLOW_MIGRATIONS
    _layout = SHALLOW

    def __init__(self, conn: Conn, pipe: Pipeline | None = None, serde: SerializerProtocol | None = None) -> None:
        warnings.warn(DEPRECATED.format("ShallowPostgresSaver", "PostgresSaver"), DeprecationWarning, stacklevel=2)
        super().__init__(conn, pipe, serde=serde)
