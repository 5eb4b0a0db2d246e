"""Copies of the containers in a value, so that code which changes its input in place changes nothing of the state.

Only the plain containers (list, dict, set, tuple around them) are copied, each level once; everything else is handed
on as it is: an object of the user's own is shared by all who read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from runtime._words import MISSING

_CONTAINERS = frozenset({list, dict, set, tuple})


def isolate(value: Any) -> Any:
    """The value, with every plain container in it copied."""
    if type(value) not in _CONTAINERS:
        return value
    make = _maker(value)
    return value if make is None else make()


class Values(dict[str, Any]):
    """The values of a state, and for those with containers a way to hand out copies.

    What is to be copied is found out when a value is first asked for, and holds as long as the value stands.
    """

    __slots__ = ("_makers",)

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[], Any] | None] = {}

    def keep(self, name: str, value: Any) -> None:
        """Have this value under this name from now on."""
        self[name] = value
        if type(value) in _CONTAINERS:
            self._makers[name] = None
        else:
            self._makers.pop(name, None)

    def drop(self, name: str) -> None:
        """Have no value under this name."""
        self.pop(name, None)
        self._makers.pop(name, None)

    def give(self, names: str | Sequence[str]) -> Any:
        """One value (MISSING where there is none), or a dict of those that are there; containers are copies."""
        if isinstance(names, str):
            return self._copy(names) if names in self._makers else self.get(names, MISSING)
        found = {name: self[name] for name in names if name in self}
        for name in self._makers:
            if name in found:
                found[name] = self._copy(name)
        return found

    def _copy(self, name: str) -> Any:
        make = self._makers[name]
        if make is None:
            value = self[name]
            make = self._makers[name] = _maker(value) or (lambda: value)
        return make()

    def twin(self) -> Values:
        """The same values, to be changed apart from these."""
        twin = Values()
        twin.update(self)
        twin._makers = self._makers.copy()
        return twin


def _maker(value: Any) -> Callable[[], Any] | None:
    """What makes copies of a container; None for a tuple in which nothing can change."""
    kind = type(value)
    if kind is list:
        return _with(value, enumerate(value)) if _nested(value) else value.copy
    if kind is dict:
        return _with(value, value.items()) if _nested(value.values()) else value.copy
    if kind is set:
        copy: Callable[[], Any] = value.copy
        return copy
    makers = [_maker(item) if type(item) in _CONTAINERS else None for item in value] if _nested(value) else ()
    if not any(makers):
        return None
    return lambda: tuple([item if make is None else make() for item, make in zip(value, makers, strict=True)])


def _with(value: Any, items: Iterable[tuple[Any, Any]]) -> Callable[[], Any]:
    """Copies of a list or dict in which containers stand."""
    inner = [(at, make) for at, item in items if type(item) in _CONTAINERS and (make := _maker(item)) is not None]
    copy: Callable[[], Any] = value.copy

    def make_all() -> Any:
        new = copy()
        for at, make in inner:
            new[at] = make()
        return new

    return make_all


def _nested(items: Iterable[Any]) -> bool:
    return not _CONTAINERS.isdisjoint(map(type, items))
