"""What a superstep, or a whole run, puts on a drawing: a status for each node, and the edges that carried a trigger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from workbench import text, topology
from workbench.explain import sources_of
from workbench.index import Index, Superstep, Task
from workbench.moment import Moment
from workbench.signs import Answer, Status
from workbench.topology import Topology

_SIGNS: Final[dict[str, Status]] = {
    "failed": "failed",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "ok": "ran",
    "cached": "cached",
}
_ORDER: Final[tuple[Status, ...]] = ("failed", "interrupted", "running", "next", "cancelled", "ran", "cached")


def sign_of(task: Task) -> Status:
    """The status sign of one task."""
    if task.status is not None:
        return _SIGNS[task.status]
    return "running" if task.started is not None else "next"


def sign_of_step(superstep: Superstep) -> Status:
    """The status sign of a superstep: that of its task which matters most."""
    signs = [sign_of(task) for task in superstep.visible]
    if superstep.status == "ok":
        return "cached" if signs and set(signs) == {"cached"} else "ran"
    return min(signs, key=_ORDER.index, default="next")


def statuses(tasks: Iterable[Task]) -> dict[str, Answer]:
    """A status for each node among the tasks, with their number where it is not one."""
    by_node: dict[str, list[Task]] = {}
    for task in tasks:
        if not task.hidden:
            by_node.setdefault(task.node, []).append(task)
    return {node: _answer(group) for node, group in by_node.items()}


def _answer(tasks: Sequence[Task]) -> Answer:
    steps = list(dict.fromkeys(str(task.superstep.step) for task in tasks))
    fact = f"superstep{'s' if len(steps) > 1 else ''} {', '.join(steps)}"
    sign = min((sign_of(task) for task in tasks), key=_ORDER.index)
    return Answer(sign, len(tasks) if len(tasks) > 1 else None, fact)


def lately(tasks: Iterable[Task]) -> dict[str, Answer]:
    """A status for each node of a whole run: how its newest tasks ended, and how many it had in all."""
    every: dict[str, list[Task]] = {}
    for task in tasks:
        if not task.hidden:
            every.setdefault(task.node, []).append(task)
    found = {}
    for node, group in every.items():
        newest = [task for task in group if task.superstep is group[-1].superstep]
        answer = _answer(newest)
        found[node] = _answer(group)._replace(status=answer.status)
    return found


def moves(index: Index) -> Counter[tuple[str, str]]:
    """How often a write of one node woke another, over all runs at the top: by an edge, a router, a goto or a Send."""
    found: Counter[tuple[str, str]] = Counter()
    for run in index.roots:
        posted: dict[str, Sequence[str]] = {}
        for superstep in run.supersteps:
            for task in superstep.tasks.values():
                for trigger in task.planned.triggers if task.planned is not None else ():
                    if trigger.channel.startswith("branch:to:"):
                        found.update((node, task.node) for node in posted.get(trigger.channel, ()))
            if superstep.updated is None:
                continue
            for change in superstep.updated.changes:
                if change.writers and change.channel.startswith("branch:to:"):
                    posted[change.channel] = change.writers
            for write in superstep.updated.writes:
                target = getattr(write.value, "node", None)
                if write.channel == "__pregel_tasks" and isinstance(target, str):
                    found[write.node, target] += 1
    return found


def shape(index: Index, graph: Any, counts: bool = False) -> Any:
    """The graph's shape with the moves that its runs made and nothing declares; `graph` itself where it has no shape.

    With `counts`: how often each way was taken and each node ran, and how long the node took in all.
    """
    try:
        declared = topology.of(graph)
    except TypeError:
        return graph
    key = f"shape {id(graph)}{' counted' if counts else ''}"
    if key not in index.made:
        made = moves(index)
        index.made[key] = (_counted(declared, made, _spent(index)) if counts else declared).observed(made)
    return index.made[key]


def _counted(shape: Topology, moves: Mapping[tuple[str, str], int], spent: Mapping[str, tuple[int, float]]) -> Topology:
    """The shape with how often each way was taken, and how often and how long each node ran: `3 ×, 2.35 s`."""  # noqa: RUF002
    times = "\u00d7"
    nodes = [
        node._replace(took=f"{spent[node.id][0]} {times}, {text.seconds(spent[node.id][1])}")
        if node.id in spent
        else node
        for node in shape.nodes
    ]
    edges = []
    for edge in shape.edges:
        taken = moves.get((edge.source, edge.target))
        edges.append(edge._replace(labels=(*edge.labels, f"{taken} {times}")) if taken else edge)
    return shape._replace(nodes=tuple(nodes), edges=tuple(edges))


def _spent(index: Index) -> dict[str, tuple[int, float]]:
    """For each node at the top: how many tasks ran, and how many seconds they took."""
    found: dict[str, tuple[int, float]] = {}
    for run in index.roots:
        for superstep in run.supersteps:
            for task in superstep.tasks.values():
                if task.finished is not None and not task.hidden:
                    times, seconds = found.get(task.node, (0, 0.0))
                    found[task.node] = times + 1, seconds + (task.finished.duration or 0.0)
    return found


def lit(index: Index, superstep: Superstep) -> frozenset[tuple[str, str]]:
    """The edges that carried what woke its tasks. A join is a place of its own between its members and its node."""
    moment = Moment(superstep.run, superstep)
    found: set[tuple[str, str]] = set()
    for task in superstep.tasks.values():
        for trigger in task.planned.triggers if task.planned is not None else ():
            nodes = sources_of(index, moment, trigger)
            if trigger.channel.startswith("join:"):
                found |= {(node, trigger.channel) for node in nodes} | {(trigger.channel, task.node)}
            else:
                found |= {(node, task.node) for node in nodes}
    return frozenset(found)
