"""A graph as langchain-core draws it: which nodes there are, and where a run may go from each.

What is drawn is what was declared: an edge is solid, a router's answer and a command's destination are dashed. A node
that leads nowhere leads to END, if anything leads to it. No node runs for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.runnables.graph import Edge, Graph, Node

from runtime._words import END, START
from runtime.pregel.call import RunnableCallable
from runtime.pregel.moves import is_deferred, moves_of
from runtime.pregel.nested import is_graph

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.pregel.main import Pregel
    from runtime.pregel.node import PregelNode

__all__ = ("DrawnGraph", "draw_graph")

AnyPregel: TypeAlias = "Pregel[Any, Any, Any, Any]"


def draw_graph(graph: AnyPregel, config: RunnableConfig | None = None, xray: bool | int = False) -> DrawnGraph:
    """The drawing of a graph. `xray` opens the graphs that its nodes run: True all the way down, a number so deep."""
    moves = moves_of(graph)
    drawn = DrawnGraph()
    names = [*graph.nodes, *(() if START in graph.nodes else (START,))]
    if any(move.target == END for move in moves):
        names.append(END)
    for name in names:
        node = graph.nodes.get(name)
        data = None if node is None else _IDENTITY if name == START else node.bound
        drawn.nodes[name] = Node(name, name, data, _metadata(graph, name, node))
    drawn.edges = [Edge(*move) for move in moves]
    if xray:
        deeper = xray if isinstance(xray, bool) else xray - 1
        for name, node in graph.nodes.items():
            if node.subgraphs and is_graph(inner := node.subgraphs[0]):
                _open(drawn, name, inner.get_graph(config, xray=deeper))
    return drawn


_IDENTITY = RunnableCallable(lambda value: value, name=START, trace=False)


def _metadata(graph: AnyPregel, name: str, node: PregelNode | None) -> dict[str, Any] | None:
    if node is None:
        return None
    metadata = dict(node.metadata)
    if is_deferred(graph, node):
        metadata["defer"] = True
    stops = [
        when
        for when, names in (("before", graph.interrupt_before_nodes), ("after", graph.interrupt_after_nodes))
        if name in names and names != "*"
    ]
    if stops:
        metadata["__interrupt"] = ",".join(stops)
    return metadata or None


# -- graphs inside ----------------------------------------------------------------------------------------------------


def _open(drawn: Graph, name: str, inner: Graph) -> None:
    """Put the nodes of a graph in the place of the node that runs it, its START and END only where ways part there."""
    first, last = _way_in(inner), _way_out(inner)
    trimmed = {START, END} - {first, last}
    del drawn.nodes[name]
    for id, node in inner.nodes.items():
        if id not in trimmed:
            drawn.nodes[f"{name}:{id}"] = node.copy(id=f"{name}:{id}")
    drawn.edges = [
        edge.copy(
            source=f"{name}:{last}" if edge.source == name else edge.source,
            target=f"{name}:{first}" if edge.target == name else edge.target,
        )
        for edge in drawn.edges
    ]
    drawn.edges += [
        edge.copy(source=f"{name}:{edge.source}", target=f"{name}:{edge.target}")
        for edge in inner.edges
        if edge.source not in trimmed and edge.target not in trimmed
    ]


def _way_in(inner: Graph) -> str:
    """The node that a graph begins with: START's only target, if nothing else leads there; else START."""
    targets = [edge.target for edge in inner.edges if edge.source == START]
    others = {edge.target for edge in inner.edges if edge.source != START}
    return targets[0] if len(targets) == 1 and targets[0] not in others | {END} else START


def _way_out(inner: Graph) -> str:
    """The node that a graph ends with: END's only source, if it leads nowhere else; else END."""
    sources = [edge.source for edge in inner.edges if edge.target == END]
    others = {edge.source for edge in inner.edges if edge.target != END}
    return sources[0] if len(sources) == 1 and sources[0] not in others | {START} else END


# -- mermaid ----------------------------------------------------------------------------------------------------------

_PLAIN_SIGNS = frozenset(" _.,'!?+*=/")
_KEYWORDS = frozenset(
    ("call", "class", "classDef", "click", "default", "end", "flowchart", "graph", "href", "linkStyle", "style")
)


class DrawnGraph(Graph):
    """A langchain-core graph whose mermaid text says what it shows, whatever signs and words the names hold."""

    def draw_mermaid(self, **options: Any) -> str:
        """The graph in mermaid's language. The options are those of langchain-core's `Graph.draw_mermaid`."""
        ids = _mermaid_ids(self.nodes)
        nodes = {ids[id]: node._replace(id=ids[id], name=_escaped(node.name)) for id, node in self.nodes.items()}
        edges = [
            edge._replace(
                source=ids[edge.source],
                target=ids[edge.target],
                data=None if edge.data is None else _escaped(str(edge.data)),
            )
            for edge in self.edges
        ]
        return Graph(nodes, edges).draw_mermaid(**options)


def _escaped(label: str) -> str:
    """The label with each sign that may mean something to mermaid written as its number."""
    return "".join(sign if _is_plain(label, at) else f"#{ord(sign)};" for at, sign in enumerate(label))


def _is_plain(label: str, at: int) -> bool:
    sign = label[at]
    if sign == "-":  # a dash between words is a dash; next to another sign it begins an arrow
        return 0 < at < len(label) - 1 and label[at - 1].isalnum() and label[at + 1].isalnum()
    return sign.isalnum() or sign in _PLAIN_SIGNS or not sign.isascii()


def _mermaid_ids(nodes: Iterable[str]) -> dict[str, str]:
    """For each node an id that mermaid takes for one: no keyword, and no two boxes of one name."""
    top = [id for id in nodes if ":" not in id]
    taken = set(top)
    ids = {id: _unused(f"{id}_1", taken) if id in _KEYWORDS else id for id in top}
    boxes: dict[str, str] = {}
    for id in nodes:
        path = id.split(":")
        for depth in range(1, len(path)):
            box = ":".join(path[:depth])
            if box not in boxes:
                boxes[box] = _unused(re.sub(r"[^\w-]", "_", path[depth - 1]), taken)
        if len(path) > 1:
            ids[id] = ":".join([*(boxes[":".join(path[:depth])] for depth in range(1, len(path))), path[-1]])
    return ids


def _unused(name: str, taken: set[str]) -> str:
    """The name, or the first of `name_2`, `name_3`, … that is free; it is taken from now on."""
    found, count = name, 1
    while found in taken or found == "end":
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found
