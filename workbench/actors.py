"""What the nodes of a compiled graph tell of themselves: the channels that wake them, and those that they write.

Only public attributes are read, so that a graph of either engine, or of another version, is read with the same care.
"""

from collections.abc import Mapping
from typing import Any


def is_bare(graph: Any) -> bool:
    """True for actors and channels that were put together by hand: there are no edges to draw, only channels."""
    known, nodes = getattr(graph, "channels", None), getattr(graph, "nodes", None)
    built = isinstance(known, Mapping) and isinstance(nodes, Mapping) and hasattr(graph, "input_channels")
    return built and getattr(graph, "builder", None) is None and not isinstance(graph, type)


def texts(node: Any, attribute: str) -> tuple[str, ...]:
    """The names in an attribute that holds one, several, or a mapping to them."""
    found = getattr(node, attribute, None) or ()
    if isinstance(found, str):
        return (found,)
    return tuple(str(one) for one in (found.values() if isinstance(found, Mapping) else found))


def writes(node: Any) -> tuple[list[str], bool]:
    """The channels that a node's writers name, and whether some writer does not say."""
    names: list[str] = []
    unclear = False
    for writer in getattr(node, "writers", None) or ():
        entries = getattr(writer, "writes", None)
        for entry in entries if isinstance(entries, list | tuple) else (writer,):
            channel = getattr(entry, "channel", None)
            if isinstance(channel, str):
                names.append(channel)
            else:
                unclear = True
    return names, unclear


def moves(graph: Any) -> list[tuple[str, str]]:
    """For actors made by hand: whom each may wake, `__start__` for the input, by the channels between them."""
    given = getattr(graph, "input_channels", ())
    writers = {"__start__": {given} if isinstance(given, str) else set(given)}
    writers |= {name: set(writes(node)[0]) for name, node in graph.nodes.items()}
    return [
        (source, target)
        for source, written in writers.items()
        for target, node in graph.nodes.items()
        if written & set(texts(node, "triggers"))
    ]
