"""What the nodes of a compiled graph tell of themselves: the channels that wake them, and those that they write.

Only public attributes are read, so that a graph of either engine, or of another version, is read with the same care.
"""

from collections.abc import Mapping
from typing import Any


def are_all(graph: Any) -> bool:
    """True for a compiled graph that is nodes and channels and nothing else: no builder tells its edges."""
    known, nodes = getattr(graph, "channels", None), getattr(graph, "nodes", None)
    built = isinstance(known, Mapping) and isinstance(nodes, Mapping) and hasattr(graph, "input_channels")
    return built and getattr(graph, "builder", None) is None and not isinstance(graph, type)


def are_bare(graph: Any) -> bool:
    """True for actors and channels that were put together by hand: what is to be seen are the channels.

    A function made a graph by `entrypoint` is none: its input and output are those of a graph of nodes and edges.
    """
    return are_all(graph) and graph.input_channels != "__start__"


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
    """Whom each actor may wake, by the channels between them: `__start__` for the input, to `__end__` for a result."""
    given = getattr(graph, "input_channels", ())
    writers = {"__start__": {given} if isinstance(given, str) else set(given)}
    for name, node in graph.nodes.items():
        known, unclear = writes(node)
        result = {"__end__"} if unclear and graph.output_channels == "__end__" else set()
        writers[name] = {*known, *result}
    listens = {name: set(texts(node, "triggers")) for name, node in graph.nodes.items()} | {"__end__": {"__end__"}}
    return [
        (source, target)
        for source, written in writers.items()
        for target, triggers in listens.items()
        if written & triggers
    ]
