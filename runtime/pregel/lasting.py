"""The state of a nested graph that outlives its task (`checkpointer=True`): where a run of it goes on from.

It lies in the thread under a name without task ids, so its newest checkpoint may stem from any earlier call. Each
checkpoint tells under which ones of the graphs around it stands. From that follows

1. whether it was made in the superstep that is being run again: only then does the graph go on where it stopped. If an
   earlier superstep made it, this call's input is new to the graph, and would be lost if it went on;
2. whether it was made in a superstep that is lost, because the process was killed before the graphs around it were
   saved. That superstep runs again, so what the nested graph made of it must not count: it would be there twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from runtime._words import CHECKPOINT_ID, CONF
from runtime.pregel.effects import Routine, load

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime._context import TaskContext
    from runtime.checkpoint.base import CheckpointTuple
    from runtime.pregel.run import Run


def counted(run: Run, found: CheckpointTuple | None) -> Routine[CheckpointTuple | None]:
    """The newest checkpoint, from this one back, that a superstep made which is not lost."""
    while found is not None and (yield from _is_lost(run, found)):
        found = None if found.parent_config is None else (yield from load(found.parent_config))
    return found


def belongs(run: Run, found: CheckpointTuple) -> Routine[bool]:
    """True where the superstep of the graph around, in which this run takes place, has made the checkpoint.

    The graph around may have been edited since.
    """
    parents = found.metadata.get("parents")
    level = next(_levels(run), None)
    if parents is None or level is None:
        return True
    made_under = parents.get(level.run.ns)
    if made_under is None or made_under == level.checkpoint_id:
        return made_under is not None
    around = yield from load(at(level.run.saver_config, level.checkpoint_id))
    while around is not None and around.metadata.get("source") in ("update", "fork") and around.parent_config:
        around = yield from load(around.parent_config)
        if around is not None and around.checkpoint["id"] == made_under:
            return True
    return False


def at(config: RunnableConfig, id: str) -> RunnableConfig:
    """The config with this checkpoint."""
    return cast("RunnableConfig", {CONF: {**config[CONF], CHECKPOINT_ID: id}})


def _is_lost(run: Run, found: CheckpointTuple) -> Routine[bool]:
    """True where a graph around has not kept what the checkpoint stands under, and has gone on from before."""
    parents = found.metadata.get("parents") or {}
    for level in _levels(run):
        around, made_under = level.run, parents.get(level.run.ns)
        if made_under is None or made_under == level.checkpoint_id or found.checkpoint["id"] < around.origin:
            continue  # a run that came to its end in durability "exit" kept only its last checkpoint
        if (yield from load(at(around.saver_config, made_under))) is None:
            return True
    return False


def _levels(run: Run) -> Iterator[TaskContext]:
    """The tasks in which this run takes place, innermost first, of graphs that save."""
    level = run.parent
    while level is not None:
        if level.run.saver is not None:
            yield level
        level = level.run.parent
