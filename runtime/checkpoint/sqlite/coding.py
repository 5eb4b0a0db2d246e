"""Between what a saver is given and what a layout stores: pure, and the same for both colours."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from runtime.checkpoint.base import CheckpointTuple, DeltaChannelHistory, DeltaWalk, Shelf, Written, get_checkpoint_id
from runtime.checkpoint.base.arguments import coded, named
from runtime.checkpoint.base.unreadable import WRITE
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.sqlite.layout import Found, Key, Layout, Pair, Rows, Scope, loaded, write_rows
from runtime.checkpoint.sqlite.transaction import SqliteReading

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

# A filter looks at so many of the newest checkpoints first.
_PAGE: Final = 50

# Keys are compared as data and never reach a statement. What can only be meant as SQL is refused all the same, so that
# whoever passes on a key from outside hears of it.
_PLAIN_KEY: Final = re.compile(r"[^()=;<>\x00-\x1f]+")


def tuple_of(serde: SerializerProtocol, found: Found, config: RunnableConfig | None = None) -> CheckpointTuple:
    """What was read, as the caller gets it."""
    thread_id, ns, _ = found.key
    checkpoint = found.checkpoint
    with SqliteReading(*found.key) as reading:
        values = loaded(reading, serde, found.values)
        written = reading.values(serde, [(channel, pair) for _, channel, pair in found.writes], WRITE)
    inline = checkpoint.get("channel_values") or {}
    checkpoint["channel_values"] = inline | values
    return CheckpointTuple(
        config or named(*found.key),
        checkpoint,  # type: ignore[arg-type]  # the keys of Checkpoint, and what else was stored with it
        found.metadata,
        None if found.parent_id is None else named(thread_id, ns, found.parent_id),
        [(write[0], write[1], value) for write, value in zip(found.writes, written, strict=True)],
    )


def histories_of(
    serde: SerializerProtocol, walk: DeltaWalk, place: tuple[str, str, str | None]
) -> Mapping[str, DeltaChannelHistory]:
    """What a walk from this checkpoint found, as the caller gets it."""
    histories = walk.histories()
    with SqliteReading(*place) as reading:
        reading.part = "a write in its history"
        for history in histories.values():
            history["writes"] = [
                (task_id, channel, serde.loads_typed(pair)) for task_id, channel, pair in history["writes"]
            ]
    return histories


def rows_of(serde: SerializerProtocol, shelf: Shelf, written: Written) -> Rows:
    """The rows of what a task wrote."""
    id, writes, task_id, task_path = written
    return write_rows(
        (shelf.thread_id, shelf.ns, id), task_id, task_path, coded(serde, writes, shelf.thread_id, task_path)
    )


class Listing(NamedTuple):
    """What a list was asked for."""

    scope: Scope
    filter: Mapping[str, Any] | None
    limit: int | None

    @classmethod
    def of(
        cls,
        config: RunnableConfig | None,
        filter: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Listing:
        """The listing that these arguments ask for; ValueError where a key of the filter can't be meant."""
        for key in filter or ():
            if not _PLAIN_KEY.fullmatch(key):
                raise ValueError(
                    f"Invalid filter key: {key!r} looks like a piece of SQL. Keys of metadata hold no brackets, equals "
                    "signs, semicolons or control characters; nested ones are reached by dots."
                )
        conf = {} if config is None else config["configurable"]
        thread_id = conf.get("thread_id")
        scope = Scope(
            None if thread_id is None else str(thread_id),
            conf.get("checkpoint_ns"),
            conf.get("checkpoint_id") or None,
            None if before is None else get_checkpoint_id(before),
        )
        return cls(scope, filter, limit)

    def keys(self, layout: Layout, db: sqlite3.Connection, serde: SerializerProtocol) -> list[Key]:
        """The checkpoints to give, newest first. The database is read now.

        Where a filter is to find so many, it looks at a page of the newest before it looks at all.
        """
        limit = self.limit
        if limit is not None and limit <= 0:
            return []
        if not self.filter:
            return [key for key, _ in layout.keys(db, self.scope, limit, with_metadata=False)]
        found: list[Key] = []
        for page in (None,) if limit is None else (_PAGE + 2 * limit, None):
            rows = layout.keys(db, self.scope, page, with_metadata=True)
            matching = (key for key, pair in rows if self._matches(layout, serde, key, pair))
            found = [*islice(matching, limit)]
            if page is not None and len(found) == limit:
                break
        return found

    def _matches(self, layout: Layout, serde: SerializerProtocol, key: Key, pair: Pair) -> bool:
        with SqliteReading(*key) as reading:
            reading.part = "the metadata"
            metadata = layout.load_metadata(serde, pair)
        return _matches(metadata, self.filter or {})


def _matches(metadata: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """True where all the filter's keys have their values; a key that is not there is looked up by its dots."""
    return all(_looked_up(metadata, key) == value for key, value in filter.items())


def _looked_up(metadata: Mapping[str, Any], key: str) -> Any:
    if key in metadata:
        return metadata[key]
    found: Any = metadata
    for part in str(key).split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
