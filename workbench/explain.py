"""Why a node ran, why another did not, and who is behind a value: pure, from the events alone.

How to think about it. A node runs because a channel that it listens to has a newer version than the node has seen.
So each answer is found by comparing versions, at a `Moment`: the barrier before the superstep that is asked about.

    why       the channels that were newer, and the superstep that made each of them newer
    why_not   for each channel that the node listens to: why it was not newer, or not open
    who       the writes of the superstep that made the value, and what the channel made of them one by one

The answers are values. Each shows itself as text, and as HTML in a notebook.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from runtime.events import Change, Trigger, Version, Write
from runtime.types import Send
from workbench import topology
from workbench.answers import Cause, Fold, Reason, Who, Why, WhyNot, Writer
from workbench.freeze import DROPPED
from workbench.index import Index, Run, Superstep, Task, count_of, is_state
from workbench.moment import Moment
from workbench.text import listing
from workbench.topology import Topology

SENDS = "__pregel_tasks"


# -- why --------------------------------------------------------------------------------------------------------------


def why(index: Index, node: str, step: int | None = None, ns: str | None = None) -> Why:
    """What woke the node in that superstep; without `step`, in the last one in which it ran.

    Raises LookupError when the node is unknown, or did not run then.
    """
    return why_here(index, node, _ran_in(index, node, step, ns))


def why_here(index: Index, node: str, superstep: Superstep) -> Why:
    """What woke the node in this very superstep."""
    tasks = [task for task in superstep.tasks.values() if task.node == node]
    moment = Moment(superstep.run, superstep)
    triggers: dict[str, Trigger] = {}
    for task in tasks:
        for trigger in task.planned.triggers if task.planned is not None else ():
            triggers.setdefault(trigger.channel, trigger)
    causes = tuple(_cause(index, moment, trigger) for trigger in triggers.values())
    called = sum(task.called for task in tasks)
    handled = [failed for task in tasks if (failed := task.handles) is not None]
    return Why(
        node=node,
        step=superstep.step,
        ns=superstep.ns,
        statuses=tuple(task.status or ("running" if task.ran else "next") for task in tasks),
        sent=sum(task.kind == "push" for task in tasks) - called - len(handled),
        called=called,
        handles=tuple(_failure(task) for task in handled),
        triggers=causes,
    )


def _failure(task: Task) -> str:
    error = task.finished.error if task.finished is not None else None
    return f"{task.node}, which failed with {type(error).__name__}" if error is not None else task.node


def _ran_in(index: Index, node: str, step: int | None, ns: str | None) -> Superstep:
    everywhere = [
        superstep
        for run in index.runs
        for superstep in run.supersteps
        if (ns is None or superstep.ns == ns) and any(task.node == node for task in superstep.tasks.values())
    ]
    top = [superstep for superstep in everywhere if not superstep.ns]
    found = [superstep for superstep in top or everywhere if step is None or superstep.step == step]
    if found:
        return found[-1]
    if everywhere:
        when = listing(dict.fromkeys(str(superstep.step) for superstep in top or everywhere))
        way = f"Ask rec.why_not({node!r}, {step}) for the reason."
        raise LookupError(f"{node} did not run in superstep {step}; it ran in {when}. {way}")
    if node in _nodes(index, ns):
        raise LookupError(f"{node} did not run in this recording. Ask rec.why_not({node!r}) for the reason.")
    raise _unknown_node(index, node, ns)


def _unknown_node(index: Index, node: str, ns: str | None) -> LookupError:
    known = _nodes(index, ns)
    there = f"It has {listing(known)}." if known else "No run is in it yet."
    return LookupError(f"There is no node {node!r} in this recording. {there}")


def _nodes(index: Index, ns: str | None) -> list[str]:
    """The nodes that ran or could have run, by name, without the hidden ones."""
    found: dict[str, None] = {}
    for run in index.runs:
        if ns is not None and run.ns != ns:
            continue
        for name in getattr(run.graph, "nodes", None) or ():
            found[name] = None
        for superstep in run.supersteps:
            for task in superstep.tasks.values():
                found[task.node] = None
    return sorted(name for name in found if not name.startswith("__"))


def _cause(index: Index, moment: Moment, trigger: Trigger) -> Cause:
    return Cause(
        trigger.channel,
        moment.run.kinds.get(trigger.channel, ""),
        count_of(trigger.version),
        count_of(trigger.seen),
        tuple(_writers(index, moment, trigger.channel, trigger.version, trigger.seen)),
    )


def sources_of(index: Index, moment: Moment, trigger: Trigger) -> set[str]:
    """The nodes whose writes since the version seen made the trigger newer."""
    return {node for one in _writers(index, moment, *trigger) for node in one.nodes}


def _writers(index: Index, moment: Moment, channel: str, version: Version, seen: Version) -> list[Writer]:
    """The supersteps that wrote the channel since the version that was seen, oldest first.

    Those before the run are looked for in the earlier runs of the recording.
    """
    found = list(_written(moment.passed, channel, seen))
    if not any(change.version == version for _, change in found):
        found = [*_before(index, moment.run, channel, version, seen), *found]
    return [
        Writer(one.step, one.source, _posted(one, change), count_of(change.version_before), count_of(change.version))
        for one, change in found
    ]


def _posted(superstep: Superstep, change: Change) -> tuple[str, ...]:
    """The writers of a change. An empty list puts nothing into a topic, so who wrote one is not among them."""
    if change.kind != "Topic" or superstep.updated is None:
        return change.writers
    writes = [write for write in superstep.updated.writes if write.channel == change.channel]
    return tuple(write.node for write in writes if write.value != [])


def _written(supersteps: Iterable[Superstep], channel: str, seen: Version) -> Iterator[tuple[Superstep, Change]]:
    for superstep in supersteps:
        for change in superstep.changes():
            opened = change.available or (change.writers and change.kind != "Topic")
            if change.channel == channel and opened and (seen is None or change.version > seen):
                yield superstep, change


def _before(index: Index, run: Run, channel: str, version: Version, seen: Version) -> list[tuple[Superstep, Change]]:
    thread = run.started.thread_id if run.started is not None else None
    place = index.runs.index(run)
    for earlier in reversed(index.runs[:place]):
        same = earlier.ns == run.ns and earlier.started is not None and earlier.started.thread_id == thread
        if not same:
            continue
        found = [pair for pair in _written(earlier.supersteps, channel, seen) if pair[1].version <= version]
        if found and found[-1][1].version == version:
            return found
    return []


# -- why not ----------------------------------------------------------------------------------------------------------


def why_not(index: Index, node: str, step: int | None = None, ns: str | None = None) -> WhyNot:
    """What the node waited for in that superstep; without `step`, when the recording ended.

    Raises LookupError when the node is unknown, or did run then.
    """
    if node not in _nodes(index, ns) and not any(
        node in (getattr(run.graph, "nodes", None) or ()) for run in index.runs
    ):
        raise _unknown_node(index, node, ns)
    moment, number = _moment_of(index, node, step, ns)
    shape = _shape(moment.run.graph)
    listens = _listens(index, moment.run, node)
    reasons = [reason for name in listens for reason in _closed(index, moment, shape, node, name)]
    told = [reason for reason in reasons if reason.kind != "unwritten" or reason.nodes]
    reasons = told or reasons  # a channel that nothing leads to says less than the others
    reasons += _only_reads(moment, node, listens)
    if any(reason.kind == "newer" for reason in reasons):
        reasons += _stopped(moment)
    return WhyNot(node, number, moment.run.ns, tuple(dict.fromkeys(reasons)), step is None)


def _moment_of(index: Index, node: str, step: int | None, ns: str | None) -> tuple[Moment, int]:
    runs = [run for run in index.runs if (run.ns == ns if ns is not None else _has(run, node))]
    runs = [run for run in runs if not run.ns] or runs
    if step is None:
        run = runs[-1]
        moment = Moment(run)
        waiting = moment.waiting
        if waiting is not None and any(task.node == node for task in waiting.tasks.values()):
            raise LookupError(
                f"{node} is in the last superstep, {waiting.step}. Ask rec.why({node!r}, {waiting.step})."
            )
        last = waiting.step if waiting is not None else run.supersteps[-1].step if run.supersteps else -1
        return moment, last
    for run in reversed(runs):
        for superstep in run.supersteps:
            if superstep.step != step or superstep.planned is None:
                continue
            if any(task.node == node for task in superstep.tasks.values()):
                raise LookupError(f"{node} did run in superstep {step}. Ask rec.why({node!r}, {step}) for the reason.")
            return Moment(run, superstep), step
        if run.supersteps and step == run.supersteps[-1].step + 1:
            return Moment(run), step
    steps = [superstep.step for run in runs for superstep in run.supersteps if superstep.planned is not None]
    known = f"They go from {min(steps)} to {max(steps)}." if steps else "There are none."
    raise LookupError(f"There is no superstep {step} in this recording. {known}")


def _has(run: Run, node: str) -> bool:
    return node in (getattr(run.graph, "nodes", None) or ()) or any(
        task.node == node for superstep in run.supersteps for task in superstep.tasks.values()
    )


def _shape(graph: Any) -> Topology | None:
    """The declared edges; None for a graph of actors and channels, where the channels tell all there is."""
    try:
        known = topology.builder_of(graph) is not None or isinstance(getattr(graph, "topology", None), Topology)
        return topology.of(graph) if known else None
    except Exception:  # a builder of another version: explanations do without its edges
        return None


def _listens(index: Index, run: Run, node: str) -> list[str]:
    """The channels that wake the node: as the graph says, else as its tasks have shown, else by their names."""
    declared = getattr((getattr(run.graph, "nodes", None) or {}).get(node), "triggers", None)
    if declared:
        return list(declared)
    shown: dict[str, None] = {}
    for task in index.tasks():
        if task.node == node and task.superstep.ns == run.ns and task.planned is not None:
            shown.update(dict.fromkeys(task.planned.all_triggers))
    if shown:
        return [name for name in shown if name not in ("__pregel_push",)]
    return [name for name in run.kinds if name == f"branch:to:{node}" or _is_join_to(name, node)]


def _is_join_to(channel: str, node: str) -> bool:
    return channel.startswith("join:") and channel.endswith(f":{node}")


def _closed(index: Index, moment: Moment, shape: Topology | None, node: str, channel: str) -> Iterator[Reason]:
    """Why this channel did not wake the node, and what the nodes did that could have written it."""
    version, seen = moment.versions.get(channel), moment.seen.get(node, {}).get(channel)
    kind = moment.run.kinds.get(channel, "")
    fact = Reason("emptied", channel, version=count_of(version), seen=count_of(seen))
    if kind.startswith("NamedBarrierValue") and channel not in moment.values:
        yield from _barrier(index, moment, shape, fact)
        return
    sources = _sources(shape, node, moment)
    if version is None:
        yield fact._replace(kind="unwritten", nodes=tuple(sources))
    elif seen is not None and not version > seen:
        yield fact._replace(kind="equal")
    elif channel in moment.values:
        yield fact._replace(kind="newer")
        return
    elif kind.endswith("AfterFinish"):
        busy = moment.waiting or (moment.passed[-1] if moment.passed else None)
        others = tuple(task.node for task in busy.visible) if busy is not None else ()
        yield fact._replace(kind="deferred", nodes=others, step=busy.step if busy is not None else None)
        return
    else:
        yield fact
    for source in sources:
        yield _source(moment, shape, source, node)


def _only_reads(moment: Moment, node: str, listens: Sequence[str]) -> Iterator[Reason]:
    """Channels that changed since the node ran and are given to it, but do not wake it.

    Only where state itself wakes nodes: in a state graph every node reads the state, and that explains nothing.
    """
    given = getattr((getattr(moment.run.graph, "nodes", None) or {}).get(node), "channels", None)
    if isinstance(given, str) or not given or not any(is_state(name) for name in listens):
        return
    last = moment.last_task(node)
    for name in given:
        changed = [one.step for one, _ in _written(moment.passed, name, None)]
        if name not in listens and changed and (last is None or changed[-1] > last.superstep.step):
            yield Reason("reads", name, step=changed[-1])


def _barrier(index: Index, moment: Moment, shape: Topology | None, fact: Reason) -> Iterator[Reason]:
    """Which members of a join have come, and what became of the others."""
    channel = fact.channel
    declared = getattr((getattr(moment.run.graph, "channels", None) or {}).get(channel), "names", None)
    members = sorted(declared) if declared else channel.partition(":")[2].rpartition(":")[0].split("+")
    opened = _last_opening(index, moment, channel)
    come = {
        name: writer.step
        for writer in _writers(index, moment, channel, moment.versions.get(channel), None)
        for name in writer.nodes
        if opened is None or writer.step > opened
    }
    missing = tuple(name for name in members if name not in come)
    whole = not missing and moment.run.kinds.get(channel, "").endswith("AfterFinish")
    yield fact._replace(kind="deferred" if whole else "members", nodes=missing, come=tuple(come.items()))
    for name in missing:
        yield _source(moment, shape, name, channel)


def _last_opening(index: Index, moment: Moment, channel: str) -> int | None:
    """The superstep in which the join last woke its node: what came before it has been used up."""
    steps = [
        task.superstep.step
        for task in index.tasks()
        if task.superstep.ns == moment.run.ns
        and task.superstep in moment.passed
        and task.planned is not None
        and any(trigger.channel == channel for trigger in task.planned.triggers)
    ]
    return max(steps, default=None)


def _sources(shape: Topology | None, node: str, moment: Moment) -> list[str]:
    """The nodes from which an edge leads here, those that have run first; edges that any router may take come last."""
    if shape is None:
        return []
    edges = [edge for edge in shape.edges if edge.target == node and edge.source != node and edge.kind != "observed"]
    sure = [edge.source for edge in edges if not edge.open]
    found = list(dict.fromkeys(sure or [edge.source for edge in edges]))
    return sorted(found, key=lambda source: moment.last_task(source) is None)


def _source(moment: Moment, shape: Topology | None, source: str, target: str) -> Reason:
    """What a node did that could have led here."""
    task = moment.last_task(source)
    if task is None:
        return Reason("idle", nodes=(source,), chosen=_unchosen(moment, shape, source))
    if task.superstep is moment.waiting and task.status in ("ok", "cached", None):
        return Reason("beside", nodes=(source,), step=task.superstep.step)
    if task.status in ("failed", "interrupted", "cancelled") or task.finished is None:
        error = task.finished.error if task.finished is not None else None
        return Reason(
            "ended",
            nodes=(source,),
            step=task.superstep.step,
            status=task.status or "running",
            error=type(error).__name__ if error is not None else "",
        )
    return Reason("chose", nodes=(source,), step=task.superstep.step, chosen=tuple(_chosen(task, shape, target)))


def _unchosen(moment: Moment, shape: Topology | None, node: str) -> tuple[str, ...]:
    """The routers before a node that never ran, each as "router → its choice"."""
    found = []
    for source in _sources(shape, node, moment):
        task = moment.last_task(source)
        if task is not None and task.status in ("ok", "cached"):
            found.append(f"{source} chose {listing(_chosen(task, shape, node))} in superstep {task.superstep.step}")
    return tuple(found)


def _chosen(task: Task, shape: Topology | None, target: str) -> list[str]:
    """Where a task's router or command led, without the edges that are always taken."""
    assert task.finished is not None
    always = (
        {edge.target for edge in shape.edges if edge.source == task.node and edge.kind == "plain"} if shape else set()
    )
    led: dict[str, None] = {}
    for channel, value in task.finished.writes:
        if channel.startswith("branch:to:"):
            led[channel.removeprefix("branch:to:")] = None
        elif channel == SENDS and isinstance(value, Send):
            led[value.node] = None
    return [name for name in led if name not in always] or [name for name in led if name != target] or ["END"]


def _stopped(moment: Moment) -> Iterator[Reason]:
    """Why the run did not come to a superstep for which a node was awake."""
    end, halted = moment.run.finished, moment.waiting is None or moment.waiting.updated is None
    if end is None or end.status == "done" or not halted:
        return
    names = tuple(task.node for task in moment.waiting.visible) if moment.waiting is not None else ()
    step = moment.waiting.step if moment.waiting is not None else end.step
    error = type(end.error).__name__ if end.error is not None else ""
    yield Reason("stopped", nodes=names, step=step, status=end.status, error=error)


# -- who --------------------------------------------------------------------------------------------------------------


def who(index: Index, channel: str, step: int | None = None, ns: str | None = None) -> Who:
    """The writes behind the channel's value after that superstep; without `step`, behind its last value.

    Raises LookupError when the channel is unknown, or had not been written by then.
    """
    runs = [run for run in index.runs if ns is None or run.ns == ns]
    found = [
        (superstep, change)
        for run in [run for run in runs if not run.ns] or runs
        for superstep in run.supersteps
        for change in superstep.changes()
        if change.channel == channel and (change.writers or change.available)
    ]
    if step is not None:
        found = [(superstep, change) for superstep, change in found if superstep.step <= step]
        exact = [pair for pair in found if pair[0].step == step]
        found = exact or found
    if not found:
        raise _unwritten(runs, channel, step)
    superstep, change = found[-1] if step is None else max(found, key=lambda pair: pair[0].step)
    moment = Moment(superstep.run, superstep)
    assert superstep.updated is not None
    writes = [write for write in superstep.updated.writes if write.channel == channel]
    model = (getattr(superstep.run.graph, "channels", None) or {}).get(channel)
    has_before = channel in moment.values
    return Who(
        channel=channel,
        step=superstep.step,
        ns=superstep.ns,
        source=superstep.source,
        kind=change.kind,
        reducer=_reducer(model),
        version_before=count_of(change.version_before),
        version=count_of(change.version),
        had_value=has_before,
        before=moment.values.get(channel),
        has_value=change.available,
        value=change.value,
        writes=tuple(_folds(model, moment.values, channel, writes, change)),
    )


def _unwritten(runs: Sequence[Run], channel: str, step: int | None) -> LookupError:
    known = sorted({name for run in runs for name in run.kinds})
    if channel not in known:
        return LookupError(f"There is no channel {channel!r} in this recording. It has {listing(known)}.")
    until = f" up to superstep {step}" if step is not None else ""
    held = any(run.started is not None and channel in run.started.versions for run in runs)
    earlier = " Its value was written before the recording began." if held else ""
    return LookupError(f"Nobody wrote {channel} in this recording{until}.{earlier}")


def _reducer(model: Any) -> str:
    operator = getattr(model, "operator", None) or getattr(model, "reducer", None)
    name = operator if isinstance(operator, str) else getattr(operator, "__name__", "")
    return name if isinstance(name, str) and name != "<lambda>" else "a lambda" if name else ""


def _folds(
    model: Any, before: Mapping[str, Any], channel: str, writes: Sequence[Write], change: Change
) -> Iterator[Fold]:
    """Each write with the value after it. The steps are left out when they do not lead to the value recorded."""
    after = _replayed(model, before.get(channel, DROPPED), [write.value for write in writes]) if writes else []
    if after and not _same(after[-1], change.value):
        after = []
    for place, write in enumerate(writes):
        yield Fold(place + 1, write.task_id, write.node, write.value, bool(after), after[place] if after else None)


def _replayed(model: Any, before: Any, values: Sequence[Any]) -> list[Any]:
    """What a copy of the channel holds after each write in turn; empty where that cannot be told."""
    try:
        made = model.copy()
        if before is not DROPPED:
            made = made.from_checkpoint(deepcopy(before))
        found = []
        for value in values:
            made.update([deepcopy(value)])
            found.append(deepcopy(made.get()))
    except Exception:  # no such channel here, a reducer that raises, a value that has no copy
        return []
    return found


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:
        return False
