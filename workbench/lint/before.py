"""The rules for a graph that has not run: a function each, from what is declared and what the code says.

A rule claims only what must go wrong in a run that comes there. What a graph leaves open (a router without a path map
whose answers are computed, a command to a name from elsewhere) may lead anywhere, and then nothing is claimed of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, Final, is_typeddict

from workbench import text
from workbench.lint import code, walks
from workbench.lint.code import Code
from workbench.lint.facts import Facts, asking
from workbench.lint.finding import Finding, Rule
from workbench.topology import START


def unreachable(facts: Facts) -> Iterator[Finding]:
    """Nodes that no run can reach, by any edge, command or join."""
    reached = walks.reached(facts)
    if reached is None:
        return
    ahead = walks.ahead(facts)
    for node in facts.visible:
        if node.name in reached or node.kind == "handler":
            continue
        joins = [join for join in facts.shape.joins if join.target == node.name and set(join.sources) & reached]
        lacking = sorted({source for join in joins for source in join.sources} - reached)
        leading = sorted(source for source, targets in ahead.items() if node.name in targets)
        if lacking:
            what = f"{node.name} waits for {text.listing(lacking)}, which no run can reach."
        elif leading:
            what = f"Only {text.listing(leading)} leads to {node.name}, and no run can reach that."
        else:
            what = f"Nothing leads to {node.name}."
        yield _finding(
            facts,
            "WB101",
            what,
            "The node never runs, and nothing says so.",
            f"Add an edge to {(lacking or [node.name])[0]}, or take the node out.",
            (node.name,),
        )


def cannot_end(facts: Facts) -> Iterator[Finding]:
    """Loops whose routers can only choose to go round again."""
    reached = walks.reached(facts)
    if reached is None:
        return
    always = {name for loop in walks.certain_loops(facts) for name in loop}
    for loop in walks.components(walks.closed(facts, reached), walks.ahead(facts)):
        if loop & always:
            continue
        nodes = _in_order(facts, loop)
        yield _finding(
            facts,
            "WB102",
            f"No way leads out of {text.listing(nodes)}.",
            "Whatever its routers answer, the run goes round until it fails at the recursion limit.",
            "Give one of its routers an answer that leads to END, or to a node outside of the loop.",
            nodes,
        )


def unmapped_answer(facts: Facts) -> Iterator[Finding]:
    """Answers in a router's code that its path map lacks."""
    for router in facts.routers:
        if router.ends is None:
            continue
        missing = [one for answer in router.answers or () for one in answer.goes or () if one not in router.ends]
        for one in dict.fromkeys(missing):
            yield _finding(
                facts,
                "WB103",
                f"Router {router.name} can answer {one!r}, which its path map lacks.",
                f"The run fails with KeyError when it does. The map knows {text.listing(map(repr, router.ends))}.",
                f"Add {one!r} to the path map (or to the router's Literal), or answer with what is there.",
                (router.source,),
            )


def unknown_target(facts: Facts) -> Iterator[Finding]:
    """Targets of edges, routers, commands and Sends that are no node."""
    refused = "The graph does not compile."
    for edge in facts.builder.edges if facts.builder is not None else ():
        for end in edge:
            if end not in facts.names | {START}:
                yield _lost(facts, f"The edge {edge[0]} → {edge[1]}", end, refused, edge[0])
    for sources, target in getattr(facts.builder, "waiting_edges", None) or ():
        for end in (*sources, target):
            if end not in facts.names:
                yield _lost(facts, f"The join of {text.listing(sources)} to {target}", end, refused, target)
    for router in facts.routers:
        for end in dict.fromkeys((router.ends or {}).values()):
            if end not in facts.names:
                yield _lost(facts, f"The path map of router {router.name}", end, refused, router.source)
        for answer in router.answers or ():
            goes = () if router.ends else answer.goes or ()
            for end in (*goes, *answer.sends, *answer.many):
                if end not in facts.names:
                    yield _lost(facts, f"Router {router.name}", end, _DROPPED, router.source)
    for name, spec in facts.specs.items():
        for end in getattr(spec, "ends", None) or ():
            if end not in facts.names:
                yield _lost(facts, f"{name}'s declared command", end, refused, name)
        for end in sorted(facts.gotos(name) - facts.names):
            yield _lost(facts, f"A command of {name}", end, _DROPPED, name)


_DROPPED: Final = "The move is dropped with a line in the log, and the run ends early or goes on without it."


def _lost(facts: Facts, who: str, target: str, why: str, node: str) -> Finding:
    there = text.listing(sorted(facts.specs), "or")
    nodes = (node,) if node in facts.specs else ()
    return _finding(
        facts, "WB104", f"{who} names {target!r}, which is no node.", why, f"Name {there}, or END; or add it.", nodes
    )


def two_writes(facts: Facts) -> Iterator[Finding]:
    """Keys without a reducer that two tasks of one superstep write each time."""
    if facts.builder is None:
        return
    told: set[tuple[str, frozenset[str]]] = set()
    for group, many in walks.together(facts):
        for node in many:
            for key in sorted(facts.always(node)):
                if (key, frozenset({node})) not in told:
                    told.add((key, frozenset({node})))
                    yield _clash(facts, (node,), key, f"{node} is sent once for each of something, and each task")
        for level in walks.levels(facts, group):
            for one, other in combinations(_in_order(facts, level), 2):
                for key in sorted(facts.always(one) & facts.always(other)):
                    if (key, frozenset({one, other})) not in told:
                        told.add((key, frozenset({one, other})))
                        yield _clash(facts, (one, other), key, f"{one} and {other} run in one superstep, and both")


def _clash(facts: Facts, nodes: tuple[str, ...], key: str, who: str) -> Finding:
    one = len(nodes) == 1
    return _finding(
        facts,
        "WB105",
        f"{who} write{'s' if one else ''} {key!r}, which has no reducer.",
        "A plain key takes one write in a superstep: the run fails with InvalidUpdateError.",
        f"Give {key!r} a reducer, Annotated[list, operator.add] or one of your own"
        + ("." if one else ", or let one node follow the other."),
        nodes,
        key,
    )


def lost_key(facts: Facts) -> Iterator[Finding]:
    """Keys that code reads and that nobody can have written."""
    if facts.builder is None:
        return
    sent, written = facts.sent_to(), facts.written
    for name in facts.specs:
        if sent is None or name in sent:
            continue
        schema = facts.schema_of(name)
        for key, place in _reads(facts.code(name), schema):
            if key not in facts.keys_of(schema):
                others = f", though the graph has {key!r}" if key in facts.keys else ""
                yield _unread(facts, name, key, f"which {_called(schema)} lacks{others} ({place})")
            elif written is not None and key not in written and type(facts.keys[key]).__name__ == "LastValue":
                yield _unread(facts, name, key, f"which no node writes and the input does not bring ({place})")
    for router in facts.routers:
        for key, place in _reads(router.code, getattr(facts.builder, "state_schema", None)):
            if key not in facts.keys:
                yield _unread(facts, router.source, key, f"which is no key of the graph ({place})", router.name)


def _reads(found: Code | None, schema: Any) -> Iterator[tuple[str, str]]:
    """The keys that the code takes from a state of this class, each once, and where the line stands."""
    told = code.reads(found) if found is not None else []
    places: dict[str, int] = {}
    for one in told:
        if one.attribute is not is_typeddict(schema) and not (one.attribute and hasattr(schema, one.key)):
            places.setdefault(one.key, one.line)
    for key, line in places.items():
        if found is not None and not key.startswith("_"):
            yield key, found._replace(line=line).place


def _called(schema: Any) -> str:
    return str(getattr(schema, "__name__", "its schema"))


def _unread(facts: Facts, node: str, key: str, reason: str, router: str = "") -> Finding:
    who = f"Router {router}" if router else node
    return _finding(
        facts,
        "WB106",
        f"{who} reads {key!r}, {reason}.",
        "The value is never there: the node fails, or goes on with the default each time.",
        f"Declare {key!r} in the schema and let a node or the input write it, or read the key that was meant.",
        (node,),
        key,
    )


def endless_loop(facts: Facts) -> Iterator[Finding]:
    """Loops of plain edges, which are taken each time, whatever else is chosen."""
    reached = walks.reached(facts)
    for loop in walks.certain_loops(facts):
        if reached is not None and not loop <= reached:
            continue
        nodes = _in_order(facts, loop)
        round_ = " → ".join((*nodes, nodes[0]))
        yield _finding(
            facts,
            "WB107",
            f"{round_} has plain edges only.",
            "A plain edge is taken each time, whatever a router or command beside it chooses; the run goes round until "
            "it fails at the recursion limit.",
            "Replace one of these edges by add_conditional_edges with an answer that leads out, such as END.",
            nodes,
        )


def no_checkpointer(facts: Facts) -> Iterator[Finding]:
    """Questions and breakpoints in a graph that keeps no checkpoint to go on from."""
    graph = facts.graph
    if not facts.compiled or facts.ns or getattr(graph, "checkpointer", None) not in (None, False):
        return
    asks = list(asking(graph))
    named = [getattr(graph, f"interrupt_{side}_nodes", None) or () for side in ("before", "after")]
    stops = list(dict.fromkeys(str(name) for one in named if one != "*" for name in one))
    said = [f"{text.listing(asks)} may call interrupt()"] if asks else []
    if stops or "*" in named:
        said.append(f"the run stops at {'every node' if '*' in named else text.listing(stops)}")
    if said:
        yield _finding(
            facts,
            "WB108",
            f"{' and '.join(said)}, but the graph has no checkpointer.",
            "The run stops there, and no answer can make it go on: nothing of it was kept.",
            "compile(checkpointer=InMemorySaver()), or a saver of a database, and call it with a thread_id.",
            tuple(dict.fromkeys((*asks, *stops))),
        )


def dropped_key(facts: Facts) -> Iterator[Finding]:
    """Keys that code writes and that no schema has."""
    if facts.builder is None or "__root__" in facts.keys:
        return
    for name in facts.specs:
        for answer in facts.answers(name) or ():
            for key in sorted((answer.keys or frozenset()) - set(facts.keys)) if not answer.leaves else ():
                yield _finding(
                    facts,
                    "WB109",
                    f"{name} writes {key!r}, which is no key of the state.",
                    "The write is dropped without a word.",
                    f"Declare {key!r} in the state, or write the key that was meant: "
                    f"{text.listing(sorted(facts.keys), 'or')}.",
                    (name,),
                    key,
                )


def _finding(
    facts: Facts, code: str, what: str, why: str, fix: str, nodes: tuple[str, ...] = (), channel: str = ""
) -> Finding:
    return Finding(code, what, why, fix, nodes, channel, ns=facts.ns)


def _in_order(facts: Facts, names: Iterable[str]) -> tuple[str, ...]:
    mine = set(names)
    return tuple(name for name in facts.specs if name in mine)


RULES: Final = (
    Rule("WB101", "a node that no run can reach", unreachable),
    Rule("WB102", "a loop whose routers lead nowhere else", cannot_end),
    Rule("WB103", "a router's answer that its path map lacks", unmapped_answer),
    Rule("WB104", "a target that is no node", unknown_target),
    Rule("WB105", "two writes of one superstep to a key without a reducer", two_writes),
    Rule("WB106", "a key that is read and that nobody writes", lost_key),
    Rule("WB107", "a loop of plain edges, which never ends", endless_loop),
    Rule("WB108", "interrupt() or a breakpoint without a checkpointer", no_checkpointer),
    Rule("WB109", "a key that is written and that the state lacks", dropped_key),
)
"""The rules for a graph, in the order of their codes."""
