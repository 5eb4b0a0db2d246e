"""The rows of several checkpoints, by few statements and not before it is their turn."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.checkpoint.sqlite.layout import Key, Layout


class Streams:
    """The rows of checkpoints and of their writes, newest first in each namespace, as far as they are asked for."""

    def __init__(self, layout: Layout, db: sqlite3.Connection, keys: Sequence[Key]) -> None:
        ids: dict[tuple[str, str], list[str]] = {}
        for thread_id, ns, id in keys:
            ids.setdefault((thread_id, ns), []).append(id)
        self._rows = {space: _Stream(db, layout.some, space, some, 0) for space, some in ids.items()}
        self._writes = {space: _Stream(db, layout.beside_some, space, some, -1) for space, some in ids.items()}

    def row(self, key: Key) -> Any:
        """A checkpoint's own row; None where there is none."""
        rows = self._rows[key[:2]].of(key[2])
        return rows[0] if rows else None

    def writes(self, key: Key) -> list[Any]:
        """The rows of a checkpoint's writes."""
        return self._writes[key[:2]].of(key[2])

    def close(self) -> None:
        """Read no further."""
        for stream in (*self._rows.values(), *self._writes.values()):
            stream.cursor.close()


class _Stream:
    """Rows of some checkpoints of a namespace, newest first; `at` is the place of a checkpoint's id in them."""

    __slots__ = ("_at", "_next", "cursor")

    def __init__(
        self, db: sqlite3.Connection, statement: str, space: tuple[str, str], ids: Sequence[str], at: int
    ) -> None:
        self.cursor = db.execute(statement.format(", ".join("?" * len(ids))), (*space, *ids))
        self._next = self.cursor.fetchone()
        self._at = at

    def of(self, id: str) -> list[Any]:
        """The rows of this checkpoint; each is asked for once, in their order."""
        rows: list[Any] = []
        while self._next is not None and self._next[self._at] == id:
            rows.append(self._next)
            self._next = self.cursor.fetchone()
        return rows
