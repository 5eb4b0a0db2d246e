"""What a saver is asked, and how it refuses what can't be meant: the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from runtime._words import PULL
from runtime.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


_PULLED: Final = f"~{PULL}, "
"""How the path of a task begins that a channel has woken; the rest is its node."""


def named(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


def address(config: RunnableConfig) -> tuple[str, str, str | None]:
    """The thread, the namespace and the checkpoint that a config names."""
    conf = config["configurable"]
    return str(conf["thread_id"]), conf.get("checkpoint_ns") or "", conf.get("checkpoint_id") or None


def several(ids: Sequence[str], name: str) -> Sequence[str]:
    """A list of ids, and not one text."""
    if isinstance(ids, str):
        raise TypeError(f"{name} is the text {ids!r}, and each of its letters would be taken for an id. Give a list.")
    return ids


def is_whole_deletion(strategy: str) -> bool:
    """True for the strategy that forgets threads, False for the one that keeps the newest checkpoints."""
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"The strategy {strategy!r} is unknown: it is 'keep_latest' or 'delete'.")
    return strategy == "delete"


def unsaveable(channel: str, thread_id: str, cause: TypeError, task_path: str = "") -> TypeError:
    """The error that names the channel whose value can't be stored, and the node that wrote it if the path tells."""
    node = task_path.removeprefix(_PULLED) if task_path.startswith(_PULLED) else ""
    by = f", written by node {node!r}," if node else ""
    return TypeError(f"Channel {channel!r}{by} of thread {thread_id!r} can't be saved. {cause}")


def coded(
    serde: SerializerProtocol, values: Sequence[tuple[str, Any]], thread_id: str, task_path: str = ""
) -> list[tuple[str, tuple[str, bytes]]]:
    """Each channel with its value as tag and bytes. TypeError names the first whose value can't be stored."""
    try:
        return [(channel, serde.dumps_typed(value)) for channel, value in values]
    except TypeError as error:
        raise cannot_save(serde, values, thread_id, error, task_path) from error


def logged(
    serde: SerializerProtocol, channel: str, log: Sequence[tuple[str, Any]], thread_id: str
) -> list[tuple[str, str, bytes]]:
    """What was written to a delta channel: each task's id, and a value as tag and bytes."""
    pairs = coded(serde, [(channel, value) for _, value in log], thread_id)
    return [(task_id, *pair) for (task_id, _), (_, pair) in zip(log, pairs, strict=True)]


def cannot_save(
    serde: SerializerProtocol,
    values: Iterable[tuple[str, Any]],
    thread_id: str,
    error: TypeError,
    task_path: str = "",
) -> TypeError:
    """The error that names the first channel whose value can't be stored."""
    for channel, value in values:
        try:
            serde.dumps_typed(value)
        except TypeError as cause:
            return unsaveable(channel, thread_id, cause, task_path)
    return error
