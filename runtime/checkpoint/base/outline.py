"""A checkpoint without its state: as much of it as says whether it may be forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from runtime._words import INTERRUPT, UNFINISHED
from runtime.checkpoint.base.unreadable import counted_channels

if TYPE_CHECKING:
    from runtime.checkpoint.base import CheckpointMetadata, CheckpointTuple


class Outline(NamedTuple):
    """What is known of a checkpoint without its state."""

    checkpoint_ns: str
    id: str
    parent_id: str | None
    ts: str
    metadata: CheckpointMetadata
    held: frozenset[str]
    """The channels whose value it holds."""
    asks: bool
    """True while a question that a task asked here waits for its answer."""


def outline_of(found: CheckpointTuple) -> Outline:
    """A whole checkpoint's outline."""
    parent = found.parent_config
    return Outline(
        found.config["configurable"].get("checkpoint_ns") or "",
        found.checkpoint["id"],
        None if parent is None else parent["configurable"]["checkpoint_id"],
        found.checkpoint["ts"],
        found.metadata,
        frozenset(found.checkpoint["channel_values"]),
        asking((task_id, channel) for task_id, channel, _ in found.pending_writes or ()),
    )


def checked_outline(outline: Outline) -> Outline:
    """The outline; TypeError where a damaged store gave a part of it."""
    counted_channels(outline.metadata)
    parents = outline.metadata.get("parents") or {}
    for part in (outline.checkpoint_ns, outline.id, outline.ts, *dict(parents).values()):
        if not isinstance(part, str):
            raise TypeError(f"a namespace, an id and a time are texts, and not {type(part).__name__}")
    return outline


def asking(writes: Iterable[tuple[str, str]]) -> bool:
    """True where a task among these pending writes has asked and not finished."""
    written: dict[str, set[str]] = {}
    for task_id, channel in writes:
        written.setdefault(task_id, set()).add(channel)
    return any(INTERRUPT in channels and channels <= UNFINISHED for channels in written.values())
