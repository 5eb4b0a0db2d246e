"""The bodies of nodes and tasks, written once: generators that wish for what is called differently in each colour."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from tests.parity.quiet import Quiet


class Wish(NamedTuple):
    """What a body wants done: "settle" (by its name), "invoke" (a graph or a model), or "call" (several tasks)."""

    kind: str
    target: Any
    argument: Any = None


Body = Generator[Wish, Any, Any]


class Failed(Exception):
    """What a node or task of a program raises."""


def finish(body: Body) -> Any:
    """Run a body to its end, and give what it returns."""
    try:
        wish = next(body)
        while True:
            try:
                reply = _grant(wish)
            except BaseException as error:
                wish = body.throw(error)
            else:
                wish = body.send(reply)
    except StopIteration as end:
        return end.value


def _grant(wish: Wish) -> Any:
    match wish.kind:
        case "invoke":
            return wish.target.invoke(wish.argument)
        case "call":
            futures = [task(wish.argument) for task in wish.target]
            return [future.result() for future in futures]
    return None


async def finish_async(quiet: Quiet, body: Body) -> Any:
    """The same in an event loop."""
    quiet.enter()
    try:
        wish = next(body)
        while True:
            try:
                reply = await _grant_async(quiet, wish)
            except BaseException as error:
                wish = body.throw(error)
            else:
                wish = body.send(reply)
    except StopIteration as end:
        return end.value
    finally:
        quiet.leave()


async def _grant_async(quiet: Quiet, wish: Wish) -> Any:
    if wish.kind == "settle":
        return await quiet.settled(wish.target)
    quiet.leave()
    try:
        if wish.kind == "invoke":
            return await wish.target.ainvoke(wish.argument)
        futures = [task(wish.argument) for task in wish.target]
        return [await future for future in futures]
    finally:
        quiet.enter()
