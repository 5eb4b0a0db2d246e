"""The collector of cycles, at rest while something large is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_rest() -> Iterator[None]:
    """No collection in this block, which makes many objects that stay: each one would walk over all made so far.

    It goes on after the block where it went on before. Blocks may lie in each other.
    """
    went_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if went_on:
            gc.enable()
