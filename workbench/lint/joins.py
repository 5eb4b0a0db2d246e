"""The rules for what waits, and for what is taken besides: joins whose members stay away, and commands beside edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final

from workbench import text
from workbench.lint import walks
from workbench.lint.facts import Facts
from workbench.lint.finding import Finding, Rule
from workbench.topology import END, START


def never_joined(facts: Facts) -> Iterator[Finding]:
    """Joins of which some members come for sure, and others cannot, where a router chooses so."""
    if walks.reached(facts) is None:
        return
    told: set[str] = set()
    for join in facts.shape.joins:
        for router in facts.routers:
            besides = walks.ahead(facts, leaving_out=router)
            for answer in router.answers or ():
                if answer.goes is None or join.id in told:
                    continue
                chosen = {*router.reached(answer), *answer.sends, *answer.many}
                may = _reach({START, *chosen}, walks.with_joins(besides, facts.shape.joins)) | _reach(
                    chosen, walks.with_joins(walks.ahead(facts), facts.shape.joins)
                )
                sure = _reach({START, *chosen}, walks.plain(facts))
                missing, come = set(join.sources) - may, set(join.sources) & sure
                if missing and come:
                    told.add(join.id)
                    yield _never_joined(facts, join.target, router.name, chosen, sorted(come), sorted(missing))


def _never_joined(
    facts: Facts, target: str, router: str, chosen: Iterable[str], come: list[str], missing: list[str]
) -> Finding:
    to = text.listing("END" if name == END else name for name in sorted(chosen)) or "nothing"
    return Finding(
        "WB110",
        f"Where router {router} chooses {to}, {text.listing(missing)} never runs, and {target} waits for it beside "
        f"{text.listing(come)}.",
        f"A join waits for all its members: the run ends without {target}, and nothing says so.",
        f"Give {target} a plain edge from each of them and defer=True, so that it runs once when all that can come "
        "has come.",
        (target,),
        ns=facts.ns,
    )


def _reach(start: Iterable[str], ways: Mapping[str, Set[str]]) -> set[str]:
    found = set(start)
    queue = list(found)
    while queue:
        fresh = set(ways.get(queue.pop(), ())) - found
        found |= fresh
        queue += fresh
    return found


def command_beside_edge(facts: Facts) -> Iterator[Finding]:
    """Nodes that leave by a command at times, and have a plain edge, which is taken each time."""
    for name in facts.specs:
        edges = sorted(walks.plain(facts).get(name, set()))
        told = facts.answers(name) or []
        goes = {target for one in told if one.command and not one.leaves for target in one.goes or ()} - set(edges)
        stays = any(one.keys is not None and not one.goes and not one.sends and not one.many for one in told)
        if edges and goes and (END in goes or stays):
            to = text.listing(("END" if target == END else target for target in sorted(goes)), "or")
            edge = text.listing("END" if target == END else target for target in edges)
            yield Finding(
                "WB111",
                f"{name} goes on to {to} by a command, and has a plain edge to {edge}.",
                "A command does not replace an edge: both are taken, and both run in the next superstep.",
                f"Take the edge out, and let the command name {edge} where it is meant.",
                (name,),
                ns=facts.ns,
            )


def handler_before_join(facts: Facts) -> Iterator[Finding]:
    """Members of joins whose error handler goes nowhere: a failed node's edges are not taken."""
    for join in facts.shape.joins:
        for edge in facts.shape.edges:
            told = facts.answers(edge.target) if edge.kind == "error" and edge.source in join.sources else None
            if not told or any(one.command or one.keys is None for one in told):
                continue
            yield Finding(
                "WB112",
                f"When {edge.source} fails, its error handler answers in its place, but {join.target} still waits "
                f"for {edge.source}.",
                f"The edges of a node that failed are not taken: the run ends without {join.target}.",
                f"Return Command(goto={join.target!r}, update=…) from the handler.",
                (edge.source,),
                ns=facts.ns,
            )


RULES: Final = (
    Rule("WB110", "a join of a node that may be skipped", never_joined),
    Rule("WB111", "a command beside a plain edge", command_beside_edge),
    Rule("WB112", "an error handler before a join", handler_before_join),
)
"""The rules for joins and commands, in the order of their codes."""
