"""Whether the parts of a graph fit together: its nodes, channels and breakpoints name each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime._words import RESERVED, TASKS
from runtime.pregel.call import can_be_stopped, cannot_be_stopped
from runtime.pregel.node import NodeBuilder, PregelNode
from runtime.pregel.program import as_names

if TYPE_CHECKING:
    from runtime.pregel.main import Pregel


def built(name: str, node: Any) -> PregelNode:
    """The node, built if need be. TypeError for anything else."""
    if isinstance(node, PregelNode):
        return node
    if isinstance(node, NodeBuilder):
        return node.build()
    raise TypeError(f"Node {name!r} is a {type(node).__name__}, but a Pregel's nodes are PregelNode or NodeBuilder.")


def check_names(graph: Pregel[Any, Any, Any, Any]) -> None:
    """Raise ValueError for the first name that nothing in the graph has, and for what else cannot run."""
    known = graph.channels
    for name in sorted((known.keys() | graph.nodes.keys()) & RESERVED - {TASKS}):
        raise ValueError(f"{name!r} is a reserved word and cannot name a channel or a node. Choose another name.")
    subscribed: set[str] = set()
    for name, node in graph.nodes.items():
        for channel in (*as_names(node.channels), *node.triggers):
            if channel not in known:
                raise ValueError(f"Node {name!r} listens to {channel!r}, which is no channel of this graph.")
        subscribed.update(node.triggers)
        if node.timeout is not None and not can_be_stopped(node.bound):
            raise ValueError(cannot_be_stopped(f"Node {name!r}"))
    for channel in as_names(graph.input_channels):
        if channel not in known:
            raise ValueError(f"The input channel {channel!r} is no channel of this graph.")
    if not any(channel in subscribed for channel in as_names(graph.input_channels)):
        raise ValueError(f"No node is woken by the input ({', '.join(as_names(graph.input_channels))}).")
    for what in (graph.output_channels, graph.stream_channels or ()):
        for channel in as_names(what):
            if channel not in known:
                raise ValueError(f"The output channel {channel!r} is no channel of this graph.")
    for nodes in (graph.interrupt_before_nodes, graph.interrupt_after_nodes):
        for name in () if nodes == "*" else nodes:
            if name not in graph.nodes:
                raise ValueError(f"A breakpoint is set at {name!r}, which is no node of this graph.")
