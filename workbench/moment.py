"""The state at a barrier: what the channels hold, their versions, and what each node has seen of them.

A recording has it only as changes, so a `Moment` is made by going through a run from its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.events import Version
from workbench.index import Index, Run, Superstep, Task, is_state
from workbench.text import listing


class Moment:
    """A run at a barrier: what is known of the channels, and what each node has seen of them."""

    __slots__ = ("passed", "run", "seen", "values", "versions", "waiting")

    def __init__(self, run: Run, until: Superstep | None = None) -> None:
        """The barrier before the superstep `until`, or the last one of the run."""
        self.run = run
        self.passed: list[Superstep] = []
        self.waiting = until
        start = run.started
        self.versions: dict[str, Version] = dict(start.versions) if start is not None else {}
        self.values: dict[str, Any] = dict(start.values) if start is not None else {}
        self.seen = {node: dict(known) for node, known in start.seen.items()} if start is not None else {}
        for superstep in run.supersteps:
            if superstep is not until and superstep.updated is None and not superstep.tasks:
                continue  # the checkpoint that a fork began with: nothing ran and nothing was written
            if superstep is until or superstep.updated is None:
                self.waiting = superstep
                break
            self.take(superstep)

    def take(self, superstep: Superstep) -> None:
        """Go on to the barrier after this superstep."""
        for task in superstep.tasks.values():
            if task.planned is not None:
                known = self.seen.setdefault(task.node, {})
                listened = task.planned.all_triggers or [trigger.channel for trigger in task.planned.triggers]
                known.update({name: self.versions[name] for name in listened if name in self.versions})
        assert superstep.updated is not None
        for change in superstep.updated.changes:
            self.versions[change.channel] = change.version
            if change.available:
                self.values[change.channel] = change.value
            else:
                self.values.pop(change.channel, None)
        self.passed.append(superstep)

    def state(self) -> dict[str, Any]:
        """What the channels hold that are the user's own."""
        return {name: value for name, value in self.values.items() if is_state(name)}

    def last_task(self, node: str) -> Task | None:
        """The newest task of a node that ran before this barrier, or that waits at it."""
        supersteps = [*self.passed, *([self.waiting] if self.waiting is not None else [])]
        for superstep in reversed(supersteps):
            for task in superstep.tasks.values():
                if task.node == node and task.ran:
                    return task
        return None


def last(index: Index) -> tuple[str, dict[str, Any]]:
    """The state when the recording ended, and what to call it."""
    if not index.roots:
        return "an empty recording", {}
    moment = Moment(index.roots[-1])
    step = moment.passed[-1].step if moment.passed else moment.run.started.step if moment.run.started else -1
    return f"the end, superstep {step}", moment.state()


def after(index: Index, step: int) -> dict[str, Any]:
    """The state after that superstep of the newest run at the top that passed it."""
    for run in reversed(index.roots):
        for superstep in reversed(run.supersteps):
            if superstep.step == step and superstep.updated is not None:
                moment = Moment(run, superstep)
                moment.take(superstep)
                return moment.state()
    raise _no_state(index.roots, step)


def before(index: Index, step: int) -> dict[str, Any]:
    """The state at the barrier before that superstep."""
    for run in reversed(index.roots):
        for superstep in reversed(run.supersteps):
            if superstep.step == step:
                return Moment(run, superstep).state()
    raise _no_state(index.roots, step)


def at_checkpoint(index: Index, checkpoint_id: str) -> tuple[int, dict[str, Any]]:
    """The superstep after which the checkpoint was saved, and the state in it. The start of an id will do."""
    for superstep in reversed(index.supersteps):
        if superstep.saved is not None and superstep.saved.checkpoint_id.startswith(checkpoint_id):
            moment = Moment(superstep.run, superstep)
            if superstep.updated is not None:
                moment.take(superstep)
            return superstep.step, moment.state()
    raise LookupError(f"There is no checkpoint {checkpoint_id!r} in this recording; rec.checkpoints lists them.")


def _no_state(runs: Sequence[Run], step: int) -> LookupError:
    passed = sorted({one.step for run in runs for one in run.supersteps if one.updated is not None})
    if any(one.step == step for run in runs for one in run.supersteps):
        return LookupError(f"Superstep {step} has not passed its barrier, so there is no state after it.")
    return LookupError(f"There is no superstep {step} in this recording. It has {listing(map(str, passed)) or 'none'}.")


def superstep_at(index: Index, step: int) -> Superstep:
    """The newest superstep of that number at the top, passed or not. LookupError when there is none."""
    found = [superstep for run in index.roots for superstep in run.supersteps if superstep.step == step]
    if not found:
        steps = sorted({superstep.step for run in index.roots for superstep in run.supersteps})
        known = listing(map(str, steps)) if len(steps) < 7 else f"{steps[0]} to {steps[-1]}"
        raise LookupError(f"There is no superstep {step} in this recording. It has {known or 'none'}.")
    return found[-1]
