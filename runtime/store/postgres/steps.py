"""What a store does with its tables, as generators: each asks for statements, and is given the rows of each.

A driver carries them out on a connection, in its colour (see `connection`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from runtime.store.base import Result
from runtime.store.sql import Read, Work, Write

T = TypeVar("T")

Rows = Sequence[Sequence[Any]]
Steps = Generator[Sequence[Read | Write], list[Rows], T]
"""Asks for statements that do not need each other's rows, and is given the rows of each: none of what is written."""


def batch(work: Work) -> Steps[list[Result]]:
    """The results of a batch."""
    found = (yield work.reads) if work.reads else []
    results, renewals = work.results(found)
    if work.writes or renewals:
        yield [*work.writes, *renewals]
    return results


def sweep(read: Read) -> Steps[int]:
    """How many items the statement has taken away."""
    (((gone,),),) = yield [read]
    return int(gone)
