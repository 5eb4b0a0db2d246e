"""A checkpoint's frame: what its own row holds of it.

That is all but the values that are stored apart. Channels with small values are named once: their values come first in
`channel_values`, and `runs` says how many of them, in that order, are at which version. A superstep changes few of
many, so this is much shorter than a map of all versions. The versions of the other channels stay such a map.

`logs` tells of delta channels what made this checkpoint of its parent: tasks, each with the tag and the bytes of what
it wrote. The same stands beside the parent. But two processes that run a superstep at once share the place there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import groupby, islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from runtime.checkpoint.base import PendingWrite
from runtime.checkpoint.base.unreadable import checked_frame
from runtime.checkpoint.base.versions import Version

_RUNS: Final = "runs"
_LOGS: Final = "logs"


class Frame(NamedTuple):
    """A frame as it was read."""

    checkpoint: dict[str, Any]
    """The checkpoint, of whose values those that are stored apart are missing."""
    small: Mapping[str, Any]
    """The values that later checkpoints hold, too, unless their channel is written."""
    apart: Mapping[str, Version]
    """The channels whose value, if they have one, is stored apart."""
    logs: Mapping[str, Any] = MappingProxyType({})

    def told(self, channels: Collection[str]) -> dict[str, list[PendingWrite]]:
        """What made this checkpoint of its parent, as far as it tells; the values are tags and bytes."""
        return {
            channel: [(task_id, channel, (tag, data)) for task_id, tag, data in self.logs[channel]]
            for channel in channels
            if channel in self.logs
        }


def framed(
    checkpoint: Mapping[str, Any],
    small: Mapping[str, Any],
    loose: Mapping[str, Any],
    logs: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The frame of a checkpoint, from its small values, those that have no version, and its logs."""
    versions = checkpoint["channel_versions"]
    runs = [[version, len([*run])] for version, run in groupby(map(versions.__getitem__, small))]
    apart = {channel: versions[channel] for channel in versions if channel not in small}
    frame = {**checkpoint, "channel_values": {**small, **loose}, "channel_versions": apart, _RUNS: runs}
    return {**frame, _LOGS: logs} if logs else frame


def unframed(frame: Any) -> Frame:
    """What a frame says; TypeError, ValueError or KeyError where it is none."""
    checkpoint = checked_frame(frame)
    small, apart = checkpoint["channel_values"], checkpoint["channel_versions"]
    logs = checkpoint.pop(_LOGS, {})
    versions: list[Version] = []
    for version, count in checkpoint.pop(_RUNS):
        if not isinstance(version, (str, int, float)):
            raise TypeError("a version is a number or a text")
        if count > len(small) - len(versions):
            raise ValueError(f"{count!r} more channels are said to be at version {version!r} than there are")
        versions += [version] * count
    at = checkpoint["channel_versions"] = dict(zip(small, versions, strict=False))
    at |= apart
    return Frame(checkpoint, small if len(versions) == len(small) else _first(small, len(versions)), apart, logs)


def _first(small: dict[str, Any], count: int) -> dict[str, Any]:
    return dict(islice(small.items(), count))
