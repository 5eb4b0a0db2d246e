"""When a checkpoint holds the whole value of a delta channel, and how its value is made again when it does not.

The writes that stand beside a checkpoint are the log of its child. So a value is the nearest snapshot among the
ancestors, and the log from there on. A snapshot is taken when the log grows long (in updates, or in supersteps), and
where the log would not tell the truth: after an overwrite, and when the writes of a step have no place beside the
parent. Our savers are given the log with the child, too: where two processes run a superstep at once, what stands
beside the parent is of either.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.messages import BaseMessage, convert_to_messages

from runtime._words import MISSING, NULL_TASK_ID
from runtime.channels.delta import DeltaChannel
from runtime.channels.reducing import overwritten
from runtime.pregel.program import Program
from runtime.pregel.state import State, Step, Version

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


def versioned(state: State, whole: Collection[str]) -> dict[str, Version]:
    """The versions under which channels that are held whole are stored; one never written gets the newest there is."""
    if state.highest is not None:
        for name in whole:
            state.versions.setdefault(name, state.highest)
    return {name: state.versions[name] for name in whole if name in state.versions}


def overwrites(program: Program, step: Step) -> set[str]:
    """The delta channels which a step overwrote."""
    return {name for _, name, value in step.writes if name in program.deltas and overwritten(value) is not MISSING}


def log(program: Program, step: Step, logs: dict[str, list[tuple[str, Any]]]) -> None:
    """Add to the logs what a step took into delta channels."""
    for task, name, value in step.writes:
        if name in program.deltas and name in step.versions:
            logs.setdefault(name, []).append((task.id, value))


def unlogged(program: Program, step: Step, stored: Mapping[str, Sequence[tuple[str, Any]]]) -> set[str]:
    """The delta channels of which the stored writes, by task, do not tell what a step did.

    It took in what nobody has stored (an input, a cached result), or left out what had been stored: the tasks that
    waited were given up. What stands there without a task was taken in before.
    """
    applied = {task.id for task, _, _ in step.writes}
    names = {name for task, name, _ in step.writes if task.id not in stored}
    for id, writes in stored.items():
        if id not in applied and id != NULL_TASK_ID:
            names.update(name for name, _ in writes)
    return names.intersection(program.deltas)


def with_ids(program: Program, writes: list[tuple[str, Any]]) -> None:
    """Make of writes to delta channels what every replay reads the same: their messages get ids, before any is stored.

    A reducer may know better what its writes are: then it has a function `prepare`.
    """
    for index, (name, value) in enumerate(writes):
        if name in program.deltas and overwritten(value) is MISSING:
            prepare = getattr(program.channels[name].reducer, "prepare", identified)  # type: ignore[attr-defined]  # all of these have one
            with suppress(Exception):  # the reducer itself says what is wrong with a write
                writes[index] = (name, prepare(value))


def identified(write: Any) -> Any:
    """The write with an id on each message; in a list, what looks like a message becomes one."""
    if isinstance(write, list):
        return [_message(item) if isinstance(item, (BaseMessage, dict)) else item for item in write]
    if isinstance(write, dict):
        return {"id": str(uuid4()), **write} if "role" in write and "content" in write else write
    return _message(write) if isinstance(write, BaseMessage) else write


def _message(item: BaseMessage | dict[str, Any]) -> Any:
    if isinstance(item, dict):
        if "content" not in item or not ("role" in item or "type" in item):
            return item
        try:
            [item] = convert_to_messages([item])
        except Exception:  # it only looked like one
            return item
    item.id = item.id or str(uuid4())
    return item
