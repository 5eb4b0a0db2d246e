"""Where a run may go, and where it must go, in a graph: what the rules about edges stand on. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from workbench.lint.asking import may_ask
from workbench.lint.facts import Facts, Router, asking
from workbench.topology import END, START, Join

Ways = dict[str, set[str]]


def ahead(facts: Facts, leaving_out: Router | None = None) -> Ways:
    """Each node with those to which a run may go from it: by edges, and by the commands that its code names.

    The targets of joins are not among them, for it takes all members to go on; nor those of the router left out.
    """
    ways: Ways = {START: set(), **{name: set(facts.gotos(name)) for name in facts.specs}}
    out = (leaving_out.source, leaving_out.name) if leaving_out is not None else None
    for edge in facts.shape.edges:
        if (edge.source, edge.router) != out:
            ways.setdefault(edge.source, set()).add(edge.target)
    return ways


def plain(facts: Facts) -> Ways:
    """Each node with the targets of its plain edges, which are taken each time."""
    ways: Ways = {}
    for edge in facts.shape.edges:
        if edge.kind == "plain" and not edge.implied:
            ways.setdefault(edge.source, set()).add(edge.target)
    return ways


def reached(facts: Facts) -> frozenset[str] | None:
    """Every node that a run may reach; None where one of them may go anywhere."""
    ways = ahead(facts)
    found, queue = {START}, [START]
    while queue:
        name = queue.pop()
        if name in facts.specs and facts.may_go_anywhere(name):
            return None
        joined = {join.target for join in facts.shape.joins if found.issuperset(join.sources)}
        fresh = (ways.get(name, set()) | joined) - found
        found |= fresh
        queue += fresh
    return frozenset(found)


# -- loops ------------------------------------------------------------------------------------------------------------


def closed(facts: Facts, there: Set[str]) -> frozenset[str]:
    """The nodes, of those that are there, from which no run can come to an end."""
    behind: Ways = {}
    for source, targets in with_joins(ahead(facts), facts.shape.joins).items():
        for target in targets:
            behind.setdefault(target, set()).add(source)
    ending = {END, *(name for name in there if name in facts.specs and _may_end(facts, name))}
    queue = list(ending)
    while queue:
        fresh = behind.get(queue.pop(), set()) - ending
        ending |= fresh
        queue += fresh
    return frozenset(there) - ending - {START}


def certain_loops(facts: Facts) -> list[frozenset[str]]:
    """The loops that a run never leaves, once it is in one: of plain edges, and of joins all of whose members loop."""
    found = []
    for outer in components(facts.specs, with_joins(plain(facts), facts.shape.joins)):
        whole = [join for join in facts.shape.joins if outer.issuperset((*join.sources, join.target))]
        ways = with_joins(plain(facts), whole)
        found += [loop for loop in components(outer, ways) if not any(_may_stop(facts, name) for name in loop)]
    return found


def components(nodes: Iterable[str], ways: Mapping[str, Set[str]]) -> list[frozenset[str]]:
    """The groups of nodes each of which leads back to itself and to all others of its group, inside these nodes."""
    mine = list(nodes)
    reach = {name: _from(name, ways, set(mine)) for name in mine}
    groups = {
        name: frozenset(other for other in reach[name] if name in reach[other]) for name in mine if name in reach[name]
    }
    return list(dict.fromkeys(groups.values()))


def _from(name: str, ways: Mapping[str, Set[str]], within: Set[str]) -> set[str]:
    found: set[str] = set()
    queue = [name]
    while queue:
        fresh = (ways.get(queue.pop(), set()) & within) - found
        found |= fresh
        queue += fresh
    return found


def with_joins(ways: Mapping[str, Set[str]], joins: Iterable[Join]) -> Ways:
    """The ways, and from each member of a join to its target, as if the others had come."""
    found = {source: set(targets) for source, targets in ways.items()}
    for join in joins:
        for source in join.sources:
            found.setdefault(source, set()).add(join.target)
    return found


def _may_stop(facts: Facts, name: str) -> bool:
    """True for a node at which a run waits for a person, or leaves the graph."""
    node = facts.shape.node(name)
    nested = facts.inner.get(name)
    asks = node.asks or may_ask(facts.runnable(name)) or (nested is not None and any(asking(nested)))
    return asks or bool(node.pauses) or facts.leaves(name)


def _may_end(facts: Facts, name: str) -> bool:
    """True for a node after which nothing need follow."""
    if _may_stop(facts, name) or facts.may_go_anywhere(name) or name in facts.inner:
        return True
    if plain(facts).get(name) or any(name in join.sources for join in facts.shape.joins):
        return False
    routers = [router for router in facts.routers if router.source == name]
    told = facts.answers(name)
    commands = bool(told) and all(one.command and (one.goes or one.sends) for one in told or ())
    return not commands and not any(map(_always_chooses, routers))


def _always_chooses(router: Router) -> bool:
    """True for a router all of whose answers are names that are read in its code."""
    told = router.answers
    return bool(told) and all(one.goes and not one.sends and not one.many for one in told or ())


# -- what runs at the same time ---------------------------------------------------------------------------------------


def together(facts: Facts) -> Iterator[tuple[frozenset[str], tuple[str, ...]]]:
    """The nodes that one node wakes for one superstep, for each way in which it may choose; and those sent many times.

    Plain edges are taken each time, so their targets stand in every group.
    """
    for source in (START, *facts.specs):
        taken = plain(facts).get(source, set())
        chosen: list[tuple[set[str], tuple[str, ...]]] = [(set(), ())]
        for router in facts.routers:
            if router.source == source:
                told = router.answers or ()
                chosen += [({*router.reached(one), *one.sends, *one.many}, one.many) for one in told]
        commands = [one for one in facts.answers(source) or () if one.command and not one.leaves]
        chosen += [({*(one.goes or ()), *one.sends, *one.many}, one.many) for one in commands]
        for targets, many in chosen:
            yield frozenset(taken | targets) & frozenset(facts.specs), tuple(one for one in many if one in facts.specs)


def levels(facts: Facts, group: frozenset[str]) -> Iterator[frozenset[str]]:
    """The group, and those that its plain edges lead to, superstep by superstep, while there are two or more."""
    deferred = {node.name for node in facts.visible if node.deferred}
    met: set[frozenset[str]] = set()
    level = group - deferred
    while len(level) > 1 and level not in met:
        met.add(level)
        yield level
        level = frozenset(
            edge.target
            for edge in facts.shape.edges
            if edge.source in level and edge.kind == "plain" and edge.target in facts.specs
        )
        level -= deferred
