"""Checkpoints of earlier versions of the format, brought to the newest.

Before version 4 the queued Sends stood in an entry of their own; before version 3 the channels of a state graph had
names that told where a move came from, not where it leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from runtime._words import TASKS
from runtime.pregel.write import branch_channel

if TYPE_CHECKING:
    from runtime.checkpoint.base import Checkpoint
    from runtime.pregel.main import Pregel


def migrate(checkpoint: Checkpoint, graph: Pregel[Any, Any, Any, Any]) -> Checkpoint:
    """The same state as a checkpoint of version 4. The given one is not changed."""
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
    new["v"] = 4
    return cast("Checkpoint", new)


def _rename_channels(new: dict[str, Any], graph: Pregel[Any, Any, Any, Any]) -> None:
    for name in list(new["channel_versions"]):
        target = _target_of(name, graph)
        if target is None:
            continue
        channel = branch_channel(target)
        _merge(new["channel_versions"], name, channel)
        for seen in new["versions_seen"].values():
            if name in seen:
                _merge(seen, name, channel)
        if name in new["channel_values"]:
            new["channel_values"].pop(name)
            new["channel_values"].setdefault(channel, None)


def _target_of(name: str, graph: Pregel[Any, Any, Any, Any]) -> str | None:
    """The node that an old channel of this name led to, if it was one of the machine's own."""
    if name.startswith("start:"):
        found = name.removeprefix("start:")
    elif name.startswith("branch:") and not name.startswith("branch:to:"):
        found = name.rpartition(":")[2]
    elif name in graph.nodes and name not in graph.channels:
        outgoing = [end for start, end in graph.builder.edges if start == name]  # type: ignore[attr-defined]  # checked by the caller
        return outgoing[0] if len(outgoing) == 1 and outgoing[0] in graph.nodes else None
    else:
        return None
    return found if found in graph.nodes else None


def _merge(mapping: dict[str, Any], old: str, new: str) -> None:
    version = mapping.pop(old)
    mapping[new] = max(version, mapping[new]) if new in mapping else version
