"""What the two layouts of a database have in common: the tables of checkpoints and of pending writes.

A layout works on an open connection, one call a transaction. It holds no connection and no serializer, and whoever
calls it sees to it that one thread is in there at a time. Names of tables are constants of a layout; whatever comes
from a caller is bound to a statement and never becomes part of its text.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import lru_cache, partial
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

from runtime.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    DeltaWalk,
    FrozenCheckpoint,
    Outline,
    PendingWrite,
)
from runtime.checkpoint.base.outline import asking, checked_outline
from runtime.checkpoint.base.unreadable import counted_channels
from runtime.checkpoint.base.versions import Version
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.sqlite.frame import Frame
from runtime.checkpoint.sqlite.recall import Place, Recall
from runtime.checkpoint.sqlite.streams import Streams
from runtime.checkpoint.sqlite.tails import Stored
from runtime.checkpoint.sqlite.transaction import SqliteReading, explained, joining, reading, writing

Pair = tuple[str, bytes]
"""A value as a serializer gives it: its tag, and its bytes."""

Key = tuple[str, str, str]
"""A checkpoint's thread, namespace and id."""


class Found(NamedTuple):
    """A checkpoint as it was read; its values and writes are still bytes."""

    key: Key
    parent_id: str | None
    checkpoint: dict[str, Any]
    metadata: CheckpointMetadata
    values: dict[str, Stored]
    writes: list[tuple[str, str, Pair]]


class Record(NamedTuple):
    """A checkpoint, ready to be stored."""

    key: Key
    parent_id: str | None
    frame: Pair
    metadata: Pair
    run_id: str | None
    values: Sequence[tuple[str, Version, Pair]]
    """What the superstep wrote."""
    others: Sequence[tuple[str, Version, Pair]]
    """What else the checkpoint holds: stored where that version is not there yet."""
    completed: Callable[[Pair | None], tuple[Pair, Mapping[str, Any]]] | None = None
    """Where small values of the parent belong to the checkpoint, too, and are not at hand: makes the frame, from the
    parent's, and tells the small values in it."""
    small: Mapping[str, Any] = MappingProxyType({})
    """The small values in the frame."""


class Scope(NamedTuple):
    """Which checkpoints a list covers; None covers all."""

    thread_id: str | None = None
    ns: str | None = None
    checkpoint_id: str | None = None
    before: str | None = None


_WRITE_COLUMNS: Final = "thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value"


_READ_COLUMNS: Final = "task_id, channel, type, value, task_path, idx"

Rows = Sequence[tuple[Any, ...]]

Known = dict[tuple[str, str, str, Version], Stored | None]
"""What was read of values so far, by thread, namespace, channel and version; None where nothing is stored."""

# SQLite before 3.32 takes 999 values in a statement.
ROWS_AT_ONCE: Final = 100

# A list reads so many checkpoints in one go, or fewer that hold so many bytes and more than twice what the first holds.
_MOST_AT_ONCE: Final = 16
_BYTES_AT_ONCE: Final = 250_000


def insert_rows(db: sqlite3.Connection, insert: str, rows: Rows) -> int:
    """Insert rows, as many as possible by one statement, and tell how many went in."""
    done = 0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        done += db.execute(_of_rows(insert, len(part[0]), len(part)), [*chain.from_iterable(part)]).rowcount
    return done


@lru_cache(maxsize=256)
def _of_rows(insert: str, width: int, count: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"{insert} VALUES {', '.join([row] * count)}"


def write_rows(key: Key, task_id: str, task_path: str, writes: Iterable[tuple[str, Pair]]) -> Rows:
    """The rows of what a task wrote."""
    return [
        (*key, task_id, task_path, WRITES_IDX_MAP.get(channel, index), channel, *pair)
        for index, (channel, pair) in enumerate(writes)
    ]


class Layout(ABC):
    """Where checkpoints and writes lie. A subclass says how a checkpoint and its values become rows."""

    checkpoints: ClassVar[str]
    writes: ClassVar[str]
    columns: ClassVar[str]
    """The checkpoint columns after the key and the parent."""
    metadata_type: ClassVar[str]
    run_id: ClassVar[str]
    """The expressions that give a row's tag of the metadata, and its run."""

    def __init__(self) -> None:
        self.gathers = False
        """True while several calls go into one transaction."""
        self._recall = Recall()
        space = "WHERE thread_id = ? AND checkpoint_ns = ?"
        columns = f"checkpoint_id, parent_checkpoint_id, type, checkpoint, {self.metadata_type}, metadata"
        self._newest = f"SELECT {columns} FROM {self.checkpoints} {space} ORDER BY checkpoint_id DESC LIMIT 1"
        self._one = f"SELECT {columns} FROM {self.checkpoints} {space} AND checkpoint_id = ?"
        self._beside = f"SELECT {_READ_COLUMNS} FROM {self.writes} {space} AND checkpoint_id = ?"
        some = f"{space} AND checkpoint_id IN ({{}}) ORDER BY checkpoint_id DESC"
        self.some = f"SELECT {columns} FROM {self.checkpoints} {some}"
        self.beside_some = f"SELECT {_READ_COLUMNS}, checkpoint_id FROM {self.writes} {some}"

    def writing(self, db: sqlite3.Connection) -> AbstractContextManager[None]:
        """The transaction of one call."""
        return joining(db) if self.gathers else writing(db)

    def putting(self, db: sqlite3.Connection, rows: Rows) -> AbstractContextManager[None]:
        """The transaction of a put, which by itself is kept or undone as a whole, unless it has very many rows.

        What a task wrote goes in by one statement, and a checkpoint's own row is its last.
        """
        return nullcontext() if self.gathers and len(rows) <= ROWS_AT_ONCE else self.writing(db)

    @contextmanager
    def gathering(self, db: sqlite3.Connection) -> Iterator[None]:
        """One transaction for all calls inside."""
        with explained(db, "save"), writing(db):
            self.gathers = True
            try:
                yield
            finally:
                self.gathers = False

    @abstractmethod
    def create(self, db: sqlite3.Connection) -> None:
        """Make what is missing of the tables."""

    @abstractmethod
    def record(
        self,
        serde: SerializerProtocol,
        key: Key,
        parent_id: str | None,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new: Collection[str],
    ) -> Record:
        """The checkpoint as it will be stored; of its values those of the channels in `new` are new."""

    frozen: ClassVar[bool] = False
    """True where a checkpoint may be stored by what is new in it."""

    def kept(
        self,
        serde: SerializerProtocol,
        key: Key,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
    ) -> Record:
        """The checkpoint as it will be stored, where the layout stores what is new in it."""
        raise NotImplementedError(f"{type(self).__name__} stores whole checkpoints only.")

    @abstractmethod
    def put(self, db: sqlite3.Connection, record: Record, last: Rows | None = None) -> None:
        """Store a checkpoint; one of the same id is replaced. `last` are writes to store with it."""

    @abstractmethod
    def frame(self, serde: SerializerProtocol, pair: Pair) -> Frame:
        """What the bytes of a checkpoint's own row say of it."""

    def met(self, key: Key, frame: Frame) -> None:  # noqa: B027 - most layouts need not know
        """A checkpoint was read: others may be stored after it."""

    @abstractmethod
    def load_metadata(self, serde: SerializerProtocol, pair: Pair) -> CheckpointMetadata:
        """The metadata that were stored."""

    @abstractmethod
    def values(self, db: sqlite3.Connection, key: Key, asked: Mapping[str, Version], known: Known) -> dict[str, Stored]:
        """The values that are stored apart, of these channels at these versions; all that is read gets known."""

    @abstractmethod
    def stored(self, db: sqlite3.Connection, thread_id: str) -> set[tuple[str, str, Version]]:
        """The namespaces, channels and versions of which a thread has a value that is stored apart."""

    @abstractmethod
    def drop_unused(self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, ns: str) -> None:
        """Forget the values that no checkpoint of the namespace names any more."""

    @abstractmethod
    def copy_values(self, db: sqlite3.Connection, source: str, target: str) -> None:
        """Keep a thread's values under another id too."""

    @abstractmethod
    def drop_values(self, db: sqlite3.Connection, thread_id: str) -> None:
        """Forget a thread's values."""

    # -- reading -------------------------------------------------------------------------------------------------------

    def find(
        self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, ns: str, id: str | None
    ) -> Found | None:
        """A checkpoint of the namespace, the newest without an id."""
        with explained(db, "read", thread_id, id), reading(db) as own:
            place = (thread_id, ns, id)
            if own and (recalled := self._recalled(db, serde, [place])):
                return recalled[place]
            row = self._row(db, thread_id, ns, id)
            if row is None:
                return None
            key = (thread_id, ns, row[0])
            found, size = self._found(db, serde, key, row, db.execute(self._beside, key).fetchall(), {})
            return self._recall.keep(place, found, row[4:6], size) if own else found

    def page(self, db: sqlite3.Connection, serde: SerializerProtocol, keys: list[Key]) -> list[Found]:
        """The first of these checkpoints, as of one moment, and their keys are taken off the list.

        They are so many as are not too large together. What has been deleted meanwhile is left out.
        """
        page, count, size, most = keys[:_MOST_AT_ONCE], 0, 0, _BYTES_AT_ONCE
        found: list[Found] = []
        known: Known = {}
        with explained(db, "read") as doing, reading(db) as own:
            recalled = self._recalled(db, serde, page) if own else {}
            missing = [key for key in page if key not in recalled]
            with closing(Streams(self, db, missing)) as streams:
                while count < len(page) and size <= most:
                    key = page[count]
                    count += 1
                    doing.thread_id, _, doing.checkpoint_id = key
                    each = recalled.get(key)
                    row, writes = (None, []) if each else (streams.row(key), streams.writes(key))
                    if row is not None:
                        each, new = self._found(db, serde, key, row, writes, known)
                        each = self._recall.keep(key, each, row[4:6], new) if own else each
                        size += new
                        if not found:
                            most = max(most, 2 * size)  # the others share most of what the first one holds, or are two
                    if each is not None:
                        found.append(each)
        del keys[:count]
        return found

    def _recalled(
        self, db: sqlite3.Connection, serde: SerializerProtocol, places: Iterable[Place]
    ) -> dict[Place, Found]:
        """Those of these checkpoints that were read before, and that nobody has changed since."""
        self._recall.look(db, serde)
        found = {place: self._recall.of(place, partial(self.load_metadata, serde)) for place in places}
        return {place: each for place, each in found.items() if each is not None}

    def _found(
        self, db: sqlite3.Connection, serde: SerializerProtocol, key: Key, row: Any, writes: list[Any], known: Known
    ) -> tuple[Found, int]:
        """A checkpoint of its row, those of its writes, and its values; and how many bytes were read for it."""
        before = len(known)
        with SqliteReading(*key) as at:
            frame = self.frame(serde, row[2:4])
            self.met(key, frame)
            at.part = "the metadata"
            metadata = self.load_metadata(serde, row[4:6])
            at.part = "a value"
            values = self.values(db, key, frame.apart, known) if frame.apart else {}
            at.part = "a write"
            found = Found(key, row[1], frame.checkpoint, metadata, values, _in_order(writes))
        size = _size(row[3]) + sum([_size(write[3]) for write in writes])
        if len(known) > before:
            size += sum(_size(each.data) for each in islice(known.values(), before, None) if each)
        return found, size

    def keys(
        self, db: sqlite3.Connection, scope: Scope, limit: int | None, *, with_metadata: bool
    ) -> list[tuple[Key, Pair]]:
        """The checkpoints of a scope, newest first; their metadata only where they are asked for.

        With a limit, a thread's cost as much as the namespaces that it has, however many checkpoints are in each.
        """
        if limit is not None and scope.thread_id is not None and scope.ns is None:
            with explained(db, "list", scope.thread_id, scope.checkpoint_id), reading(db):
                spaces = [scope._replace(ns=ns) for ns in self._namespaces(db, scope.thread_id)]
                found = [each for s in spaces for each in self.keys(db, s, limit, with_metadata=with_metadata)]
            return sorted(found, key=lambda each: each[0][2], reverse=True)[:limit]
        values = [value for value in scope if value is not None]
        statement = self._lists(tuple(value is not None for value in scope), with_metadata)
        with explained(db, "list", scope.thread_id, scope.checkpoint_id):
            rows = db.execute(statement, (*values, -1 if limit is None else limit)).fetchall()
        return [(row[:3], row[3:5]) for row in rows]

    @lru_cache(maxsize=64)  # noqa: B019 - there are few layouts, and they live long
    def _lists(self, given: tuple[bool, ...], with_metadata: bool) -> str:
        """The statement that lists the checkpoints of a scope, of which these fields are given."""
        tests = ("thread_id = ?", "checkpoint_ns = ?", "checkpoint_id = ?", "checkpoint_id < ?")
        asked = [test for test, is_given in zip(tests, given, strict=True) if is_given]
        metadata = f"{self.metadata_type}, metadata" if with_metadata else "'', x''"
        where = f" WHERE {' AND '.join(asked)}" if asked else ""
        columns = f"thread_id, checkpoint_ns, checkpoint_id, {metadata}"
        return f"SELECT {columns} FROM {self.checkpoints}{where} ORDER BY checkpoint_id DESC LIMIT ?"

    def thread_ids(self, db: sqlite3.Connection) -> list[str]:
        """The threads that are kept."""
        with explained(db, "list"):
            return [id for (id,) in db.execute(f"SELECT DISTINCT thread_id FROM {self.checkpoints}").fetchall()]

    def outline(self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str) -> list[Outline]:
        """All checkpoints of a thread, without their values."""
        columns = "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint"
        with explained(db, "list", thread_id), reading(db):
            stored = self.stored(db, thread_id)
            writes: dict[tuple[str, str], list[tuple[str, str]]] = {}
            for ns, id, *write in db.execute(
                f"SELECT checkpoint_ns, checkpoint_id, task_id, channel FROM {self.writes} WHERE thread_id = ?",
                (thread_id,),
            ):
                writes.setdefault((ns, id), []).append((write[0], write[1]))
            statement = f"SELECT {columns}, {self.metadata_type}, metadata FROM {self.checkpoints} WHERE thread_id = ?"
            found = []
            for row in db.execute(statement, (thread_id,)):
                ns, id, parent_id = row[:3]
                with SqliteReading(thread_id, ns, id) as at:
                    frame = self.frame(serde, row[3:5])
                    apart = {name for name, version in frame.apart.items() if (ns, name, version) in stored}
                    held = frozenset(apart | (frame.checkpoint.get("channel_values") or {}).keys())
                    at.part = "the metadata"
                    metadata = self.load_metadata(serde, row[5:7])
                    asks = asking(writes.get((ns, id), ()))
                    ts = frame.checkpoint["ts"]
                    found.append(checked_outline(Outline(ns, id, parent_id, ts, metadata, held, asks)))
        return found

    def write_rows(self, db: sqlite3.Connection, key: Key) -> Rows:
        """The pending writes of a checkpoint as `write_rows` makes them."""
        where = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_path, task_id, idx"
        with explained(db, "read", key[0], key[2]):
            return db.execute(f"SELECT {_WRITE_COLUMNS} FROM {self.writes} WHERE {where}", key).fetchall()

    def histories(
        self,
        db: sqlite3.Connection,
        serde: SerializerProtocol,
        thread_id: str,
        ns: str,
        id: str | None,
        channels: Sequence[str],
    ) -> DeltaWalk:
        """A walk from a checkpoint to the ancestors that hold values of these channels; all it found is bytes."""
        walk = DeltaWalk(channels)
        with explained(db, "read", thread_id, id), reading(db):
            row = self._row(db, thread_id, ns, id)
            if row is None:
                return walk
            with SqliteReading(thread_id, ns, row[0]):
                logs = self.frame(serde, row[2:4]).told(walk.open)
            for key, frame in self._ancestors(db, serde, thread_id, ns, row[1]):
                rows = [row for row in db.execute(self._beside, key) if row[1] in walk.open]
                with SqliteReading(*key) as at:
                    at.part = "a write"
                    writes: list[PendingWrite] = [*_in_order(rows)]
                walk.visit(writes, self._held(db, serde, key, frame, walk.open), logs)
                if not walk.open:
                    break
                with SqliteReading(*key):
                    logs = frame.told(walk.open)
        return walk

    # -- writing -------------------------------------------------------------------------------------------------------

    def put_writes(self, db: sqlite3.Connection, key: Key, rows: Rows) -> None:
        """Keep a task's writes: a place from 0 up is taken once, one below 0 is overwritten."""
        with explained(db, "save the writes with", key[0], key[2]), self.putting(db, rows):
            self._put_rows(db, rows)

    def drop_writes(self, db: sqlite3.Connection, key: Key) -> None:
        """Forget a checkpoint's pending writes."""
        with explained(db, "save", key[0], key[2]), self.writing(db):
            db.execute(
                f"DELETE FROM {self.writes} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?", key
            )

    def delete_thread(self, db: sqlite3.Connection, thread_id: str) -> None:
        """Forget a thread in all its namespaces."""
        with explained(db, "delete", thread_id), self.writing(db):
            self._drop_thread(db, thread_id)

    def delete_checkpoints(
        self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, ns: str, ids: Collection[str]
    ) -> None:
        """Forget single checkpoints, with their writes and the values that only they name."""
        with explained(db, "delete", thread_id), self.writing(db):
            self._drop(db, serde, [(thread_id, ns, id) for id in ids])

    def delete_for_runs(self, db: sqlite3.Connection, serde: SerializerProtocol, run_ids: Collection[str]) -> None:
        """Forget the checkpoints of these runs, with their writes and the values that only they name."""
        statement = f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM {self.checkpoints} WHERE {self.run_id} = ?"
        with explained(db, "delete"), self.writing(db):
            keys = [key for run_id in run_ids for key in db.execute(statement, (run_id,)).fetchall()]
            self._drop(db, serde, keys)

    def copy_thread(self, db: sqlite3.Connection, source: str, target: str) -> None:
        """Keep a thread under another id too, in the place of what was there."""
        ours = f"checkpoint_ns, checkpoint_id, parent_checkpoint_id, {self.columns}"
        theirs = _WRITE_COLUMNS.removeprefix("thread_id, ")
        with explained(db, "copy", source), self.writing(db):
            if source == target or not self._namespaces(db, source):
                return
            self._drop_thread(db, target)
            for table, columns in ((self.checkpoints, ours), (self.writes, theirs)):
                db.execute(
                    f"INSERT INTO {table} (thread_id, {columns}) SELECT ?, {columns} FROM {table} WHERE thread_id = ?",
                    (target, source),
                )
            self.copy_values(db, source, target)

    def prune(self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str) -> None:
        """Forget all but each namespace's newest checkpoint, and what its delta channels are made of."""
        with explained(db, "prune", thread_id), self.writing(db):
            for ns in self._namespaces(db, thread_id):
                needed = self._needed(db, serde, thread_id, ns)
                rows = db.execute(
                    f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM {self.checkpoints}"
                    " WHERE thread_id = ? AND checkpoint_ns = ?",
                    (thread_id, ns),
                ).fetchall()
                self._drop(db, serde, [key for key in rows if key[2] not in needed])

    # -- inside a transaction ------------------------------------------------------------------------------------------

    def _put_rows(self, db: sqlite3.Connection, rows: Rows) -> None:
        special = [row for row in rows if row[5] < 0]
        insert_rows(db, f"INSERT OR REPLACE INTO {self.writes} ({_WRITE_COLUMNS})", special)
        state = [row for row in rows if row[5] >= 0] if special else rows  # only these say that the task has finished
        insert_rows(db, f"INSERT OR IGNORE INTO {self.writes} ({_WRITE_COLUMNS})", state)

    def _row(self, db: sqlite3.Connection, thread_id: str, ns: str, id: str | None) -> Any:
        """A checkpoint's id, parent, and the tags and bytes of frame and metadata."""
        if id is None:
            return db.execute(self._newest, (thread_id, ns)).fetchone()
        return db.execute(self._one, (thread_id, ns, id)).fetchone()

    def _ancestors(
        self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, ns: str, id: str | None
    ) -> Iterator[tuple[Key, Frame]]:
        """This checkpoint, its parent, and so on, as far as they are kept."""
        met: set[str] = set()
        while id is not None and id not in met and (row := self._row(db, thread_id, ns, id)) is not None:
            with SqliteReading(thread_id, ns, id):
                frame = self.frame(serde, row[2:4])
            yield (thread_id, ns, id), frame
            met.add(id)
            id = row[1]

    def _held(
        self, db: sqlite3.Connection, serde: SerializerProtocol, key: Key, frame: Frame, channels: Collection[str]
    ) -> dict[str, Any]:
        """The values that the checkpoint holds of these channels."""
        inline = frame.checkpoint.get("channel_values") or {}
        held = {channel: inline[channel] for channel in channels if channel in inline}
        asked = {channel: frame.apart[channel] for channel in channels if channel in frame.apart}
        with SqliteReading(*key) as at:
            at.part = "a value"
            apart = self.values(db, key, asked, {})
            return held | loaded(at, serde, apart)

    def _needed(self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, ns: str) -> set[str]:
        """The newest checkpoint, and the ancestors whose writes its delta channels are made of."""
        row = self._row(db, thread_id, ns, None)
        with SqliteReading(thread_id, ns, row[0]) as at:
            at.part = "the metadata"
            waiting = set(counted_channels(self.load_metadata(serde, row[4:6])))
        needed = {row[0]}
        for key, frame in self._ancestors(db, serde, thread_id, ns, row[0]):
            needed.add(key[2])
            waiting -= self._held(db, serde, key, frame, waiting).keys()
            if not waiting:
                break
        return needed

    def _namespaces(self, db: sqlite3.Connection, thread_id: str) -> list[str]:
        """A thread's namespaces, each found by a look into the index."""
        following = f"SELECT min(checkpoint_ns) FROM {self.checkpoints} WHERE thread_id = :thread AND checkpoint_ns"
        rows = db.execute(
            f"WITH RECURSIVE spaces (ns) AS ({following} >= '' UNION ALL"
            f" SELECT ({following} > ns) FROM spaces WHERE ns IS NOT NULL) SELECT ns FROM spaces WHERE ns IS NOT NULL",
            {"thread": thread_id},
        )
        return [ns for (ns,) in rows.fetchall()]

    def _drop(self, db: sqlite3.Connection, serde: SerializerProtocol, keys: Sequence[Key]) -> None:
        where = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        for table in (self.writes, self.checkpoints):
            db.executemany(f"DELETE FROM {table} WHERE {where}", keys)
        for thread_id, ns in {key[:2] for key in keys}:
            self.drop_unused(db, serde, thread_id, ns)

    def _drop_thread(self, db: sqlite3.Connection, thread_id: str) -> None:
        for table in (self.writes, self.checkpoints):
            db.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))
        self.drop_values(db, thread_id)


def loaded(at: SqliteReading, serde: SerializerProtocol, values: Mapping[str, Stored]) -> dict[str, Any]:
    """The values that are stored apart, by their channel."""
    found = {}
    for channel, stored in values.items():
        at.part = ("the value of channel", channel)
        found[channel] = stored.load(serde)
    return found


def _in_order(writes: list[Any]) -> list[tuple[str, str, Pair]]:
    """The writes of rows, by the paths of their tasks, the tasks, and their places."""
    if len(writes) > 1:
        writes.sort(key=_place)
    return [(row[0], row[1], (row[2], row[3])) for row in writes]


def _place(row: Any) -> Any:
    return row[4], row[0], row[5]


def _size(data: Any) -> int:
    return len(data) if isinstance(data, bytes) else 0  # what is damaged is no bytes
