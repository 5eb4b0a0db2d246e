"""Savers by the name of their database, and the threads that they keep.

Whoever looks at a database must not change it: SQLite files are opened read-only, and a PostgreSQL session is told to
be, unless it is opened to be written to. Of a saver only the contract's methods are called, so that any saver's threads
are listed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from runtime.checkpoint.base.calls import by_task
from runtime.checkpoint.sqlite import SqliteSaver, SqliteSaverError
from runtime.pregel.commands import open_interrupts
from workbench.index import is_state

__all__ = ("Kept", "SaverError", "Thread", "checkpoints", "find", "frame", "opened", "threads")

_HEADER: Final = b"SQLite format 3\x00"


class SaverError(ValueError):
    """A database that cannot be opened, or that has no such thread or checkpoint; says the way out."""


class Kept(NamedTuple):
    """A checkpoint as it is kept: its place, what made it, the state in it, and what comes next.

    `next` are the nodes that it wakes, `asks` what its tasks asked and nobody has answered yet. `at` is the time in
    UTC, as text.
    """

    thread: str
    ns: str
    id: str
    parent: str | None
    step: int
    source: str
    at: str
    next: tuple[str, ...]
    asks: tuple[Any, ...]
    values: Mapping[str, Any]

    @property
    def stands(self) -> str:
        """Where the thread stands there, in a word: asks, next or ended."""
        return "asks" if self.asks else "next" if self.next else "ended"


class Thread(NamedTuple):
    """A thread of a saver: how many checkpoints it has, and its newest one at the top."""

    id: str
    checkpoints: int
    newest: Kept | None


@contextmanager
def opened(place: str, *, writes: bool = False) -> Iterator[Any]:
    """The saver of a database, for reading: the path of an SQLite file, or the URL of a PostgreSQL database.

    Layouts of LangGraph's savers are read, too. SaverError says why there is none. With `writes` it may be written to.
    """
    if writes:  # a file that is no saver's would be given a saver's tables
        with opened(place) as looked:
            looked.thread_ids()
    if place.startswith(("postgres://", "postgresql://")):
        with _postgres(place, writes) as saver:
            yield saver
        return
    path = Path(place)
    if not path.is_file():
        raise SaverError(f"There is no database {place!r}. Name an SQLite file, or a URL that begins postgresql://.")
    with path.open("rb") as file:
        if file.read(len(_HEADER)) != _HEADER:
            raise SaverError(f"{place} is no SQLite database. Name the file that a SqliteSaver wrote.")
    with SqliteSaver.from_conn_string(f"{path.resolve().as_uri()}?mode={'rw' if writes else 'ro'}") as saver:
        try:
            yield saver
        except (sqlite3.Error, SqliteSaverError) as error:
            raise SaverError(
                f"{place} cannot be {_done(writes)}: {str(error).rstrip('.')}. Did a SqliteSaver write it?"
            ) from error


@contextmanager
def _postgres(url: str, writes: bool) -> Iterator[Any]:
    try:
        import psycopg  # noqa: PLC0415 - an extra: whoever has no PostgreSQL database needs none of it
        from psycopg.conninfo import make_conninfo  # noqa: PLC0415

        from runtime.checkpoint.postgres import PostgresSaver, PostgresSaverError  # noqa: PLC0415
    except ImportError as error:
        raise SaverError("PostgreSQL needs the extra: pip install 'pregel-workbench[postgres]'.") from error
    try:
        address = url if writes else make_conninfo(url, options="-c default_transaction_read_only=on")
        with PostgresSaver.from_conn_string(address) as saver:
            yield saver
    except (psycopg.Error, PostgresSaverError) as error:
        told = " ".join(str(error).split()).rstrip(".")
        raise SaverError(
            f"The PostgreSQL database cannot be {_done(writes)}: {told}. Did a PostgresSaver set it up?"
        ) from error


def _done(writes: bool) -> str:
    return "written to" if writes else "read"


def threads(saver: Any) -> list[Thread]:
    """The threads of a saver, those that were gone on with last first: a checkpoint's id begins with its time."""
    found = []
    for id in _ids(saver):
        place = {"configurable": {"thread_id": id, "checkpoint_ns": ""}}
        newest = saver.get_tuple(place)
        found.append(Thread(id, len(_outline(saver, id)), None if newest is None else _kept(newest)))
    return sorted(found, key=lambda thread: thread.newest.id if thread.newest is not None else "", reverse=True)


def frame(found: Sequence[Thread]) -> pd.DataFrame:
    """Threads as a data frame: thread, checkpoints, step, source, stands (asks, next, ended), next, at (UTC)."""
    rows = [(one.id, one.checkpoints, *_columns(one.newest)) for one in found]
    names = ["thread", "checkpoints", "step", "source", "stands", "next", "at"]
    whole = pd.DataFrame(rows, columns=names)
    kinds = {name: "Int64" if name in ("checkpoints", "step") else "string" for name in names[:-1]}
    return whole.astype(kinds).assign(at=pd.to_datetime(whole["at"], utc=True))


def _columns(newest: Kept | None) -> tuple[Any, ...]:
    if newest is None:
        return (None,) * 5
    return newest.step, newest.source, newest.stands, ", ".join(newest.next), newest.at or None


def checkpoints(saver: Any, thread: str, *, limit: int | None = None) -> list[Kept]:
    """The checkpoints of a thread at the top, newest first. SaverError where there are none."""
    place = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    found = [_kept(one) for one in saver.list(place, limit=limit)]
    if not found:
        raise SaverError(f"There is no thread {thread!r}. {_known(saver)}")
    return found


def find(saver: Any, place: str) -> Kept:
    """The checkpoint of that name: a thread (its newest), `thread@step`, `thread@checkpoint`, or a checkpoint's id.

    A checkpoint's id may be given by its beginning or its end. SaverError where there is none, or more than one.
    """
    ids = _ids(saver)
    if place in ids:
        return checkpoints(saver, place, limit=1)[0]
    thread, _, wanted = place.rpartition("@")
    if thread and thread not in ids:
        raise SaverError(f"There is no thread {thread!r}. {_known(saver)}")
    every = [one for id in ([thread] if thread else ids) for one in checkpoints(saver, id)]
    if thread and wanted.lstrip("-").isdecimal():
        fitting = [one for one in every if one.step == int(wanted)][:1]
    else:
        fitting = [one for one in every if wanted and (one.id.startswith(wanted) or one.id.endswith(wanted))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise SaverError(f"{len(fitting)} checkpoints fit {place!r}. Give more of the id.")
    way = "Give a thread, thread@step, or a checkpoint's id."
    raise SaverError(f"There is no checkpoint {place!r}. {way} {_known(saver)}")


def _ids(saver: Any) -> list[str]:
    """The threads' names; a saver of another library is asked for all its checkpoints."""
    listed = getattr(saver, "thread_ids", None)
    if callable(listed):
        return [str(id) for id in listed()]
    return list(dict.fromkeys(str(one.config["configurable"]["thread_id"]) for one in saver.list(None)))


def _outline(saver: Any, thread: str) -> Sequence[Any]:
    place = {"configurable": {"thread_id": thread}}
    outline = getattr(saver, "outline", None)
    found: Sequence[Any] = outline(thread) if callable(outline) else list(saver.list(place))
    return found


def _known(saver: Any) -> str:
    ids = _ids(saver)
    shown = ", ".join(ids[:8])
    more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
    return f"The threads are {shown}{more}." if ids else "There is no thread at all."


def _kept(found: Any) -> Kept:
    """A saver's tuple as what a person looks at."""
    place = found.config["configurable"]
    parent = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    values: Mapping[str, Any] = found.checkpoint.get("channel_values") or {}
    metadata = found.metadata or {}
    return Kept(
        str(place["thread_id"]),
        str(place.get("checkpoint_ns") or ""),
        str(place["checkpoint_id"]),
        None if parent is None else str(parent),
        int(metadata.get("step", -1)),
        str(metadata.get("source", "loop")),
        str(found.checkpoint.get("ts", ""))[:19].replace("T", " "),
        tuple(_woken(values)),
        tuple(_asked(found.pending_writes or ())),
        {name: value for name, value in values.items() if is_state(name)},
    )


def _woken(values: Mapping[str, Any]) -> Iterator[str]:
    """The nodes whose waking channels hold a value: an edge's always, a join's when all its members have come."""
    for name, value in values.items():
        if name.startswith("branch:to:"):
            yield name.removeprefix("branch:to:")
        elif name.startswith("join:") and isinstance(value, set | frozenset | list | tuple):
            members, _, target = name.removeprefix("join:").rpartition(":")
            if len(value) == members.count("+") + 1:
                yield target
        elif name == "__pregel_tasks" and isinstance(value, list | tuple):
            yield from (str(sent.node) for sent in value if hasattr(sent, "node"))
        elif name == "__start__":
            yield "__start__"


def _asked(writes: Sequence[tuple[str, str, Any]]) -> Iterator[Any]:
    """What tasks have asked that have not finished: one that has an answer may ask again."""
    return (question.value for question in open_interrupts(by_task(writes)))
