"""The saver's port: what a checkpoint is, and what it takes to keep the checkpoints of a thread.

A **thread** is a sequence of runs that share state. After each superstep its state is a **checkpoint**, whose parent is
the checkpoint before it; a fork gives a checkpoint a second child. Nested graphs keep checkpoints of their own in the
same thread, each under a **namespace**. What tasks wrote between one checkpoint and the next is kept with the first of
the two, as its **pending writes**.

A channel's value belongs to a channel *version*: a saver stores a value once, when its version is new, and finds it
again for every checkpoint that names that version.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, NotRequired, TypeVar

from typing_extensions import TypedDict

from runtime._words import ERROR, INTERRUPT, MISSING, RESUME, SCHEDULED
from runtime.checkpoint.base.frozen import FrozenCheckpoint, Layers, Shelf, Written, timestamp
from runtime.checkpoint.base.id import checkpoint_id, uuid6
from runtime.checkpoint.base.outline import Outline, outline_of
from runtime.checkpoint.serde.base import SerializerProtocol, maybe_add_typed_methods, with_allowlist
from runtime.checkpoint.serde.encrypted import EncryptedSerializer
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.checkpoint.serde.types import ChannelProtocol
from runtime.errors import EmptyChannelError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.utils import ConfigurableFieldSpec

__all__ = (
    "EXCLUDED_METADATA_KEYS",
    "LATEST_VERSION",
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelProtocol",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "DeltaChannelHistory",
    "EmptyChannelError",
    "EncryptedSerializer",
    "FrozenCheckpoint",
    "JsonPlusSerializer",
    "Layers",
    "Outline",
    "PendingWrite",
    "SerializerProtocol",
    "Shelf",
    "Written",
    "checkpoint_id",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_serializable_checkpoint_metadata",
    "shelf_of",
    "timestamp",
    "uuid6",
    "writes_sort_key",
)

V = TypeVar("V", int, float, str)

ChannelVersions = dict[str, str | int | float]
"""The version of each channel. Only their order matters."""

PendingWrite = tuple[str, str, Any]
"""A write that waits: the task's id, the channel, the value."""

LATEST_VERSION = 2
"""The `v` of checkpoints made here; those that the engine makes say 4."""

WRITES_IDX_MAP: dict[str, int] = {ERROR: -1, SCHEDULED: -2, INTERRUPT: -3, RESUME: -4}
"""The place of a write that is no state. There is one of each for a task, and the last one counts."""

EXCLUDED_METADATA_KEYS = {
    "thread_id",
    "checkpoint_id",
    "checkpoint_ns",
    "checkpoint_map",
    "langgraph_step",
    "langgraph_node",
    "langgraph_triggers",
    "langgraph_path",
    "langgraph_checkpoint_ns",
}
"""What the engine puts into a config and what is stored with the checkpoint anyway."""


class Checkpoint(TypedDict):
    """A thread's state at a barrier."""

    v: int
    id: str
    ts: str
    channel_values: dict[str, Any]
    channel_versions: ChannelVersions
    versions_seen: dict[str, ChannelVersions]
    updated_channels: list[str] | None


class CheckpointMetadata(TypedDict, total=False):
    """Where a checkpoint comes from. Whatever else the caller gave stands beside these keys."""

    source: Literal["input", "loop", "update", "fork"]
    step: int
    parents: dict[str, str]
    run_id: str
    counters_since_delta_snapshot: dict[str, tuple[int, int]]


class CheckpointTuple(NamedTuple):
    """A checkpoint with all that is kept beside it."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    parent_config: RunnableConfig | None = None
    pending_writes: list[PendingWrite] | None = None


class DeltaChannelHistory(TypedDict):
    """A channel's writes, oldest first, since the value that the nearest ancestor holds: `seed`, if there is one."""

    writes: list[PendingWrite]
    seed: NotRequired[Any]


def empty_checkpoint() -> Checkpoint:
    """A checkpoint of nothing, made now."""
    return Checkpoint(
        v=LATEST_VERSION,
        id=checkpoint_id(),
        ts=datetime.now(UTC).isoformat(),
        channel_values={},
        channel_versions={},
        versions_seen={},
        updated_channels=None,
    )


def copy_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """A copy whose maps may be changed. The values in them are shared."""
    return Checkpoint(
        v=checkpoint["v"],
        id=checkpoint["id"],
        ts=checkpoint["ts"],
        channel_values=checkpoint["channel_values"].copy(),
        channel_versions=checkpoint["channel_versions"].copy(),
        versions_seen={node: seen.copy() for node, seen in checkpoint["versions_seen"].items()},
        updated_channels=checkpoint.get("updated_channels"),
    )


def create_checkpoint(
    checkpoint: Checkpoint,
    channels: Mapping[str, ChannelProtocol[Any, Any, Any]] | None,
    step: int,
    *,
    id: str | None = None,
) -> Checkpoint:
    """The checkpoint that follows, with the values of these channels; without channels, with the values as they are."""
    values = checkpoint["channel_values"] if channels is None else _values(channels, checkpoint["channel_versions"])
    return Checkpoint(
        v=LATEST_VERSION,
        id=checkpoint_id(step) if id is None else id,
        ts=datetime.now(UTC).isoformat(),
        channel_values=values,
        channel_versions=checkpoint["channel_versions"],
        versions_seen=checkpoint["versions_seen"],
        updated_channels=checkpoint.get("updated_channels"),
    )


def get_checkpoint_id(config: RunnableConfig) -> str | None:
    """The id of the checkpoint that a config names, or None where it means the newest."""
    found: str | None = config["configurable"].get("checkpoint_id")
    return found


def get_checkpoint_metadata(config: RunnableConfig, metadata: CheckpointMetadata) -> CheckpointMetadata:
    """The metadata to store: what is given, and the plain entries of the config's metadata and configurable."""
    merged: dict[str, Any] = {
        key: value.replace("\0", "") if isinstance(value, str) else value for key, value in metadata.items()
    }
    for source in (config.get("metadata") or {}, config.get("configurable") or {}):
        for key, value in source.items():
            if key in merged or key in EXCLUDED_METADATA_KEYS or key.startswith("__"):
                continue
            if isinstance(value, str):
                merged[key] = value.replace("\0", "")
            elif isinstance(value, (int, float)):
                merged[key] = value
    return merged  # type: ignore[return-value]  # the keys of CheckpointMetadata, and the caller's own


def get_serializable_checkpoint_metadata(config: RunnableConfig, metadata: CheckpointMetadata) -> CheckpointMetadata:
    """The metadata to store in a database: without the writes that old releases put there."""
    merged = get_checkpoint_metadata(config, metadata)
    merged.pop("writes", None)  # type: ignore[typeddict-item]  # a key of old releases
    return merged


def shelf_of(saver: Any, conf: Mapping[str, Any], metadata: Mapping[str, Any]) -> Shelf:
    """Where a saver, whosever it is, keeps what a call with this configurable and this metadata makes."""
    conf = {key: value for key, value in conf.items() if key != "checkpoint_id"}
    if not _takes_frozen(saver):
        return Shelf(conf, metadata, {}, frozen=False)
    labels = get_checkpoint_metadata({"configurable": conf, "metadata": dict(metadata)}, {})
    return Shelf(conf, metadata, labels, frozen=True)


def _takes_frozen(saver: Any) -> bool:
    if not getattr(saver, "takes_frozen", False):
        return False
    replaced = type(saver)._replaced
    return bool(replaced) and all(getattr(getattr(saver, f.__name__), "__func__", None) is f for f in replaced)


def writes_sort_key(task_path: str, task_id: str = "", idx: int = 0) -> tuple[str, str, int]:
    """The order in which pending writes are read: by the task's path, then its id, then the write's place."""
    return task_path, task_id, idx


class BaseCheckpointSaver(Generic[V]):
    """Keeps checkpoints. Implement the methods of the colours that you serve; the others say that they are not there.

    `config["configurable"]` addresses a checkpoint by `thread_id`, `checkpoint_ns` (the root graph's is "") and
    `checkpoint_id`; without the last it means the newest.
    """

    serde: SerializerProtocol = JsonPlusSerializer()

    immediate: ClassVar[bool] = False
    """True where a write is in memory: it may be made on the thread that runs the graph."""

    _replaced: ClassVar[tuple[Any, ...]] = ()
    """The methods in whose place the engine calls `keep` and `keep_writes`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not {"keep", "akeep"}.isdisjoint(cls.__dict__):
            cls._replaced = (cls.put, cls.put_writes, cls.aput, cls.aput_writes)

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        if serde is not None:
            self.serde = maybe_add_typed_methods(serde)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable keys that this saver takes beside those of every saver."""
        return []

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        """The checkpoint that the config names, or None."""
        found = self.get_tuple(config)
        return None if found is None else found.checkpoint

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        found = await self.aget_tuple(config)
        return None if found is None else found.checkpoint

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names with all that is kept beside it, or None."""
        raise self._lacks("get_tuple")

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        raise self._lacks("aget_tuple")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints that the config covers, newest first; all threads' without a config.

        `filter` holds metadata that must be equal, `before` names a checkpoint to stay older than, and `limit` is the
        most to give.
        """
        raise self._lacks("list")

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        raise self._lacks("alist")

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint whose parent is the one that the config names, and give the config that names the new one.

        `new_versions` are those that changed since the last one that was kept: only their values need be stored.
        """
        raise self._lacks("put")

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        raise self._lacks("aput")

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote, with the checkpoint that the config names.

        A write's place is its index, or that of `WRITES_IDX_MAP` for its channel. At a place from 0 up the first write
        stays, below 0 the last one counts.
        """
        raise self._lacks("put_writes")

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        raise self._lacks("aput_writes")

    @property
    def takes_frozen(self) -> bool:
        """True where the engine may call `keep` and `keep_writes`, which store the same for less.

        It does so as long as nobody has replaced `put` or `put_writes` by methods of their own.
        """
        return False

    def keep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        """Keep a checkpoint by what is new in it: what `put` does, for savers that `takes_frozen`.

        `last` is what the task wrote that finished last before it. It is kept also where the checkpoint can't be.
        """
        raise self._lacks("keep")

    async def akeep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None = None,
    ) -> None:
        raise self._lacks("akeep")

    def keep_writes(self, shelf: Shelf, written: Written) -> None:
        """Keep what a task wrote: what `put_writes` does, for savers that `takes_frozen`."""
        raise self._lacks("keep_writes")

    async def akeep_writes(self, shelf: Shelf, written: Written) -> None:
        raise self._lacks("akeep_writes")

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread: its checkpoints, values and writes, in all namespaces."""
        raise self._lacks("delete_thread")

    async def adelete_thread(self, thread_id: str) -> None:
        raise self._lacks("adelete_thread")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints that these runs made, with their writes."""
        raise self._lacks("delete_for_runs")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        raise self._lacks("adelete_for_runs")

    def delete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        """Forget these checkpoints of a namespace, with their writes and the values that only they name.

        Nobody looks whether others need them: `Retention` of `runtime.checkpoint.retention` does.
        """
        raise self._lacks("delete_checkpoints")

    async def adelete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        raise self._lacks("adelete_checkpoints")

    def thread_ids(self) -> Sequence[str]:
        """The threads that are kept. This way of finding them reads each checkpoint; a saver that can should not."""
        return list(dict.fromkeys(each.config["configurable"]["thread_id"] for each in self.list(None)))

    async def athread_ids(self) -> Sequence[str]:
        return list(dict.fromkeys([each.config["configurable"]["thread_id"] async for each in self.alist(None)]))

    def outline(self, thread_id: str) -> Sequence[Outline]:
        """All checkpoints of a thread, without their state. This way of finding them reads each of them whole."""
        return [outline_of(each) for each in self.list({"configurable": {"thread_id": thread_id}})]

    async def aoutline(self, thread_id: str) -> Sequence[Outline]:
        return [outline_of(each) async for each in self.alist({"configurable": {"thread_id": thread_id}})]

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Keep all of a thread under another id too."""
        raise self._lacks("copy_thread")

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        raise self._lacks("acopy_thread")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget the history of threads: all but each namespace's newest checkpoint, or with "delete" that one too."""
        raise self._lacks("prune")

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        raise self._lacks("aprune")

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """For each channel, the writes that make its value at the checkpoint that the config names.

        They are the pending writes of the checkpoint's ancestors, back to the nearest that holds a value. This way of
        finding them reads each ancestor whole; a saver that can should read less.
        """
        walk = DeltaWalk(channels)
        found = self.get_tuple(config) if channels else None
        while (parent := walk.parent_of(found)) is not None:
            found = self.get_tuple(parent)
            if found is not None:
                walk.visit(found.pending_writes or (), found.checkpoint["channel_values"])
        return walk.histories()

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        walk = DeltaWalk(channels)
        found = await self.aget_tuple(config) if channels else None
        while (parent := walk.parent_of(found)) is not None:
            found = await self.aget_tuple(parent)
            if found is not None:
                walk.visit(found.pending_writes or (), found.checkpoint["channel_values"])
        return walk.histories()

    def get_next_version(self, current: V | None, channel: None) -> V:
        """The version that follows. Here 1, 2, 3; a saver whose versions are text must say how they go on."""
        version: Any = 0 if current is None else current
        if isinstance(version, str):
            raise NotImplementedError(
                f"{type(self).__name__} met the version {version!r}, but counts versions in whole numbers. Go on with "
                "the kind of saver that began this thread, or override get_next_version."
            )
        following: V = version + 1
        return following

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...] | type]) -> BaseCheckpointSaver[V]:
        """A saver of the same store whose serializer also revives these types; itself, if that changes nothing."""
        serde = with_allowlist(self.serde, extra_allowlist)
        if serde is self.serde:
            return self
        clone = copy.copy(self)
        clone.serde = serde
        return clone

    def _lacks(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} has no {method}(). Use a saver that has it, or this one in its other colour."
        )


class DeltaWalk:
    """Collects channels' writes on the way from a checkpoint to its ancestors, nearest first."""

    __slots__ = ("_met", "_seeds", "_writes", "open")

    def __init__(self, channels: Sequence[str]) -> None:
        self.open = set(channels)
        """The channels whose seed has not been met yet."""
        self._writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        self._seeds: dict[str, Any] = {}
        self._met: set[str] = set()

    def parent_of(self, found: CheckpointTuple | None) -> RunnableConfig | None:
        """The config of the ancestor to visit next; None at the end, also where a damaged store leads in a circle."""
        if found is None or not self.open or found.checkpoint["id"] in self._met:
            return None
        self._met.add(found.checkpoint["id"])
        return found.parent_config

    def visit(
        self,
        writes: Collection[PendingWrite],
        values: Mapping[str, Any],
        logs: Mapping[str, Sequence[PendingWrite]] = MappingProxyType({}),
    ) -> None:
        """Take an ancestor's pending writes, in their order; its values close the channels that they hold.

        Of a channel in `logs` it takes what stands there: the way leads over a child that tells what made it.
        """
        for write in reversed(tuple(writes)):
            if write[1] in self.open and write[1] not in logs:
                self._writes[write[1]].append(write)
        for channel in self.open & logs.keys():
            self._writes[channel] += reversed(logs[channel])
        for channel in self.open & values.keys():
            self._seeds[channel] = values[channel]
            self.open.discard(channel)

    def continued(self, older: Mapping[str, DeltaChannelHistory]) -> dict[str, DeltaChannelHistory]:
        """What was found, after what another saver has of the channels that are still open."""
        histories = self.histories()
        for channel in self.open & older.keys():
            histories[channel] = {
                **older[channel],
                "writes": [*older[channel]["writes"], *histories[channel]["writes"]],
            }
        return histories

    def histories(self) -> dict[str, DeltaChannelHistory]:
        """What was found, oldest write first."""
        return {
            channel: {"writes": writes[::-1], "seed": self._seeds[channel]}
            if channel in self._seeds
            else {"writes": writes[::-1]}
            for channel, writes in self._writes.items()
        }


def _values(channels: Mapping[str, ChannelProtocol[Any, Any, Any]], versions: ChannelVersions) -> dict[str, Any]:
    """What the channels have to store, of those that have been written at all."""
    values: dict[str, Any] = {}
    for name in channels.keys() & versions.keys():
        try:
            value = channels[name].checkpoint()
        except EmptyChannelError:
            continue
        if value is not MISSING:
            values[name] = value
    return values
