"""Where a thread stands, as it is read from a state snapshot: what waits, what failed, what runs next. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from widgets.history import named
from workbench import text

__all__ = ["Pending", "asking", "questions_of", "settled", "stands"]


@dataclass(frozen=True)
class Pending:
    """A question that waits: its `value`, its `id`, the `node` that asks in superstep `step`, and the answer's schema.

    `path` names the nodes from the outermost graph to the one that asks.
    """

    id: str
    value: Any
    node: str
    step: int
    response_schema: Mapping[str, Any] | None = None
    path: tuple[str, ...] = ()


def stands(snapshot: Any, ran: int) -> str:
    """Where a thread stands: "Waits for your answer at review", "Stopped before tools", "Ended after 5 supersteps".

    `ran` is how many supersteps led there.
    """
    if snapshot.metadata is None:
        return "No run yet"
    asked = asking(snapshot)
    failed = next((task for task in snapshot.tasks if task.error and not task.interrupts), None)
    if asked:
        return f"Waits for your answer at {text.listing(asked)}"
    if failed is not None:
        return f"Failed at {named(failed.name)}: {text.value(str(failed.error))}"
    if snapshot.next:
        return f"Stopped before {text.listing(dict.fromkeys(map(named, snapshot.next)))}"
    return f"Ended after {text.count(ran, 'superstep')}"


def asking(snapshot: Any) -> list[str]:
    """The nodes that ask something, each once."""
    return list(dict.fromkeys(named(task.name) for task in snapshot.tasks if task.interrupts))


def settled(snapshot: Any, answered: Collection[str]) -> Any:
    """The snapshot without the questions of tasks that were answered and then failed, whatever its engine lists.

    `answered` are the ids of tasks that have an answer. A task whose answer was refused by its schema asks still.
    """
    failed = {
        task.id
        for task in snapshot.tasks
        if task.error and task.id in answered and "validation error" not in str(task.error)
    }
    tasks = tuple(task._replace(interrupts=()) if task.id in failed else task for task in snapshot.tasks)
    return snapshot._replace(tasks=tasks, interrupts=tuple(one for task in tasks for one in task.interrupts))


def questions_of(snapshot: Any, step: int, path: tuple[str, ...]) -> Iterator[Pending]:
    """The questions of a snapshot, each from the innermost graph that asks it."""
    for task in snapshot.tasks:
        here = (*path, named(task.name))
        inner = list(questions_of(task.state, step, here)) if hasattr(task.state, "tasks") else []
        told = {one.id for one in inner}
        yield from inner
        for one in task.interrupts:
            if one.id not in told:
                schema = getattr(one, "response_schema", None)
                yield Pending(one.id, one.value, here[-1], step, schema, here)
