"""A checkpoint as the engine hands it to the savers of this package: by what it changes, and never changed again.

A superstep changes few entries of maps that hold one for every channel and every node. So the maps are `Layers`, which
share what stays, and of the values only those of new versions are there; a saver finds the others where it put them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.checkpoint.base import CheckpointMetadata

T = TypeVar("T")

# Fewer entries are copied sooner than looked up layer by layer.
_LEAST_ROOM: Final = 8


class Layers(Generic[T]):
    """A dict that is never changed: another one, and what was laid over it.

    `over` costs what it changes. When the layers hold as much as what they lie on they become one again, so `whole`
    costs at most twice the dict that it gives.
    """

    __slots__ = ("_below", "_own", "_room")

    def __init__(self, own: Mapping[str, T], below: Layers[T] | None = None, room: int | None = None) -> None:
        self._own = own
        self._below = below
        self._room = max(len(own), _LEAST_ROOM) if room is None else room

    def over(self, changes: Mapping[str, T]) -> Layers[T]:
        """These entries, with those in `changes` over them; the caller must not change the argument any more."""
        if not changes:
            return self
        room = self._room - len(changes)
        return Layers(changes, self, room) if room >= 0 else Layers({**self.whole(), **changes})

    def whole(self) -> dict[str, T]:
        """A new dict of all entries."""
        layer, above = self, []
        while layer._below is not None:
            above.append(layer._own)
            layer = layer._below
        found = dict(layer._own)
        for own in reversed(above):
            found.update(own)
        return found

    def get(self, key: str) -> T | None:
        """The entry of this key, or None."""
        layer: Layers[T] | None = self
        while layer is not None:
            if key in layer._own:
                return layer._own[key]
            layer = layer._below
        return None


Logs = Mapping[str, Sequence[tuple[str, Any]]]
"""Of channels the tasks and their writes, in the order in which they were taken in."""


class FrozenCheckpoint(NamedTuple):
    """A thread's state at a barrier, by what is new in it."""

    id: str
    at: float
    versions: Layers[Any]
    seen: Layers[Mapping[str, Any]]
    updated: Sequence[str] | None
    new: Mapping[str, Any]
    """The versions that the saver has not been given yet."""
    values: Mapping[str, Any]
    """What the channels in `new` have to store; a channel without a value is not there."""
    logs: Logs = MappingProxyType({})
    """What was written since the parent to the delta channels that have no value here, be it nothing."""

    def whole(self) -> dict[str, Any]:
        """The checkpoint as savers of others get it, with these values: a new dict, whose maps are new as well."""
        return {
            "v": 4,
            "ts": timestamp(self.at),
            "id": self.id,
            "channel_values": {**self.values},
            "channel_versions": self.versions.whole(),
            "versions_seen": {node: dict(seen) for node, seen in self.seen.whole().items()},
            "updated_channels": None if self.updated is None else [*self.updated],
        }


class Written(NamedTuple):
    """What a task wrote, and the checkpoint beside which it is stored: the one that its superstep started from."""

    checkpoint_id: str
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str


class Shelf:
    """Where the checkpoints of a run lie, and what its caller wants to stand beside each.

    `frozen` says that the saver takes checkpoints frozen.
    """

    __slots__ = ("_conf", "_labels", "_metadata", "frozen", "ns", "thread_id")

    def __init__(
        self, conf: Mapping[str, Any], metadata: Mapping[str, Any], labels: Mapping[str, Any], frozen: bool
    ) -> None:
        self._conf = conf
        self._metadata = metadata
        self._labels = labels
        self.thread_id: str = conf["thread_id"]
        self.ns: str = conf["checkpoint_ns"]
        self.frozen = frozen

    def config(self, checkpoint_id: str | None) -> RunnableConfig:
        """The config under which savers of others store what follows that checkpoint."""
        conf = dict(self._conf)
        if checkpoint_id is not None:
            conf["checkpoint_id"] = checkpoint_id
        return {"configurable": conf, "metadata": dict(self._metadata)}

    def labelled(self, metadata: CheckpointMetadata) -> CheckpointMetadata:
        """The metadata to store: what the engine says, and what the caller wants beside it."""
        if not self._labels:
            return metadata
        labelled: Any = {**metadata, **self._labels, **metadata}
        return labelled  # type: ignore[no-any-return]


def timestamp(at: float) -> str:
    """Seconds since the epoch as ISO text in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat()
