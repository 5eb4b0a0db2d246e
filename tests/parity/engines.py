"""The two engines, by the names that both share."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Engine(NamedTuple):
    """The modules of one engine."""

    name: str
    graph: Any
    message: Any
    types: Any
    channels: Any
    managed: Any
    config: Any
    func: Any
    memory: Any


def engine_of(name: str) -> Engine:
    """The engine of this name: `runtime` or `langgraph`."""
    parts = ("graph", "graph.message", "types", "channels", "managed", "config", "func", "checkpoint.memory")
    return Engine(name, *(importlib.import_module(f"{name}.{part}") for part in parts))
