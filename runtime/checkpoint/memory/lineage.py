"""All that is kept of one thread in one namespace: its checkpoints, the values they name, and pending writes.

What must stay true:

1. `order` holds the ids of `records`, each once, oldest first.
2. A record's values are those of `values` at its channel versions. A value that no record names may be dropped, and so
   may what made such a version.
3. Nothing in a record, a blob or a write changes after it was stored: copies of a lineage share them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from runtime.checkpoint.base import WRITES_IDX_MAP, CheckpointMetadata, FrozenCheckpoint, Layers, writes_sort_key
from runtime.checkpoint.base.versions import Version
from runtime.checkpoint.memory.blobs import Blob


class Record(NamedTuple):
    """A checkpoint without its values, as the engine made it; what was put by hand has a `frame` with all it said."""

    id: str
    parent_id: str | None
    versions: Layers[Version]
    seen: Layers[Mapping[str, Version]]
    at: float
    updated: Sequence[str] | None
    frame: Mapping[str, Any] | None
    metadata: Blob
    extras: Blob = None

    def checkpoint(self) -> dict[str, Any]:
        """The checkpoint without values and extras: a new dict, whose maps are new as well."""
        if self.frame is None:
            return FrozenCheckpoint(self.id, self.at, self.versions, self.seen, self.updated, {}, {}).whole()
        seen = {node: dict(seen) for node, seen in self.seen.whole().items()}
        whole = {**self.frame, "channel_versions": self.versions.whole(), "versions_seen": seen}
        if whole.get("updated_channels") is not None:
            whole["updated_channels"] = [*whole["updated_channels"]]
        return whole


def record_of(id: str, parent_id: str | None, frame: dict[str, Any], extras: Blob, metadata: Blob) -> Record:
    """The record of a checkpoint without values, which becomes the record's own with all its maps."""
    versions, seen = frame.pop("channel_versions", {}), frame.pop("versions_seen", {})
    return Record(id, parent_id, Layers(versions), Layers(seen), 0.0, None, frame, metadata, extras)


Write = tuple[str, str, Blob, str]
"""A pending write: the task's id, the channel, the value, the task's path."""


Log = Sequence[tuple[str, str, Blob]]
"""What made a delta channel's version: tasks, the channel, and what they wrote."""


class Held(NamedTuple):
    """What a lineage holds of one checkpoint: its dict without values, the stored values, and its pending writes."""

    record: Record
    checkpoint: dict[str, Any]
    values: dict[str, Blob]
    writes: list[Write]


class Lineage:
    """The checkpoints of one thread in one namespace."""

    __slots__ = ("_late", "_writes", "logs", "order", "records", "values")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.order: list[str] = []
        self.values: dict[tuple[str, Version], Blob] = {}
        self.logs: dict[tuple[str, Version], Log] = {}
        self._writes: dict[str, dict[tuple[str, int], Write]] = {}
        self._late: dict[str, list[tuple[str, str, Sequence[tuple[str, Blob]]]]] = {}

    @property
    def writes(self) -> dict[str, dict[tuple[str, int], Write]]:
        """The pending writes of each checkpoint, by task and place."""
        for id in [*self._late]:
            self._place(id)
        return self._writes

    def add(
        self,
        record: Record,
        values: dict[tuple[str, Version], Blob],
        logs: Mapping[tuple[str, Version], Log] = MappingProxyType({}),
    ) -> None:
        """Keep a checkpoint; one of the same id is replaced. It is found last, so it is found whole or not at all."""
        known = record.id in self.records
        self.values.update(values)
        self.logs.update(logs)
        self.records[record.id] = record
        if known:
            return
        if not self.order or record.id > self.order[-1]:
            self.order.append(record.id)
        else:
            insort(self.order, record.id)

    def add_writes(self, checkpoint_id: str, task_id: str, task_path: str, writes: Sequence[tuple[str, Blob]]) -> None:
        """Keep a task's writes: a place from 0 up is taken once, one below 0 is overwritten."""
        self._late.setdefault(checkpoint_id, []).append((task_id, task_path, writes))

    def _place(self, checkpoint_id: str) -> None:
        """Put writes that nobody has read yet in their places."""
        kept = self._writes.setdefault(checkpoint_id, {})
        for task_id, task_path, writes in self._late.pop(checkpoint_id):
            for index, (channel, blob) in enumerate(writes):
                place = WRITES_IDX_MAP.get(channel, index)
                if place < 0 or (task_id, place) not in kept:
                    kept[task_id, place] = (task_id, channel, blob, task_path)

    def newest(self) -> Record | None:
        """The checkpoint with the highest id."""
        return self.records[self.order[-1]] if self.order else None

    def ids(self, before: str | None = None) -> list[str]:
        """The ids of the checkpoints older than `before`, newest first."""
        end = len(self.order) if before is None else bisect_left(self.order, before)
        return self.order[:end][::-1]

    def ancestors(self, record: Record) -> Iterator[Record]:
        """The parent, its parent, and so on, as far as they are kept."""
        met = {record.id}
        while record.parent_id is not None and (parent := self.records.get(record.parent_id)) is not None:
            if parent.id in met:
                return
            met.add(parent.id)
            yield parent
            record = parent

    def logs_between(self, parent: Record, child: Record, channels: Collection[str]) -> dict[str, Log]:
        """What was written between two checkpoints to those of the channels of which it is told.

        Two runs that go on from one checkpoint at once share the place beside it, and a version is one run's. Where
        the child's is its parent's, nothing was written.
        """
        found: dict[str, Log] = {}
        for channel in channels:
            version = child.versions.get(channel)
            if version is not None and (channel, version) in self.logs:
                found[channel] = () if version == parent.versions.get(channel) else self.logs[channel, version]
        return found

    def held(self, record: Record) -> Held:
        """A checkpoint with what belongs to it: all that is needed to read it, whatever becomes of the lineage."""
        checkpoint, values = record.checkpoint(), self.values
        items = checkpoint["channel_versions"].items()
        blobs = {item[0]: values[item] for item in items if item in values}
        return Held(record, checkpoint, blobs, self.writes_of(record.id))

    def value_at(self, checkpoint_id: str | None, channel: str) -> Blob:
        """The channel's stored value at a checkpoint; None where there is none."""
        record = None if checkpoint_id is None else self.records.get(checkpoint_id)
        version = None if record is None else record.versions.get(channel)
        return None if version is None else self.values.get((channel, version))

    def writes_of(self, checkpoint_id: str) -> list[Write]:
        """The checkpoint's pending writes, in the order in which they are read."""
        late = self._late.get(checkpoint_id)
        if late is not None:
            if len(late) == 1 and checkpoint_id not in self._writes:
                task_id, task_path, pairs = late[0]
                if WRITES_IDX_MAP.keys().isdisjoint([channel for channel, _ in pairs]):  # in their places already
                    return [(task_id, channel, blob, task_path) for channel, blob in pairs]
            self._place(checkpoint_id)
        writes = self._writes.get(checkpoint_id)
        if not writes:
            return []
        if len(writes) == 1:
            return list(writes.values())
        return [write for _, write in sorted(writes.items(), key=lambda kept: writes_sort_key(kept[1][3], *kept[0]))]

    def retain(self, ids: Collection[str]) -> None:
        """Forget all checkpoints but these, with their writes and the values that only they name."""
        self.records = {id: self.records[id] for id in self.order if id in ids}
        self.order = list(self.records)
        self._writes = {id: writes for id, writes in self.writes.items() if id in self.records}
        named = {item for record in self.records.values() for item in record.versions.whole().items()}
        self.values = {item: value for item, value in self.values.items() if item in named}
        self.logs = {item: log for item, log in self.logs.items() if item in named}

    def needed_for(self, record: Record, metadata: CheckpointMetadata) -> set[str]:
        """The id of the checkpoint, and those of the ancestors whose writes its delta channels are made of."""
        needed = {record.id}
        waiting = {
            channel
            for channel in metadata.get("counters_since_delta_snapshot", {})
            if (channel, record.versions.get(channel)) not in self.values
        }
        for ancestor in self.ancestors(record):
            if not waiting:
                break
            needed.add(ancestor.id)
            waiting = {channel for channel in waiting if (channel, ancestor.versions.get(channel)) not in self.values}
        return needed

    def copy(self) -> Lineage:
        """A lineage of the same content that goes its own way from here."""
        twin = Lineage()
        twin.records = self.records.copy()
        twin.order = self.order.copy()
        twin.values = self.values.copy()
        twin.logs = self.logs.copy()
        twin._writes = {id: writes.copy() for id, writes in self.writes.items()}
        return twin


def check(lineage: Lineage) -> None:
    """Assert what must stay true, by its number above."""
    assert lineage.order == sorted(lineage.records), "1"
    assert all(id == record.id for id, record in lineage.records.items()), "1"
    for record in lineage.records.values():
        assert lineage.held(record).values.keys() <= record.versions.whole().keys(), "2"
