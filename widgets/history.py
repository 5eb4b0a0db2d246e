"""A thread's checkpoints as plain values: a list in the order of time, and the branches they make. Pure.

A **branch** is a way through the tree of checkpoints, from where it left another branch to its tip. The first child of
a checkpoint goes on with its branch; a later child begins one. An edit or a replay begins one, too, where the
checkpoint before it still had something to run: that stays as it was, and can be gone on with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench import text
from workbench.comparison import where
from workbench.diff import diff

__all__ = ["Branch", "Checkpoint", "branches_of", "checkpoint_of", "lineage", "named", "supersteps"]


@dataclass(frozen=True)
class Checkpoint:
    """A thread's state at a barrier. `next` names the tasks planned from here; `current` marks the newest one.

    `source` says what made it: input, loop, update or fork. `branch` is the branch that it belongs to, `waits` the
    nodes that ask something here, `label` what an edit changed, `config` the address that LangGraph's calls take.
    """

    id: str
    parent_id: str | None
    step: int
    source: str
    next: tuple[str, ...]
    created_at: str | None
    values: Any = field(repr=False)
    current: bool = False
    branch: str = "main"
    waits: tuple[str, ...] = ()
    label: str = ""
    config: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def stands(self) -> str:
        """Where the run stands here: "next agent", "waits at review", "ended"."""
        if self.waits:
            return f"waits at {text.listing(self.waits)}"
        return f"next {text.listing(map(named, self.next))}" if self.next else "ended"


@dataclass(frozen=True)
class Branch:
    """One way through a thread: its checkpoints in order, where it left (`forked_from`), and its last one, `tip`."""

    name: str
    checkpoints: tuple[Checkpoint, ...] = field(repr=False)
    forked_from: str | None = None

    @property
    def tip(self) -> Checkpoint:
        return self.checkpoints[-1]

    @property
    def current(self) -> bool:
        return self.tip.current


def named(node: str) -> str:
    """A node's name as people say it: START and END for the two that no one wrote."""
    return {"__start__": "START", "__end__": "END"}.get(node, node)


def checkpoint_of(snapshot: Any) -> Checkpoint | None:
    """A state snapshot as a checkpoint; `None` for that of a thread which has none."""
    place = snapshot.config.get("configurable", {})
    if snapshot.metadata is None or "checkpoint_id" not in place:
        return None
    parent = (snapshot.parent_config or {}).get("configurable", {})
    asking = dict.fromkeys(named(task.name) for task in snapshot.tasks if task.interrupts and not task.error)
    return Checkpoint(
        id=place["checkpoint_id"],
        parent_id=parent.get("checkpoint_id"),
        step=snapshot.metadata.get("step", -1),
        source=snapshot.metadata.get("source", "loop"),
        next=tuple(dict.fromkeys(snapshot.next)),
        created_at=snapshot.created_at,
        values=snapshot.values,
        waits=tuple(asking),
        config=snapshot.config,
    )


def branches_of(checkpoints: Iterable[Checkpoint]) -> tuple[Branch, ...]:
    """The branches that checkpoints make, the oldest first: "main", then "fork 1", "fork 2", … as they began."""
    names: dict[str, str] = {}
    members: dict[str, list[Checkpoint]] = {}
    left: dict[str, str | None] = {}
    known: dict[str, Checkpoint] = {}
    continued: set[str] = set()
    for one in sorted(checkpoints, key=lambda checkpoint: checkpoint.id):
        parent = known.get(one.parent_id or "")
        if parent is None or parent.id in continued or (one.source in ("update", "fork") and parent.next):
            name = f"fork {len(members)}" if members else "main"
            left[name] = parent.id if parent else None
            members[name] = []
        else:
            name = names[parent.id]
            continued.add(parent.id)
        names[one.id] = name
        known[one.id] = replace(one, branch=name, label=_label(one, parent))
        members[name].append(known[one.id])
    newest = max(known, default=None)

    def finished(one: Checkpoint) -> Checkpoint:
        """A question that was answered, or left behind by the run, waits no more."""
        return replace(one, current=one.id == newest, waits=() if one.id in continued else one.waits)

    return tuple(Branch(name, tuple(map(finished, found)), left[name]) for name, found in members.items())


def lineage(checkpoints: Sequence[Checkpoint], tip: Checkpoint) -> tuple[Checkpoint, ...]:
    """The checkpoints that lead to this one, the oldest first, and itself."""
    known = {one.id: one for one in checkpoints}
    found = [tip]
    while (parent := known.get(found[-1].parent_id or "")) is not None:
        found.append(parent)
    return tuple(reversed(found))


def supersteps(line: Sequence[Checkpoint]) -> int:
    """How many supersteps ran on the way to the last of a lineage's checkpoints.

    Its step counts edits, replays and inputs as well, with the step that takes an input in; those are left out. What
    has no checkpoint is counted as run, for a run may keep its last one only.
    """
    if not line:
        return 0
    others = [
        one
        for parent, one in zip((None, *line), line, strict=False)
        if one.step >= 1 and (one.source != "loop" or (parent is not None and parent.next == ("__start__",)))
    ]
    return max(line[-1].step, 0) - len(others)


def _label(one: Checkpoint, parent: Checkpoint | None) -> str:
    """What an edit changed: `order.total`; nothing for other checkpoints."""
    if one.source != "update" or parent is None or not isinstance(one.values, Mapping):
        return ""
    changed = dict.fromkeys(where(change.path) for change in diff(parent.values, one.values))
    return text.listing([*list(changed)[:2], *(["more"] if len(changed) > 2 else [])])
