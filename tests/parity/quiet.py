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
        self.waiting: list[str] = []

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
        self.waiting.append(name)
        try:
            calm, moves = 0, self.moves
            while calm < _TURNS:
                await asyncio.sleep(0)
                still = self.active == 0 and self.moves == moves and min(self.waiting) == name
                calm, moves = calm + 1 if still else 0, self.moves
        finally:
            self.waiting.remove(name)
            self.enter()
