"""Whether a node changed what it was given, in place: seen by whoever records, when the tasks of a superstep end.

What is changed so never passes reducer and barrier. In a list, dict or set of our engine's state it is lost, for every
task is given copies of those. An object is handed out itself, as LangGraph hands out lists, too: there siblings and
later supersteps see the change. Nothing of that shows in the events, so the recorder compares the values that tasks
were given, once all tasks of the superstep have ended, with the copies that it made before.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterator, Mapping
from operator import is_
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from runtime.events import Event, RunFinished, SuperstepPlanned, TaskFinished
from workbench.freeze import ATOMS, Freezer

_FLAT: Final = (list, set, deque)
_CONTAINERS: Final = frozenset({list, dict, set, deque, tuple})


class InputChanged(NamedTuple):
    """A value was changed in place while the tasks ran that were given it: by one of `nodes`, or by all.

    It stands among a recording's events, behind those of the tasks. `before` and `after` are copies.
    """

    run: str
    ns: str
    step: int
    at: float
    nodes: tuple[str, ...]
    channel: str
    before: Any
    after: Any


class Given(NamedTuple):
    """A value that some tasks were given: the live one, its copy, and the parts that it had, themselves."""

    channel: str
    live: Any
    frozen: Any
    parts: tuple[Any, ...]
    nodes: list[str]


class Inputs:
    """What the tasks that still run were given, and those of the superstep before.

    Whether a container has other parts than before costs next to nothing to see, so that is looked at when the last
    task has ended. Objects in it are compared only where the freezer, which meets them again in the next superstep or
    in the output, has noticed that some object changed.
    """

    def __init__(self, freeze: Freezer) -> None:
        self._freeze = freeze
        self._running: dict[tuple[str, str], set[str]] = {}
        self._given: dict[tuple[str, str], dict[tuple[str, int], Given]] = {}
        self._ended: dict[tuple[str, str], tuple[TaskFinished, list[Given]]] = {}
        self._told: dict[int, Any] = {}

    def see(self, event: Event, kept: Any) -> Iterator[InputChanged]:
        """Take an event with its kept copy; give what was changed by then."""
        place = (event.run, event.ns)
        if self._freeze.noticed:
            self._freeze.noticed = False
            for end, given in list(self._ended.values()):
                yield from self._changed(end, given, deep=True)
        if isinstance(event, SuperstepPlanned):
            for task, copied in zip(event.tasks, kept.tasks, strict=True):
                if task.kind == "pull" and not task.hidden:
                    self._running.setdefault(place, set()).add(task.task_id)
                    self._take(place, task.node, task.input, copied.input)
        elif isinstance(event, TaskFinished) and place in self._running:
            running = self._running[place]
            running.discard(event.task_id)
            if not running:
                del self._running[place]
                ended = list(self._given.pop(place, {}).values())
                self._ended[place] = event, ended
                yield from self._changed(event, ended)
        elif isinstance(event, RunFinished):
            for kept_of in (self._running, self._given, self._ended):
                kept_of.pop(place, None)

    def _take(self, place: tuple[str, str], node: str, input: Any, copied: Any) -> None:
        """Remember the parts of an input; its outermost object is the task's own, and may be changed."""
        mine, theirs = _parts(input), _parts(copied)
        known = self._given.setdefault(place, {})
        for channel, live in mine.items():
            if _can_be_compared(live) and channel in theirs:
                given = known.get((channel, id(live)))
                if given is None:
                    given = known[channel, id(live)] = Given(channel, live, theirs[channel], _inside(live), [])
                given.nodes.append(node)

    def _changed(self, event: TaskFinished, ended: list[Given], deep: bool = False) -> Iterator[InputChanged]:
        for given in ended:
            if id(given.live) in self._told or not (deep or _may_differ(given)):
                continue
            if differs(given.live, given.frozen):
                self._told[id(given.live)] = given.live  # a graph around this one was given the same object
                nodes = tuple(dict.fromkeys(given.nodes))
                after = self._freeze(given.live)
                yield InputChanged(*event[:4], nodes, given.channel, given.frozen, after)


def _inside(value: Any) -> tuple[Any, ...]:
    return (*value, *value.values()) if isinstance(value, dict) else tuple(value) if isinstance(value, _FLAT) else ()


def _may_differ(given: Given) -> bool:
    """True where a container has other parts, or holds containers, and for an object, of which nothing is known."""
    parts = _inside(given.live)
    if not isinstance(given.live, (*_FLAT, dict)) or len(parts) != len(given.parts):
        return True
    return not all(map(is_, parts, given.parts)) or not _CONTAINERS.isdisjoint(map(type, parts))


def _parts(input: Any) -> Mapping[str, Any]:
    """The values in an input, by channel; of one that is a bare value, that value itself."""
    if isinstance(input, Mapping):
        return {str(name): value for name, value in input.items()}
    if isinstance(input, BaseModel):
        return dict(input.__dict__)
    if dataclasses.is_dataclass(input) and not isinstance(input, type):
        return {field.name: getattr(input, field.name, None) for field in dataclasses.fields(input)}
    return {"__root__": input}


def _can_be_compared(value: Any) -> bool:
    """True for the kinds that people change in place, and whose parts can be looked at without copying them."""
    return isinstance(value, list | dict | set | deque | BaseModel) or dataclasses.is_dataclass(value)


def differs(live: Any, frozen: Any) -> bool:
    """True where a value is surely not what its copy says; what cannot be compared is taken as equal."""
    try:
        return _differs(live, frozen)
    except Exception:  # a cycle, or a comparison that raises
        return False


def _differs(live: Any, frozen: Any) -> bool:
    kind = type(live)
    if live is frozen or kind is not type(frozen):
        return False
    if kind in ATOMS or kind in (set, frozenset, bytearray):
        return bool(live != frozen)
    if kind in (list, tuple, deque):
        return len(live) != len(frozen) or any(map(_differs, live, frozen))
    if isinstance(live, dict):
        return live.keys() != frozen.keys() or any(_differs(live[key], frozen[key]) for key in live)
    if isinstance(live, BaseModel):
        return _differs(live.__dict__, frozen.__dict__)
    if dataclasses.is_dataclass(live):
        return any(_differs(getattr(live, f.name), getattr(frozen, f.name)) for f in dataclasses.fields(live))
    return False
