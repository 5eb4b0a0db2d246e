"""The drawings of answers: the graph that they speak of, with what they name laid on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench import overlay
from workbench.answers import Who, Why, WhyNot
from workbench.html import Html
from workbench.index import Index, Run, Superstep, Task
from workbench.summary import inline


def of_why(index: Index, answer: Why) -> Html:
    """The node as it ran, and the edges that carried what woke it."""
    superstep = _superstep(index, answer.ns, answer.step, lambda one: any(t.node == answer.node for t in _tasks(one)))
    if superstep is None:
        return Html("")
    mine = [task for task in superstep.tasks.values() if task.node == answer.node]
    lit = overlay.lit(index, superstep)
    led = {source for source, target in lit if target == answer.node}  # a join is a place between members and node
    ways = {(source, target) for source, target in lit if target == answer.node or target in led}
    return inline(superstep.run.graph, overlay.statuses(mine), frozenset(ways))


def of_why_not(index: Index, answer: WhyNot) -> Html:
    """What had run, or was running, when the node did not."""
    run = next((run for run in reversed(index.runs) if run.ns == answer.ns and _has(run, answer.step)), None)
    if run is None:
        return Html("")
    before = [one for one in run.supersteps if one.step <= answer.step]
    return inline(run.graph, overlay.lately(task for one in before for task in _tasks(one)))


def of_who(index: Index, answer: Who) -> Html:
    """The nodes that wrote, in their superstep."""
    superstep = _superstep(index, answer.ns, answer.step, lambda one: one.updated is not None)
    if superstep is None:
        return Html("")
    wrote = {write.task_id for write in answer.writes}
    mine = [task for task in superstep.tasks.values() if task.id in wrote]
    return inline(superstep.run.graph, overlay.statuses(mine)) if mine else Html("")


def _superstep(index: Index, ns: str, step: int, fits: Callable[[Superstep], bool]) -> Superstep | None:
    found = (one for run in reversed(index.runs) if run.ns == ns for one in run.supersteps)
    return next((one for one in found if one.step == step and fits(one)), None)


def _tasks(superstep: Superstep) -> Iterable[Task]:
    return superstep.tasks.values()


def _has(run: Run, step: int) -> bool:
    return not run.supersteps or run.supersteps[0].step <= step
