"""A checkpoint as a person reads it: values, what runs next, and what the stored writes say of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from runtime._words import CHECKPOINT_ID, CHECKPOINT_MAP, CHECKPOINT_NS, CONF, THREAD_ID
from runtime.pregel.debug import told_task
from runtime.pregel.task import Task
from runtime.types import StateSnapshot

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.checkpoint.base import CheckpointMetadata
    from runtime.pregel.main import Pregel


def checkpoint_config(
    base: RunnableConfig, id: str | None, metadata: Mapping[str, Any] | None = None
) -> RunnableConfig:
    """The config that names a checkpoint; in a nested graph with the checkpoints of the graphs around it."""
    conf: dict[str, Any] = {
        CHECKPOINT_NS: base[CONF].get(CHECKPOINT_NS, ""),
        THREAD_ID: base[CONF].get(THREAD_ID),
        CHECKPOINT_ID: id,
    }
    return with_parents(cast("RunnableConfig", {CONF: conf}), metadata)


def with_parents(config: RunnableConfig, metadata: Mapping[str, Any] | None) -> RunnableConfig:
    """The config with a map of the checkpoints around it, where its metadata tells of any."""
    parents = (metadata or {}).get("parents")
    if not parents:
        return config
    conf = config[CONF]
    return cast(
        "RunnableConfig",
        {**config, CONF: {**conf, CHECKPOINT_MAP: {**parents, conf[CHECKPOINT_NS]: conf[CHECKPOINT_ID]}}},
    )


def nested_config(task: Task, thread_id: str | None) -> RunnableConfig:
    """Where the state of a task's nested graph is found."""
    return cast("RunnableConfig", {CONF: {THREAD_ID: thread_id, CHECKPOINT_NS: task.ns}})


def snapshot_of(
    graph: Pregel[Any, Any, Any, Any],
    values: Any,
    tasks: Sequence[Task],
    pending: Mapping[str, Sequence[tuple[str, Any]]],
    base: RunnableConfig,
    id: str,
    parent_id: str | None,
    metadata: Mapping[str, Any],
    created_at: str | None,
    states: Mapping[str, Any] | None = None,
    done: frozenset[str] = frozenset(),
) -> StateSnapshot:
    """The snapshot of a state and the tasks planned on it; the values become the snapshot's own.

    `pending` are the stored writes by task, `states` those of nested graphs (else a config is given where there may be
    one); tasks in `done` are no longer next, unless all are: then it is their barrier that a run goes on from.
    """
    program = graph.program
    told = []
    for task in tasks:
        nested = (states or {}).get(task.id)
        if nested is None and any(getattr(sub, "checkpointer", None) is not False for sub in task.proc.subgraphs):
            nested = nested_config(task, base[CONF].get(THREAD_ID))
        told.append(told_task(task.id, task.node, task.path, pending.get(task.id, ()), nested, program.stream_channels))
    if done:
        told = [item._replace(interrupts=()) if item.id in done else item for item in told]
    left = [task for task in tasks if task.id not in done]
    return StateSnapshot(
        values=values,
        next=tuple(task.node for task in left or tasks),
        config=checkpoint_config(base, id, metadata),
        metadata=cast("CheckpointMetadata", metadata),
        created_at=created_at,
        parent_config=None if parent_id is None else checkpoint_config(base, parent_id, metadata),
        tasks=tuple(told),
        interrupts=tuple(interrupt for item in told for interrupt in item.interrupts),
    )
