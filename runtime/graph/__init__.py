"""Graphs over a state: `StateGraph`, its two ends, and lists of messages as state.

What builds on messages is loaded on first use, since langchain-core's messages take a while.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from runtime._words import END, START

if TYPE_CHECKING:
    from runtime.graph.message import MessageGraph, MessagesState, add_messages
    from runtime.graph.state import StateGraph

__all__ = ("END", "START", "MessageGraph", "MessagesState", "StateGraph", "add_messages")

_HOMES = {
    "MessageGraph": "runtime.graph.message",
    "MessagesState": "runtime.graph.message",
    "StateGraph": "runtime.graph.state",
    "add_messages": "runtime.graph.message",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'runtime.graph' has no name {name!r}")
    return getattr(import_module(_HOMES[name]), name)
