"""How the notebooks are compared when they are tests: by their text.

What is saved beside it are pictures for readers without a kernel; they hold times, and a run shows live ones instead.
"""

from typing import Any


def pytest_collectstart(collector: Any) -> None:
    """Leave pictures out of the comparison; nbval knows its collectors by this attribute."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("text/html", "image/svg+xml")
