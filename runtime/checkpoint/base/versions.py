"""Versions as text, for savers that outlive a process: they sort like numbers, and two branches never draw the same."""

from __future__ import annotations

import os
import random

Version = str | int | float
"""What a channel's version may be in a stored checkpoint: the kinds of all savers."""

# A program may seed the module's own generator, and then two branches of a thread would draw the same versions.
_versions = random.Random()
_draw = _versions.getrandbits
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_versions.seed)


def following(current: str | float | None) -> str:
    """The version after `current`: a counter, padded so that text sorts like numbers, and a random fraction."""
    number = int(current.partition(".")[0] if isinstance(current, str) else current or 0)
    return f"{number + 1:032d}.0.{_draw(53):016d}"
