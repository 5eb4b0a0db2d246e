"""A cache in an SQLite file, which outlives the program and may be shared by several."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Generic

from runtime.cache.base import BaseCache, FullKey, Namespace, ValueT
from runtime.checkpoint.serde.base import SerializerProtocol

__all__ = ("SqliteCache",)

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS cache"
    " (ns TEXT, key TEXT, expiry REAL, encoding TEXT NOT NULL, val BLOB NOT NULL, PRIMARY KEY (ns, key))"
)


class SqliteCache(BaseCache[ValueT], Generic[ValueT]):
    """Keeps values in the file `path`, in LangGraph's table. Many threads may use it at once, and many processes.

    A cache may lose its last values when the machine stops: its commits do not wait for the disk.
    """

    def __init__(self, *, path: str, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._lock = threading.Lock()
        self._conn = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        with suppress(sqlite3.OperationalError):  # another process is doing the same
            self._conn.execute("PRAGMA journal_mode = WAL")
        self._conn.execute("PRAGMA synchronous = NORMAL")
        self._conn.execute(_TABLE)

    def close(self) -> None:
        """Close the file; whoever forgets it leaves that to the end of the program."""
        with self._lock:
            self._conn.close()

    def __del__(self) -> None:
        conn = getattr(self, "_conn", None)
        if conn is not None:
            conn.close()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        now, expired = time.time(), list[tuple[str, str, float]]()
        found: dict[FullKey, tuple[str, bytes]] = {}
        with self._lock:
            for namespace, key in keys:
                where = (_joined(namespace), key)
                row = self._conn.execute(
                    "SELECT encoding, val, expiry FROM cache WHERE ns = ? AND key = ?", where
                ).fetchone()
                if row is None:
                    continue
                if row[2] is not None and now >= row[2]:
                    expired.append((*where, row[2]))
                else:
                    found[namespace, key] = row[:2]
            if expired:
                self._write("DELETE FROM cache WHERE ns = ? AND key = ? AND expiry = ?", expired)
        return {key: self.serde.loads_typed(pair) for key, pair in found.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        return await asyncio.to_thread(self.get, keys)

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        now = time.time()
        rows = [
            (_joined(namespace), key, None if ttl is None else now + ttl, *self.serde.dumps_typed(value))
            for (namespace, key), (value, ttl) in pairs.items()
        ]
        with self._lock:
            self._write("INSERT OR REPLACE INTO cache (ns, key, expiry, encoding, val) VALUES (?, ?, ?, ?, ?)", rows)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        await asyncio.to_thread(self.set, pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock:
            if namespaces is None:
                self._conn.execute("DELETE FROM cache")
            else:
                self._write("DELETE FROM cache WHERE ns = ?", [(_joined(namespace),) for namespace in namespaces])

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        await asyncio.to_thread(self.clear, namespaces)

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Do a statement for all the rows, or for none."""
        self._conn.execute("BEGIN IMMEDIATE")
        try:
            self._conn.executemany(statement, rows)
            self._conn.execute("COMMIT")
        except BaseException:
            if self._conn.in_transaction:
                self._conn.execute("ROLLBACK")
            raise


def _joined(namespace: Namespace) -> str:
    return ",".join(namespace)
