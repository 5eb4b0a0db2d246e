"""The plan of a superstep: which tasks run, and what each is given.

A node runs because a channel that it listens to has a newer version than the node has seen, and for no other reason.
First come the queued Sends, in the order of the queue; then the woken nodes. Within a run only the listeners of what
the last superstep changed are looked at, by name; a thread's state seen from outside is planned over all nodes, in
the order in which they were added.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import MISSING, PULL, PUSH, TASKS
from runtime.errors import NodeError
from runtime.events import Trigger
from runtime.pregel.isolate import isolate
from runtime.pregel.state import State
from runtime.pregel.task import Task, child_ns, id_bytes, task_id, task_ns, task_path_str
from runtime.types import Send

if TYPE_CHECKING:
    from runtime.pregel.node import PregelNode

logger = logging.getLogger(__name__)


class Place:
    """A namespace of a thread, for who plans without running."""

    __slots__ = ("ns",)

    def __init__(self, ns: str) -> None:
        self.ns = ns


class Planner:
    """Makes the tasks of one superstep: the run, its state, and the superstep's number."""

    __slots__ = ("old", "resumes", "run", "seed", "state", "step", "stop")

    def __init__(self, run: Any, state: State, step: int, stop: int, resumes: Mapping[str, list[Any]]) -> None:
        self.run = run
        self.state = state
        self.step = step
        self.stop = stop
        self.seed = id_bytes(state.checkpoint_id)
        self.old = state.old
        self.resumes = resumes

    def tasks(self) -> list[Task]:
        """The tasks of this superstep, each with its input and ready to run."""
        if not self.state.values.settled:
            self.state.values.settle()
        found = self.outlook()
        for task in found:
            self._ready(task)
        return found

    def outlook(self) -> list[Task]:
        """The same tasks without their inputs: what would run, for who only looks."""
        found = []
        for index, send in enumerate(self.state.pending_sends()):
            task = self.push(index, send)
            if task is not None:
                found.append(task)
        for name in self._candidates():
            task = self.pull(name)
            if task is not None:
                found.append(task)
        return found

    def _candidates(self) -> Iterable[str]:
        state, program = self.state, self.state.program
        if not state.versions:
            return ()
        if not state.updated:
            return program.nodes
        listeners = program.listeners
        names: set[str] = set()
        for channel in state.updated:
            if channel in listeners:
                names.update(listeners[channel])
        return sorted(names) if len(names) > 1 else names

    def pull(self, name: str) -> Task | None:
        """The task of a node that a channel has woken, or None when none has."""
        state = self.state
        node = state.program.nodes[name]
        if isinstance(node.channels, str) and not state.available(node.channels):
            return None
        if not _is_woken(state, node, state.seen.get(name)):
            return None
        ns = child_ns(self.run.ns, name)
        id = task_id(self.seed, f"{ns}{self.step}{state.program.pull_suffix(name)}", self.old)
        return Task(id, name, (PULL, name), task_ns(ns, id), MISSING, node, node.all_triggers)

    def handler(self, failed: Task, error: BaseException) -> Task | None:
        """The task of a failed task's error handler, or None where it has none; handlers have none themselves."""
        name = failed.proc.handler
        node = self.state.program.nodes.get(name) if name is not None else None
        if name is None or node is None or failed.proc.handles_errors or failed.called:
            return None
        ns = child_ns(self.run.ns, name)
        id = task_id(self.seed, f"{ns}{self.step}{name}{PUSH}node_error_handler{failed.id}", self.old)
        path = (*failed.path[:3], "node_error_handler", False)
        task = Task(id, name, path, task_ns(ns, id), failed.input, node, ())
        task.node_error = NodeError(failed.node, error)
        self._ready(task)
        return task

    def _ready(self, task: Task) -> None:
        task.place(self.run, self.state, self.step, self.stop, list(self.resumes.get(task.id, ())))
        if task.input is not MISSING:
            return
        try:
            task.input = self._input(task.proc, task)
        except Exception as error:
            error.add_note(f"This happened while the input of node '{task.node}' was made, at superstep {self.step}.")
            error.add_note(f"The task's path is {task_path_str(task.path)}.")
            raise

    def push(self, index: int, send: Any) -> Task | None:
        """The task of one queued Send, or None (and a warning) when it cannot be run."""
        if not isinstance(send, Send) and hasattr(send, "node") and hasattr(send, "arg"):
            send = Send(send.node, send.arg)  # a saver with another serializer gives back a Send of another make
        if not isinstance(send, Send):
            logger.warning("Superstep %s: %r in the queue of Sends is no Send. It is ignored.", self.step, send)
            return None
        node = self.state.program.nodes.get(send.node)
        if node is None:
            logger.warning("Superstep %s: a Send goes to %r, which is no node. It is ignored.", self.step, send.node)
            return None
        ns = child_ns(self.run.ns, send.node)
        id = task_id(self.seed, f"{ns}{self.step}{send.node}{PUSH}{index}", self.old)
        return Task(
            id, send.node, (PUSH, index, False), task_ns(ns, id), isolate(send.arg), node, (PUSH,), send.timeout
        )

    def _input(self, node: PregelNode, task: Task) -> Any:
        state, names = self.state, node.channels
        value = state.read(names) if isinstance(names, str) else task.read_state(state, names)
        if node.branches and type(value) is dict:
            task.view, value = value, value.copy()
        if node.mapper is not None and value is not MISSING:
            return node.mapper(value)
        return value


def _is_woken(state: State, node: PregelNode, seen: Mapping[str, Any] | None) -> bool:
    """True when a channel that the node listens to holds a value and is newer than the node has seen."""
    for trigger in node.triggers:
        version = state.versions.get(trigger)
        if version is None or not state.available(trigger):
            continue
        before = seen.get(trigger) if seen is not None else None
        if before is None or version > before:
            return True
    return False


def fired(state: State, task: Task) -> tuple[Trigger, ...]:
    """The channels that woke a task of the plan on this state, and what its node had seen of them.

    None woke a task that another one called, or that stands in for a failed one.
    """
    return tuple(Trigger(*trigger) for trigger in woken_by(state, task))


def woken_by(state: State, task: Task) -> list[tuple[str, Any, Any]]:
    """What `fired` gives, as plain tuples."""
    versions = state.versions
    if task.path[0] != PULL:
        return [(TASKS, versions.get(TASKS), None)] if len(task.path) == 3 else []
    seen = state.seen.get(task.node, {})
    found = [(name, versions.get(name), seen.get(name)) for name in task.proc.triggers if state.available(name)]
    return [one for one in found if one[1] is not None and (one[2] is None or one[1] > one[2])]


def versions_of(state: State, names: str | Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """The channels of an input that hold a value, with their versions."""
    wanted = (names,) if isinstance(names, str) else names
    versions, values = state.versions, state.values
    return tuple([(name, versions.get(name)) for name in wanted if name in values])
