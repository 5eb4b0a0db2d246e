"""Our layout: checkpoints without values, and values by the version of their channel.

| table | a row is |
|---|---|
| `pregel_layout` | the layout's version: one row |
| `pregel_checkpoints` | a checkpoint with its small values, its parent, its metadata and run |
| `pregel_values` | a channel's other value at a version: whole, or what it adds to an earlier one (see `tails`) |
| `pregel_writes` | what a task wrote, with the checkpoint that it started from |

The values of one superstep have one version, so they lie side by side, and a commit touches few pages of the file.
Numbers, flags and short texts are no longer than the version that would tell where they are. So each checkpoint holds
all of its own, and a state of many of them is read from one row. The tables have row ids: in one without, SQLite reads
a large value whole only to pass it by.

What must stay true: a value never changes at its version while another is stored after it, and no value is dropped
that another is stored after. A superstep is one transaction. Where several share one, each is still kept or left out
as a whole: what a task wrote goes in by one statement, and a checkpoint's row comes after its values.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from runtime.checkpoint.base import Checkpoint, CheckpointMetadata, FrozenCheckpoint
from runtime.checkpoint.base.arguments import cannot_save, logged
from runtime.checkpoint.base.unreadable import checked_metadata
from runtime.checkpoint.base.versions import Version
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.sqlite.frame import Frame, framed, unframed
from runtime.checkpoint.sqlite.layout import Key, Known, Layout, Pair, Record, Rows, insert_rows
from runtime.checkpoint.sqlite.tails import Chain, Piece, Stored, grown, header_size
from runtime.checkpoint.sqlite.transaction import SqliteReading, explained, joining

LAYOUT_VERSION: Final = 2

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS pregel_layout (version INTEGER NOT NULL)",
    """CREATE TABLE IF NOT EXISTS pregel_checkpoints (
        thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT,
        type TEXT NOT NULL, checkpoint BLOB NOT NULL, metadata_type TEXT NOT NULL, metadata BLOB NOT NULL, run_id TEXT,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))""",
    """CREATE TABLE IF NOT EXISTS pregel_values (
        thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL, channel TEXT NOT NULL, version NOT NULL,
        type TEXT NOT NULL, base, value BLOB NOT NULL,
        PRIMARY KEY (thread_id, checkpoint_ns, version, channel))""",
    """CREATE TABLE IF NOT EXISTS pregel_writes (
        thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL,
        idx INTEGER NOT NULL, task_path TEXT NOT NULL, channel TEXT NOT NULL, type TEXT NOT NULL, value BLOB NOT NULL,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))""",
)

_ONE: Final = "thread_id = ? AND checkpoint_ns = ? AND channel = ? AND version = ?"

_FIELDS: Final = "channel, version, type, base, value"

_INSERT: Final = f"INSERT OR IGNORE INTO pregel_values (thread_id, checkpoint_ns, {_FIELDS})"

# SQLite before 3.32 takes 999 values in a statement.
_CHANNELS_AT_ONCE: Final = 300

# A statement copies a value twice, and what is longer than this many bytes costs more than opening it by itself.
_LARGE: Final = 100_000

_READ: Final = f"type, base, CASE WHEN length(value) < {_LARGE} THEN value END, rowid"

# The last bodies of so many growing lists are kept in memory.
_MOST_CHAINS: Final = 32

# A version says in about fifty characters where a value is; strings of so many are not worth a row of their own.
_SMALL: Final = 100

# The small values of so many checkpoints are kept in memory.
_MOST_MET: Final = 64

Place = tuple[str, str, str]
"""A thread, a namespace and a channel."""


class OurLayout(Layout):
    """Stores what a superstep changed."""

    frozen: ClassVar[bool] = True
    checkpoints: ClassVar[str] = "pregel_checkpoints"
    writes: ClassVar[str] = "pregel_writes"
    columns: ClassVar[str] = "type, checkpoint, metadata_type, metadata, run_id"
    metadata_type: ClassVar[str] = "metadata_type"
    run_id: ClassVar[str] = "run_id"

    def __init__(self) -> None:
        super().__init__()
        self._chains: OrderedDict[Place, Chain] = OrderedDict()
        self._small: dict[Key, Mapping[str, Any]] = {}

    def create(self, db: sqlite3.Connection) -> None:
        if not is_ours(db):
            with self.writing(db):
                for statement in _TABLES:
                    db.execute(statement)
                if db.execute("SELECT 1 FROM pregel_layout").fetchone() is None:
                    db.execute("INSERT INTO pregel_layout VALUES (?)", (LAYOUT_VERSION,))
        version = db.execute("SELECT max(version) FROM pregel_layout").fetchone()[0]
        if version != LAYOUT_VERSION:
            raise sqlite3.NotSupportedError(
                f"This database has version {version} of the layout, and this release knows version {LAYOUT_VERSION}. "
                "Open it with the release that made it."
            )

    def record(
        self,
        serde: SerializerProtocol,
        key: Key,
        parent_id: str | None,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new: Collection[str],
    ) -> Record:
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        small = {channel: value for channel, value in values.items() if is_small(value) and channel in versions}
        loose = {} if len(small) == len(values) else {name: values[name] for name in values if name not in versions}
        chosen: list[tuple[str, Version, Pair]] = []
        others: list[tuple[str, Version, Pair]] = []
        try:
            for channel in () if len(small) == len(values) else values:
                if channel not in small and channel not in loose:
                    item = (channel, versions[channel], serde.dumps_typed(values[channel]))
                    (chosen if channel in new else others).append(item)  # the caller may not say all that is new
            frame = serde.dumps_typed(framed(checkpoint, small, loose))
        except TypeError as error:
            raise cannot_save(serde, values.items(), key[0], error) from error
        run_id = _text(metadata.get("run_id"))
        return Record(key, parent_id, frame, serde.dumps_typed(metadata), run_id, chosen, others, small=small)

    def kept(
        self,
        serde: SerializerProtocol,
        key: Key,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
    ) -> Record:
        values, new = checkpoint.values, checkpoint.new
        small: dict[str, Any] = {}
        chosen: list[tuple[str, Version, Pair]] = []
        try:
            for channel, value in values.items():
                if is_small(value):
                    small[channel] = value
                else:
                    chosen.append((channel, new[channel], serde.dumps_typed(value)))
        except TypeError as error:
            raise cannot_save(serde, values.items(), key[0], error) from error
        logs = {name: logged(serde, name, log, key[0]) for name, log in checkpoint.logs.items()}

        def after(before: Mapping[str, Any]) -> tuple[Pair, Mapping[str, Any]]:
            whole = checkpoint.whole()
            versions = whole["channel_versions"]
            inline = {name: before[name] for name in before if name not in new and name in versions} | small
            return serde.dumps_typed(framed(whole, inline, {}, logs)), inline

        def completed(parent: Pair | None) -> tuple[Pair, Mapping[str, Any]]:
            if parent is None:
                return after({})
            with SqliteReading(*key[:2], parent_id):
                return after(self.frame(serde, parent).small)

        stored, run_id = serde.dumps_typed(metadata), _text(metadata.get("run_id"))
        before = {} if parent_id is None else self._small.get((*key[:2], parent_id))
        if before is None:
            return Record(key, parent_id, ("", b""), stored, run_id, chosen, (), completed)
        frame, inline = after(before)
        return Record(key, parent_id, frame, stored, run_id, chosen, (), small=inline)

    def frame(self, serde: SerializerProtocol, pair: Pair) -> Frame:
        return unframed(serde.loads_typed(pair))

    def met(self, key: Key, frame: Frame) -> None:
        self._keep_at_hand(key, frame.small)

    def put(self, db: sqlite3.Connection, record: Record, last: Rows | None = None) -> None:
        thread_id, ns, id = record.key
        chains: dict[Place, Chain] = {}
        frame, small = record.frame, record.small
        try:
            with explained(db, "save", thread_id, id), self.putting(db, last or ()):
                if record.completed is not None:
                    parent = self._row(db, thread_id, ns, record.parent_id)
                    frame, small = record.completed(None if parent is None else parent[2:4])
                if last:
                    self._put_rows(db, last)
                self._put_values(db, (thread_id, ns), record.values, chains)
                insert_rows(
                    db,
                    _INSERT,
                    [
                        (thread_id, ns, channel, version, tag, None, data)
                        for channel, version, (tag, data) in record.others
                    ],
                )
                db.execute(
                    f"INSERT OR REPLACE INTO pregel_checkpoints (thread_id, checkpoint_ns, checkpoint_id,"
                    f" parent_checkpoint_id, {self.columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*record.key, record.parent_id, *frame, *record.metadata, record.run_id),
                )
        except BaseException:
            for place in chains:  # the rows that these chains speak of may be gone
                self._chains.pop(place, None)
            raise
        self._remember(chains)
        self._keep_at_hand(record.key, small)

    def load_metadata(self, serde: SerializerProtocol, pair: Pair) -> CheckpointMetadata:
        metadata: CheckpointMetadata = checked_metadata(serde.loads_typed(pair))
        return metadata

    def values(self, db: sqlite3.Connection, key: Key, asked: Mapping[str, Version], known: Known) -> dict[str, Stored]:
        space = key[:2]
        open = [item for item in asked.items() if (*space, *item) not in known]
        for start in range(0, len(open), _CHANNELS_AT_ONCE):
            part = open[start : start + _CHANNELS_AT_ONCE]
            known.update(dict.fromkeys([(*space, *item) for item in part]))
            for channel, version, *row in _rows_of(db, space, part):
                after = None if row[1] is None else _after(db, (*space, channel), row[1], known)
                known[*space, channel, version] = _stored(db, row, after)
        found = {channel: known[*space, channel, version] for channel, version in asked.items()}
        return {channel: stored for channel, stored in found.items() if stored is not None}

    def stored(self, db: sqlite3.Connection, thread_id: str) -> set[tuple[str, str, Version]]:
        return set(
            db.execute("SELECT checkpoint_ns, channel, version FROM pregel_values WHERE thread_id = ?", (thread_id,))
        )

    def drop_unused(self, db: sqlite3.Connection, serde: SerializerProtocol, thread_id: str, ns: str) -> None:
        where = (thread_id, ns)
        frames = db.execute(
            "SELECT checkpoint_id, type, checkpoint FROM pregel_checkpoints WHERE thread_id = ? AND checkpoint_ns = ?",
            where,
        )
        used = set[tuple[str, Version]]()
        for id, *pair in frames:
            with SqliteReading(thread_id, ns, id):
                used.update(self.frame(serde, (pair[0], pair[1])).apart.items())
        rows = db.execute(
            "SELECT channel, version, base FROM pregel_values WHERE thread_id = ? AND checkpoint_ns = ?", where
        ).fetchall()
        bases = {(channel, version): base for channel, version, base in rows}
        for channel, version in list(used):
            base = bases.get((channel, version))
            while base is not None and (channel, base) not in used:
                used.add((channel, base))
                base = bases.get((channel, base))
        unused = [(*where, *item) for item in bases.keys() - used]
        db.executemany(f"DELETE FROM pregel_values WHERE {_ONE}", unused)

    def copy_values(self, db: sqlite3.Connection, source: str, target: str) -> None:
        columns = f"checkpoint_ns, {_FIELDS}"
        db.execute(
            f"INSERT INTO pregel_values (thread_id, {columns}) SELECT ?, {columns} FROM pregel_values"
            " WHERE thread_id = ?",
            (target, source),
        )

    def drop_values(self, db: sqlite3.Connection, thread_id: str) -> None:
        db.execute("DELETE FROM pregel_values WHERE thread_id = ?", (thread_id,))

    def _put_values(
        self,
        db: sqlite3.Connection,
        where: tuple[str, str],
        values: Sequence[tuple[str, Version, Pair]],
        chains: dict[Place, Chain],
    ) -> None:
        """Store values; the chains of those that have one are good once the transaction is through."""
        rows = []
        for channel, version, (tag, data) in values:
            header = header_size(tag, data)
            if header is None:
                piece = Piece(None, data)
            else:
                place = (*where, channel)
                piece, chain = grown(self._chains.get(place), version, data, header)
                if piece.base is not None and not _exists(db, place, piece.base):  # another connection dropped it
                    piece, chain = grown(None, version, data, header)
                chains[place] = chain
            rows.append((*where, channel, version, tag, *piece))
        if insert_rows(db, _INSERT, rows) == len(rows):
            return
        with joining(db):
            for channel, version, pair in values:  # some of these versions have had a value before
                chains.pop((*where, channel), None)
                self._chains.pop((*where, channel), None)
                _overwrite(db, (*where, channel), version, pair)

    def _keep_at_hand(self, key: Key, small: Mapping[str, Any]) -> None:
        self._small[key] = small
        if len(self._small) > _MOST_MET:
            self._small.pop(next(iter(self._small)), None)

    def _remember(self, chains: dict[Place, Chain]) -> None:
        for place, chain in chains.items():
            self._chains[place] = chain
            self._chains.move_to_end(place)
        while len(self._chains) > _MOST_CHAINS:
            self._chains.popitem(last=False)


def is_ours(db: sqlite3.Connection) -> bool:
    """True where the database holds our tables."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'pregel_layout'").fetchone() is not None


def _overwrite(db: sqlite3.Connection, place: Place, version: Version, pair: Pair) -> None:
    """Store another value at a version. Those that were stored after the one before become whole first."""
    where = "thread_id = ? AND checkpoint_ns = ? AND channel = ?"
    statement = f"SELECT version, {_READ} FROM pregel_values WHERE {where} AND base IS NOT NULL"
    known: Known = {}
    whole = [
        (*_stored(db, row, _after(db, place, row[1], known)).pair(), each)
        for each, *row in db.execute(statement, place).fetchall()
    ]
    whole.append((*pair, version))
    db.executemany(
        f"UPDATE pregel_values SET type = ?, base = NULL, value = ? WHERE {_ONE}",
        [(tag, data, *place, each) for tag, data, each in whole],
    )


def _exists(db: sqlite3.Connection, place: Place, version: Version) -> bool:
    return db.execute(f"SELECT 1 FROM pregel_values WHERE {_ONE}", (*place, version)).fetchone() is not None


def _rows_of(db: sqlite3.Connection, space: tuple[str, str], asked: Sequence[tuple[str, Version]]) -> list[Any]:
    """The rows of those of the channels' versions that have a value."""
    wanted = ", ".join(["(?, ?)"] * len(asked))
    return db.execute(
        f"WITH asked (name, at) AS (VALUES {wanted}) SELECT channel, version, {_READ} FROM asked CROSS JOIN"
        " pregel_values ON thread_id = ? AND checkpoint_ns = ? AND channel = name AND version = at",
        (*(part for item in asked for part in item), *space),
    ).fetchall()


def _after(db: sqlite3.Connection, place: Place, version: Version, known: Known) -> Stored:
    """What is stored at a version that another one is stored after; ValueError where there is no end to it."""
    rows: list[tuple[Version, Any]] = []
    met: set[Version] = set()
    base: Version | None = version
    while base is not None and (stored := known.get((*place, base))) is None:
        if base in met:
            raise ValueError(f"channel {place[2]!r} is stored after its version {base!r}, which is stored after itself")
        met.add(base)
        row = db.execute(f"SELECT {_READ} FROM pregel_values WHERE {_ONE}", (*place, base)).fetchone()
        if row is None:
            raise ValueError(f"channel {place[2]!r} is stored after its version {base!r}, which is gone")
        rows.append((base, row))
        base = row[1]
    found = None if base is None else stored
    for each, row in reversed(rows):
        found = known[*place, each] = _stored(db, row, found)
    assert found is not None
    return found


def _stored(db: sqlite3.Connection, row: Any, after: Stored | None) -> Stored:
    """What a row of `_READ` holds."""
    tag, _, value, rowid = row
    if value is None:
        with db.blobopen("pregel_values", "value", rowid, readonly=True) as blob:
            value = blob.read()
    return Stored(tag, value, after)


def is_small(value: Any) -> bool:
    """True for a value that is stored again with each checkpoint: that takes no more than to say where it is."""
    kind = type(value)
    if kind is str:
        return bool(len(value) <= _SMALL)
    if kind is int:
        return bool(-(2**63) <= value < 2**63)
    return value is None or kind in (bool, float)


def _text(run_id: Any) -> str | None:
    return None if run_id is None else str(run_id)
