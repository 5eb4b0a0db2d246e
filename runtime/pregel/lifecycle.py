"""A run's stops and resumptions, for the callbacks that ask for them: from an event to what a handler is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.callbacks import GraphInterruptEvent, GraphLifecycleEvent, GraphLifecycleStatus, GraphResumeEvent
from runtime.events import CheckpointSaved, Event, RunInterrupted, RunStarted, SuperstepUpdated

if TYPE_CHECKING:
    from runtime.pregel.run import Run

_STATUS: dict[str, GraphLifecycleStatus] = {"before": "interrupt_before", "after": "interrupt_after"}


def lifecycle_of(run: Run, event: Event) -> GraphLifecycleEvent | None:
    """What the graph handlers of a run are told of an event, if anything."""
    if isinstance(event, (RunStarted, CheckpointSaved)):
        run.checkpoint_id = event.checkpoint_id
    elif isinstance(event, SuperstepUpdated) and event.source == "resume":
        return GraphResumeEvent(_run_id(run), "pending", run.checkpoint_id, run.ns_parts)
    elif isinstance(event, RunInterrupted) and not run.nested:
        asked = tuple({told.interrupt.id: told.interrupt for told in event.interrupts}.values())
        status = _STATUS.get(event.when, "pending")
        return GraphInterruptEvent(_run_id(run), status, run.checkpoint_id, run.ns_parts, asked)
    return None


def _run_id(run: Run) -> object:
    return run.manager.run_id if run.manager is not None else run.run_id
