"""Payloads of the `tasks`, `checkpoints` and `debug` streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import (
    CHECKPOINT_NS,
    CONF,
    ERROR,
    INTERRUPT,
    MISSING,
    NS_END,
    NS_SEP,
    PRIVATE_PREFIX,
    RETURN,
    TAG_HIDDEN,
    THREAD_ID,
    UNFINISHED,
)
from runtime.checkpoint.base import EXCLUDED_METADATA_KEYS, timestamp
from runtime.checkpoint.base.calls import by_task
from runtime.events import Planned, TaskFinished
from runtime.pregel.program import as_names
from runtime.types import (
    CheckpointPayload,
    DebugPayload,
    Interrupt,
    PregelTask,
    StateSnapshot,
    TaskPayload,
    TaskResultPayload,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


def task_payload(task: Planned) -> TaskPayload:
    """A task begins; `metadata` only where the user gave some."""
    payload: TaskPayload = {"id": task.task_id, "name": task.node, "input": task.input, "triggers": task.all_triggers}
    metadata = {key: value for key, value in task.metadata.items() if key not in EXCLUDED_METADATA_KEYS}
    tags = [tag for tag in task.tags if not tag.startswith("seq:step")]
    if tags:
        metadata["tags"] = tags
    if metadata:
        payload["metadata"] = metadata
    return payload


def result_payload(event: TaskFinished, stream_channels: str | Sequence[str]) -> TaskResultPayload:
    """A task has ended: what it wrote to the stream channels, its error, its questions."""
    return {
        "id": event.task_id,
        "name": event.node,
        "error": event.error if event.status == "failed" else None,
        "result": result_of(event.writes, stream_channels),
        "interrupts": [interrupt_dict(item) for item in event.interrupts],
    }


def interrupt_dict(interrupt: Interrupt) -> dict[str, Any]:
    """An interrupt as plain data; the schema of its answer only where there is one."""
    plain = {"value": interrupt.value, "id": interrupt.id}
    if interrupt.response_schema is not None:
        plain["response_schema"] = interrupt.response_schema
    return plain


def result_of(writes: Iterable[tuple[str, Any]], stream_channels: str | Sequence[str]) -> dict[str, Any]:
    """The written stream channels; a channel that was written several times as {"$writes": [first, second, …]}."""
    wanted = frozenset(as_names(stream_channels))
    result: dict[str, Any] = {}
    several: set[str] = set()
    for channel, value in writes:
        if channel not in wanted and channel != RETURN:
            continue
        if channel not in result:
            result[channel] = value
        elif channel in several:
            result[channel]["$writes"].append(value)
        else:
            several.add(channel)
            result[channel] = {"$writes": [result[channel], value]}
    return result


def checkpoint_payload(snapshot: StateSnapshot) -> CheckpointPayload:
    """A checkpoint and the tasks that it has next."""
    return {
        "config": rm_pregel_keys(snapshot.config),
        "parent_config": rm_pregel_keys(snapshot.parent_config),
        "values": snapshot.values,
        "metadata": snapshot.metadata,
        "next": list(snapshot.next),
        "tasks": [_checkpoint_task(task) for task in snapshot.tasks],
    }


def _checkpoint_task(task: PregelTask) -> Any:
    if task.error is not None:
        return {"id": task.id, "name": task.name, "error": task.error, "state": task.state}
    interrupts = tuple(interrupt_dict(item) for item in task.interrupts)
    if task.result:
        return {"id": task.id, "name": task.name, "result": task.result, "interrupts": interrupts, "state": task.state}
    return {"id": task.id, "name": task.name, "interrupts": interrupts, "state": task.state}


def wrapped(step: int, at: float, kind: Any, payload: Any) -> DebugPayload:
    """A payload of the debug stream, with its superstep and time."""
    return {"step": step, "timestamp": timestamp(at), "type": kind, "payload": payload}


def rm_pregel_keys(config: RunnableConfig | None) -> RunnableConfig | None:
    """The config without the engine's private keys."""
    if config is None:
        return None
    conf = {k: v for k, v in config.get(CONF, {}).items() if not str(k).startswith(PRIVATE_PREFIX)}
    return {**config, CONF: conf}


# -- the same from tasks in a superstep, for programs that ask by these names ------------------------------------------


def map_debug_tasks(tasks: Iterable[Any]) -> Iterator[TaskPayload]:
    """The payloads of tasks that begin, hidden ones left out."""
    for task in tasks:
        config = task.config or {}
        if TAG_HIDDEN in (config.get("tags") or ()):
            continue
        planned = Planned(
            task.id, task.name, (), "pull", task.input, (), (), False, tuple(task.triggers),
            config.get("metadata") or {}, tuple(config.get("tags") or ()),
        )  # fmt: skip
        yield task_payload(planned)


def map_debug_task_results(
    task_tup: tuple[Any, Sequence[tuple[str, Any]]], stream_keys: str | Sequence[str]
) -> Iterator[TaskResultPayload]:
    """The payload of a task that has ended."""
    task, writes = task_tup
    interrupts = [item for channel, value in writes if channel == INTERRUPT for item in value]
    yield {
        "id": task.id,
        "name": task.name,
        "error": next((value for channel, value in writes if channel == ERROR), None),
        "result": result_of(writes, stream_keys),
        "interrupts": [interrupt_dict(item) for item in interrupts],
    }


def map_debug_checkpoint(
    config: RunnableConfig,
    channels: Mapping[str, Any],
    stream_channels: str | Sequence[str],
    metadata: Any,
    tasks: Iterable[Any],
    pending_writes: Sequence[tuple[str, str, Any]],
    parent_config: RunnableConfig | None,
    output_keys: str | Sequence[str],
) -> Iterator[CheckpointPayload]:
    """The payload of a checkpoint, from its channels and pending writes."""
    held = {name: channel.get() for name, channel in channels.items() if channel.is_available()}
    values = (
        held.get(stream_channels)
        if isinstance(stream_channels, str)
        else {name: held[name] for name in stream_channels if name in held}
    )
    listed = list(tasks)
    states = {task.id: _nested_config(task, config) for task in listed}
    told = tasks_w_writes(listed, pending_writes, states, output_keys)
    yield checkpoint_payload(
        StateSnapshot(values, tuple(t.name for t in listed), config, metadata, None, parent_config, told, ())
    )


def _nested_config(task: Any, config: RunnableConfig) -> Any:
    if not task.subgraphs:
        return None
    parent = config.get(CONF, {}).get(CHECKPOINT_NS, "")
    ns = f"{parent}{NS_SEP}{task.name}" if parent else task.name
    return {CONF: {THREAD_ID: config[CONF][THREAD_ID], CHECKPOINT_NS: f"{ns}{NS_END}{task.id}"}}


def tasks_w_writes(
    tasks: Iterable[Any],
    pending_writes: Sequence[tuple[str, str, Any]] | None,
    states: Mapping[str, Any] | None,
    output_keys: str | Sequence[str],
) -> tuple[PregelTask, ...]:
    """Tasks as `get_state` tells them: error, questions and result taken from the stored writes."""
    writes = by_task(pending_writes)
    return tuple(
        told_task(
            task.id, task.name, tuple(task.path), writes.get(task.id, ()), (states or {}).get(task.id), output_keys
        )
        for task in tasks
    )


def told_task(
    id: str, name: str, path: tuple[Any, ...], writes: Sequence[tuple[str, Any]], state: Any, names: str | Sequence[str]
) -> PregelTask:
    """One task of a snapshot."""
    error: Any = None
    interrupts: tuple[Interrupt, ...] = ()
    returned: Any = MISSING
    finished = False
    for channel, value in writes:
        if channel == ERROR:
            error = value if error is None else error
        elif channel == INTERRUPT:
            interrupts += tuple(value)
        elif channel == RETURN and returned is MISSING:
            returned = value
        finished = finished or channel not in UNFINISHED
    result: Any = None
    if returned is not MISSING:
        result = returned
    elif finished:
        result = result_of(writes, names)
        if isinstance(names, str):
            result = result.get(names)
    return PregelTask(id, name, path, error, interrupts, state, result)
