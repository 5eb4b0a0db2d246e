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

from workbench.freeze import ATOMS, Freezer

_FLAT: Final = (list, set, deque)
_CONTAINERS: Final = frozenset({list, dict, set, deque, tuple})

Place = tuple[str, str]
"""A run, and its namespace."""
Moment = tuple[str, str, int, float]
"""Run, namespace, superstep and time."""


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
    in the output, has noticed that one of them changed.
    """

    def __init__(self, freeze: Freezer) -> None:
        self._freeze = freeze
        self.running: dict[Place, set[str]] = {}
        self._given: dict[Place, dict[tuple[str, int], Given]] = {}
        self._ended: dict[Place, tuple[Moment, list[Given]]] = {}
        self._told: dict[int, Any] = {}

    def given(self, place: Place, task_id: str, node: str, input: Any, copied: Any) -> None:
        """A task of the plan that a channel woke was given this input, of which there is this copy."""
        self.running.setdefault(place, set()).add(task_id)
        self._take(place, node, input, copied)

    def ended(self, place: Place, task_id: str, step: int, at: float) -> Iterator[InputChanged]:
        """A task has ended; when it was the last, give what was changed by then."""
        running = self.running.get(place)
        if running is None:
            return
        running.discard(task_id)
        if not running:
            del self.running[place]
            given = list(self._given.pop(place, {}).values())
            self._ended[place] = (*place, step, at), given
            yield from self._changed((*place, step, at), given)

    def noticed(self) -> Iterator[InputChanged]:
        """Give what was changed in objects, once the freezer has met some that had."""
        met = frozenset(map(id, self._freeze.noticed))
        self._freeze.noticed.clear()
        for moment, ended in list(self._ended.values()):
            yield from self._changed(moment, [given for given in ended if _may_hold(given, met)], deep=True)

    def left(self, place: Place) -> None:
        """A run has ended."""
        for kept_of in (self.running, self._given, self._ended):
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

    def _changed(self, moment: Moment, ended: list[Given], deep: bool = False) -> Iterator[InputChanged]:
        for given in ended:
            if id(given.live) in self._told or not (deep or _may_differ(given)):
                continue
            if differs(given.live, given.frozen):
                self._told[id(given.live)] = given.live  # a graph around this one was given the same object
                nodes = tuple(dict.fromkeys(given.nodes))
                after = self._freeze(given.live)
                yield InputChanged(*moment, nodes, given.channel, given.frozen, after)


def _inside(value: Any) -> tuple[Any, ...]:
    return (*value, *value.values()) if isinstance(value, dict) else tuple(value) if isinstance(value, _FLAT) else ()


def _may_hold(given: Given, objects: frozenset[int]) -> bool:
    """True where one of these objects may be in what was given; what they are in without being met is a container."""
    if id(given.live) in objects or not isinstance(given.live, (*_FLAT, dict)):
        return True
    return not objects.isdisjoint(map(id, given.parts)) or not _CONTAINERS.isdisjoint(map(type, given.parts))


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
