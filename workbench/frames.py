"""A recording as data frames: one function for each, pure, and documented column by column in `COLUMNS`.

All frames have `ns` (the namespace, "" at the top) and `step` (the superstep), are sorted by them, and are joined by
`task_id`, `checkpoint_id` or `channel`. A missing value says "not known" or "none", never zero. Versions are shown as
the numbers that they count. Columns are filled as whole lists, one pass over the index each, for a long run has many
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from runtime.events import Version
from workbench.index import Index, Run, Superstep, Task, count_of, is_state


class Column(NamedTuple):
    """A column: its name, its dtype, and a sentence on what stands in it."""

    name: str
    dtype: str
    words: str


NS: Final = Column("ns", "string", "The namespace of the graph: empty at the top, node:task_id for a graph in a node.")
STEP: Final = Column("step", "Int64", "The superstep's number. The input is -1 on a new thread.")
TASK: Final = Column("task_id", "string", "The task's id; it stays the same when the task is resumed.")
NODE: Final = Column("node", "string", "The node that ran.")
CHANNEL: Final = Column("channel", "string", "The channel's name.")
TIMES: Final = "\N{MULTIPLICATION SIGN}"
MOMENT: Final = "datetime64[ns, UTC]"

STEP_STATUS: Final = ("ok", "interrupted", "failed", "cancelled", "out_of_steps", "drained", "running")
TASK_STATUS: Final = ("ok", "cached", "failed", "interrupted", "cancelled")

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "supersteps": (
        NS,
        STEP,
        Column("source", "category", "What made it: loop, or input, resume, update, fork where no task ran."),
        Column(
            "tasks", "string", "The nodes that it ran, in the order planned, with a count where one ran several times."
        ),
        Column("updated", "string", "The channels that got a new version and hold a value, by name."),
        Column("status", "category", "ok when the barrier was passed; else why it was not."),
        Column("planned_at", MOMENT, "When its tasks were planned; missing where no task ran."),
        Column("duration", "float64", "Seconds from the plan to the update."),
        Column("checkpoint_id", "string", "The checkpoint saved after it, where there is a saver."),
        Column("parent_id", "string", "The checkpoint that it started from."),
    ),
    "tasks": (
        NS,
        STEP,
        TASK,
        NODE,
        Column("path", "string", "Where the task comes from: a trigger, or a place in the queue of sends."),
        Column("kind", "category", "pull: woken by a channel; push: ordered by a Send or called by a task."),
        Column("status", "category", "ok, cached, failed, interrupted or cancelled; missing while it runs."),
        Column("attempts", "Int64", "How often it was tried."),
        Column("started_at", MOMENT, "When its first attempt began; missing where its writes were stored already."),
        Column("duration", "float64", "Seconds that it took, all attempts together."),
        Column("input", "object", "What it was given."),
        Column("result", "object", "What it wrote to the state, by channel; missing where it wrote nothing."),
        Column("error", "string", "The error that ended it."),
    ),
    "triggers": (
        NS,
        STEP,
        TASK,
        NODE,
        Column("channel", "string", "A channel that woke the task."),
        Column("version", "Int64", "The channel's version when the task was planned."),
        Column("seen", "Int64", "The version that the node had last seen; missing where it had never seen one."),
    ),
    "reads": (
        NS,
        STEP,
        TASK,
        NODE,
        Column("channel", "string", "A channel that the task was given."),
        Column("version", "Int64", "The channel's version when the task was planned."),
        Column("value", "object", "The channel's value at that time."),
    ),
    "writes": (
        NS,
        STEP,
        Column("order", "Int64", "The write's place, from 1, in the order applied at the barrier."),
        TASK,
        Column("node", "string", "The node that wrote."),
        CHANNEL,
        Column("value", "object", "What was written, before the channel made its value of it."),
    ),
    "channels": (
        NS,
        STEP,
        CHANNEL,
        Column("kind", "category", "The channel's class, such as LastValue."),
        Column("version_before", "Int64", "Its version before the barrier; missing where it had none."),
        Column("version", "Int64", "Its version after the barrier."),
        Column("updated", "boolean", "True where the barrier gave it a new version."),
        Column("value", "object", "Its value after the barrier; missing where it is empty."),
        Column("writers", "string", "The nodes that wrote it, in the order applied."),
    ),
    "versions": (NS, STEP, Column("…", "Int64", "One column for each channel: its version after the superstep.")),
    "values": (
        NS,
        STEP,
        Column(
            "…",
            "object",
            "One column for each channel: its value after the superstep. It is Int64, string or boolean where all fit.",
        ),
    ),
    "checkpoints": (
        NS,
        Column("checkpoint_id", "string", "The checkpoint's id."),
        Column("parent_id", "string", "The checkpoint before it."),
        STEP,
        Column("source", "category", "What made it: input, loop, update or fork."),
        Column("next", "string", "The nodes that run next from here."),
        Column("created_at", MOMENT, "When it was handed to the saver."),
        Column("thread_id", "string", "The thread that it belongs to."),
    ),
    "interrupts": (
        NS,
        STEP,
        TASK,
        Column("node", "string", "The node that asks."),
        Column("interrupt_id", "string", "The id to answer it by; missing where it was asked before the recording."),
        Column("value", "object", "The question."),
        Column("resumed", "boolean", "True where the answer has come in this recording."),
        Column("answer", "object", "The answer; missing while it waits."),
    ),
    "stream": (
        NS,
        STEP,
        TASK,
        Column("node", "string", "The node that gave it."),
        Column("mode", "category", "custom, messages or tools."),
        Column("value", "object", "The item, or the token."),
        Column("at", MOMENT, "When it was given."),
    ),
}
"""The columns of each frame, in order. `versions` and `values` have one more for each channel."""


def frame(name: str, index: Index) -> pd.DataFrame:
    """The frame of that name. Raises KeyError for a name that is none."""
    return _FRAMES[name](index)


Rows = dict[str, list[Any]]


def _empty(name: str) -> Rows:
    return {column.name: [] for column in COLUMNS[name]}


def _built(name: str, rows: Rows) -> pd.DataFrame:
    columns = {column.name: array(rows[column.name], column.dtype) for column in COLUMNS[name]}
    return pd.DataFrame(columns, copy=False)


def array(values: Sequence[Any], dtype: str) -> Any:
    """A column of one dtype; None is a missing value, but in an object column it is a value like any other."""
    match dtype:
        case "object":
            return pd.Series(np.fromiter(values, dtype=object, count=len(values)), dtype=object)
        case "Int64":
            given = np.fromiter(values, dtype=object, count=len(values))
            missing = pd.isna(given)
            given[missing] = 0
            return pd.arrays.IntegerArray(given.astype(np.int64), missing)
        case "boolean":
            truth = np.fromiter((bool(value) for value in values), dtype=bool, count=len(values))
            return pd.arrays.BooleanArray(truth, np.zeros(len(values), dtype=bool))
        case "float64":
            return np.fromiter((np.nan if value is None else value for value in values), np.float64, len(values))
        case "category":
            kinds = sorted(set(values) - {None})
            places = {kind: place for place, kind in enumerate(kinds)} | {None: -1}
            codes = np.fromiter(map(places.__getitem__, values), dtype=np.int64, count=len(values))
            return pd.Categorical.from_codes(codes, categories=pd.Index(kinds, dtype="str"))
        case "string":
            return pd.array(values, dtype="string")
        case _:
            seconds = np.fromiter((np.nan if value is None else value for value in values), np.float64, len(values))
            moments = pd.to_datetime(np.round(seconds * 1e6), unit="us", utc=True)
            return moments.as_unit("ns")


def tasks_in_words(tasks: Sequence[Task]) -> str:
    """The nodes of a superstep, as they stand in a table, each once, with its count where that is not one."""
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.node] = counts.get(task.node, 0) + 1
    return ", ".join(node if many == 1 else f"{node} {TIMES}{many}" for node, many in counts.items())


# -- supersteps, tasks and what woke them -----------------------------------------------------------------------------


def _supersteps(index: Index) -> pd.DataFrame:
    rows = _empty("supersteps")
    for superstep in index.supersteps:
        tasks = list(superstep.tasks.values())
        rows["ns"].append(superstep.ns)
        rows["step"].append(superstep.step)
        rows["source"].append(superstep.source)
        rows["tasks"].append(tasks_in_words([task for task in tasks if task.ran] or tasks))
        rows["updated"].append(", ".join(sorted(one.channel for one in superstep.changes() if one.available)))
        rows["status"].append(superstep.status)
        rows["planned_at"].append(superstep.planned.at if superstep.planned is not None else None)
        rows["duration"].append(superstep.duration)
        saved = superstep.saved
        rows["checkpoint_id"].append(saved.checkpoint_id if saved is not None else None)
        rows["parent_id"].append(saved.parent_id if saved is not None else None)
    return _built("supersteps", rows)


def _place(rows: Rows, task: Task, times: int = 1) -> None:
    superstep = task.superstep
    rows["ns"] += [superstep.run.ns] * times
    rows["step"] += [superstep.step] * times
    rows["task_id"] += [task.id] * times
    rows["node"] += [task.node] * times


def _tasks(index: Index) -> pd.DataFrame:
    rows = _empty("tasks")
    for task in index.tasks():
        planned, started, finished = task.planned, task.started, task.finished
        _place(rows, task)
        rows["path"].append(_path(task.path) or None)
        rows["kind"].append(task.kind)
        rows["status"].append(task.status)
        rows["attempts"].append(finished.attempts if finished is not None else started.attempt if started else None)
        rows["started_at"].append(task.began)
        rows["duration"].append(finished.duration if finished is not None else None)
        rows["input"].append(planned.input if planned is not None else pd.NA)
        rows["result"].append(_result(task))
        error = finished.error if finished is not None and finished.status != "interrupted" else None
        rows["error"].append(f"{type(error).__name__}: {error}" if error is not None else None)
    return _built("tasks", rows)


def _path(path: Sequence[Any]) -> str:
    return ", ".join(f"({_path(part)})" if isinstance(part, tuple) else str(part) for part in path)


def _result(task: Task) -> Any:
    """A task's writes to the state as it would have returned them; several to one channel as a list of dicts."""
    if task.finished is None:
        return pd.NA
    written = [(channel, value) for channel, value in task.finished.writes if is_state(channel)]
    if not written:
        return pd.NA
    if [channel for channel, _ in written] == ["__root__"]:
        return written[0][1]
    merged = dict(written)
    return merged if len(merged) == len(written) else [{channel: value} for channel, value in written]


def _triggers(index: Index) -> pd.DataFrame:
    rows = _empty("triggers")
    for task in index.tasks():
        for trigger in task.planned.triggers if task.planned is not None else ():
            _place(rows, task)
            rows["channel"].append(trigger.channel)
            rows["version"].append(count_of(trigger.version))
            rows["seen"].append(count_of(trigger.seen))
    return _built("triggers", rows)


def _reads(index: Index) -> pd.DataFrame:
    found: dict[int, list[tuple[str, Version, Any]]] = {}
    for run in index.runs:
        for task, values in _inputs(run):
            assert task.planned is not None
            given = task.planned.input if isinstance(task.planned.input, Mapping) else {}
            found[id(task)] = [
                (channel, version, given.get(channel, values.get(channel, pd.NA)))
                for channel, version in task.planned.reads
            ]
    rows = _empty("reads")
    for task in index.tasks():
        reads = found.get(id(task), [])
        _place(rows, task, len(reads))
        rows["channel"] += [channel for channel, _, _ in reads]
        rows["version"] += [count_of(version) for _, version, _ in reads]
        rows["value"] += [value for _, _, value in reads]
    return _built("reads", rows)


def _inputs(run: Run) -> Iterator[tuple[Task, Mapping[str, Any]]]:
    """Each planned task with the values that the channels had when it was planned."""
    states = run.states()
    values: Mapping[str, Any] = run.started.values if run.started is not None else {}
    for superstep in run.supersteps:
        for task in superstep.tasks.values():
            if task.planned is not None and task.planned.reads:
                yield task, values
        if superstep.updated is not None:
            _, _, values = next(states)


# -- channels and writes ----------------------------------------------------------------------------------------------


def _writes(index: Index) -> pd.DataFrame:
    rows = _empty("writes")
    for superstep in index.supersteps:
        writes = superstep.updated.writes if superstep.updated is not None else ()
        rows["ns"] += [superstep.ns] * len(writes)
        rows["step"] += [superstep.step] * len(writes)
        rows["order"] += range(1, len(writes) + 1)
        rows["task_id"] += [write.task_id for write in writes]
        rows["node"] += [write.node for write in writes]
        rows["channel"] += [write.channel for write in writes]
        rows["value"] += [write.value for write in writes]
    return _built("writes", rows)


class _After(NamedTuple):
    """The channels of a graph after a superstep: lists, and the place of each name in them."""

    names: Mapping[str, int]
    kinds: Sequence[str | None]
    versions: list[int | None]
    values: list[Any]


def _states(index: Index) -> list[tuple[Superstep, _After]]:
    """Each superstep that passed its barrier with all channels after it, in the order of the index; made once."""
    if "states" not in index.made:
        after = {id(superstep): state for run in index.runs for superstep, state in _states_of(run)}
        passed = [superstep for superstep in index.supersteps if id(superstep) in after]
        index.made["states"] = [(superstep, after[id(superstep)]) for superstep in passed]
    found: list[tuple[Superstep, _After]] = index.made["states"]
    return found


def _states_of(run: Run) -> Iterator[tuple[Superstep, _After]]:
    kinds = dict(run.kinds)
    for superstep in run.supersteps:
        for change in superstep.updated.changes if superstep.updated is not None else ():
            kinds.setdefault(change.channel, change.kind)
    names, classes = {name: place for place, name in enumerate(kinds)}, list(kinds.values())
    counts: dict[Version, int | None] = {}
    nothing = [pd.NA] * len(names)
    for superstep, versions, values in run.states():
        assert superstep.updated is not None
        for change in superstep.updated.changes:
            if change.version not in counts:
                counts[change.version] = count_of(change.version)
        shown = [counts[one] if one in counts else count_of(one) for one in map(versions.get, names)]
        yield superstep, _After(names, classes, shown, list(map(values.get, names, nothing)))


def _channels(index: Index) -> pd.DataFrame:
    rows = _empty("channels")
    for superstep, state in _states(index):
        many = len(state.names)
        rows["ns"].extend([superstep.ns] * many)
        rows["step"].extend([superstep.step] * many)
        rows["channel"].extend(state.names)
        rows["kind"].extend(state.kinds)
        rows["version"].extend(state.versions)
        rows["value"].extend(state.values)
        before, updated = list(state.versions), [False] * many
        writers: list[str | None] = [None] * many
        assert superstep.updated is not None
        for change in superstep.updated.changes:
            place = state.names[change.channel]
            before[place] = count_of(change.version_before)
            updated[place] = change.version != change.version_before
            writers[place] = ", ".join(change.writers) or None
        rows["version_before"].extend(before)
        rows["updated"].extend(updated)
        rows["writers"].extend(writers)
    return _built("channels", rows)


def _versions(index: Index) -> pd.DataFrame:
    return _wide(index, lambda state: state.versions, "Int64", None)


def _values(index: Index) -> pd.DataFrame:
    return _wide(index, lambda state: state.values, None, pd.NA)


def _wide(index: Index, row: Callable[[_After], list[Any]], dtype: str | None, missing: Any) -> pd.DataFrame:
    """One column for each channel. A channel that is named like a key column gets " (channel)" added.

    Without a dtype each column has that of its values, where they are all numbers, texts or truth values of one kind.
    """
    places: dict[str, list[Any]] = {"ns": [], "step": []}
    channels: dict[str, list[Any]] = {}
    for height, (superstep, state) in enumerate(_states(index)):
        places["ns"].append(superstep.ns)
        places["step"].append(superstep.step)
        for name, value in zip(state.names, row(state), strict=True):
            column = channels.get(name)
            if column is None:
                column = channels[name] = []
            if len(column) < height:
                column.extend([missing] * (height - len(column)))
            column.append(value)
    height = len(places["ns"])
    columns: dict[str, Any] = {"ns": array(places["ns"], "string"), "step": array(places["step"], "Int64")}
    for name, column in channels.items():
        column.extend([missing] * (height - len(column)))
        columns[f"{name} (channel)" if name in places else name] = (
            _fitting(column) if dtype is None else array(column, dtype)
        )
    return pd.DataFrame(columns, copy=False)


_DTYPES: Final[Mapping[type[Any], Any]] = {bool: "boolean", int: "Int64", str: "string"}


def _fitting(column: Sequence[Any]) -> Any:
    """The values of a channel in a dtype that fits them all, missing ones aside; else as they are."""
    kinds = set(map(type, column)) - {type(pd.NA)}
    dtype = _DTYPES.get(kinds.pop()) if len(kinds) == 1 else None
    try:
        return pd.Series(column, dtype=dtype).array if dtype is not None else array(column, "object")
    except (OverflowError, UnicodeError):  # a number of more than 64 bits, half a character
        return array(column, "object")


# -- checkpoints, interrupts, stream ----------------------------------------------------------------------------------


def _checkpoints(index: Index) -> pd.DataFrame:
    rows = _empty("checkpoints")
    for superstep in index.supersteps:
        saved = superstep.saved
        if saved is None:
            continue
        rows["ns"].append(saved.ns)
        rows["checkpoint_id"].append(saved.checkpoint_id)
        rows["parent_id"].append(saved.parent_id)
        rows["step"].append(saved.step)
        rows["source"].append(saved.source)
        rows["next"].append(", ".join(saved.next))
        rows["created_at"].append(saved.at)
        rows["thread_id"].append(saved.thread_id)
    return _built("checkpoints", rows)


class _Question(NamedTuple):
    task: Task
    id: str | None
    value: Any


def _interrupts(index: Index) -> pd.DataFrame:
    """One row for each question, at the innermost graph that asks it, however often it was asked again."""
    questions: dict[tuple[str, int], _Question] = {}
    answers: dict[tuple[str, int], Any] = {}
    for task in index.tasks():
        if task.finished is None:
            continue
        given = task.finished.answers
        for place, answer in enumerate(given):
            answers[task.id, place] = answer
            questions.setdefault((task.id, place), _Question(task, None, pd.NA))
        for place, asked in enumerate(task.finished.interrupts, start=len(given)):
            questions[task.id, place] = _Question(task, asked.id, asked.value)
    inner = _innermost(questions)
    rows = _empty("interrupts")
    for key, question in questions.items():
        if question.id is not None and inner[question.id] != key:
            continue
        _place(rows, question.task)
        rows["interrupt_id"].append(question.id)
        rows["value"].append(question.value)
        rows["resumed"].append(key in answers)
        rows["answer"].append(answers.get(key, pd.NA))
    return _built("interrupts", rows)


def _innermost(questions: Mapping[tuple[str, int], _Question]) -> dict[str, tuple[str, int]]:
    """For each question's id, where it is asked: a graph in a node hands its questions up, and each level names it."""
    found: dict[str, tuple[str, int]] = {}
    for key, question in questions.items():
        if question.id is None:
            continue
        known = found.get(question.id)
        if known is None or len(question.task.superstep.ns) > len(questions[known].task.superstep.ns):
            found[question.id] = key
    return found


def _stream(index: Index) -> pd.DataFrame:
    rows = _empty("stream")
    for superstep in index.supersteps:
        for event in superstep.streamed:
            rows["ns"].append(event.ns)
            rows["step"].append(event.step)
            rows["task_id"].append(event.task_id)
            rows["node"].append(event.node)
            rows["mode"].append(event.mode)
            rows["value"].append(event.value)
            rows["at"].append(event.at)
    return _built("stream", rows)


_FRAMES: Final[Mapping[str, Callable[[Index], pd.DataFrame]]] = {
    "supersteps": _supersteps,
    "tasks": _tasks,
    "triggers": _triggers,
    "reads": _reads,
    "writes": _writes,
    "channels": _channels,
    "versions": _versions,
    "values": _values,
    "checkpoints": _checkpoints,
    "interrupts": _interrupts,
    "stream": _stream,
}
