"""Kits for agents, made of public names only: a node that runs tools, what tools may ask for, an agent of these.

Each name is loaded when it is first asked for, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.prebuilt.chat_agent_executor import create_react_agent
    from runtime.prebuilt.tool_node import InjectedState, InjectedStore, ToolNode, ToolRuntime, tools_condition
    from runtime.prebuilt.tool_validator import ValidationNode

__all__ = (
    "InjectedState",
    "InjectedStore",
    "ToolNode",
    "ToolRuntime",
    "ValidationNode",
    "create_react_agent",
    "tools_condition",
)

_HOMES = {
    "InjectedState": "tool_node",
    "InjectedStore": "tool_node",
    "ToolNode": "tool_node",
    "ToolRuntime": "tool_node",
    "ValidationNode": "tool_validator",
    "create_react_agent": "chat_agent_executor",
    "tools_condition": "tool_node",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'runtime.prebuilt' has no name {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"runtime.prebuilt.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
