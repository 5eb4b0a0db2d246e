"""What a connection has read of its database, for as long as nobody has changed it.

Who looks at a thread asks for the same checkpoints again and again: what is read for the second time is kept. SQLite
tells by `PRAGMA data_version` whether another connection has committed anything, and by the connection's count of
changed rows whether it has changed anything itself. Where neither has happened, what was read is what is stored. Inside
a transaction of the program's own, which it may undo, nothing is recalled and nothing is kept.

What is handed out is new each time. So only checkpoints are kept whose maps can be copied and whose other parts are
made anew of their bytes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from runtime.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from runtime.checkpoint.base import CheckpointMetadata
    from runtime.checkpoint.sqlite.layout import Found, Pair

# So many bytes are kept, and so many checkpoints. Whatever is larger is soon read next to what its values cost to make.
_MOST_BYTES: Final = 1_000_000
_LARGE: Final = 100_000
_MOST: Final = 64

# So many are remembered to have been read.
_MOST_MET: Final = 1_000

_KEYS: Final = frozenset({"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"})

_ATOMS: Final = frozenset({str, bytes, int, float, bool, type(None)})

Place = tuple[str, str, str | None]
"""A thread, a namespace, and a checkpoint's id; None for the newest."""


class Recall:
    """The checkpoints that were read last, with the bytes of their metadata."""

    def __init__(self) -> None:
        self._mark: tuple[Any, ...] = ()
        self._read: dict[Place, tuple[Found, Pair]] = {}
        self._met: set[Place] = set()
        self._bytes = 0

    def look(self, db: sqlite3.Connection, serde: SerializerProtocol) -> None:
        """Forget all if the database may have changed, or if another serializer made what was read.

        The transaction to read in has begun: it sees the moment that this speaks of.
        """
        (version,) = db.execute("PRAGMA data_version").fetchone()
        mark = (serde, version, db.total_changes)
        if mark != self._mark:
            self._forget()
            self._mark = mark

    def of(self, place: Place, metadata_of: Callable[[Pair], CheckpointMetadata]) -> Found | None:
        """A checkpoint, whose metadata are made anew of their bytes; None where it is not at hand."""
        known = self._read.get(place)
        if known is None:
            return None
        (key, parent_id, checkpoint, _, values, writes), metadata = known
        return type(known[0])(key, parent_id, _anew(checkpoint), metadata_of(metadata), values, writes)

    def keep(self, place: Place, found: Found, metadata: Pair, size: int) -> Found:
        """Keep a checkpoint of so many bytes that was read once more, if it may be kept; what to hand out of it."""
        if place not in self._met:  # most are read once
            if len(self._met) >= _MOST_MET:
                self._met.clear()
            self._met.add(place)
            return found
        if size > _LARGE or not _is_plain(found.checkpoint):
            return found
        if self._bytes + size > _MOST_BYTES or len(self._read) >= _MOST:
            self._forget()
        self._bytes += size
        self._read[place] = (found, metadata)
        return found._replace(checkpoint=_anew(found.checkpoint))

    def _forget(self) -> None:
        self._read.clear()
        self._met.clear()
        self._bytes = 0


def _is_plain(checkpoint: Mapping[str, Any]) -> bool:
    """True where the values in the checkpoint's own row are atoms, and all else is maps and lists of them."""
    seen, updated = checkpoint.get("versions_seen"), checkpoint.get("updated_channels") or []
    return (
        checkpoint.keys() <= _KEYS
        and isinstance(seen, dict)
        and all(isinstance(each, dict) for each in seen.values())
        and isinstance(updated, list)
        and _ATOMS.issuperset(map(type, updated))
        and _ATOMS.issuperset(map(type, checkpoint["channel_values"].values()))
    )


def _anew(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint with maps of its own, but for the values: whoever hands it out puts them together."""
    copied = checkpoint.copy()
    copied["channel_versions"] = checkpoint["channel_versions"].copy()
    copied["versions_seen"] = {node: seen.copy() for node, seen in checkpoint["versions_seen"].items()}
    if checkpoint.get("updated_channels"):
        copied["updated_channels"] = checkpoint["updated_channels"].copy()
    return copied
