"""Where events come from.

Our runtime tells its observers all that happens, so for its graphs there is nothing to translate. A graph that
LangGraph compiled says less, and says it otherwise; `guests` makes events of that, and every view works from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.events import observe
from workbench import guests
from workbench.guests import Watcher


@contextmanager
def watching(watcher: Watcher, *, everywhere: bool = False) -> Iterator[None]:
    """A block in which the watcher is told of every run that starts, of either engine.

    Runs started by nodes, and in threads or asyncio tasks that copy the context, are seen too; with `everywhere` those
    of any thread.
    """
    with observe(watcher, everywhere=everywhere), guests.watch(watcher, everywhere=everywhere):
        yield
