"""In strict mode: a checkpointer that revives the types which a graph declares, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from inspect import isclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from typing_extensions import is_typeddict

from runtime.checkpoint.serde.trust import strict_by_default
from runtime.pregel.schemas import hints_of

if TYPE_CHECKING:
    from runtime.pregel.main import Pregel

    Graph = TypeVar("Graph", bound=Pregel[Any, Any, Any, Any])

_NOT_STORED_BY_NAME = ("builtins", "typing", "typing_extensions", "types", "collections.abc")


def trusting(graph: Graph) -> Graph:
    """The graph; in strict mode with a checkpointer whose list has the types of its state and of its nested graphs'.

    Strict mode is what RUNTIME_STRICT_MSGPACK or LANGGRAPH_STRICT_MSGPACK asks for. The saver given is not changed.
    """
    extend = getattr(graph.checkpointer, "with_allowlist", None)
    if extend is None or not strict_by_default():
        return graph
    nested = [inner for _, inner in graph.get_subgraphs(recurse=True)]
    hints = [hint for one in (graph, *nested) for hint in _declared(one)]
    return graph.copy({"checkpointer": extend(types_in(*hints))})


def types_in(*hints: Any) -> frozenset[type]:
    """The classes that values of these types may be made of: those that are named, and those that their fields name."""
    found: set[type] = set()
    waiting = list(hints)
    while waiting:
        hint = waiting.pop()
        parts = list(hint) if isinstance(hint, (list, tuple)) else [*get_args(hint), get_origin(hint)]
        waiting.extend(part for part in parts if part is not None)
        if isclass(hint) and hint not in found and hint.__module__ not in _NOT_STORED_BY_NAME:
            found.add(hint)
            with suppress(Exception):  # annotations that cannot be evaluated from here name nothing
                waiting.extend((hints_of(hint) or {}).values())
    return frozenset(kind for kind in found if not is_typeddict(kind))


def _declared(graph: Any) -> Iterator[Any]:
    builder = getattr(graph, "builder", None)
    if builder is not None:
        yield from builder.schemas
    else:
        yield from (channel.ValueType for channel in getattr(graph, "channels", {}).values())
