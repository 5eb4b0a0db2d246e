"""Vectors in SQLite: how they are kept, and the function that compares two."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable

from runtime.store.base import IndexConfig
from runtime.store.index import Index, Numbers


class SqliteIndexConfig(IndexConfig, total=False):
    """`IndexConfig`; what it calls `fields` may be called `text_fields`, as LangGraph's store in SQLite has it."""

    text_fields: list[str] | None


def index_of(config: SqliteIndexConfig | None) -> Index | None:
    """The index that a config describes."""
    return None if config is None else Index(config, config.get("text_fields"))


def as_blob(numbers: Numbers) -> bytes:
    """A vector as sqlite-vec and LangGraph's tables keep it: 4 bytes a number, little-endian."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


def teach(db: sqlite3.Connection) -> None:
    """Give the connection `vec_distance_cosine`: sqlite-vec's, or numpy's where that is missing or can't be loaded.

    Many a Python's SQLite loads no extensions. The answers are the same.
    """
    try:
        import sqlite_vec  # noqa: PLC0415  # an optional dependency

        db.enable_load_extension(True)
        sqlite_vec.load(db)
        db.enable_load_extension(False)
    except (ImportError, AttributeError, sqlite3.Error):
        db.create_function("vec_distance_cosine", 2, cosine_distance(), deterministic=True)


def cosine_distance() -> Callable[[bytes, bytes], float | None]:
    """1 less the cosine of two vectors; None where one of them has no direction."""
    import numpy  # noqa: PLC0415  # takes longer to import than all of this package

    def distance(one: bytes, other: bytes) -> float | None:
        a, b = numpy.frombuffer(one, "<f4"), numpy.frombuffer(other, "<f4")
        lengths = float(a @ a) * float(b @ b)
        return 1 - float(a @ b) / lengths**0.5 if lengths else None

    return distance
