"""What is amiss in a graph, or was in a run: findings, each with the reason why it hurts and the way out.

`lint(graph)` reads a graph that has not run, `rec.lint()` a recording. A rule is one function; its code is written
`WB1..` where it looks before a run, `WB2..` after one. A comment `# noqa: WB105` in a node's or router's function
silences that rule for the node; `noqa=` silences it altogether.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from workbench.lint import after, before, code, joins
from workbench.lint.facts import Facts
from workbench.lint.finding import Finding, Findings, Rule

__all__ = ("RULES", "Finding", "Findings", "Rule", "lint", "lint_run")

RULES: Final = (*before.RULES, *joins.RULES, *after.RULES)
"""Every rule: its code, and what it finds in a few words."""


def lint(graph: Any, *, noqa: Iterable[str] | str = ()) -> Findings:
    """What is amiss in a graph, compiled or not, of either engine, and in the graphs inside it. Nothing runs.

    `noqa` names rules that shall not be heard. Raises TypeError for what is no graph, ValueError for an unknown code.
    """
    quiet = _quiet(noqa)
    return Findings(one for one in _found(graph, "", ()) if one.code not in quiet)


def lint_run(recording: Any, *, noqa: Iterable[str] | str = ()) -> Findings:
    """What was amiss in a recorded run; `rec.lint()` is the short way."""
    quiet = _quiet(noqa)
    run = after.Ran(recording)
    return Findings(
        one
        for rule in after.RULES
        if rule.code not in quiet
        for one in rule.find(run)
        if not _silenced(run.facts_of(one.ns), one)
    )


def _found(graph: Any, ns: str, above: tuple[int, ...]) -> Iterator[Finding]:
    """The findings of a graph, and of those inside it; a graph that holds itself is read once."""
    facts = Facts(graph, ns)
    if facts.builder is None and not all(hasattr(graph, name) for name in ("nodes", "channels")):
        raise TypeError(
            f"A {type(graph).__name__} is no graph that can be read: it has no nodes. "
            "Pass what compile() gave, or the builder itself."
        )
    for rule in (*before.RULES, *joins.RULES):
        yield from (one for one in rule.find(facts) if not _silenced(facts, one))
    for name, inner in facts.inner.items():
        if id(inner) not in above:
            yield from _found(inner, f"{ns}:{name}" if ns else name, (*above, id(graph)))


def _silenced(facts: Facts | None, one: Finding) -> bool:
    if facts is None:
        return False
    return any(one.code in code.silenced(function) for name in one.nodes for function in facts.functions(name))


def _quiet(noqa: Iterable[str] | str) -> frozenset[str]:
    named = noqa.replace(",", " ").split() if isinstance(noqa, str) else list(noqa)
    known = {rule.code for rule in RULES}
    for name in named:
        if name not in known:
            raise ValueError(f"There is no rule {name!r}. The rules are {', '.join(sorted(known))}.")
    return frozenset(named)
