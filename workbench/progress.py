"""A bar for work that takes its time: JupyterLab's own in a notebook, a line on a terminal, and none elsewhere."""

from __future__ import annotations

import sys
from typing import Any, Final, TypeVar, cast

AFTER: Final = 1.0
"""Seconds. Work that takes less shows no bar."""

T = TypeVar("T")


def shown(items: T, doing: str) -> T:
    """The items, async ones too, to be gone through once; behind them a bar that says what is being done.

    Ctrl-C comes out of the loop that goes through them, as out of any, and the bar goes.
    """
    if not _is_looked_at():
        return items
    from tqdm.auto import tqdm  # noqa: PLC0415 - loads the widgets of a notebook

    bar: Any = tqdm(items, desc=doing, delay=AFTER, leave=False)
    return cast("T", bar)


def _is_looked_at() -> bool:
    return "ipykernel.kernelapp" in sys.modules or sys.stderr.isatty()
