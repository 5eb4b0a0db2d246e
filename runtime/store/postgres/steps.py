"""What a store does with its tables, as routines: each asks for statements, and is given their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import psycopg

from runtime._postgres import LOST, Routine, Statement
from runtime.store import sql
from runtime.store.base import Result
from runtime.store.sql import Read, Write

T = TypeVar("T")


class Job(NamedTuple, Generic[T]):
    """What a store has done. It may be begun more than once."""

    begin: Callable[[], Routine[T]]
    atomic: bool = False
    alters: bool = False

    def explain(self, error: psycopg.Error) -> None:
        """A note of the way out, where there is one."""
        if isinstance(error, psycopg.errors.UndefinedTable):
            error.add_note("Call the store's setup() once: it makes the tables, and with an index those of vectors.")
        elif isinstance(error, psycopg.errors.FeatureNotSupported):
            error.add_note("A search by likeness needs the extension pgvector on the server.")
        elif isinstance(error, LOST):
            error.add_note("A store on a pool makes new connections by itself; one on a connection needs a new one.")


def batch(work: sql.Work) -> Job[list[Result]]:
    """The results of a batch."""

    def begin() -> Routine[list[Result]]:
        found = (yield asked(work.reads)) if work.reads else []
        results, renewals = work.results(found)
        if work.writes or renewals:
            yield asked([*work.writes, *renewals])
        return results

    return Job(begin, work.atomic)


def sweep(read: Read) -> Job[int]:
    """How many items the statement has taken away."""

    def begin() -> Routine[int]:
        (((gone,),),) = yield asked([read])
        return int(gone)

    return Job(begin)


def asked(statements: Sequence[Read | Write]) -> list[Statement]:
    """Statements as psycopg takes them."""
    return [
        Statement(_in_psycopg(each.sql), [each.params], reads=True)
        if isinstance(each, Read)
        else Statement(_in_psycopg(each.sql), each.rows)
        for each in statements
    ]


@lru_cache(maxsize=512)
def _in_psycopg(text: str) -> bytes:
    """A statement with its parameters marked as psycopg wants them."""
    return text.replace("?", "%s").encode()
