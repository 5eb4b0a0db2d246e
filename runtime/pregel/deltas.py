"""When a checkpoint holds the whole value of a delta channel, and how its value is made again when it does not.

The writes that stand beside a checkpoint are the log of its child. So a value is the nearest snapshot among the
ancestors, and the log from there on. A snapshot is taken when the log grows long (in updates, or in supersteps), and
where the log would not tell the truth: after an overwrite, and when the writes of a step have no place beside the
parent.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.messages import BaseMessage

from runtime._words import MISSING
from runtime.channels.delta import DeltaChannel
from runtime.channels.reducing import overwritten
from runtime.pregel.program import Program
from runtime.pregel.state import State, Step

if TYPE_CHECKING:
    from runtime.checkpoint.base import Checkpoint

MAX_SUPERSTEPS = int(
    os.environ.get("RUNTIME_DELTA_MAX_SUPERSTEPS_SINCE_SNAPSHOT")
    or os.environ.get("LANGGRAPH_DELTA_MAX_SUPERSTEPS_SINCE_SNAPSHOT")
    or 5000
)
COUNTERS = "counters_since_delta_snapshot"

Counters = Mapping[str, tuple[int, int]]


def unread(program: Program, checkpoint: Checkpoint) -> list[str]:
    """The delta channels whose value a checkpoint does not hold, though they were written."""
    versions, values = checkpoint["channel_versions"], checkpoint["channel_values"]
    return [name for name in program.deltas if name in versions and name not in values]


def rebuild(state: State, histories: Mapping[str, Any]) -> None:
    """Put the values in that the saver's histories tell."""
    for name, history in histories.items():
        channel = state.program.channels[name].from_checkpoint(history.get("seed", MISSING))
        assert isinstance(channel, DeltaChannel)
        channel.key = name
        channel.replay_writes(history["writes"])
        state.put(name, channel)


def counted(
    program: Program, before: Mapping[str, Any] | None, changed: Collection[str], whole: Collection[str]
) -> tuple[dict[str, tuple[int, int]], frozenset[str]]:
    """The counters of the next checkpoint, and the channels that it holds whole.

    `before` are the parent's counters (updates, supersteps), `changed` the channels with a new version, and `whole`
    those that must be held whole.
    """
    counters: dict[str, tuple[int, int]] = {}
    snapshots = set()
    for name in program.deltas:
        updates, supersteps = (before or {}).get(name, (0, 0))
        updates, supersteps = updates + (name in changed), supersteps + 1
        channel = program.channels[name]
        assert isinstance(channel, DeltaChannel)
        if name in whole or updates >= channel.snapshot_frequency or supersteps >= MAX_SUPERSTEPS:
            snapshots.add(name)
        else:
            counters[name] = (updates, supersteps)
    return counters, frozenset(snapshots)


def overwrites(program: Program, step: Step) -> set[str]:
    """The delta channels which a step overwrote."""
    return {name for _, name, value in step.writes if name in program.deltas and overwritten(value) is not MISSING}


def with_ids(program: Program, writes: Iterable[tuple[str, Any]]) -> None:
    """Give messages in writes to delta channels an id, so that each replay makes the same value."""
    for name, value in writes:
        if name in program.deltas:
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, BaseMessage):
                    item.id = item.id or str(uuid4())
                elif isinstance(item, dict) and "role" in item and "content" in item:
                    item.setdefault("id", str(uuid4()))
