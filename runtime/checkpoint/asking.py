"""Routines that ask savers, and their two drivers: what is done to a saver is written once, for both colours.

A routine yields what it asks of a saver and is sent the reply; a listing yields the checkpoints that it gives, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from runtime.checkpoint.base import CheckpointTuple

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

T = TypeVar("T")


class Call(NamedTuple):
    """Ask a saver, by the name of a sync method; the reply is what it returns."""

    saver: Any
    method: str
    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = MappingProxyType({})


class Open(NamedTuple):
    """Begin a list; the reply is an iterator."""

    saver: Any
    config: RunnableConfig | None
    filter: dict[str, Any] | None = None
    before: RunnableConfig | None = None
    limit: int | None = None


class Next(NamedTuple):
    """Take the next checkpoint of a list; the reply is None at its end."""

    found: Any


_EFFECTS: Final = (Call, Open, Next)
Effect = Call | Open | Next
Routine = Generator[Effect, Any, T]
Listing = Generator[Effect | CheckpointTuple, Any, None]


def drive(routine: Routine[T]) -> T:
    """The routine's result, by sync calls."""
    reply = None
    while True:
        try:
            step = routine.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # the routine's own type
        reply = _answer(step)


async def adrive(routine: Routine[T]) -> T:
    """The same, awaited; a saver that has no async methods is called from another thread."""
    reply = None
    while True:
        try:
            step = routine.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # the routine's own type
        reply = await _aanswer(step)


def listed(listing: Listing) -> Iterator[CheckpointTuple]:
    """What a listing gives, by sync calls."""
    reply = None
    while (step := _advance(listing, reply)) is not None:
        reply = None
        if isinstance(step, _EFFECTS):
            reply = _answer(step)
        else:
            yield step


async def alisted(listing: Listing) -> AsyncIterator[CheckpointTuple]:
    """The same, awaited."""
    reply = None
    while (step := _advance(listing, reply)) is not None:
        reply = None
        if isinstance(step, _EFFECTS):
            reply = await _aanswer(step)
        else:
            yield step


def _answer(step: Effect) -> Any:
    match step:
        case Call(saver, method, args, keywords):
            return getattr(saver, method)(*args, **keywords)
        case Open(saver, config, filter, before, limit):
            return iter(saver.list(config, filter=filter, before=before, limit=limit))
        case Next(found):
            return next(found, None)


async def _aanswer(step: Effect) -> Any:
    match step:
        case Call(saver, method, args, keywords):
            try:
                return await getattr(saver, f"a{method}")(*args, **keywords)
            except NotImplementedError:  # a saver of one colour
                return await asyncio.to_thread(getattr(saver, method), *args, **keywords)
        case Open():
            return _opened(step)
        case Next(found):
            return await anext(found, None)


async def _opened(step: Open) -> AsyncIterator[CheckpointTuple]:
    keywords = step._asdict()
    saver, config = keywords.pop("saver"), keywords.pop("config")
    try:
        async for each in saver.alist(config, **keywords):
            yield each
    except NotImplementedError:  # a saver of one colour, which says so before it gives anything
        for each in await asyncio.to_thread(lambda: [*saver.list(config, **keywords)]):
            yield each


def _advance(listing: Listing, reply: Any) -> Effect | CheckpointTuple | None:
    """What a listing yields next; None at its end."""
    try:
        return listing.send(reply)
    except StopIteration:
        return None


def pull(listing: Listing) -> Routine[CheckpointTuple | None]:
    """The next checkpoint of a listing; None at its end."""
    step = _advance(listing, None)
    while isinstance(step, _EFFECTS):
        step = _advance(listing, (yield step))
    return step


def everything(listing: Listing) -> Routine[list[CheckpointTuple]]:
    """All that a listing gives."""
    found = []
    while (each := (yield from pull(listing))) is not None:
        found.append(each)
    return found
