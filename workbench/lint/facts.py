"""What the rules before a run ask of a graph: its shape, its keys, and what each node's code says.

Read from a builder, or from a compiled graph's builder, of either engine, by the attributes that both share. Nothing
runs, and what is not known is said to be unknown: a rule then claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from workbench import callables, topology
from workbench.lint import code
from workbench.lint.code import Answer, Code
from workbench.topology import END, Node, Topology


class Router(NamedTuple):
    """A conditional edge: the node it leaves, its name, the map of its answers, and its code."""

    source: str
    name: str
    ends: Mapping[str, str] | None
    code: Code | None
    path: Any

    @property
    def answers(self) -> list[Answer] | None:
        """Each answer of its code; None where the code cannot be read."""
        return None if self.code is None else code.answers(self.code)

    def reached(self, answer: Answer) -> tuple[str, ...]:
        """The nodes to which the named part of an answer leads."""
        return tuple(self.ends.get(one, one) if self.ends else one for one in answer.goes or ())


class Facts:
    """A graph, as the rules see it. `ns` is where it stands in the graph that lint was given."""

    def __init__(self, graph: Any, ns: str = "") -> None:
        self.graph = graph
        self.ns = ns
        self.builder = topology.builder_of(graph)
        self._code: dict[str, Code | None] = {}
        self._answers: dict[str, list[Answer] | None] = {}

    # -- shape --------------------------------------------------------------------------------------------------------

    @cached_property
    def shape(self) -> Topology:
        """Nodes and edges; without those edges that name a node which is not there."""
        return topology.of(self.graph) if self.builder is not None else Topology("", ())

    @property
    def compiled(self) -> bool:
        """True for a graph that could run; a builder may still get what it lacks."""
        return self.graph is not self.builder

    @cached_property
    def names(self) -> frozenset[str]:
        """The names to which a run may go."""
        return frozenset({*self.specs, END})

    @cached_property
    def specs(self) -> Mapping[str, Any]:
        """The nodes as they were declared."""
        return dict(self.builder.nodes) if self.builder is not None else {}

    @cached_property
    def inner(self) -> dict[str, Any]:
        """The graphs that are nodes, or that a node's function calls."""
        return topology.subgraphs(self.graph)

    @cached_property
    def visible(self) -> list[Node]:
        """The nodes, without START and END."""
        return [node for node in self.shape.nodes if node.kind not in ("start", "end")]

    @cached_property
    def routers(self) -> list[Router]:
        """Every conditional edge."""
        found = []
        for source, named in (self.builder.branches if self.builder is not None else {}).items():
            for name, branch in named.items():
                path = getattr(branch, "path", None)
                ends = getattr(branch, "ends", None)
                told = {str(key): str(end) for key, end in ends.items()} if isinstance(ends, Mapping) else None
                found.append(Router(source, name, told, code.behind(path), path))
        return found

    # -- code ---------------------------------------------------------------------------------------------------------

    def runnable(self, name: str) -> Any:
        """What a node runs."""
        return getattr(self.specs.get(name), "runnable", None)

    def code(self, name: str) -> Code | None:
        """The function of a node, where it can be read."""
        if name not in self._code:
            self._code[name] = None if name in self._graphs else code.behind(self.runnable(name))
        return self._code[name]

    @cached_property
    def _graphs(self) -> frozenset[str]:
        return frozenset(node.name for node in self.visible if node.kind == "subgraph")

    def answers(self, name: str) -> list[Answer] | None:
        """Each answer of a node's code; None where it cannot be read."""
        if name not in self._answers:
            found = self.code(name)
            self._answers[name] = None if found is None else code.answers(found)
        return self._answers[name]

    def may_go_anywhere(self, name: str) -> bool:
        """True for a node whose code may choose the next one, and does not say which."""
        if name in self.inner and _jumps(self.inner[name]):
            return True
        runnable = self.runnable(name)
        if name in self._graphs or not any(callables.functions(runnable)):
            return name not in self._graphs
        if not callables.jumps(runnable):
            return False
        told = self.answers(name)
        return told is None or any(one.goes is None and (one.command or one.keys is None) for one in told)

    def gotos(self, name: str) -> frozenset[str]:
        """The nodes that a node's own commands name."""
        told = [one for one in self.answers(name) or () if one.command and not one.leaves]
        return frozenset(target for one in told for target in (*(one.goes or ()), *one.sends, *one.many))

    def leaves(self, name: str) -> bool:
        """True for a node that may go on in the graph around this one."""
        return any("PARENT" in function.__code__.co_names for function in callables.functions(self.runnable(name)))

    # -- keys ---------------------------------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> Mapping[str, Any]:
        """Every key of the state with its channel, private and managed ones included."""
        if self.builder is None:
            return {}
        return {**getattr(self.builder, "channels", {}), **getattr(self.builder, "managed", {})}

    def one_write(self, key: str) -> bool:
        """True for a key that takes one write in a superstep: a plain one, without a reducer."""
        channel = self.keys.get(key)
        return type(channel).__name__ == "LastValue" or getattr(channel, "guard", False) is True

    def keys_of(self, schema: Any) -> frozenset[str]:
        """The keys of one of the builder's schemas; all keys for one that it does not know."""
        fields = getattr(self.builder, "schemas", {}).get(schema)
        return frozenset(self.keys if fields is None else fields)

    def schema_of(self, name: str) -> Any:
        """The class in which a node is given the state."""
        return getattr(self.specs.get(name), "input_schema", None) or getattr(self.builder, "state_schema", None)

    def writes(self, name: str) -> tuple[frozenset[str], frozenset[str]] | None:
        """The keys that a node writes each time, and those that it may write; None where its code does not tell."""
        if name in self._graphs:
            return self._passed_on(self.runnable(name))
        told = self.answers(name)
        if told is None:
            return None
        mine = [one.keys for one in told if not one.leaves]
        known = [one for one in mine if one is not None]
        if len(known) < len(mine):
            return None
        may = frozenset(key for keys in known for key in keys)
        each = frozenset.intersection(*known) if known else frozenset()
        return each, may

    def _passed_on(self, inner: Any) -> tuple[frozenset[str], frozenset[str]] | None:
        """What a graph as a node writes: what it gives back, of which it always has what it must be given."""
        builder = topology.builder_of(inner)
        if builder is None:
            return None
        back = {*builder.schemas.get(builder.output_schema, ())} & set(self.keys)
        taken = {*builder.schemas.get(builder.input_schema, ())}
        must = set(getattr(getattr(self.builder, "input_schema", None), "__required_keys__", ()))
        return frozenset(back & taken & must), frozenset(back)

    def always(self, name: str) -> frozenset[str]:
        """The keys without a reducer that a node writes each time it runs."""
        told = self.writes(name)
        return frozenset(key for key in told[0] if self.one_write(key)) if told is not None else frozenset()

    @cached_property
    def written(self) -> frozenset[str] | None:
        """The keys that the input or a node may write; None where a node's code does not tell."""
        found = set(self.keys_of(getattr(self.builder, "input_schema", None)))
        for name in self.specs:
            told = self.writes(name)
            if told is None:
                return None
            found |= told[1]
        return frozenset(found)

    def sent_to(self) -> frozenset[str] | None:
        """The nodes that get tasks of their own, with an input that is not the state; None where that is open."""
        found = {edge.target for edge in self.shape.edges if edge.kind == "send"}
        for name in self.specs:
            told = self.answers(name)
            found |= {target for one in told or () for target in (*one.sends, *one.many)}
            mentions = any(
                "Send" in function.__code__.co_names for function in callables.functions(self.runnable(name))
            )
            if mentions and (told is None or any(one.goes is None for one in told)):
                return None
        return frozenset(found)

    # -- functions ----------------------------------------------------------------------------------------------------

    def functions(self, name: str) -> Iterator[Any]:
        """Every function behind a node and its routers."""
        yield from callables.functions(self.runnable(name))
        for router in self.routers:
            if router.source == name:
                yield from callables.functions(router.path)


def _jumps(graph: Any) -> bool:
    """True if some node of a graph, or of one inside it, may go on by a command."""
    builder = topology.builder_of(graph)
    specs = builder.nodes.values() if builder is not None else getattr(graph, "nodes", {}).values()
    runnables = [getattr(spec, "runnable", None) or getattr(spec, "bound", None) for spec in specs]
    inner = topology.subgraphs(graph).values()
    return any(map(callables.jumps, runnables)) or any(map(_jumps, inner))


def asking(graph: Any, within: str = "") -> Iterator[str]:
    """The nodes that may call `interrupt()`, those of nested graphs by their whole name: `desk:editor`."""
    builder = topology.builder_of(graph)
    specs = builder.nodes if builder is not None else getattr(graph, "nodes", {})
    inner = topology.subgraphs(graph)
    for name, spec in specs.items():
        runnable = getattr(spec, "runnable", None) or getattr(spec, "bound", None)
        if name not in inner and callables.asks(runnable):
            yield f"{within}{name}"
    for name, nested in inner.items():
        yield from asking(nested, f"{within}{name}:")
