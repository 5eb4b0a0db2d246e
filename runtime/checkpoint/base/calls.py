"""A stored checkpoint as the calls that store it in another saver, of whatever kind: the contract's own two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime._annotations import signature
from runtime.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
)
from runtime.checkpoint.base.arguments import named

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


class Put(NamedTuple):
    """The arguments of `put`."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions


class PutWrites(NamedTuple):
    """The arguments of `put_writes`."""

    config: RunnableConfig
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str


def put_of(found: CheckpointTuple, thread_id: str | None = None) -> Put:
    """The call that keeps a checkpoint with all its values, under another thread's id where one is given."""
    conf = found.config["configurable"]
    place = {"thread_id": thread_id or conf["thread_id"], "checkpoint_ns": conf.get("checkpoint_ns") or ""}
    if found.parent_config is not None:
        place["checkpoint_id"] = found.parent_config["configurable"]["checkpoint_id"]
    return Put({"configurable": place}, found.checkpoint, found.metadata, dict(found.checkpoint["channel_versions"]))


def writes_of(found: CheckpointTuple, thread_id: str | None = None) -> list[PutWrites]:
    """The calls that keep the pending writes of a checkpoint.

    A tuple does not tell the paths of tasks, only their order: they are given seats in that order for paths.
    """
    conf = found.config["configurable"]
    config = named(thread_id or conf["thread_id"], conf.get("checkpoint_ns") or "", found.checkpoint["id"])
    writes, seats = found.pending_writes or (), seats_of(found)
    calls = []
    for task_id, own in groupby(sorted(writes, key=lambda write: seats.index(write[0])), key=lambda write: write[0]):
        pairs = [(channel, value) for _, channel, value in own]
        # Savers place a write by its index, and look at all writes of a call together: what is no state goes alone.
        for special in (True, False):
            part = [pair for pair in pairs if (pair[0] in WRITES_IDX_MAP) is special]
            if part:
                calls.append(PutWrites(config, part, task_id, seat_of(seats, task_id) or ""))
    return calls


def by_task(writes: Iterable[PendingWrite] | None) -> dict[str, list[tuple[str, Any]]]:
    """Pending writes, channel and value, by the task that made them."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in writes or ():
        found.setdefault(task_id, []).append((channel, value))
    return found


def seats_of(found: CheckpointTuple) -> list[str]:
    """The tasks that have pending writes, in the order in which they are read."""
    return list(dict.fromkeys(task_id for task_id, _, _ in found.pending_writes or ()))


def seat_of(seats: Sequence[str], task_id: str) -> str | None:
    """A path that sorts a task where it has its seat, before the tasks that have none; None without one."""
    return f"{seats.index(task_id):06d}" if task_id in seats else None


_paths: dict[Any, bool] = {}


def takes_path(put_writes: Callable[..., Any]) -> bool:
    """False for the method of an older saver, which takes no task path."""
    function = getattr(put_writes, "__func__", put_writes)
    known = _paths.get(function)
    if known is None:
        known = _paths[function] = "task_path" in signature(put_writes).parameters
    return known


def accepted(put_writes: Callable[..., Any], call: PutWrites) -> tuple[Any, ...]:
    """The arguments that this saver's `put_writes` takes."""
    return tuple(call) if takes_path(put_writes) else tuple(call)[:3]
