"""A saver that keeps threads in memory, for tests, notebooks and short-lived programs.

Each thread has a `Lineage` for every namespace. Values are frozen when they are stored and made anew when they are
read, so what a node does to its objects never reaches the history.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from runtime.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    DeltaWalk,
    FrozenCheckpoint,
    Shelf,
    Written,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from runtime.checkpoint.base.arguments import is_whole_deletion, named, several, unsaveable
from runtime.checkpoint.base.unreadable import Reading, checked_metadata
from runtime.checkpoint.base.versions import Version, following
from runtime.checkpoint.memory.blobs import Blob, freeze, thaw
from runtime.checkpoint.memory.lineage import Held, Lineage, Record, record_of
from runtime.checkpoint.memory.persistent import PersistentDict
from runtime.checkpoint.memory.views import Blobs, Storage, Writes
from runtime.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("InMemorySaver", "MemorySaver", "PersistentDict")

_FRAME_KEYS = frozenset({"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"})


class InMemorySaver(BaseCheckpointSaver[str]):
    """Keeps threads in memory. It may be used from many threads at once, and in both colours.

    `factory` makes the dict that holds everything; with `partial(PersistentDict, filename=…)` the saver, used as a
    context manager, goes on from a file and writes it when it is closed. What a subclass enters on `stack` is closed
    with the saver.
    """

    immediate: ClassVar[bool] = True
    takes_frozen = True

    def __init__(
        self, *, serde: SerializerProtocol | None = None, factory: Callable[..., dict[Any, Any]] = defaultdict
    ) -> None:
        super().__init__(serde=serde)
        self.stack = ExitStack()
        self.storage: Storage = factory(dict)
        if isinstance(self.storage, AbstractContextManager):
            self.stack.enter_context(self.storage)
        self._by_hand: dict[tuple[str, str], Lineage] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stack.__exit__(exc_type, exc_value, traceback)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(exc_type, exc_value, traceback)

    @property
    def writes(self) -> Writes:
        """All pending writes, by (thread, namespace, checkpoint)."""
        return Writes(self.storage, self._lineage_by_hand)

    @property
    def blobs(self) -> Blobs:
        """All stored values, by (thread, namespace, channel, version)."""
        return Blobs(self.storage, self._lineage_by_hand)

    # -- reading -------------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        conf = config["configurable"]
        thread_id, ns, wanted = conf["thread_id"], conf.get("checkpoint_ns", ""), get_checkpoint_id(config)
        lineage = self._known(thread_id, ns)
        if lineage is None:
            return None
        with self._lock:
            record = lineage.records.get(wanted) if wanted else lineage.newest()
            if record is None:
                return None
            held = lineage.held(record)
        return self._tuple(thread_id, ns, held, config if wanted else None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        wanted = None if config is None else get_checkpoint_id(config)
        end = None if before is None else get_checkpoint_id(before)
        left = limit
        for thread_id, ns, lineage in self._covered(config):
            with self._lock:
                ids = lineage.ids(end)
            for id in ids if wanted is None else [wanted] * (wanted in ids):
                if left is not None and left <= 0:
                    return
                with self._lock:
                    record = lineage.records.get(id)
                if record is None or not self._matches(record, filter):
                    continue
                with self._lock:
                    held = lineage.held(record)
                yield self._tuple(thread_id, ns, held)
                left = None if left is None else left - 1

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        conf = config["configurable"]
        wanted = get_checkpoint_id(config)
        walk = DeltaWalk(channels)
        lineage = self._known(conf["thread_id"], conf.get("checkpoint_ns", "")) or Lineage()
        with self._lock:
            record = lineage.records.get(wanted) if wanted else lineage.newest()
            for child, ancestor in () if record is None else pairwise((record, *lineage.ancestors(record))):
                if not walk.open:
                    break
                logs = lineage.logs_between(ancestor, child, walk.open)
                versions, values = ancestor.versions, lineage.values
                seeds = {
                    channel: values[item]
                    for channel in walk.open
                    if (item := (channel, versions.get(channel))) in values
                }
                walk.visit([write[:3] for write in lineage.writes_of(ancestor.id)], seeds, logs)
        histories = walk.histories()
        for history in histories.values():
            history["writes"] = [(task_id, channel, self._thaw(blob)) for task_id, channel, blob in history["writes"]]
            if "seed" in history:
                history["seed"] = self._thaw(history["seed"])
        return histories

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        conf = config["configurable"]
        thread_id, ns, parent_id = conf["thread_id"], conf.get("checkpoint_ns", ""), get_checkpoint_id(config)
        lineage = self._lineage(thread_id, ns)
        serde, values = self.serde, checkpoint["channel_values"]
        channel = ""
        blobs: dict[tuple[str, Version], Blob] = {}
        try:
            for channel, version in new_versions.items():
                if channel in values:
                    value = values[channel]
                    before = lineage.value_at(parent_id, channel) if type(value) is list else None
                    blobs[channel, version] = freeze(value, serde, before)
        except TypeError as error:
            raise unsaveable(channel, thread_id, error) from error
        frame, extras = _frame(checkpoint)
        stored = freeze(get_checkpoint_metadata(config, metadata), serde)
        record = record_of(checkpoint["id"], parent_id, frame, freeze(extras, serde) if extras else None, stored)
        with self._lock:
            lineage.add(record, blobs)
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": record.id}}

    def keep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        id, at, versions, seen, updated, new, values, logs = checkpoint
        lineage, serde = self._lineage(shelf.thread_id, shelf.ns), self.serde
        frozen = {} if last is None else self._keep_writes(lineage, shelf.thread_id, last)
        channel = ""
        blobs: dict[tuple[str, Version], Blob] = {}
        try:
            for channel, value in values.items():
                if channel in frozen and frozen[channel][0] is value:
                    blobs[channel, new[channel]] = frozen[channel][1]
                    continue
                before = lineage.value_at(parent_id, channel) if type(value) is list else None
                blobs[channel, new[channel]] = freeze(value, serde, before)
        except TypeError as error:
            raise unsaveable(channel, shelf.thread_id, error) from error
        record = Record(id, parent_id, versions, seen, at, updated, None, freeze(shelf.labelled(metadata), serde))
        told = {
            (channel, new[channel]): [(task_id, channel, freeze(value, serde)) for task_id, value in log]
            for channel, log in logs.items()
            if log
        }
        with self._lock:
            lineage.add(record, blobs, told)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        conf = config["configurable"]
        thread_id, written = conf["thread_id"], Written(conf["checkpoint_id"], writes, task_id, task_path)
        self._keep_writes(self._lineage(thread_id, conf.get("checkpoint_ns", "")), thread_id, written)

    def keep_writes(self, shelf: Shelf, written: Written) -> None:
        self._keep_writes(self._lineage(shelf.thread_id, shelf.ns), shelf.thread_id, written)

    def delete_thread(self, thread_id: str) -> None:
        with self._lock:
            self.storage.pop(thread_id, None)

    def delete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        gone = set(several(checkpoint_ids, "checkpoint_ids"))
        lineage = self._known(thread_id, checkpoint_ns)
        if lineage is not None:
            with self._lock:
                lineage.retain(lineage.records.keys() - gone)

    def thread_ids(self) -> Sequence[str]:
        return [*self.storage]

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        runs = set(several(run_ids, "run_ids"))
        with self._lock:
            for lineages in self.storage.values():
                for lineage in lineages.values():
                    kept = {id for id, record in lineage.records.items() if self._run_of(record) not in runs}
                    if len(kept) < len(lineage.records):
                        lineage.retain(kept)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        with self._lock:
            lineages = self.storage.get(source_thread_id)
            if lineages:
                self.storage[target_thread_id] = {ns: lineage.copy() for ns, lineage in lineages.items()}

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget the history of threads: all but each namespace's newest checkpoint, or with "delete" that one too.

        Of a delta channel's history as much stays as its value is made of.
        """
        whole = is_whole_deletion(strategy)
        for thread_id in several(thread_ids, "thread_ids"):
            if whole:
                self.delete_thread(thread_id)
                continue
            with self._lock:
                for lineage in self.storage.get(thread_id, {}).values():
                    newest = lineage.newest()
                    if newest is not None:
                        lineage.retain(lineage.needed_for(newest, self._thaw(newest.metadata)))

    def get_next_version(self, current: str | float | None, channel: None) -> str:
        """The version that follows: a counter, padded so that text sorts like numbers, and a random fraction."""
        return following(current)

    # -- the async twins -----------------------------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for found in self.list(config, filter=filter, before=before, limit=limit):
            yield found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self.get_delta_channel_history(config=config, channels=channels)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def akeep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        self.keep(shelf, parent_id, checkpoint, metadata, last)

    async def akeep_writes(self, shelf: Shelf, written: Written) -> None:
        self.keep_writes(shelf, written)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    async def adelete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        self.delete_checkpoints(thread_id, checkpoint_ns, checkpoint_ids)

    async def athread_ids(self) -> Sequence[str]:
        return self.thread_ids()

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _keep_writes(self, lineage: Lineage, thread_id: str, written: Written) -> dict[str, tuple[Any, Blob]]:
        """Keep what a task wrote, and tell the last value of each channel with its blob, where another may share it."""
        serde, channel = self.serde, ""
        pairs: list[tuple[str, Blob]] = []
        frozen: dict[str, tuple[Any, Blob]] = {}
        id, writes, task_id, task_path = written
        try:
            for channel, value in writes:
                blob = freeze(value, serde)
                pairs.append((channel, blob))
                if blob is not value:
                    frozen[channel] = (value, blob)
        except TypeError as error:
            raise unsaveable(channel, thread_id, error, task_path) from error
        with self._lock:
            lineage.add_writes(id, task_id, task_path, pairs)
        return frozen

    def _lineage(self, thread_id: str, ns: str) -> Lineage:
        """The lineage of a thread's namespace, which is made where there is none."""
        found = self._known(thread_id, ns)
        if found is None:
            with self._lock:
                found = self.storage.setdefault(thread_id, {}).setdefault(ns, Lineage())
        return found

    def _lineage_by_hand(self, thread_id: str, ns: str) -> Lineage:
        """`_lineage`, for values and writes that may be laid out before their checkpoints are."""
        found = self._known(thread_id, ns)
        if found is None:
            found = self._by_hand[thread_id, ns] = self._lineage(thread_id, ns)
        return found

    def _known(self, thread_id: str, ns: str) -> Lineage | None:
        """The lineage of a thread's namespace, if there is one. One that was laid out by hand becomes one of ours."""
        lineages: dict[str, Any] | None = self.storage.get(thread_id)
        found = None if lineages is None else lineages.get(ns)
        if found is None or isinstance(found, Lineage) or lineages is None:
            return found
        adopted = lineages[ns] = self._by_hand.pop((thread_id, ns), Lineage())
        for id, (checkpoint, metadata, parent_id) in found.items():
            frame, extras = _frame(self.serde.loads_typed(checkpoint))
            adopted.add(record_of(id, parent_id, frame, freeze(extras, self.serde) if extras else None, metadata), {})
        return adopted

    def _covered(self, config: RunnableConfig | None) -> Iterator[tuple[str, str, Lineage]]:
        """The lineages that a config covers: those of one namespace, of a whole thread, or all."""
        conf = None if config is None else config["configurable"]
        thread_ids = [*self.storage] if conf is None else [conf["thread_id"]]
        for thread_id in thread_ids:
            for ns in [*self.storage.get(thread_id, ())]:
                if conf is None or conf.get("checkpoint_ns") in (None, ns):
                    lineage = self._known(thread_id, ns)
                    if lineage is not None:
                        yield thread_id, ns, lineage

    def _matches(self, record: Record, filter: dict[str, Any] | None) -> bool:
        if not filter:
            return True
        metadata = self._thaw(record.metadata)
        return all(metadata.get(key) == value for key, value in filter.items())

    def _run_of(self, record: Record) -> str | None:
        run_id: str | None = self._thaw(record.metadata).get("run_id")
        return run_id

    def _tuple(self, thread_id: str, ns: str, held: Held, config: RunnableConfig | None = None) -> CheckpointTuple:
        record, checkpoint, values, writes = held
        serde = self.serde
        with Reading(thread_id, ns, record.id) as reading:
            reading.part = "a value"
            checkpoint["channel_values"] = {channel: thaw(blob, serde) for channel, blob in values.items()}
            if record.extras is not None:
                checkpoint |= self._thaw(record.extras)
            reading.part = "the metadata"
            metadata = checked_metadata(self._thaw(record.metadata))
            reading.part = "a write"
            pending = [(task_id, channel, thaw(blob, serde)) for task_id, channel, blob, _ in writes]
        return CheckpointTuple(
            config or named(thread_id, ns, record.id),
            checkpoint,  # type: ignore[arg-type]  # the keys of Checkpoint, and what else was stored with it
            metadata,
            None if record.parent_id is None else named(thread_id, ns, record.parent_id),
            pending,
        )

    def _thaw(self, blob: Blob) -> Any:
        return thaw(blob, self.serde)


MemorySaver = InMemorySaver


def _frame(checkpoint: Checkpoint) -> tuple[dict[str, Any], dict[str, Any]]:
    """The checkpoint without its values, its maps the saver's own; and what else the caller put into it."""
    frame: dict[str, Any] = {**checkpoint}
    frame.pop("channel_values", None)
    extras = {} if frame.keys() <= _FRAME_KEYS else {key: frame.pop(key) for key in frame.keys() - _FRAME_KEYS}
    frame["channel_versions"] = dict(frame.get("channel_versions", {}))
    frame["versions_seen"] = {node: dict(seen) for node, seen in frame.get("versions_seen", {}).items()}
    if frame.get("updated_channels") is not None:
        frame["updated_channels"] = list(frame["updated_channels"])
    return frame, extras
