"""A dict that goes on from a file: what `InMemorySaver(factory=…)` may keep its threads in."""

from __future__ import annotations

import io
import os
from collections import defaultdict
from pathlib import Path
from typing import Any, BinaryIO, Self

from runtime.checkpoint.memory.blobs import AtomList, Blob, PackedList
from runtime.checkpoint.memory.lineage import Lineage, record_of
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer

_serde = JsonPlusSerializer(allowed_msgpack_modules=None)


class PersistentDict(defaultdict[Any, Any]):
    """A defaultdict that is read from `filename` when it is made, and written there by `sync` and `close`.

    The file is MessagePack, so reading it runs nothing. It may hold what is plain data, and a saver's threads.
    """

    def __init__(self, *args: Any, filename: str, **kwds: Any) -> None:
        super().__init__(*args, **kwds)
        self.filename = filename
        if os.path.exists(filename) and os.path.getsize(filename):
            self.load()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def load(self) -> None:
        """Take what the file holds; entries of the same keys are replaced."""
        stored = _serde.loads_typed(("msgpack", Path(self.filename).read_bytes()))
        self.update({key: _thread(held) for key, held in stored.items()})

    def sync(self) -> None:
        """Write all of it. The file is either the old or the new one, never half of it."""
        content = io.BytesIO()
        self.dump(content)
        fresh = f"{self.filename}.{os.getpid()}.new"
        Path(fresh).write_bytes(content.getbuffer())
        os.replace(fresh, self.filename)

    def close(self) -> None:
        """Write all of it for the last time."""
        self.sync()

    def dump(self, fileobj: BinaryIO | Any) -> None:
        """Write all of it into an open file."""
        fileobj.write(_serde.dumps_typed({key: _plain_thread(held) for key, held in self.items()})[1])


_LINEAGES = "lineages"


def _plain_thread(held: Any) -> Any:
    if isinstance(held, dict) and held and all(isinstance(part, Lineage) for part in held.values()):
        return {_LINEAGES: [[ns, _plain(lineage)] for ns, lineage in held.items()]}
    return held


def _thread(held: Any) -> Any:
    if isinstance(held, dict) and held.keys() == {_LINEAGES}:
        return {ns: _lineage(*plain) for ns, plain in held[_LINEAGES]}
    return held


def _plain(lineage: Lineage) -> list[Any]:
    records = [
        [record.id, record.parent_id, record.checkpoint(), _plain_blob(record.extras), _plain_blob(record.metadata)]
        for record in map(lineage.records.__getitem__, lineage.order)
    ]
    values = [[channel, version, _plain_blob(blob)] for (channel, version), blob in lineage.values.items()]
    writes = [
        [id, task_id, place, channel, _plain_blob(value), task_path]
        for id, kept in lineage.writes.items()
        for (task_id, place), (_, channel, value, task_path) in kept.items()
    ]
    logs = [
        [channel, version, [[task_id, _plain_blob(blob)] for task_id, _, blob in log]]
        for (channel, version), log in lineage.logs.items()
    ]
    return [records, values, writes, logs]


def _lineage(records: list[Any], values: list[Any], writes: list[Any], logs: Any = ()) -> Lineage:
    lineage = Lineage()
    for id, parent_id, frame, extras, metadata in records:
        lineage.add(record_of(id, parent_id, frame, _blob(extras), _blob(metadata)), {})
    lineage.values = {(channel, version): _blob(blob) for channel, version, blob in values}
    for channel, version, log in logs:
        lineage.logs[channel, version] = [(task_id, channel, _blob(blob)) for task_id, blob in log]
    for id, task_id, place, channel, value, task_path in writes:
        lineage.writes.setdefault(id, {})[task_id, place] = (task_id, channel, _blob(value), task_path)
    return lineage


def _plain_blob(blob: Blob) -> list[Any]:
    """A blob as one item (an atom or a list of them) or two (tag and bytes)."""
    if isinstance(blob, PackedList):
        return list(blob.pair())
    if isinstance(blob, AtomList):
        return [blob.value()]
    return list(blob) if isinstance(blob, tuple) else [blob]


def _blob(plain: list[Any]) -> Blob:
    if len(plain) == 2:
        return tuple(plain)
    return AtomList(plain[0], textual=False) if isinstance(plain[0], list) else plain[0]
