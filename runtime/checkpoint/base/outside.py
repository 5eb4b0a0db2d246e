"""An async saver's sync methods, for other threads than that of its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from runtime._asyncio import running_loop
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
)
from runtime.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

T = TypeVar("T")


class LoopBound(BaseCheckpointSaver[str]):
    """A saver that is made where an event loop runs, and works there. Its sync methods wait for that loop."""

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self.loop = asyncio.get_running_loop()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._from_outside("get_tuple", lambda: self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        found = self.alist(config, filter=filter, before=before, limit=limit)
        while (each := self._from_outside("list", partial(_next, found))) is not None:
            yield each

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._from_outside(
            "get_delta_channel_history", lambda: self.aget_delta_channel_history(config=config, channels=channels)
        )

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self._from_outside("put", lambda: self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._from_outside("put_writes", lambda: self.aput_writes(config, writes, task_id, task_path))

    def keep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        self._from_outside("keep", lambda: self.akeep(shelf, parent_id, checkpoint, metadata, last))

    def keep_writes(self, shelf: Shelf, written: Written) -> None:
        self._from_outside("keep_writes", lambda: self.akeep_writes(shelf, written))

    def delete_thread(self, thread_id: str) -> None:
        self._from_outside("delete_thread", lambda: self.adelete_thread(thread_id))

    def delete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        self._from_outside(
            "delete_checkpoints", lambda: self.adelete_checkpoints(thread_id, checkpoint_ns, checkpoint_ids)
        )

    def thread_ids(self) -> Sequence[str]:
        return self._from_outside("thread_ids", self.athread_ids)

    def outline(self, thread_id: str) -> Sequence[Outline]:
        return self._from_outside("outline", lambda: self.aoutline(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._from_outside("delete_for_runs", lambda: self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._from_outside("copy_thread", lambda: self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._from_outside("prune", lambda: self.aprune(thread_ids, strategy=strategy))

    def _from_outside(self, method: str, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if running_loop() is self.loop:
            raise asyncio.InvalidStateError(
                f"{method}() of {type(self).__name__} waits for the event loop that it was called on, so neither would "
                f"go on. Await a{method}() here, or call {method}() from another thread."
            )
        return asyncio.run_coroutine_threadsafe(call(), self.loop).result()


async def _next(found: AsyncIterator[CheckpointTuple]) -> CheckpointTuple | None:
    return await anext(found, None)
