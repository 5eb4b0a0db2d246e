"""Reading, writing and forking a thread's state, as routines: each once, for both colours."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from runtime._context import digest
from runtime._words import (
    CHECKPOINT_ID,
    CHECKPOINT_MAP,
    CHECKPOINT_NS,
    CONF,
    CONFIG_KEY_CHECKPOINTER,
    COPY,
    END,
    INPUT,
    INTERRUPT,
    NULL_TASK_ID,
    PRIVATE_PREFIX,
    RESUME,
    START,
    TASKS,
    THREAD_ID,
    UNFINISHED,
)
from runtime.checkpoint.base import Written, shelf_of
from runtime.checkpoint.base.calls import by_task
from runtime.checkpoint.base.id import checkpoint_id as new_id
from runtime.errors import InvalidUpdateError
from runtime.pregel.commands import input_writes
from runtime.pregel.deltas import COUNTERS, counted, log, overwrites, rebuild, unread, versioned, with_ids
from runtime.pregel.effects import (
    Flush,
    Routine,
    SaveCheckpoint,
    SaveWrites,
    invoke,
    list_checkpoints,
    load,
    load_deltas,
)
from runtime.pregel.node import PregelNode
from runtime.pregel.plan import Place, Planner
from runtime.pregel.snapshot import checkpoint_config, snapshot_of, with_parents
from runtime.pregel.state import State, Step
from runtime.pregel.task import Task, is_outcome, lasting_ns, task_path_str, without_ids
from runtime.pregel.update import update
from runtime.pregel.write import branch_channel
from runtime.types import StateSnapshot, StateUpdate
from runtime.utils.config import merge_configs

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.checkpoint.base import BaseCheckpointSaver, CheckpointMetadata, CheckpointTuple, Shelf
    from runtime.pregel.main import Pregel


class Site(NamedTuple):
    """The graph, saver and config that a call on a thread's state is really about."""

    graph: Pregel[Any, Any, Any, Any]
    saver: BaseCheckpointSaver[Any]
    config: RunnableConfig


def site_of(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig | None) -> Site | None:
    """Where the config points: this graph, or the nested one that its namespace names; None when there is none such.

    Raises ValueError without a saver, KeyError without a thread.
    """
    merged = merge_configs(graph.config, config)
    conf = dict(merged.get(CONF, {}))
    saver = conf.get(CONFIG_KEY_CHECKPOINTER) or graph.checkpointer
    if not saver or isinstance(saver, bool):
        raise ValueError("This graph has no checkpointer, so no state is kept. Compile it with one.")
    conf[THREAD_ID] = str(conf[THREAD_ID])
    if conf.get(CHECKPOINT_ID) is not None:
        conf[CHECKPOINT_ID] = str(conf[CHECKPOINT_ID])
    ns = conf.get(CHECKPOINT_NS) or ""
    found: Any = graph
    if ns:
        path = without_ids(ns)
        found = next((sub for name, sub in graph.get_subgraphs(namespace=path, recurse=True) if name == path), None)
        if found is None:
            return None
        if found.checkpointer is True:
            ns = lasting_ns(ns)
    conf[CHECKPOINT_NS] = ns
    return Site(found, saver, cast("RunnableConfig", {**merged, CONF: conf}))


def _key(config: RunnableConfig) -> RunnableConfig:
    """The part of a config that names a checkpoint."""
    conf = {k: v for k, v in config[CONF].items() if k in (THREAD_ID, CHECKPOINT_NS, CHECKPOINT_ID) and v is not None}
    return cast("RunnableConfig", {CONF: conf})


# -- reading ----------------------------------------------------------------------------------------------------------


def get_state(site: Site, subgraphs: bool) -> Routine[StateSnapshot]:
    """The thread's state at a checkpoint, or, without an id, as it stands: with what has finished since."""
    key = _key(site.config)
    found = yield from load(key)
    if found is None:
        return StateSnapshot({}, (), site.config, None, None, None, (), ())
    return (yield from _snapshot(site, found, live=CHECKPOINT_ID not in key[CONF], subgraphs=subgraphs))


def get_state_history(
    site: Site, filter: dict[str, Any] | None, before: RunnableConfig | None, limit: int | None
) -> Routine[list[StateSnapshot]]:
    """The thread's checkpoints as snapshots, newest first."""
    found = yield from list_checkpoints(_key(site.config), filter, before, limit)
    snapshots = []
    found.reverse()
    while found:  # what was read is let go as soon as it is shown: a long history is not held twice
        snapshots.append((yield from _snapshot(site, found.pop(), live=False, subgraphs=False)))
    return snapshots


def _snapshot(site: Site, found: CheckpointTuple, live: bool, subgraphs: bool) -> Routine[StateSnapshot]:
    thread = yield from _thread(site, found)
    tasks = thread.planned()
    states = (yield from _nested_states(site, tasks)) if subgraphs else {}
    thread.apply_null()
    done = thread.apply_finished(tasks) if live else frozenset()
    metadata = found.metadata
    parent = found.parent_config
    values = thread.state.give_up(site.graph.program.stream_channels)
    return snapshot_of(
        site.graph, values, tasks, thread.pending, found.config, found.checkpoint["id"],
        None if parent is None else parent[CONF][CHECKPOINT_ID], metadata, found.checkpoint["ts"], states, done,
    )  # fmt: skip


def _nested_states(site: Site, tasks: Sequence[Task]) -> Routine[dict[str, StateSnapshot]]:
    states = {}
    for task in tasks:
        for sub in task.proc.subgraphs:
            if getattr(sub, "checkpointer", None) is False:
                continue
            conf = {
                **{
                    k: v
                    for k, v in site.config[CONF].items()
                    if not k.startswith(PRIVATE_PREFIX) and k not in (CHECKPOINT_ID, CHECKPOINT_MAP)
                },
                CHECKPOINT_NS: lasting_ns(task.ns) if getattr(sub, "checkpointer", None) is True else task.ns,
            }
            nested = Site(cast("Any", sub), site.saver, cast("RunnableConfig", {CONF: conf}))
            states[task.id] = yield from get_state(nested, True)
            break
    return states


def _thread(site: Site, found: CheckpointTuple | None) -> Routine[_Thread]:
    """A checkpoint to read or edit, with the values of its delta channels made again."""
    thread = _Thread(site, found)
    if found is not None and (names := unread(site.graph.program, found.checkpoint)):
        rebuild(thread.state, (yield from load_deltas(found.config, names)))
    return thread


class _Thread:
    """A checkpoint of a thread that somebody reads or edits: its state, and the writes stored beside it."""

    def __init__(self, site: Site, found: CheckpointTuple | None) -> None:
        graph = site.graph
        program = graph.program
        self.saver = site.saver
        self.ns = site.config[CONF].get(CHECKPOINT_NS, "")
        self.pending: dict[str, list[tuple[str, Any]]] = {}
        self.whole: set[str] = set()
        self.logs: dict[str, list[tuple[str, Any]]] = {}
        if found is None:
            self.state, self.step = State.fresh(program, new_id()), -2
            self.metadata: Mapping[str, Any] = {}
            self.saved_versions: dict[str, Any] = {}
            return
        self.state = State.restored(program, graph.migrated(found.checkpoint))
        self.metadata = found.metadata
        self.step = found.metadata.get("step", -2)
        self.saved_versions = dict(self.state.versions)
        self.pending = by_task(found.pending_writes)

    def planned(self) -> list[Task]:
        """The tasks that would run next, in the order in which the nodes were added."""
        self.state.updated = None
        return Planner(Place(self.ns), self.state, self.step + 1, 0, {}).outlook()

    def advance(self, tasks: Sequence[Task]) -> Step:
        step = update(self.state, tasks, self.saver.get_next_version, self.step + 1)
        self.state.advance(step)
        log(self.state.program, step, self.logs)
        self.whole |= overwrites(self.state.program, step)
        return step

    def give_up(self) -> None:
        """Leave the stored writes where they are: they are no log of the delta channels in the next checkpoint."""
        stored = {name for writes in self.pending.values() for name, _ in writes}
        self.whole |= stored & set(self.state.program.deltas)

    def apply_null(self) -> None:
        """Take in what a caller's command wrote without a task."""
        writes = [w for w in self.pending.get(NULL_TASK_ID, ()) if w[0] != RESUME]
        if writes:
            self.advance([pseudo_task(INPUT, writes)])

    def apply_finished(self, tasks: Sequence[Task]) -> frozenset[str]:
        """Take in the stored writes of tasks that have finished, and tell which those are."""
        done = []
        for task in tasks:
            stored = self.pending.get(task.id)
            if stored and is_outcome(stored):
                task.writes = [w for w in stored if w[0] not in UNFINISHED]
                done.append(task)
        if done:
            self.advance(done)
        return frozenset(task.id for task in done)


_NOBODY = PregelNode(channels=[], triggers=[])


def pseudo_task(node: str, writes: Sequence[tuple[str, Any]], triggers: Sequence[str] = ()) -> Task:
    """Writes that no task made, as if one had."""
    task = Task(NULL_TASK_ID, node, (node,), "", None, _NOBODY, triggers)
    task.writes = list(writes)
    return task


# -- writing ----------------------------------------------------------------------------------------------------------


def bulk_update_state(site: Site, supersteps: Sequence[Sequence[StateUpdate]]) -> Routine[RunnableConfig]:
    """One checkpoint for each list of updates, each a child of the one before; the config of the last."""
    if not supersteps:
        raise ValueError(
            "No supersteps provided: each is a list of updates and becomes a checkpoint. Give one or more."
        )
    for number, updates in enumerate(supersteps, 1):
        if not updates:
            raise ValueError(
                f"No updates provided for superstep {number} of {len(supersteps)}. Leave it out, or give it an update."
            )
    config = site.config
    for updates in supersteps:
        config = yield from _update_once(site._replace(config=config), [StateUpdate(*item) for item in updates])
    yield Flush()
    return config


def _update_once(site: Site, updates: list[StateUpdate]) -> Routine[RunnableConfig]:
    key = _key(site.config)
    found = yield from load(key)
    thread = yield from _thread(site, found)
    first = updates[0]
    special = first.as_node in (END, INPUT, COPY)
    if special and len(updates) > 1:
        raise InvalidUpdateError(
            f"as_node={first.as_node!r} stands for itself: give it as the superstep's only update."
        )
    if first.as_node == COPY:
        return (yield from _copy(site, thread, found, first))
    live = CHECKPOINT_ID not in key[CONF]
    if first.values is None and first.as_node is None and len(updates) == 1:
        thread.give_up()
        return (yield from _save(site, thread, found, "update"))
    tasks = thread.planned()
    if first.as_node == END:
        if first.values is not None:
            raise InvalidUpdateError("Updating as END settles the thread and takes no values: pass values=None.")
        thread.apply_null()
        _settle(thread, tasks)
        return (yield from _save(site, thread, found, "update"))
    if first.as_node == INPUT:
        writes = input_writes(site.graph.program.input_channels, first.values, site.graph.program)
        for task in tasks:
            task.writes = []
        thread.give_up()
        thread.advance([*tasks, pseudo_task(INPUT, writes)])
        return (yield from _save(site, thread, found, "input"))
    if live and found is not None:
        thread.apply_null()
    thread.give_up()
    made: list[Task] = []
    for index, item in enumerate(updates):
        taken = {task.id for task in made}
        made.append((yield from _as_node(site, thread, item, tasks, found is None, len(updates), index, taken)))
    if found is not None and (live or (yield from _is_newest(key, found))):
        for task in made:  # beside an older one stands what its other children were made of
            written = Written(found.checkpoint["id"], task.writes, task.id, task_path_str(task.path))
            yield SaveWrites(_shelf(site), written, thread.step + 1)
    thread.advance(made)
    return (yield from _save(site, thread, found, "update"))


def _is_newest(key: RunnableConfig, found: CheckpointTuple) -> Routine[bool]:
    conf = {name: value for name, value in key[CONF].items() if name != CHECKPOINT_ID}
    newest = yield from load(cast("RunnableConfig", {CONF: conf}))
    return newest is not None and newest.checkpoint["id"] == found.checkpoint["id"]


def _settle(thread: _Thread, tasks: Sequence[Task]) -> None:
    for task in tasks:
        stored = thread.pending.get(task.id, ())
        task.writes = [w for w in stored if w[0] not in UNFINISHED] if is_outcome(stored) else []
    while tasks:
        thread.advance(tasks)
        tasks = thread.planned()
        for task in tasks:
            task.writes = []


def _as_node(
    site: Site,
    thread: _Thread,
    item: StateUpdate,
    tasks: Sequence[Task],
    fresh: bool,
    count: int,
    index: int,
    taken: set[str],
) -> Routine[Task]:
    nodes = site.graph.nodes
    name = item.as_node
    if name is None:
        if count > 1:
            raise InvalidUpdateError("Several updates in one superstep each need as_node.")
        name = infer_node(site.graph, thread.state, fresh)
    if name not in nodes:
        raise InvalidUpdateError(f"as_node={name!r} is no node of this graph. Its nodes: {', '.join(nodes)}.")
    node = nodes[name]
    if not node.writers and not node.branches:
        raise InvalidUpdateError(f"Node {name!r} writes nothing, so no update can be made in its name.")
    waits = next((other.id for other in tasks if other.node == name and other.id not in taken), None)
    id = item.task_id or waits or _update_id(thread.state.checkpoint_id, index)
    task = Task(id, name, (INTERRUPT, index), "", None, node, (INTERRUPT,))
    writes = [pair for writer in node.writers for pair in writer(item.values)]
    task.writes = writes
    with_ids(site.graph.program, writes)
    for branch in node.branches:
        state = task.read_fresh(thread.state, branch.read)
        answer = yield from invoke(branch.path, branch.input(state, item.values), site.config)
        writes += branch.writes(answer)
    if item.as_node is None:
        writes += _kept_moves(site, node, task, [other for other in tasks if not other.writes])
    return task


def _kept_moves(site: Site, node: PregelNode, task: Task, tasks: Sequence[Task]) -> Sequence[tuple[str, Any]]:
    """What was next stays next, where the node that wrote last chose it by a Command: no edge can choose it again."""
    wakes = site.graph.program.listeners
    if node.branches or task.node == START or any(name in wakes or name == TASKS for name, _ in task.writes):
        return ()
    return [
        (branch_channel(other.node), None)
        for other in tasks
        if branch_channel(other.node) in site.graph.program.channels and not isinstance(other.path[1], int)
    ]


def _update_id(checkpoint_id: str, index: int) -> str:
    text = digest(f"{checkpoint_id}{INTERRUPT}{index}")
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def infer_node(graph: Pregel[Any, Any, Any, Any], state: State, fresh: bool = False) -> str:
    """The node in whose name an update without `as_node` is made: the one that ran last.

    Raises InvalidUpdateError when several ran last.
    """
    if len(graph.nodes) == 1:
        return next(iter(graph.nodes))
    seen = {name: versions for name, versions in state.seen.items() if name in graph.nodes}
    last = sorted((max(versions.values()), name) for name, versions in seen.items() if versions)
    if not last and isinstance(graph.input_channels, str) and graph.input_channels in graph.nodes:
        return graph.input_channels
    if last and (len(last) == 1 or last[-1][0] != last[-2][0]):
        return last[-1][1]
    names = ", ".join(name for version, name in last if version == last[-1][0])
    raise InvalidUpdateError(
        f"The update is ambiguous: {names + ' wrote last' if names else 'no node has run'}. "
        "Say in whose name it is made, with as_node=."
    )


def _copy(site: Site, thread: _Thread, found: CheckpointTuple | None, item: StateUpdate) -> Routine[RunnableConfig]:
    """Clone a checkpoint beside itself; a list of updates as values is then applied to the clone."""
    if found is None:
        raise InvalidUpdateError("as_node='__copy__' clones a checkpoint, and this thread has none.")
    parent = found.parent_config
    parent_id = None if parent is None else parent[CONF][CHECKPOINT_ID]
    thread.saved_versions = {}
    config = yield from _put(site, thread, parent_id, "fork", thread.step + 1, found)
    if not isinstance(item.values, list):
        return config
    return (yield from _update_once(site._replace(config=config), [StateUpdate(*pair) for pair in item.values]))


def _save(site: Site, thread: _Thread, found: CheckpointTuple | None, source: Any) -> Routine[RunnableConfig]:
    parent_id = None if found is None else found.checkpoint["id"]
    step = thread.step + 1 if found is not None else (0 if source != "input" else -1)
    return (yield from _put(site, thread, parent_id, source, step, found))


def _put(
    site: Site, thread: _Thread, parent_id: str | None, source: Any, step: int, found: CheckpointTuple | None
) -> Routine[RunnableConfig]:

    state = thread.state
    state.updated = None  # whoever was woken before the edit still is: let the next plan look at all nodes
    id = new_id()
    changed = {k: v for k, v in state.versions.items() if thread.saved_versions.get(k) != v}
    program = state.program
    if found is None:
        thread.whole |= state.versions.keys() & set(program.deltas)
    elif source == "fork" or CHECKPOINT_ID in _key(site.config)[CONF]:
        thread.whole |= set(program.deltas)  # beside the old one another child's may stand
    before: Mapping[str, Any] = found.metadata if found is not None else {}
    counters, whole = counted(program, before.get(COUNTERS), changed, thread.whole)
    changed.update(versioned(state, whole))
    shelf = _shelf(site)
    maps = state.maps() if shelf.frozen else None
    checkpoint = state.to_checkpoint(id, time.time(), changed, whole, maps, thread.logs)
    parents = dict(before.get("parents") or {})
    metadata: dict[str, Any] = {"source": source, "step": step, "parents": parents}
    if counters:
        metadata[COUNTERS] = counters
    yield SaveCheckpoint(shelf, parent_id, checkpoint, cast("CheckpointMetadata", metadata))
    base = cast("RunnableConfig", {CONF: {THREAD_ID: site.config[CONF][THREAD_ID], CHECKPOINT_NS: thread.ns}})
    return with_parents(checkpoint_config(base, id), metadata)


def _shelf(site: Site) -> Shelf:
    conf = {k: v for k, v in site.config[CONF].items() if not k.startswith(PRIVATE_PREFIX)}
    return shelf_of(site.saver, conf, site.config.get("metadata", {}))
