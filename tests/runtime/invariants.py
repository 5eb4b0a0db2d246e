"""What must hold at every superstep, asserted while a test runs. `watched()` puts the checks around the pure functions.

`check` (in runtime.pregel.state) asserts what a state alone shows. Here stands what needs the state before, the plan,
or the writes:

1. `update` changes nothing: neither the state nor what a node holds, that is, what it was given and what it gave.
2. No write of superstep N is read in N: from the plan to the barrier the state's values stay, and a router sees them
   with its own task's writes on top.
3. The order in which the tasks finished does not matter: every order gives the same step, or the same error.
4. Versions only grow, and a superstep has one of its own.
5. A task's id is a function of its checkpoint, namespace, superstep, node and place, and of nothing else; no two tasks
   share one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from langchain_core.messages import BaseMessage

from runtime.errors import InvalidUpdateError
from runtime.pregel import loop, operations, start
from runtime.pregel.plan import Planner
from runtime.pregel.state import State, check
from runtime.pregel.task import Task

_MADE_UP = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}| at 0x[0-9a-f]+")
_IDS: dict[str, tuple[Any, ...]] = {}
_PLACES: dict[tuple[Any, ...], str] = {}


@contextmanager
def watched() -> Iterator[None]:
    """Assert the invariants for every superstep that is planned or applied in here."""
    watch = _Watch()
    with (
        patch.object(loop, "update", watch.updating(loop.update)),
        patch.object(start, "update", watch.updating(start.update)),
        patch.object(operations, "update", watch.updating(operations.update)),
        patch.object(State, "advance", watch.advancing(State.advance)),
        patch.object(Planner, "outlook", watch.looking(Planner.outlook)),
        patch.object(Planner, "tasks", watch.planning(Planner.tasks)),
        patch.object(Task, "read_fresh", watch.reading(Task.read_fresh)),
    ):
        yield


class _Watch:
    """The checks; `planned` holds each planned task with the values that the state had then."""

    def __init__(self) -> None:
        self.planned: dict[int, tuple[Task, str]] = {}

    def planning(self, tasks: Callable[[Planner], list[Task]]) -> Callable[[Planner], list[Task]]:
        def checked(planner: Planner) -> list[Task]:
            found = tasks(planner)
            values = shown(dict(planner.state.values))
            self.planned.update({id(task): (task, values) for task in found})
            return found

        return checked

    def looking(self, outlook: Callable[[Planner], list[Task]]) -> Callable[[Planner], list[Task]]:
        def checked(planner: Planner) -> list[Task]:
            found = outlook(planner)
            for task in found:
                place = (planner.state.checkpoint_id, planner.run.ns, planner.step, task.node, task.path, planner.old)
                assert _PLACES.setdefault((*place, *task.triggers), task.id) == task.id, f"5: {place} has two ids"
                assert _IDS.setdefault(task.id, place) == place, f"5: {place} has the id of {_IDS[task.id]}"
            return found

        return checked

    def reading(self, read_fresh: Callable[..., Any]) -> Callable[..., Any]:
        def checked(task: Task, state: State, names: str | Sequence[str]) -> Any:
            found = read_fresh(task, state, names)
            for name in (names,) if isinstance(names, str) else names:
                if name in state.program.channels:
                    seen = found if isinstance(names, str) else found.get(name)
                    expected = _with_own(task, state, name)
                    assert expected is None or shown(seen) == expected, f"2: a router of {task} read {seen!r}"
            return found

        return checked

    def updating(self, update: Callable[..., Any]) -> Callable[..., Any]:
        def checked(state: State, tasks: Sequence[Task], next_version: Any, number: int) -> Any:
            for task in tasks:
                if (before := self.planned.pop(id(task), None)) is not None:
                    assert before[1] == shown(dict(state.values)), f"2: the state changed while {task} ran"
            version = next_version(state.highest, None)
            before_all = (_print(state), *map(_held, tasks))
            step = error = None
            try:
                step = update(state, tasks, lambda *_: version, number)
            except InvalidUpdateError as failure:
                error = failure
            assert before_all == (_print(state), *map(_held, tasks)), "1: update changed what is not its own"
            assert step is None or state.highest is None or version > state.highest, f"4: {version!r} was used before"
            assert step is None or set(step.versions.values()) <= {version}, "4: a superstep with several versions"
            for order in (tasks[::-1], [*tasks[1:], *tasks[:1]]) if len(tasks) > 1 else ():
                _assert_same(step, update, state, order, version, number)
            if error is not None:
                raise error
            return step

        return checked

    def advancing(self, advance: Callable[..., None]) -> Callable[..., None]:
        def checked(state: State, step: Any) -> None:
            before = dict(state.versions)
            advance(state, step)
            assert all(state.versions[name] >= version for name, version in before.items()), "4: a version fell"
            check(state)

        return checked


def _assert_same(step: Any, update: Any, state: State, tasks: Sequence[Task], version: Any, number: int) -> None:
    try:
        again = update(state, tasks, lambda *_: version, number)
    except InvalidUpdateError:
        again = None
    assert (step is None) == (again is None), "3: one order fails and another does not"
    if step is not None:
        assert _print_step(step) == _print_step(again), "3: another order makes another state"


def _with_own(task: Task, state: State, name: str) -> str | None:
    """What a router should see of a channel; None where there is no value, or the writes do not fit."""
    channel = state.channel(name).copy()
    mine = [value for written, value in task.writes or () if written == name]
    try:
        if mine:
            channel.update(mine)
        return shown(channel.get()) if channel.is_available() else None
    except Exception:
        return None


def _held(task: Task) -> str:
    """What a node was given and what it gave."""
    return shown([task.input, list(task.writes or ())])


def _print(state: State) -> str:
    channels = {name: (type(c).__name__, shown(c.checkpoint()), c.is_available()) for name, c in state.channels.items()}
    return shown([channels, dict(state.values), state.versions, state.seen, state.highest, state.updated, state.alive])


def _print_step(step: Any) -> str:
    channels = {name: (shown(c.checkpoint()), c.is_available()) for name, c in step.channels.items()}
    return shown([step.version, channels, step.versions, step.seen, step.updated])


def shown(value: Any) -> str:
    """A value as text, dicts and sets in order, and without what is made up anew each time.

    A message's id is such a thing: a reducer of messages gives one to those that have none, the caller's own included.
    """
    return _MADE_UP.sub("#", _shown(value))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_shown(key)}: {_shown(item)}" for key, item in value.items())) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(_shown, value))) + "}"
    if type(value) in (list, tuple):
        return type(value).__name__ + "(" + ", ".join(map(_shown, value)) + ")"
    return repr((type(value), value.content) if isinstance(value, BaseMessage) else value)
