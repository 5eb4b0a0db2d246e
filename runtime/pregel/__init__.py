"""The engine: plan, execute, update, over channels with versions.

Public names (`Pregel`, `NodeBuilder`) are loaded on first use, since the modules below build on each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.pregel.main import NodeBuilder, Pregel

__all__ = ("NodeBuilder", "Pregel")


def __getattr__(name: str) -> Any:
    if name in __all__:
        from runtime.pregel import main  # noqa: PLC0415 - the layers below are imported through this package

        return getattr(main, name)
    raise AttributeError(f"module 'runtime.pregel' has no name {name!r}")
