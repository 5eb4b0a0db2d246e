"""The two engines, by the names that both share."""

import importlib
from typing import Any, NamedTuple

import pytest


class Engine(NamedTuple):
    """The modules of one engine."""

    name: str
    graph: Any
    types: Any
    pregel: Any
    channels: Any
    func: Any
    message: Any
    memory: Any
    cache: Any
    managed: Any

    @property
    def ours(self) -> bool:
        """True for this project's runtime."""
        return self.name == "runtime"


_PARTS = (
    "graph",
    "types",
    "pregel",
    "channels",
    "func",
    "graph.message",
    "checkpoint.memory",
    "cache.memory",
    "managed",
)


def engine_of(name: str) -> Engine:
    if name == "langgraph":
        pytest.importorskip("langgraph")
    return Engine(name, *(importlib.import_module(f"{name}.{part}") for part in _PARTS))
