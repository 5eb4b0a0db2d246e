"""Failures at a moment that does not depend on the machine.

A failing task stops its siblings, and how far these have come is a race. So an async node that is about to fail waits
until nothing else has moved for a while, in turns of the event loop and not in seconds; of several, the first by name
fails first. Sync programs that can fail have one task at a time, see `programs`.
"""

from __future__ import annotations

import asyncio

_TURNS = 30


class Quiet:
    """Counts the node functions that run, and lets one wait for the others."""

    def __init__(self) -> None:
        self.active = 0
        self.moves = 0
        self.waiting: dict[tuple[str, int], asyncio.Event] = {}
        self.first: asyncio.Event | None = None

    def enter(self) -> None:
        """A node function begins, or goes on."""
        self.active += 1
        self.moves += 1

    def leave(self) -> None:
        """A node function ends, or waits for something that the engine does."""
        self.active -= 1
        self.moves += 1

    async def settled(self, name: str) -> None:
        """Wait until nothing moves any more."""
        self.leave()
        place = (name, self.moves)
        turn = self.waiting[place] = asyncio.Event()
        self._call()
        try:
            calm, moves = 0, self.moves
            while calm < _TURNS:
                await turn.wait()
                await asyncio.sleep(0)
                still = self.active == 0 and self.moves == moves and turn.is_set()
                calm, moves = calm + 1 if still else 0, self.moves
        finally:
            del self.waiting[place]
            self._call()
            self.enter()

    def _call(self) -> None:
        """Only the first of those that wait looks whether all is calm: there may be thousands."""
        first = self.waiting[min(self.waiting)] if self.waiting else None
        if first is not self.first:
            if self.first is not None:
                self.first.clear()
            if first is not None:
                first.set()
            self.first = first
