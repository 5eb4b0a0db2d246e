"""What a saver does with the tables, as routines: each asks for statements, and is given their rows.

A routine that is begun once more does the same again: no statement minds having been carried out before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from runtime._postgres import Routine, Rows, Statement
from runtime.checkpoint.base import CheckpointTuple, DeltaChannelHistory, Outline
from runtime.checkpoint.base.unreadable import Reading, counted_channels
from runtime.checkpoint.postgres import layout as sql
from runtime.checkpoint.postgres.coding import (
    Parameters,
    Scope,
    histories_of,
    outline_of,
    tuple_of,
)
from runtime.checkpoint.postgres.layout import Layout
from runtime.checkpoint.serde.base import SerializerProtocol

Key = tuple[str, str, str]
"""A checkpoint's thread, namespace and id."""

AT_ONCE: Final = 20
"""So many checkpoints are read in one go, with their values."""

# Any number, as long as all processes mean the same by it.
_SETTING_UP: Final = 7_402_511_906_313_778_517


def read(statement: str, **parameters: Any) -> Routine[Rows]:
    """The rows of a statement."""
    (rows,) = yield [Statement(statement, [parameters], reads=True)]
    return rows


def change(statement: str, **parameters: Any) -> Routine[None]:
    """Carry a statement out."""
    yield [Statement(statement, [parameters])]


def nothing() -> Routine[None]:
    """Ask for nothing."""
    yield from ()


def set_up(migrations: Sequence[str]) -> Routine[None]:
    """Make what is missing of the tables, in the one transaction that this must be run in.

    Whoever comes second waits for the first. Where nothing is missing, no right to make tables is needed.
    """
    yield from read("SELECT pg_advisory_xact_lock(%(key)s)", key=_SETTING_UP)
    [(known,)] = yield from read("SELECT to_regclass('checkpoint_migrations') IS NOT NULL")
    rows = (yield from read("SELECT v FROM checkpoint_migrations")) if known else ()
    taken = max((v for (v,) in rows), default=-1)
    for v, statement in list(enumerate(migrations))[taken + 1 :]:
        yield from change(statement)
        yield from change("INSERT INTO checkpoint_migrations (v) VALUES (%(v)s)", v=v)


def find(layout: Layout, serde: SerializerProtocol, scope: Scope, limit: int) -> Routine[list[CheckpointTuple]]:
    """The newest checkpoints of a scope, at most `limit`."""
    statement = layout.found(layout.chosen(layout.scope(scope.names()), "LIMIT %(limit)s"))
    rows = yield from read(statement, **scope._asdict(), limit=limit)
    return [tuple_of(serde, row) for row in rows]


def keys(layout: Layout, scope: Scope, limit: int | None) -> Routine[list[Key]]:
    """The keys of a scope's checkpoints, newest first, at most `limit`."""
    statement = layout.keys(layout.scope(scope.names()), "LIMIT %(limit)s::bigint")
    rows = yield from read(statement, **scope._asdict(), limit=limit)
    return [(thread_id, ns, id) for thread_id, ns, id in rows]


def these(layout: Layout, serde: SerializerProtocol, asked: Sequence[Key]) -> Routine[list[CheckpointTuple]]:
    """The checkpoints of these keys, those that are still there."""
    rows = yield from read(layout.found(layout.these()), **_columns(asked))
    return [tuple_of(serde, row) for row in rows]


def histories(
    serde: SerializerProtocol, thread_id: str, ns: str, id: str | None, channels: Sequence[str]
) -> Routine[Mapping[str, DeltaChannelHistory]]:
    """For each channel, the writes that make its value at a checkpoint, at the newest without an id."""
    if not channels:
        return {}
    statement = sql.HISTORIES_OF_NEWEST if id is None else sql.HISTORIES_OF_ONE
    rows = yield from read(statement, thread_id=thread_id, ns=ns, id=id, channels=list(channels))
    return histories_of(serde, rows, channels, (thread_id, ns, id))


def thread_ids() -> Routine[list[str]]:
    """The threads that are kept."""
    rows = yield from read(sql.THREADS)
    return [id for (id,) in rows]


def outline(layout: Layout, thread_id: str) -> Routine[list[Outline]]:
    """All checkpoints of a thread, without their values."""
    rows = yield from read(layout.outline(), thread_id=thread_id)
    return [outline_of(thread_id, row) for row in rows]


def delete_for_runs(layout: Layout, run_ids: Sequence[str]) -> Routine[None]:
    """Forget the checkpoints of these runs, with their writes and the values that only they name."""
    rows = yield from read(layout.of_runs(), run_ids=[*run_ids])
    for thread_id, ns, ids in rows:
        yield from change(layout.drop, thread_id=thread_id, ns=ns, ids=ids)


def copy_thread(layout: Layout, source: str, target: str) -> Routine[None]:
    """Keep a thread under another id too, in the place of what was there."""
    there = yield from read("SELECT 1 FROM checkpoints WHERE thread_id = %(source)s LIMIT 1", source=source)
    if source == target or not there:
        return
    yield from change(sql.DELETE_THREADS, thread_ids=[target])
    for statement in sql.copies(layout.shallow):
        yield from change(statement, source=source, target=target)


def prune(layout: Layout, thread_ids: Sequence[str]) -> Routine[None]:
    """Forget all but each namespace's newest checkpoint, and what its delta channels are made of."""
    for thread_id in () if layout.shallow else thread_ids:
        rows = yield from read(sql.NEWEST_OF_EACH, thread_id=thread_id)
        for ns, id, metadata in rows:
            place = {"thread_id": thread_id, "ns": ns}
            with Reading(thread_id, ns, id) as at:
                at.part = "the metadata"
                waiting = counted_channels(metadata)
            kept = yield from read(sql.ANCESTORS, **place, id=id, channels=waiting)
            old = yield from read(sql.OLDER, **place, id=id, kept=[each for (each,) in kept])
            yield from change(layout.drop, **place, ids=[each for (each,) in old])


def _columns(asked: Sequence[Key]) -> Parameters:
    columns = zip(*asked, strict=True) if asked else ((), (), ())
    return {name: list(column) for name, column in zip(("thread_ids", "namespaces", "ids"), columns, strict=True)}
