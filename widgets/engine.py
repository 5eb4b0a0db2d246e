"""What a session must know of the library that made a graph. Both engines share their names and their shapes.

A graph of this runtime knows `runtime`'s `Command` and savers, one that LangGraph compiled knows LangGraph's; so what
is handed to a graph is looked up where its class comes from. LangGraph is never imported unless the graph brought it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final, get_type_hints

__all__ = ["OVERWRITE", "ROOT", "channels", "declared", "overwrite", "overwritten", "reducer", "reducer_name", "word"]

ROOT: Final = "__root__"
"""The one channel of a state that is no mapping."""

OVERWRITE: Final = "__overwrite__"
"""The key that tells a reducer to take a value as it is."""

_ENGINES: Final = ("runtime", "langgraph")


def word(graph: Any, module: str, name: str) -> Any:
    """A name of the engine that made the graph: `word(graph, "types", "Command")`."""
    for base in type(graph).__mro__:
        engine = base.__module__.partition(".")[0]
        if engine in _ENGINES:
            return getattr(importlib.import_module(f"{engine}.{module}"), name)
    raise TypeError(f"{type(graph).__name__!r} is no graph of {' or '.join(_ENGINES)}.")


def overwrite(value: Any) -> dict[str, Any]:
    """A value that replaces what a reducer would have added to."""
    return {OVERWRITE: value}


def overwritten(value: Any) -> tuple[bool, Any]:
    """True and the value inside, for one that replaces; else False and the value."""
    if isinstance(value, Mapping):
        if value.keys() == {OVERWRITE}:
            return True, value[OVERWRITE]
        if value.get("type") == OVERWRITE and "value" in value:
            return True, value["value"]
    if type(value).__name__ == "Overwrite" and hasattr(value, "value"):
        return True, value.value
    return False, value


def by_channel(values: Any) -> Mapping[str, Any]:
    """A state's values by channel; a state that is no mapping is its one channel."""
    return values if isinstance(values, Mapping) else {ROOT: values}


def channels(graph: Any) -> dict[str, Any]:
    """The channels of the state, by name, in the order declared: those that a person may read and write."""
    builder = getattr(graph, "builder", None)
    if builder is not None and getattr(builder, "channels", None):
        return {name: graph.channels[name] for name in builder.channels if name in graph.channels}
    shown = graph.stream_channels or graph.output_channels
    names = [shown] if isinstance(shown, str) else list(shown)
    return {name: graph.channels[name] for name in names if name in graph.channels}


def declared(graph: Any) -> dict[str, Any]:
    """The declared type of each channel, with its `Annotated` extras; `Any` where nothing is declared."""
    builder = getattr(graph, "builder", None)
    found: dict[str, Any] = {}
    for schema in getattr(builder, "schemas", {}):
        for name, kind in _hints(schema).items():
            found.setdefault(name, kind)
    return {name: found.get(name, getattr(channel, "typ", Any)) for name, channel in channels(graph).items()}


def reducer(channel: Any) -> Callable[[Any, Any], Any] | None:
    """The function that folds a write into the channel; None where there is none."""
    found = getattr(channel, "operator", None)
    return found if callable(found) else None


def reducer_name(function: Any) -> str:
    """What a reducer is called: `add`, `add_messages`, `a lambda`."""
    while hasattr(function, "func"):
        function = function.func
    name = str(getattr(function, "__name__", type(function).__name__))
    return "a lambda" if name == "<lambda>" else name.lstrip("_") if name == "_add_messages" else name


def _hints(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, type):
        return {ROOT: schema}
    try:
        return get_type_hints(schema, include_extras=True) or {ROOT: schema}
    except Exception:  # a class local to a function, with its annotations as text
        return {}
