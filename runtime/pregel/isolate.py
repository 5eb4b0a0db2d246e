"""Copies of the containers in a value, so that code which changes its input in place changes nothing of the state.

Only the plain containers (list, dict, set, tuple around them) are copied, each level once; everything else is handed
on as it is: an object of the user's own is shared by all who read it.

Every task is given copies, so they are made cheaply: once for each value it is found out where its containers stand,
and what that says holds for all copies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from runtime._words import MISSING

_CONTAINERS = frozenset({list, dict, set, tuple})


def isolate(value: Any) -> Any:
    """The value, with every plain container in it copied."""
    return _found(value).copy() if type(value) in _CONTAINERS else value


class Values(dict[str, Any]):
    """The values of a state by name, of which copies are handed out; they stand in the order of `names`.

    One thread changes them, between supersteps, and `settle` ends that: then many may read.
    """

    __slots__ = ("_ahead", "_deep", "_flat", "_names", "_new", "_ordered", "settled")

    def __init__(self, names: Iterable[str]) -> None:
        self._names = names
        self._flat: dict[str, Any] = {}
        self._deep: dict[str, _Nested | _NestedTuple] = {}
        self._new: set[str] = set()
        self._ahead: dict[str, tuple[Any, Any]] = {}
        self._ordered = True
        self.settled = True

    def keep(self, name: str, value: Any) -> None:
        """Have this value under this name from now on."""
        if name not in self:
            self._ordered = self.settled = False
        self[name] = value
        if type(value) in _CONTAINERS:
            self._new.add(name)
            self.settled = False
        else:
            self._flat.pop(name, None)
            self._deep.pop(name, None)

    def drop(self, name: str) -> None:
        """Have no value under this name."""
        if name in self:
            del self[name]
            self._new.discard(name)
            self._flat.pop(name, None)
            self._deep.pop(name, None)

    def give(self, names: str | Sequence[str], whole: bool = False, but: Collection[str] = ()) -> Any:
        """One value (MISSING where there is none), or a dict of those that are there; containers are copies.

        `whole` says that these are all the names, in their order. Those in `but` are only held a place.
        """
        if not self.settled:
            self.settle()
        flat, deep = self._flat, self._deep
        if isinstance(names, str):
            container = flat[names] if names in flat else deep.get(names)
            return self.get(names, MISSING) if container is None else container.copy()
        found = self.copy() if whole else {name: self[name] for name in names if name in self}
        if whole and not but:
            found.update({name: container.copy() for name, container in flat.items()})
        elif flat:
            for name, container in flat.items():
                if name in found and name not in but:
                    found[name] = container.copy()
        for name, nested in deep.items():
            if name in found and name not in but:
                found[name] = nested.copy()
        return found

    def give_ahead(self, name: str, value: Any) -> Any:
        """A copy of a value that may be kept under this name later."""
        if type(value) not in _CONTAINERS:
            return value
        found = _found(value, self._deep.get(name))
        self._ahead[name] = (value, found)
        return found.copy()

    def settle(self) -> None:
        """See where containers stand in the values that are new, and put them in order."""
        if not self._ordered:
            found = {name: self[name] for name in self._names if name in self}
            self.clear()
            self.update(found)
            self._ordered = True
        for name in self._new:
            value = self[name]
            foreseen = self._ahead.pop(name, None)
            before = self._deep.pop(name, None)
            found = foreseen[1] if foreseen is not None and foreseen[0] is value else _found(value, before)
            if found is value:
                self._flat[name] = value
            else:
                self._flat.pop(name, None)
                self._deep[name] = found
        self._new.clear()
        self.settled = True

    def twin(self) -> Values:
        """The same values, to be changed apart from these."""
        twin = Values(self._names)
        twin.update(self)
        twin._flat, twin._deep, twin._new = self._flat.copy(), self._deep.copy(), self._new.copy()
        twin._ordered, twin.settled = self._ordered, self.settled
        return twin


def _found(value: Any, before: Any = None) -> Any:
    """What has a method `copy` that copies the container and all in it; `before` tells of the value it follows."""
    kind = type(value)
    if kind is set:
        return value
    if _CONTAINERS.isdisjoint(map(type, value.values() if kind is dict else value)):
        return _Fixed(value) if kind is tuple else value
    return _NestedTuple(value) if kind is tuple else _Nested(value, before if type(before) is _Nested else None)


class _Fixed:
    """A tuple in which nothing can be changed: its own copy."""

    __slots__ = ("value",)

    def __init__(self, value: tuple[Any, ...]) -> None:
        self.value = value

    def copy(self) -> tuple[Any, ...]:
        return self.value


class _NestedTuple:
    """A tuple around containers."""

    __slots__ = ("items",)

    def __init__(self, value: tuple[Any, ...]) -> None:
        self.items = [_found(item) if type(item) in _CONTAINERS else _Fixed(item) for item in value]

    def copy(self) -> tuple[Any, ...]:
        return tuple([item.copy() for item in self.items])


class _Nested:
    """A list or dict around containers: those that hold no others, and those that do."""

    __slots__ = ("deep", "flat", "value")

    def __init__(self, value: Any, before: _Nested | None) -> None:
        self.value = value
        self.flat: dict[Any, Any] = {}
        self.deep: dict[Any, Any] = {}
        known = before.flat if before is not None else {}
        items: Iterable[tuple[Any, Any]] = value.items() if type(value) is dict else enumerate(value)
        for at, item in items:
            if type(item) in _CONTAINERS:
                if known.get(at, MISSING) is item:
                    self.flat[at] = item
                    continue
                found = _found(item)
                if found is item:
                    self.flat[at] = item
                elif type(found) is not _Fixed:
                    self.deep[at] = found

    def copy(self) -> Any:
        flat = self.flat
        if len(flat) == len(self.value) and type(self.value) is list:
            return [item.copy() for item in flat.values()]
        new = self.value.copy()
        if type(new) is dict:
            new.update({at: item.copy() for at, item in flat.items()})
        else:
            for at, item in flat.items():
                new[at] = item.copy()
        for at, nested in self.deep.items():
            new[at] = nested.copy()
        return new
