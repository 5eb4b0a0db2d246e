"""A thread that ran long ago, told as events from its checkpoints alone, whichever engine wrote them.

A checkpoint tells the state, and what each node has seen; what its tasks wrote is kept beside it by their ids. So the
supersteps, their triggers, writes and channels are known, and questions with their answers; times of tasks, attempts
and what streamed are not. A run begins where there is an input, or a checkpoint whose parent is not the one before it,
and again where a question was answered.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from runtime.checkpoint.base.calls import by_task
from runtime.events import Event, SuperstepPlanned
from runtime.pregel.task import without_ids
from workbench import text, topology
from workbench.chronicle import NULL, Chronicle
from workbench.identity import Place, Superstep, called, pulled, sent
from workbench.ledger import TASKS

TIMES: Final = (
    "Checkpoints do not tell when tasks began, how long they took, how often they were tried, or what streamed."
)
UNSEEN: Final = "Nor do they tell what a task did to its input, or in which order it asked: WB201 and WB203 are silent."
GRAPHLESS: Final = (
    "Without the graph it is not known what kinds its channels are, what nodes read, and which edges it has."
)


class Past(NamedTuple):
    """The events of a thread, and what they cannot tell."""

    events: list[Event]
    missing: list[str]


def place_of(config: Any) -> dict[str, Any]:
    """The config that lists a whole thread, of a thread's name or of any config that names it.

    Raises ValueError for a config that names none.
    """
    found = config.get("configurable", {}).get("thread_id") if isinstance(config, Mapping) else config
    if found is None:
        raise ValueError('The config names no thread. Give its name, or {"configurable": {"thread_id": "…"}}.')
    return {"configurable": {"thread_id": found}}


def saver_of(thing: Any) -> tuple[Any, Any]:
    """A graph, None for a bare saver, and the saver. TypeError for what is neither."""
    if callable(getattr(thing, "get_tuple", None)):
        return None, thing
    saver = getattr(thing, "checkpointer", None)
    if callable(getattr(saver, "get_tuple", None)):
        return thing, saver
    raise TypeError(
        f"A {type(thing).__name__} keeps no threads. Give a saver, or a graph that was compiled with a checkpointer."
    )


def told(graph: Any, thread: Any, tuples: Iterable[Any]) -> Past:
    """The thread's checkpoints, in whatever order, as events. LookupError where there are none."""
    by_ns: dict[str, list[Any]] = {}
    for one in tuples:
        by_ns.setdefault(one.config["configurable"].get("checkpoint_ns") or "", []).append(one)
    if not by_ns:
        raise LookupError(f"There is no thread {str(thread)!r} in this saver; %threads lists those there are.")
    nameless = 0
    runs: dict[str, list[list[Event]]] = {}
    for ns, kept in by_ns.items():
        teller = _Teller(_graph_at(graph, ns), str(thread), ns, sorted(kept, key=lambda one: str(one.checkpoint["id"])))
        runs[ns] = list(teller.runs())
        nameless += teller.nameless
    missing = [TIMES, UNSEEN, *([GRAPHLESS] if graph is None else [])]
    if nameless:
        missing.append(f"What {text.count(nameless, 'task')} wrote is left out: which node it was cannot be told.")
    return Past(list(_woven(runs)), missing)


def _graph_at(graph: Any, ns: str) -> Any:
    """The graph that ran in a namespace, where it can be found in the nodes of the one at the top."""
    for name in without_ids(ns).split("|") if ns else ():
        graph = topology.subgraphs(graph).get(name) if graph is not None else None
    return graph


def _woven(runs: Mapping[str, Sequence[Sequence[Event]]]) -> Iterator[Event]:
    """The events of each run, and after it those of the graphs that ran inside it."""
    inner = {ns: events for ns, events in runs.items() if ns}
    for run in runs.get("", ()):
        yield from run
        ids = {task.task_id for event in run if isinstance(event, SuperstepPlanned) for task in event.tasks}
        for ns in [ns for ns in inner if ns.partition("|")[0].partition(":")[2] in ids]:
            yield from (event for nested in inner.pop(ns) for event in nested)
    yield from (event for left in inner.values() for nested in left for event in nested)


class _Teller:
    """The runs of one namespace, from its checkpoints in the order in which they were made."""

    def __init__(self, graph: Any, thread: str, ns: str, kept: Sequence[Any]) -> None:
        self.graph, self.thread, self.ns, self.kept = graph, thread, ns, kept
        self.known = {one.checkpoint["id"]: one for one in kept}
        self.parents = {_parent(one) for one in kept}
        self.nameless = 0
        self._events: list[Event] = []

    def runs(self) -> Iterator[list[Event]]:
        """The events of one run after the other."""
        chronicle: Chronicle | None = None
        last: Any = None
        for one in self.kept:
            parent = self.known.get(_parent(one) or "")
            source = (one.metadata or {}).get("source", "loop")
            goes_on = last is not None and parent is last and source == "loop"
            if chronicle is not None and goes_on and _asked(last):
                yield self._over(chronicle, last)  # the answer came with another run
                chronicle = self._begin(last, "resume", _time(last))
            elif chronicle is None or not goes_on:
                if chronicle is not None:
                    yield self._over(chronicle, last)
                chronicle = self._begin(parent, "input" if source == "input" else "replay", _time(one), one)
            if parent is not None and source == "loop":
                self._write(chronicle, parent, one, _writes(parent))
            chronicle.saved(one.checkpoint, one.metadata or {}, _parent(one), _time(one))
            last = one
        if chronicle is not None:
            yield self._over(chronicle, last)

    def _begin(self, found: Any, kind: str, at: float, first: Any = None) -> Chronicle:
        self._events = []
        chronicle = Chronicle(self._events.append, self.graph, str(uuid.uuid4()), freeze=_as_it_is, streams=False)
        named = getattr(self.graph, "input_channels", "__start__")
        held = first.checkpoint["channel_values"] if first is not None else {}
        given = held.get(named) if isinstance(named, str) else {name: held[name] for name in named if name in held}
        found = None if found is None else found._replace(pending_writes=None)
        input = given if kind == "input" else None
        chronicle.began(input, found, kind=kind, thread=self.thread, ns=self.ns, at=at)
        return chronicle

    def _over(self, chronicle: Chronicle, last: Any) -> list[Event]:
        """End the run at this checkpoint, with what its tasks have left beside it."""
        writes = _writes(last)
        left = {id: _unanswered(mine) for id, mine in writes.items()}
        if last.checkpoint["id"] in self.parents:  # what its tasks wrote is told with what follows, but for questions
            left = {id: mine for id, mine in left.items() if _asks(mine)}
        self._write(chronicle, last, None, left)
        error = next((value for mine in left.values() for name, value in mine if name == "__error__"), None)
        chronicle.over("done" if error is None else "failed", None if error is None else _error(error), _time(last))
        return self._events

    def _write(self, chronicle: Chronicle, at: Any, after: Any, writes: Mapping[str, Sequence[Any]]) -> None:
        named = self._names(at, after, writes)
        for id, mine in writes.items():
            place = named.get(id)
            if place is None:
                self.nameless += 1
                continue
            kept = [(name, _error(value) if name == "__error__" else value) for name, value in mine]
            chronicle.placed(at.checkpoint["id"], place)
            chronicle.wrote(at.checkpoint["id"], id, kept, place.place, None)

    def _names(self, at: Any, after: Any, writes: Mapping[str, Sequence[Any]]) -> dict[str, Place]:
        """The tasks of these ids: those that a channel woke or a Send ordered, then those that they called."""
        checkpoint = at.checkpoint
        step = Superstep(
            checkpoint["id"], self.ns, (at.metadata or {}).get("step", -2) + 1, checkpoint.get("v", 1) <= 1
        )
        sends = [one for one in checkpoint["channel_values"].get(TASKS) or () if hasattr(one, "node")]
        found = {one.id: one for one in (*self._pulled(step, at, after), *sent(step, sends)) if one.id in writes}
        names = [*(after.checkpoint.get("versions_seen") or {} if after is not None else ())]
        for id in writes:
            if id not in found:
                callers = list(found.values())
                found.update((one.id, one) for name in names for one in called(step, name, callers, id))
        nodes = list(getattr(self.graph, "nodes", None) or names)
        failed = [id for id, mine in writes.items() if any(name == "__error__" for name, _ in mine)]
        for id in writes:
            if id not in found:
                found.update(
                    (id, Place(id, node, f"{found[one].place}, node_error_handler, {0:010d}"))
                    for one in failed
                    if one in found
                    for node in nodes
                    if step.handling(node, one) == id
                )
        return found

    def _pulled(self, step: Superstep, at: Any, after: Any) -> Iterator[Place]:
        """The tasks that channels may have woken: by the graph, else by the names of channels and what was seen."""
        nodes = getattr(self.graph, "nodes", None)
        if nodes is not None:
            yield from (pulled(step, name, getattr(node, "triggers", None) or ()) for name, node in nodes.items())
            return
        channels = {*at.checkpoint["channel_versions"], *(after.checkpoint["channel_versions"] if after else ())}
        wakers: dict[str, set[str]] = {"__start__": {"__start__"}}
        for name in channels:
            if name.startswith("branch:to:"):
                wakers.setdefault(name.removeprefix("branch:to:"), set()).add(name)
            elif name.startswith("join:"):
                wakers.setdefault(name.rpartition(":")[2], set()).add(name)
        for node, seen in (after.checkpoint.get("versions_seen") or {}).items() if after else ():
            yield pulled(step, node, seen)
            yield pulled(step, node, {f"branch:to:{node}", *seen})
        for node, names in wakers.items():
            yield pulled(step, node, names)
            yield pulled(step, node, {f"branch:to:{node}", *names})


def _as_it_is(value: Any) -> Any:
    return value  # a saver gives copies


def _parent(one: Any) -> str | None:
    found = (one.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    return None if found is None else str(found)


def _time(one: Any) -> float:
    return datetime.fromisoformat(str(one.checkpoint["ts"])).timestamp()


def _writes(one: Any) -> dict[str, list[tuple[str, Any]]]:
    """What the tasks on a checkpoint have written, by their ids."""
    return {id: writes for id, writes in by_task(one.pending_writes).items() if id != NULL}


def _asks(writes: Sequence[tuple[str, Any]]) -> bool:
    return any(name == "__interrupt__" for name, _ in writes)


def _asked(one: Any) -> bool:
    return any(map(_asks, _writes(one).values()))


def _unanswered(writes: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The writes of a task as they were when it asked."""
    return [pair for pair in writes if pair[0] == "__interrupt__"] if _asks(writes) else list(writes)


class StoredError(Exception):
    """An error of which a saver kept the text only. Its class is named like the error's."""


def _error(value: Any) -> BaseException:
    """An error as a saver gives it back: itself, or its text, such as "ValueError('no')"."""
    if isinstance(value, BaseException):
        return value
    name, _, rest = str(value).partition("(")
    if not name.isidentifier() or not rest.endswith(")"):
        return StoredError(str(value))
    kind = type(name, (StoredError,), {"__module__": __name__})
    made: BaseException = kind(rest[:-1].strip("\"'"))
    return made
