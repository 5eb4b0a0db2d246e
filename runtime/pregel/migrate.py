"""Checkpoints of earlier versions of the format, brought to the newest.

Before version 4 the queued Sends stood in an entry of their own; before version 3 the channels of a state graph had
names that told where a move came from, not where it leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from runtime._words import TASKS
from runtime.pregel.write import branch_channel

if TYPE_CHECKING:
    from runtime.checkpoint.base import Checkpoint
    from runtime.pregel.main import Pregel


def migrate(checkpoint: Checkpoint, graph: Pregel[Any, Any, Any, Any]) -> Checkpoint:
    """The same state in the form of version 4; `v` still tells what it was. The given one is not changed."""
    new: dict[str, Any] = {
        **checkpoint,
        "channel_values": dict(checkpoint["channel_values"]),
        "channel_versions": dict(checkpoint["channel_versions"]),
        "versions_seen": {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()},
    }
    sends = new.pop("pending_sends", None)
    if sends:
        new["channel_values"][TASKS] = list(sends)
        new["channel_versions"][TASKS] = max(new["channel_versions"].values())
    if checkpoint.get("v", 1) < 3 and hasattr(graph, "builder"):
        _rename_channels(new, graph)
    return cast("Checkpoint", new)


def _rename_channels(new: dict[str, Any], graph: Pregel[Any, Any, Any, Any]) -> None:
    for name in list(new["channel_versions"]):
        targets = _targets_of(name, graph)
        if targets is None:
            continue
        channels = [branch_channel(target) for target in targets]
        _replace(new["channel_versions"], name, channels)
        for seen in new["versions_seen"].values():
            if name in seen:
                _replace(seen, name, channels)
        if name in new["channel_values"]:
            new["channel_values"].pop(name)
            for channel in channels:
                new["channel_values"].setdefault(channel, None)


def _targets_of(name: str, graph: Pregel[Any, Any, Any, Any]) -> list[str] | None:
    """The nodes that an old channel of this name led to; None for one that was not the machine's own.

    A node wrote to a channel of its own name, whether or not anybody listened.
    """
    if name.startswith("start:"):
        found = [name.removeprefix("start:")]
    elif name.startswith("branch:") and not name.startswith("branch:to:"):
        found = [name.rpartition(":")[2]]
    elif name in graph.nodes and name not in graph.channels:
        return [end for start, end in graph.builder.edges if start == name and end in graph.nodes]  # type: ignore[attr-defined]  # checked by the caller
    else:
        return None
    return found if found[0] in graph.nodes else None


def _replace(versions: dict[str, Any], old: str, channels: Sequence[str]) -> None:
    version = versions.pop(old)
    for channel in channels:
        versions[channel] = max(version, versions[channel]) if channel in versions else version
