"""Where a run stands, and what the saver has of it.

A barrier becomes a checkpoint here, and a task's end becomes writes beside it; with durability "exit" both are kept
until the run ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import MISSING, RESUME
from runtime.checkpoint.base import Written
from runtime.pregel.deltas import COUNTERS, counted, log, overwrites, unlogged, versioned
from runtime.pregel.effects import Flush, Routine, SaveCheckpoint, SaveWrites
from runtime.pregel.state import Maps, State, Step
from runtime.pregel.task import Task, task_path_str
from runtime.pregel.update import NextVersion, int_version

if TYPE_CHECKING:
    from runtime.checkpoint.base import Shelf
    from runtime.pregel.run import Run

Pending = dict[str, Sequence[tuple[str, Any]]]
"""Stored writes, by task."""


class Progress:
    """Where a run stands: its state, the number of the superstep that comes next, and what the saver has of it.

    `pending` are the stored writes that the run goes on from; `found` all that were stored, also those that it drops.
    While a step is `applying`, the state is no barrier's: where Ctrl-C comes then, it is not saved.
    """

    __slots__ = (
        "applying", "beside", "changed", "found", "held", "last_output", "log", "logs", "maps", "metadata", "moved",
        "next_version", "origin", "parent_id", "paths", "pending", "replayed", "saved_id", "seen", "shelf",
        "shown", "source", "state", "step", "stop", "tasks", "unsaved", "whole",
    )  # fmt: skip

    def __init__(self, run: Run, state: State, step: int, stop: int, saved_id: str | None, pending: Pending) -> None:
        self.next_version: NextVersion = run.saver.get_next_version if run.saver is not None else int_version
        self.state = state
        self.step = step
        self.stop = stop
        self.saved_id = saved_id
        self.parent_id: str | None = None
        self.pending = pending
        self.found: Pending = {}
        self.paths: dict[str, Any] = {}
        self.metadata: Any = {}
        self.changed: dict[str, Any] = {}
        self.seen: dict[str, Mapping[str, Any]] = {}
        self.held: Written | None = None
        self.shelf: Shelf | None = run.shelf() if run.saver is not None else None
        self.maps: Maps | None = state.maps() if self.shelf is not None and self.shelf.frozen else None
        self.tasks: list[Task] = []
        self.moved: set[str] = set()
        self.unsaved = False
        self.applying = False
        self.replayed = False
        self.beside = True
        self.whole: frozenset[str] = frozenset()
        self.shown = False
        self.source = ""
        self.last_output: Any = MISSING
        self.origin = state.checkpoint_id
        self.log: list[tuple[str, str, list[tuple[str, Any]]]] = []
        self.logs: dict[str, list[tuple[str, Any]]] = {}

    def passed(self, source: str) -> None:
        """A barrier lies behind: the next superstep's number is one higher."""
        self.source = source
        self.step += 1

    def resumes(self) -> Mapping[str, list[Any]]:
        """The answers that were stored, by task."""
        stored = self.pending.items()
        return {id: value for id, writes in stored for channel, value in writes if channel == RESUME}


def versions_before(state: State, step: Step) -> Mapping[str, Any]:
    """The versions that a step's channels have as long as it is not taken in."""
    return {name: state.versions.get(name) for name in step.channels}


def advance(progress: Progress, step: Step) -> None:
    """Take a step in, and remember what of it the saver does not have yet."""
    program = progress.state.program
    progress.state.advance(step)
    progress.changed.update(step.versions)
    progress.seen.update(step.seen)
    if program.deltas:
        log(program, step, progress.logs)
        progress.whole |= overwrites(program, step)
        progress.moved |= step.versions.keys()


def persist(run: Run, progress: Progress, source: Any) -> Routine[None]:
    """Make the state a checkpoint, and the next superstep's number one higher.

    A graph that saves nothing between graphs that do has a checkpoint's id all the same: those inside stand under it.
    """
    state = progress.state
    if run.lent is not None:
        state.checkpoint_id, state.old = run.new_checkpoint_id(), False
    if run.saver is not None:
        counters = _deltas(run, progress) if run.program.deltas else {}
        progress.metadata = {"source": source, "step": progress.step, "parents": run.parents, **counters}
        if run.durability != "exit":
            yield from _save(run, progress)
        else:
            progress.unsaved = True
    progress.passed(source)


def _deltas(run: Run, progress: Progress) -> dict[str, Any]:
    """The counters of delta channels; those that this checkpoint must hold whole are noted in `progress.whole`."""
    program = run.program
    if not progress.beside:  # nothing may stand beside the parent, or what another child of it did
        known = set(program.deltas)
        progress.whole |= known if progress.saved_id is not None else known & progress.state.versions.keys()
    counters, progress.whole = counted(program, progress.metadata.get(COUNTERS), progress.moved, progress.whole)
    progress.moved = set()
    return {COUNTERS: counters} if counters else {}


def _save(run: Run, progress: Progress) -> Routine[None]:
    state, changed, whole, metadata = progress.state, progress.changed, progress.whole, progress.metadata
    if progress.log:
        yield from _save_log(run, progress)
    if whole:  # a saver that stores by version has not stored them before
        changed.update(versioned(state, whole))
    maps = progress.maps
    if maps is not None:
        maps = progress.maps = maps[0].over(changed), maps[1].over(progress.seen)
    checkpoint = state.to_checkpoint(state.checkpoint_id, run.clock(), changed, whole, maps, progress.logs)
    progress.changed, progress.seen, progress.logs = {}, {}, {}
    progress.whole, progress.beside = frozenset(), True
    progress.parent_id = progress.saved_id
    yield SaveCheckpoint(shelf_of(progress), progress.saved_id, checkpoint, metadata, progress.held)
    progress.held = None
    progress.saved_id = state.checkpoint_id
    progress.unsaved = False


def store(run: Run, progress: Progress, task_id: str, writes: Sequence[tuple[str, Any]], path: Any) -> Written | None:
    """Remember writes beside the checkpoint that the superstep started from, and tell what of it is to be stored now.

    A new thread has no checkpoint for its first words, and durability "exit" stores them in the end.
    """
    progress.pending[task_id] = writes
    progress.paths[task_id] = path
    if run.saver is None or run.durability == "exit" or progress.saved_id is None:
        return None
    return Written(progress.saved_id, writes, task_id, task_path_str(path))


def forget(run: Run, progress: Progress, step: Step) -> None:
    """Forget the writes that stand beside the last checkpoint: the step that took them in is taken in itself.

    They are the log of delta channels. Where it does not tell what the step did to one, the next checkpoint holds
    that whole; and durability "exit", which stores no writes as it goes, keeps them until the end.
    """
    deltas = run.program.deltas
    if deltas and run.saver is not None:
        progress.whole |= unlogged(run.program, step, progress.pending)
        if run.durability == "exit":
            for id, path in progress.paths.items():
                writes = [(name, value) for name, value in progress.pending[id] if name in deltas]
                if writes:
                    later = ((progress.step,), path)  # sorts after whatever stands beside the checkpoint already
                    text = task_path_str(later if progress.unsaved else path)
                    progress.log.append((f"{progress.step:08x}{id[8:]}", text, writes))
    progress.pending.clear()
    progress.paths.clear()


def _save_log(run: Run, progress: Progress) -> Routine[None]:
    """Store the log that durability "exit" has kept beside the checkpoint that the run started from.

    A new thread is given an empty one to hold it. The ids are those of the tasks with the superstep for their first
    digits, so that nobody takes a task for finished because of its share in the log.
    """
    log = [
        (id, path, kept)
        for id, path, writes in progress.log
        if (kept := [(name, value) for name, value in writes if name not in progress.whole])
    ]
    progress.log = []
    if log and progress.saved_id is None:
        progress.saved_id = progress.origin
        empty = State(run.program, progress.origin).to_checkpoint(progress.origin, run.clock(), {})
        yield SaveCheckpoint(shelf_of(progress), None, empty, {"step": -2})
    for id, path, writes in log:
        written = Written(progress.saved_id or progress.origin, writes, id, path)
        yield SaveWrites(shelf_of(progress), written, progress.step)


def settle(run: Run, progress: Progress, unfinished: bool) -> Routine[None]:
    """Leave the saver with all that it was given, and in durability "exit" with the state and what has finished.

    A nested graph that has come to its end leaves nothing then, unless its state outlives the parent's superstep.
    """
    if run.saver is None:
        return
    if progress.held is not None:
        yield SaveWrites(shelf_of(progress), progress.held, progress.step)
        progress.held = None
    outlives = unfinished or not run.nested or run.graph.checkpointer is True
    if run.durability == "exit" and outlives and not progress.applying:
        if progress.unsaved or (progress.changed and progress.saved_id is None):
            yield from _save(run, progress)
        for id, writes in list(progress.pending.items()):  # a thread that was left behind may still add to them
            if id in progress.paths and progress.saved_id is not None:
                written = Written(progress.saved_id, writes, id, task_path_str(progress.paths[id]))
                yield SaveWrites(shelf_of(progress), written, progress.step)
    yield Flush()


def shelf_of(progress: Progress) -> Shelf:
    """Where the run stores what it does."""
    assert progress.shelf is not None, "a run without a saver stores nothing"
    return progress.shelf
