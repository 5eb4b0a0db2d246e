"""Between what a saver is given and what the tables hold: pure, and the same for both colours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import ormsgpack

from runtime._words import TASKS
from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    FrozenCheckpoint,
    Shelf,
    Written,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from runtime.checkpoint.base.arguments import address, coded, logged, named
from runtime.checkpoint.base.frozen import Logs
from runtime.checkpoint.base.outline import Outline, asking, checked_outline
from runtime.checkpoint.base.unreadable import WRITE, Reading, checked_frame, checked_metadata
from runtime.checkpoint.base.versions import Version
from runtime.checkpoint.postgres.layout import NOTHING, Layout, put_writes
from runtime.checkpoint.postgres.rows import BLOBS, FEW, WRITES
from runtime.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

Row = tuple[Any, ...]
Parameters = dict[str, Any]

# A longer text is stored by its version and not with each checkpoint.
_LONGEST_TEXT: Final = 512

# Beyond these JSONB gives a whole number for a float, and Python reads no number at all.
_INTEGERS: Final = range(-(2**63), 2**63)
_LEAST_FLOAT, _MOST_FLOAT = 1e-4, 1e15

_NOT_IN_JSONB: Final = re.compile("[\0\ud800-\udfff]")

_NUL_IN_JSON: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class Scope(NamedTuple):
    """Which checkpoints are meant; None stands for all."""

    thread_id: str | None = None
    ns: str | None = None
    id: str | None = None
    before: str | None = None
    filter: str | None = None

    @classmethod
    def of(
        cls,
        config: RunnableConfig | None,
        filter: Mapping[str, Any] | None = None,
        before: RunnableConfig | None = None,
    ) -> Scope:
        """The scope that a list's arguments ask for."""
        conf = {} if config is None else config["configurable"]
        thread_id = conf.get("thread_id")
        return cls(
            None if thread_id is None else str(thread_id),
            conf.get("checkpoint_ns"),
            conf.get("checkpoint_id") or None,
            None if before is None else get_checkpoint_id(before),
            json_text(filter, "the filter") if filter else None,
        )

    def names(self) -> list[str]:
        """What is restricted."""
        return [name for name, value in self._asdict().items() if value is not None]


class Draft(NamedTuple):
    """A checkpoint to be stored: its values of new versions, and whatever other values are known."""

    key: tuple[str, str, str]
    parent_id: str | None
    takes_over: bool
    """True where it has its parent's values in JSON, but for those of new versions."""
    frame: Mapping[str, Any]
    metadata: CheckpointMetadata
    values: Mapping[str, Any]
    new: Mapping[str, Version]
    logs: Logs = MappingProxyType({})


# -- writing -----------------------------------------------------------------------------------------------------------


def put_of(
    config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new: Mapping[str, Version]
) -> Draft:
    """What `put` was asked to store."""
    thread_id, ns, parent_id = address(config)
    frame: dict[str, Any] = {**checkpoint}
    values = frame.pop("channel_values")
    stored = get_serializable_checkpoint_metadata(config, metadata)
    return Draft((thread_id, ns, checkpoint["id"]), parent_id, False, frame, stored, values, new)


def keep_of(shelf: Shelf, parent_id: str | None, checkpoint: FrozenCheckpoint, metadata: CheckpointMetadata) -> Draft:
    """What `keep` was asked to store."""
    frame = checkpoint._replace(values={}).whole()
    del frame["channel_values"]
    key, stored = (str(shelf.thread_id), shelf.ns, checkpoint.id), shelf.labelled(metadata)
    values, new, logs = checkpoint.values, checkpoint.new, checkpoint.logs
    return Draft(key, parent_id, parent_id is not None, frame, stored, values, new, logs)


def put_statement(
    layout: Layout, serde: SerializerProtocol, draft: Draft, last: Written | None = None
) -> tuple[str, Parameters]:
    """The statement that stores a checkpoint, and what was written last before it.

    TypeError names the channel whose value can't be stored.
    """
    (thread_id, ns, id), parent_id, takes_over, frame, metadata, values, new, logs = draft
    inline = {} if layout.shallow else {name: value for name, value in values.items() if _fits_json(value)}
    apart = [(name, values[name]) for name in new if name in values and name not in inline]
    blobs = [(name, str(new[name]), *pair) for name, pair in coded(serde, apart, thread_id)]
    if layout.shallow:  # what lies there from before goes
        blobs += [(name, "", NOTHING, b"") for name in new if name not in values]
    else:  # a mark, by which LangGraph finds a snapshot
        inline |= {name: True for name, value in apart if isinstance(value, DeltaSnapshot)}
        told = {name: logged(serde, name, log, thread_id) for name, log in logs.items() if log}
        blobs += [(name, str(new[name]), NOTHING, ormsgpack.packb(log)) for name, log in told.items()]
    parameters = {
        "thread_id": thread_id,
        "ns": ns,
        "id": id,
        "parent_id": parent_id,
        "frame": json.dumps({**frame, "channel_values": inline}),
        "changed": list(new) if takes_over else [],
        "metadata": json_text(metadata, f"the metadata of thread {thread_id!r}"),
        **BLOBS.parameters(blobs),
    }
    writes = [] if last is None else _write_rows(serde, thread_id, last)
    if last is not None:
        parameters |= _written(last, writes)
    return layout.put(min(len(blobs), FEW + 1), min(len(writes), FEW + 1), takes_over), parameters


def writes_statement(
    serde: SerializerProtocol, thread_id: str, ns: str, written: Written
) -> tuple[str, Parameters] | None:
    """The statement that stores what a task wrote, if that is anything."""
    rows = _write_rows(serde, thread_id, written)
    parameters = {"thread_id": thread_id, "ns": ns, **_written(written, rows)}
    return (put_writes(min(len(rows), FEW + 1)), parameters) if rows else None


def _write_rows(serde: SerializerProtocol, thread_id: str, written: Written) -> list[Row]:
    """Of two writes in one place, which are no state, the last counts."""
    pairs = coded(serde, written.writes, thread_id, written.task_path)
    places = {WRITES_IDX_MAP.get(name, index): (name, *pair) for index, (name, pair) in enumerate(pairs)}
    return [(place, *row) for place, row in places.items()]


def _written(written: Written, rows: list[Row]) -> Parameters:
    return {
        "beside": written.checkpoint_id,
        "task_id": written.task_id,
        "task_path": written.task_path,
        **WRITES.parameters(rows),
    }


def json_text(value: Any, what: str) -> str:
    """JSON that JSONB takes: without NUL, and with a question mark for half a character."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"JSON can't hold {what}: {error}. Give text, numbers, lists and dicts of these.") from error
    if "\\u0000" in text:
        text = _NUL_IN_JSON.sub(r"\1", text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _fits_json(value: Any) -> bool:
    """True where the value is stored with its checkpoint, and comes back from there as it was."""
    kind = type(value)
    if kind is str:
        if len(value) > _LONGEST_TEXT:
            return False
        return "\0" not in value if value.isascii() else _NOT_IN_JSONB.search(value) is None
    if kind is float:
        return bool(_LEAST_FLOAT <= abs(value) < _MOST_FLOAT)
    return kind is bool or value is None or (kind is int and value in _INTEGERS)


# -- reading -----------------------------------------------------------------------------------------------------------


def tuple_of(serde: SerializerProtocol, row: Row) -> CheckpointTuple:
    """A row of `found` as the caller gets it. `UnreadableCheckpointError` says which is damaged."""
    thread_id, ns, id, parent_id, checkpoint, metadata, *blobs = row[:9]
    with Reading(thread_id, ns, id) as at:
        values = checked_frame(checkpoint).get("channel_values") or {}
        for name, tag, data in _rows(*blobs):
            if values.get(name, True) is True:  # the mark of a snapshot; another value belongs to this very checkpoint
                (values[name],) = at.values(serde, [(name, (tag, data))])
        checkpoint["channel_values"] = values
        if row[13] is not None:  # an old format, whose queued Sends stand among the writes beside the parent
            versions = checkpoint.setdefault("channel_versions", {})
            values[TASKS] = at.values(serde, ((TASKS, pair) for pair in _rows(*row[13:])), WRITE)
            versions[TASKS] = max(versions.values(), default=1)
        written = [*_rows(*row[9:13])]
        pending = at.values(serde, ((name, (tag, data)) for _, name, tag, data in written), WRITE)
        at.part = "the metadata"
        return CheckpointTuple(
            named(thread_id, ns, id),
            checkpoint,
            checked_metadata(metadata),
            None if parent_id is None else named(thread_id, ns, parent_id),
            [(task_id, name, value) for (task_id, name, *_), value in zip(written, pending, strict=True)],
        )


def outline_of(thread_id: str, row: Row) -> Outline:
    """A row of `outline` as the caller gets it. `UnreadableCheckpointError` says which is damaged."""
    ns, id, parent_id, ts, metadata, held, writes = row
    with Reading(thread_id, ns, id) as at:
        at.part = "the time, or the metadata,"
        return checked_outline(Outline(ns, id, parent_id, ts, metadata, frozenset(held), asking(writes)))


def histories_of(
    serde: SerializerProtocol, rows: Iterable[Row], channels: Sequence[str], place: tuple[str, str, str | None]
) -> Mapping[str, DeltaChannelHistory]:
    """The histories that rows of `HISTORIES` tell, of the checkpoint at this place."""
    histories: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    with Reading(*place) as at:
        at.part = "a write in its history"
        for channel, task_id, tag, data, inline in rows:
            if tag == NOTHING:
                written = [(id, channel, serde.loads_typed((tag, data))) for id, tag, data in ormsgpack.unpackb(data)]
                histories[channel]["writes"] += written
                continue
            value = inline if tag is None and data is None else serde.loads_typed((tag, data))
            if task_id is not None:
                histories[channel]["writes"].append((task_id, channel, value))
            elif value is not None:  # None ends the walk too: it is what a channel holds before anything
                histories[channel]["seed"] = value
    return histories


def _rows(*columns: Sequence[Any] | None) -> Iterable[Row]:
    """Columns that came as arrays, row by row; the server has nothing for an empty array."""
    return zip(*columns, strict=True) if columns[0] is not None else ()
