"""What a graph is made of: nodes, edges and joins as plain values, for whichever engine compiled it.

`of(graph)` reads only the public attributes that LangGraph's graphs and ours share, each with care, for a graph may
come from another version. What the graph does not declare is not invented: a router without a path map may reach every
node, so there is an edge to each; a node without any way out ends its branch, which is an edge marked `implied`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from workbench import actors, callables

START = "__start__"
END = "__end__"

NodeKind = Literal["start", "end", "node", "subgraph", "handler"]
EdgeKind = Literal["plain", "conditional", "command", "send", "error", "observed"]

_HANDLER = "__error_handler__"
_DEFAULT_HANDLER = "__default_error_handler__"
_FOREVER = math.inf


class Node(NamedTuple):
    """A node and what is declared about it. `id` is unique in a drawing, `within` the opened subgraph it stands in."""

    id: str
    name: str
    kind: NodeKind = "node"
    within: str = ""
    retry: int = 0
    cache: float | None = None
    timeout: float | None = None
    deferred: bool = False
    pauses: tuple[str, ...] = ()
    asks: bool = False
    jumps: bool = False
    handler: str = ""
    tools: tuple[str, ...] = ()
    size: int = 0
    more: int = 0
    took: str = ""

    @property
    def facts(self) -> tuple[str, ...]:
        """What is declared, in words: `retry 3`, `cache 60 s`, `timeout 20 s`."""
        ttl = "" if self.cache is None else "cache" if self.cache == _FOREVER else f"cache {self.cache:g} s"
        inner = f"{self.size} node{'s' if self.size != 1 else ''}"
        said = (
            f"error handler {self.handler}".rstrip() if self.kind == "handler" else "",
            f"subgraph, {inner}" if self.kind == "subgraph" else f"calls a graph, {inner}" if self.size else "",
            f"retry {self.retry}" if self.retry > 1 else "",
            ttl,
            f"timeout {self.timeout:g} s" if self.timeout is not None else "",
            "goes on by Command" if self.jumps else "",
            f"{self.more} more edge{'s' if self.more != 1 else ''}" if self.more else "",
            self.took,
        )
        return tuple(word for word in said if word)


class Edge(NamedTuple):
    """One declared way from node to node. `labels` are the answers that lead there; `open` if any node was possible."""

    source: str
    target: str
    kind: EdgeKind = "plain"
    labels: tuple[str, ...] = ()
    router: str = ""
    open: bool = False
    implied: bool = False


class Join(NamedTuple):
    """A barrier: the target waits until all sources have come."""

    id: str
    sources: tuple[str, ...]
    target: str


class Topology(NamedTuple):
    """A graph's shape. `groups` are the subgraphs that were opened: as nodes, they stand for the cluster itself."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    joins: tuple[Join, ...] = ()
    groups: tuple[Node, ...] = ()
    total: int = 0

    @property
    def size(self) -> int:
        """How many nodes there are besides START and END."""
        return sum(node.kind not in ("start", "end") for node in self.nodes)

    def pairs(self) -> set[tuple[str, str, bool]]:
        """Every way as (source, target, a choice decides it), the members of a join among them."""
        single = {(edge.source, edge.target, edge.kind in ("conditional", "command", "send")) for edge in self.edges}
        return single | {(source, join.target, False) for join in self.joins for source in join.sources}

    def node(self, id: str) -> Node:
        """The node or opened subgraph of that id."""
        for node in (*self.nodes, *self.groups):
            if node.id == id:
                return node
        raise KeyError(f"{self.name} has no node {id!r}. It has {', '.join(one.id for one in self.nodes)}.")

    def observed(self, moves: Mapping[tuple[str, str], int]) -> "Topology":
        """With the moves that a run made and nothing declares, each with how often it was seen.

        A node that was seen to move on does not end its branch for want of a declared way.
        """
        there = {(source, target) for source, target, _ in self.pairs()}
        known = {node.id for node in self.nodes}
        fresh = [
            Edge(source, target, "observed", (f"seen {times}",))
            for (source, target), times in moves.items()
            if (source, target) not in there and source in known and target in known
        ]
        moved = {edge.source for edge in fresh}
        edges = (*(edge for edge in self.edges if not (edge.implied and edge.source in moved)), *fresh)
        reached = {edge.target for edge in edges} | {join.target for join in self.joins}
        nodes = tuple(node for node in self.nodes if node.kind != "end" or node.id in reached)
        return _sorted(self._replace(nodes=nodes, edges=edges))

    def around(self, centres: Iterable[str], depth: int = 1) -> "Topology":
        """Only what lies within `depth` steps, along or against the edges, of the given nodes."""
        kept = {self.node(centre).id for centre in centres}
        near = self._neighbours()
        for _ in range(depth):
            kept |= {other for one in kept for other in near.get(one, ())}
        return self._only(kept)

    def until(self, depth: int) -> "Topology":
        """Only what a run can reach from START in `depth` steps."""
        kept = {node.id for node in self.nodes if node.kind == "start"} or {node.id for node in self.nodes[:1]}
        ahead = self._neighbours(back=False)
        for _ in range(depth):
            kept |= {other for one in kept for other in ahead.get(one, ())}
        return self._only(kept)

    def ways(self) -> Iterator[tuple[str, str]]:
        """Every line of the drawing as (source, target): edges, and to a barrier and on from it."""
        yield from ((edge.source, edge.target) for edge in self.edges)
        for join in self.joins:
            yield from ((source, join.id) for source in join.sources)
            yield (join.id, join.target)

    def _ways(self) -> Iterator[tuple[str, str]]:
        yield from ((edge.source, edge.target) for edge in self.edges)
        yield from ((source, join.target) for join in self.joins for source in join.sources)

    def _neighbours(self, back: bool = True) -> dict[str, set[str]]:
        near: dict[str, set[str]] = {}
        for source, target in self._ways():
            near.setdefault(source, set()).add(target)
            if back:
                near.setdefault(target, set()).add(source)
        return near

    def _only(self, kept: set[str]) -> "Topology":
        lost: dict[str, int] = {}
        for source, target in self._ways():
            if (source in kept) != (target in kept):
                inside = source if source in kept else target
                lost[inside] = lost.get(inside, 0) + 1
        joins = []
        for join in self.joins:
            sources = tuple(source for source in join.sources if source in kept)
            if sources and join.target in kept:
                joins.append(join._replace(sources=sources))
        nodes = tuple(node._replace(more=lost.get(node.id, 0)) for node in self.nodes if node.id in kept)
        edges = tuple(edge for edge in self.edges if edge.source in kept and edge.target in kept)
        used = {node.within for node in nodes}
        groups = tuple(
            one for one in self.groups if any(within == one.id or _inside(within, one.id) for within in used)
        )
        return self._replace(nodes=nodes, edges=edges, joins=tuple(joins), groups=groups, total=self.total or self.size)


def of(graph: Any, xray: bool | int = False) -> Topology:
    """The shape of a compiled graph, a builder, or anything that has `get_graph()`; `xray` opens subgraphs so deep."""
    if isinstance(graph, Topology):
        return graph
    known = getattr(graph, "topology", None)
    if isinstance(known, Topology):
        return known
    depth = 64 if xray is True else int(xray)
    builder = builder_of(graph)
    if builder is not None:
        shape = _declared(graph, builder)
        return _opened(shape, subgraphs(graph), depth) if depth > 0 else shape
    if actors.are_all(graph):
        return _bare(graph)
    if callable(getattr(graph, "get_graph", None)):
        return _drawable(graph, depth)
    raise TypeError(
        f"A {type(graph).__name__} is no graph: it has neither nodes and edges nor get_graph(). "
        "Pass what compile() gave, or the builder itself."
    )


def builder_of(graph: Any) -> Any | None:
    """The builder behind a compiled graph, the builder itself, or `None` for a graph that was made otherwise."""
    for found in (getattr(graph, "builder", None), graph):
        if all(hasattr(found, attribute) for attribute in ("nodes", "edges", "branches")):
            return found
    return None


def subgraphs(graph: Any) -> dict[str, Any]:
    """The graphs inside a graph's nodes, by node: added as a node, or found in a node's function."""
    found: dict[str, Any] = {}
    builder = builder_of(graph)
    for name, spec in (getattr(builder, "nodes", None) or {}).items():
        inner = getattr(spec, "runnable", None)
        if _is_graph(inner):
            found[name] = inner
    listed = getattr(graph, "get_subgraphs", None)
    if callable(listed):
        for name, inner in listed():
            found.setdefault(name, inner)
    return found


def _is_graph(thing: Any) -> bool:
    return all(hasattr(thing, attribute) for attribute in ("nodes", "channels", "get_graph")) and not isinstance(
        thing, type
    )


class _Spec:
    """What a graph says of one of its nodes: as it was compiled, with the graph's defaults, else as it was declared."""

    def __init__(self, name: str, declared: Any, compiled: Any) -> None:
        self.name = name
        self._sides = tuple(side for side in (compiled, declared) if side is not None)

    def get(self, *attributes: str) -> Any:
        """The first of these attributes that has a value."""
        for side in self._sides:
            for attribute in attributes:
                found = getattr(side, attribute, None)
                if found is not None and found != () and found is not False:
                    return found
        return None

    @property
    def runnable(self) -> Any:
        """What runs: as it was declared, for the compiled node may have wrapped it."""
        return getattr(self._sides[-1], "runnable", None) or self.get("bound")

    @property
    def handles(self) -> bool:
        """True for a generated error handler."""
        said = self.get("is_error_handler", "handles_errors")
        return bool(said) or self.name.startswith((_HANDLER, _DEFAULT_HANDLER))


def _specs(graph: Any, builder: Any) -> dict[str, _Spec]:
    """A builder's nodes, and those that compiling added: the default error handler."""
    compiled = getattr(graph, "nodes", None) if graph is not builder else None
    made = dict(compiled) if isinstance(compiled, Mapping) else {}
    names = [*builder.nodes, *(name for name in made if name not in builder.nodes and name != START)]
    return {name: _Spec(name, builder.nodes.get(name), made.get(name)) for name in names}


def _declared(graph: Any, builder: Any) -> Topology:
    """The shape that a builder's nodes, edges, branches and waiting edges declare."""
    inner = subgraphs(graph)
    specs = _specs(graph, builder)
    pauses = {side: getattr(graph, f"interrupt_{side}_nodes", None) or () for side in ("before", "after")}
    nodes = [_node(spec, inner.get(name), pauses) for name, spec in specs.items()]
    names = [node.name for node in nodes if node.kind != "handler"]
    edges = [Edge(source, target) for source, target in builder.edges]
    for source, branches in builder.branches.items():
        for router, branch in branches.items():
            edges += _branch(source, router, branch, names)
    for name, spec in specs.items():
        edges += _command(name, spec.get("ends") or ())
    edges += _errors(graph, specs)
    waiting = sorted(getattr(builder, "waiting_edges", None) or (), key=str)
    joins = [Join(f"join:{'+'.join(sources)}:{target}", tuple(sources), target) for sources, target in waiting]
    leaving = {edge.source for edge in edges if edge.kind != "error"} | {one for join in joins for one in join.sources}
    edges += [Edge(n.name, END, implied=True) for n in nodes if n.name not in leaving and not n.jumps]
    first = [Node(START, START, "start")]
    reached = {edge.target for edge in edges} | {join.target for join in joins}
    last = [Node(END, END, "end")] if END in reached else []
    return _sorted(Topology(_named(graph), (*first, *nodes, *last), tuple(edges), tuple(joins)))


def _named(graph: Any) -> str:
    name = getattr(graph, "name", None)
    return name if isinstance(name, str) else type(graph).__name__


def _sorted(shape: Topology) -> Topology:
    """Edges in the order of their nodes, so that one graph always gives one drawing."""
    place = {node.id: index for index, node in enumerate(shape.nodes)}
    order = sorted(shape.edges, key=lambda e: (place.get(e.source, -1), place.get(e.target, -1), e.kind, e.labels))
    members = [j._replace(sources=tuple(sorted(j.sources, key=lambda s: place.get(s, -1)))) for j in shape.joins]
    joins = sorted(members, key=lambda j: (place.get(j.target, -1), [place.get(s, -1) for s in j.sources]))
    return shape._replace(edges=tuple(order), joins=tuple(joins))


def _node(spec: _Spec, inner: Any, pauses: Mapping[str, Any]) -> Node:
    itself = _is_graph(spec.runnable)
    tools = getattr(spec.runnable, "tools_by_name", None)
    return Node(
        spec.name,
        spec.name,
        "handler" if spec.handles else "subgraph" if itself else "node",
        retry=_retry(spec.get("retry_policy")),
        cache=_cache(spec.get("cache_policy")),
        timeout=_timeout(spec.get("timeout")),
        deferred=bool(spec.get("defer")),
        pauses=tuple(side for side, paused in pauses.items() if paused == "*" or spec.name in paused),
        asks=not itself and callables.asks(spec.runnable),
        jumps=not itself and not spec.get("ends") and callables.jumps(spec.runnable),
        handler=callables.name(spec.runnable) if spec.handles else "",
        tools=tuple(tools) if isinstance(tools, Mapping) else (),
        size=_count(inner) if inner is not None else 0,
    )


def _count(graph: Any) -> int:
    builder = builder_of(graph)
    return sum(name not in (START, END) for name in (graph if builder is None else builder).nodes)


def _retry(policy: Any) -> int:
    policies = policy if isinstance(policy, list | tuple) and not hasattr(policy, "max_attempts") else (policy,)
    return max((int(getattr(one, "max_attempts", 0) or 0) for one in policies), default=0)


def _cache(policy: Any) -> float | None:
    if policy is None:
        return None
    ttl = getattr(policy, "ttl", None)
    return float(ttl) if isinstance(ttl, int | float) else _FOREVER


def _timeout(policy: Any) -> float | None:
    for limit in (getattr(policy, "run_timeout", None), getattr(policy, "idle_timeout", None), policy):
        seconds = limit.total_seconds() if isinstance(limit, timedelta) else limit
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            return float(seconds)
    return None


def _branch(source: str, router: str, branch: Any, names: list[str]) -> Iterator[Edge]:
    """The edges of one router: by its path map, by the sends that its code names, else to every node and END."""
    found = callables.sends(getattr(branch, "path", None), frozenset(names))
    ends = getattr(branch, "ends", None)
    if isinstance(ends, Mapping):
        answers: dict[str, list[str]] = {}
        for answer, target in ends.items():
            answers.setdefault(str(target), []).append(str(answer))
        for target, said in answers.items():
            yield Edge(source, target, _choice(found, target), _labels(said, target), router)
    elif found is not None and found.to is not None:
        for target in sorted(found.to | found.named):
            yield Edge(source, target, _choice(found, target), (), router)
    elif found is not None and found.only:
        yield from (Edge(source, target, "send", (), router, open=True) for target in names)
    else:
        for target in (*names, END):
            kind: EdgeKind = "send" if found is not None and target != END else "conditional"
            yield Edge(source, target, kind, (), router, open=True)


def _choice(found: callables.Sends | None, target: str) -> EdgeKind:
    if found is None or target == END:
        return "conditional"
    if found.to is not None:
        return "send" if target in found.to else "conditional"
    return "conditional" if target in found.named and not found.only else "send"


def _labels(answers: list[str], target: str) -> tuple[str, ...]:
    """The answers to show: none where the only one is the target's own name."""
    return () if answers == [target] else tuple(answers)


def _command(source: str, ends: Any) -> Iterator[Edge]:
    labelled = ends.items() if isinstance(ends, Mapping) else ((target, "") for target in ends)
    for target, label in labelled:
        yield Edge(source, str(target), "command", (str(label),) if label and label != target else ())


def _errors(graph: Any, specs: Mapping[str, _Spec]) -> Iterator[Edge]:
    known = getattr(graph, "node_error_handler_map", None)
    handlers = dict(known) if isinstance(known, Mapping) else {}
    for name, spec in specs.items():
        handler = handlers.get(name) or spec.get("error_handler_node", "handler")
        if isinstance(handler, str) and handler in specs:
            yield Edge(name, handler, "error", ("on error",))


def _opened(shape: Topology, inner: Mapping[str, Any], depth: int) -> Topology:
    """The shape with each subgraph's nodes in place of the one that stood for it."""
    for name, graph in inner.items():
        if shape.node(name).kind in ("subgraph", "node"):
            shape = _open(shape, shape.node(name), of(graph, depth - 1))
    return _sorted(shape)


def _open(shape: Topology, node: Node, child: Topology) -> Topology:
    child = _prefixed(child, node.id)
    child, entry = _trimmed(child, f"{node.id}:{START}", "start")
    child, leave = _trimmed(child, f"{node.id}:{END}", "end")
    moved = {node.id}

    def source(id: str) -> str:
        return leave if id in moved else id

    def target(id: str) -> str:
        return entry if id in moved else id

    edges = [edge._replace(source=source(edge.source), target=target(edge.target)) for edge in shape.edges]
    joins = [
        join._replace(sources=tuple(map(source, join.sources)), target=target(join.target)) for join in shape.joins
    ]
    at = [one.id for one in shape.nodes].index(node.id)
    return shape._replace(
        nodes=(*shape.nodes[:at], *child.nodes, *shape.nodes[at + 1 :]),
        edges=(*edges, *child.edges),
        joins=(*joins, *child.joins),
        groups=(*shape.groups, node, *child.groups),
    )


def _prefixed(child: Topology, prefix: str) -> Topology:
    def under(id: str) -> str:
        return f"{prefix}:{id}"

    def placed(node: Node) -> Node:
        return node._replace(id=under(node.id), within=under(node.within) if node.within else prefix)

    return child._replace(
        nodes=tuple(map(placed, child.nodes)),
        groups=tuple(map(placed, child.groups)),
        edges=tuple(e._replace(source=under(e.source), target=under(e.target)) for e in child.edges),
        joins=tuple(Join(under(j.id), tuple(map(under, j.sources)), under(j.target)) for j in child.joins),
    )


def _trimmed(child: Topology, id: str, side: Literal["start", "end"]) -> tuple[Topology, str]:
    """The subgraph without its START or END where one plain edge makes it needless, and the node that stands for it."""
    touching = [edge for edge in child.edges if id in (edge.source, edge.target)]
    joined = any(id in (*join.sources, join.target) for join in child.joins)
    if len(touching) == 1 and touching[0].kind == "plain" and not joined:
        edge = touching[0]
        rest = child._replace(
            nodes=tuple(node for node in child.nodes if node.id != id),
            edges=tuple(one for one in child.edges if one is not edge),
        )
        return rest, edge.target if side == "start" else edge.source
    if all(node.id != id for node in child.nodes):
        within = id.rpartition(":")[0]
        child = child._replace(nodes=(*child.nodes, Node(id, START if side == "start" else END, side, within)))
    return child, id


def _inside(id: str, group: str) -> bool:
    return id == group or id.startswith(f"{group}:")


def _bare(graph: Any) -> Topology:
    """The shape of actors without edges: who may wake whom. Where nothing is the result, a run ends when all sleep."""
    edges = tuple(Edge(*way) for way in actors.moves(graph))
    last = [Node(END, END, "end")] if any(edge.target == END for edge in edges) else []
    nodes = (Node(START, START, "start"), *(Node(name, name) for name in graph.nodes), *last)
    return _sorted(Topology(_named(graph), nodes, edges))


def _drawable(graph: Any, depth: int) -> Topology:
    """The shape that `get_graph()` tells: langchain-core's nodes and edges."""
    try:
        drawn = graph.get_graph(xray=depth) if depth else graph.get_graph()
    except TypeError:  # a plain runnable's get_graph() knows no xray
        drawn = graph.get_graph()
    ids: dict[Any, str] = {}
    nodes = []
    for key, one in drawn.nodes.items():
        name = str(getattr(one, "name", key))
        ids[key] = str(key) if str(key) == name or ":" in str(key) else _unused(name, ids.values())
        nodes.append(_drawn_node(ids[key], name, one))
    edges = [
        Edge(ids[one.source], ids[one.target], "conditional" if one.conditional else "plain", _said(one))
        for one in drawn.edges
    ]
    ordered = sorted(nodes, key=lambda node: {"start": 0, "end": 2}.get(node.kind, 1))
    return _sorted(Topology(_named(graph), tuple(ordered), tuple(edges)))


def _drawn_node(id: str, name: str, drawn: Any) -> Node:
    kind: NodeKind = "start" if name == START else "end" if name == END else "node"
    metadata = getattr(drawn, "metadata", None) or {}
    stops = str(metadata.get("__interrupt", "")).split(",")
    pauses = tuple(side for side in ("before", "after") if side in stops)
    asks = kind == "node" and callables.asks(getattr(drawn, "data", None))
    return Node(id, name, kind, deferred=bool(metadata.get("defer")), pauses=pauses, asks=asks)


def _said(edge: Any) -> tuple[str, ...]:
    return () if edge.data is None or str(edge.data) == edge.target else (str(edge.data),)


def _unused(name: str, taken: Iterable[str]) -> str:
    others = set(taken)
    number = 2
    found = name
    while found in others:
        found, number = f"{name} {number}", number + 1
    return found
