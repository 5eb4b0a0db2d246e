"""Copies of values that no later change in place can reach, made once and as cheaply as their kind allows.

A node may change an object that it was given or has written. Whoever keeps values longer than a call keeps them
through a `Freezer`:

- an atom (a number, a text, a date, a class, a function …) is kept as it is;
- a container, message, model or dataclass is copied part by part, and keeps its class;
- an array or data frame is copied by its own `copy`;
- anything else is copied by `copy.deepcopy`; what will not be copied is kept as a `NotCopied`, which shows its text.

An object that comes again unchanged, such as the first thousand messages of a growing list, is not copied again: the
copies share it. So a recording of a thread takes the room of what was written, not of what the state holds. Whether an
object is unchanged is looked at once between two moments at which code of others ran.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter, is_
from pathlib import PurePath
from re import Pattern
from typing import Any, Final, NamedTuple
from uuid import UUID

from pydantic import BaseModel

from runtime.types import Interrupt, Send

__all__ = ("DROPPED", "Dropped", "Freezer", "NotCopied", "freeze")


class NotCopied(NamedTuple):
    """Stands for a value that could not be copied: its class, and how it showed itself at the time."""

    kind: str
    text: str

    def __repr__(self) -> str:
        return self.text


class Dropped:
    """The type of `DROPPED`, which stands for a value that was recorded and then let go. There is one."""

    __slots__ = ()
    _one: Dropped | None = None

    def __new__(cls) -> Dropped:
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __repr__(self) -> str:
        return "(not kept)"

    def __reduce__(self) -> str:
        return "DROPPED"


DROPPED: Final = Dropped()

Copier = Callable[["Freezer", Any], Any]

ATOMS: Final[frozenset[type[Any]]] = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, range, type(...), type(NotImplemented), Decimal, Fraction,
        UUID, date, datetime, time, timedelta, timezone, Pattern, type, types.FunctionType, types.BuiltinFunctionType,
        types.MethodType, types.ModuleType, NotCopied, Dropped,
    }
)  # fmt: skip
"""Kinds that nothing changes in place, or that a copy would not make safer."""

_LIMIT = 100_000
_ARRAYS = frozenset({"numpy", "pandas", "polars", "pyarrow", "torch"})


class Freezer:
    """Makes frozen copies, and gives the same copy again for an object that has come before and is unchanged.

    It holds on to the objects it has seen, so let it go when the recording ends. Not for several threads at once.
    """

    __slots__ = ("_lists", "_moment", "_seen", "failures", "noticed")

    def __init__(self) -> None:
        self._seen: dict[int, list[Any]] = {}
        self._lists: dict[int, _Known] = {}
        self._moment = 0
        self.failures = 0
        """How many values are kept as `NotCopied`."""
        self.noticed: list[Any] = []
        """The objects that came again and had changed in place, until somebody has taken them from here."""

    def __call__(self, value: Any) -> Any:
        """The frozen copy of any value. Never raises because of what it was given."""
        if type(value) in ATOMS:
            return value
        try:
            return self._part(value)
        except Exception:  # a cycle, or an object that does not let itself be copied
            return self._whole(value)

    @property
    def lost(self) -> str:
        """What the copies lack, as a sentence; empty when they lack nothing."""
        if not self.failures:
            return ""
        return f"{self.failures} value{'s' if self.failures > 1 else ''} could not be copied; only the text is kept."

    def others_ran(self) -> None:
        """Say that code of others has run: objects that were looked at before may have changed since."""
        self._moment += 1

    def _part(self, value: Any) -> Any:
        kind = type(value)
        if kind in ATOMS:
            return value
        found = self._seen.get(id(value))
        if found is not None and found[0] is value:
            if found[2] == self._moment:
                return found[1]
            if _unchanged(value, found[1]):
                found[2] = self._moment
                return found[1]
            self.noticed.append(value)
        copier = _COPIERS.get(kind)
        if copier is None:
            copier = _COPIERS[kind] = _copier_for(kind)
        if copier is _same:
            return value
        frozen = copier(self, value)
        if len(self._seen) >= _LIMIT:
            self._seen.clear()
        self._seen[id(value)] = [value, frozen, self._moment]
        return frozen

    def _objects(self, value: list[Any]) -> list[Any]:
        """The copy of a list that is not of atoms alone. Most such lists have come before, with fewer at the end."""
        first = id(value[0])
        known = self._lists.get(first)
        frozen: list[Any] | None = None
        if known is not None and len(known.live) <= len(value) and all(map(is_, known.live, value)):
            if known.moment != self._moment and _same_fields(known.live, known.frozen):
                known.moment = self._moment
            if known.moment == self._moment:
                if len(known.live) == len(value):
                    return known.frozen
                frozen = [*known.frozen, *map(self._part, value[len(known.live) :])]
        if frozen is None:
            frozen = [*map(self._part, value)]
        if len(self._lists) >= _LIMIT:
            self._lists.clear()
        self._lists[first] = _Known(value.copy(), frozen, self._moment)
        return frozen

    def _whole(self, value: Any) -> Any:
        try:
            return deepcopy(value)
        except Exception:
            self.failures += 1
            return NotCopied(type(value).__name__, _text(value))


class _Known:
    """The objects that a list held, their copies, and when they were last looked at."""

    __slots__ = ("frozen", "live", "moment")

    def __init__(self, live: list[Any], frozen: list[Any], moment: int) -> None:
        self.live = live
        self.frozen = frozen
        self.moment = moment


def _same_fields(live: list[Any], frozen: list[Any]) -> bool:
    """True for models that all have the fields of their copies; False also where that cannot be seen so fast."""
    kinds = [*map(type, live)]
    if kinds != [*map(type, frozen)] or any(_COPIERS.get(kind) is not _model for kind in set(kinds)):
        return False
    try:
        return bool([*map(_fields, live)] == [*map(_fields, frozen)])
    except Exception:  # something else than a model, or an array among the fields
        return False


_fields = attrgetter("__dict__")


def freeze(value: Any) -> Any:
    """A frozen copy of one value."""
    return Freezer()(value)


def _text(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def _unchanged(value: Any, frozen: Any) -> bool:
    """True when the copy still says what the object says. What cannot be compared counts as changed."""
    kind = type(value)
    if _COPIERS.get(kind) is _model:
        try:
            return bool(value.__dict__ == frozen.__dict__)
        except Exception:  # an array among the fields: it does not say yes or no
            return False
    if kind is list or kind is tuple:
        if len(value) != len(frozen):
            return False
        return (kind is list and _same_fields(value, frozen)) or all(map(_alike, value, frozen))
    if kind is dict:
        return (
            len(value) == len(frozen)
            and all(map(_alike, value, frozen))
            and all(map(_alike, value.values(), frozen.values()))
        )
    if kind is Send:
        return bool(value.node == frozen.node) and _alike(value.arg, frozen.arg)
    try:
        return kind in _COMPARED and bool(value == frozen)
    except Exception:  # an array inside
        return False


_COMPARED: Final = frozenset({set, frozenset, Interrupt})


def _alike(value: Any, frozen: Any) -> bool:
    """Like `==`, but a model is compared by its fields, and 1 is not True."""
    if value is frozen:
        return True
    kind = type(value)
    if kind is not type(frozen):
        return False
    if kind in ATOMS:
        return bool(value == frozen)
    return _unchanged(value, frozen)


# -- how each kind is copied ------------------------------------------------------------------------------------------


def _same(_: Freezer, value: Any) -> Any:
    return value


def _list(freezer: Freezer, value: list[Any]) -> list[Any]:
    return list(value) if ATOMS.issuperset(map(type, value)) else freezer._objects(value)


def _dict(freezer: Freezer, value: dict[Any, Any]) -> dict[Any, Any]:
    if ATOMS.issuperset(map(type, value.values())):
        return value.copy()
    return {key: item if type(item) in ATOMS else freezer._part(item) for key, item in value.items()}


def _tuple(freezer: Freezer, value: tuple[Any, ...]) -> tuple[Any, ...]:
    return value if ATOMS.issuperset(map(type, value)) else tuple([freezer._part(item) for item in value])


def _set(_: Freezer, value: set[Any]) -> set[Any]:
    return set(value)  # what can be hashed is not changed in place


def _deque(freezer: Freezer, value: deque[Any]) -> deque[Any]:
    return deque((freezer._part(item) for item in value), value.maxlen)


def _ordered(freezer: Freezer, value: OrderedDict[Any, Any]) -> OrderedDict[Any, Any]:
    return OrderedDict((key, freezer._part(item)) for key, item in value.items())


def _defaults(freezer: Freezer, value: defaultdict[Any, Any]) -> defaultdict[Any, Any]:
    return defaultdict(value.default_factory, _dict(freezer, value))


def _bytes(_: Freezer, value: bytearray) -> bytearray:
    return bytearray(value)


def _view(freezer: Freezer, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return types.MappingProxyType(_dict(freezer, dict(value)))


def _named(freezer: Freezer, value: Any) -> Any:
    return type(value)._make([freezer._part(item) for item in value])


def _send(freezer: Freezer, value: Send) -> Send:
    return Send(value.node, freezer._part(value.arg), timeout=value.timeout)


def _interrupt(freezer: Freezer, value: Interrupt) -> Interrupt:
    return Interrupt(freezer._part(value.value), value.id, freezer._part(value.response_schema))


def _model(freezer: Freezer, value: BaseModel) -> BaseModel:
    twin = value.__copy__()
    fields = twin.__dict__
    for name, item in fields.items():
        kind = type(item)
        if kind not in ATOMS:
            flat = kind is list or kind is dict
            atoms = flat and ATOMS.issuperset(map(type, item if kind is list else item.values()))
            fields[name] = item.copy() if atoms else freezer._part(item)
    for extra in (twin.__pydantic_extra__, twin.__pydantic_private__):
        for name, item in (extra or {}).items():
            extra[name] = freezer._part(item)  # type: ignore[index]  # an empty mapping has no items
    return twin


def _dataclass(freezer: Freezer, value: Any) -> Any:
    twin = copy(value)
    for field in dataclasses.fields(value):
        if hasattr(value, field.name):
            object.__setattr__(twin, field.name, freezer._part(getattr(value, field.name)))
    return twin


def _array(_: Freezer, value: Any) -> Any:
    if hasattr(value, "dtype") and value.dtype == object:
        return deepcopy(value)
    if hasattr(value, "clone"):
        return value.detach().clone() if hasattr(value, "detach") else value.clone()
    return value.copy() if hasattr(value, "copy") else deepcopy(value)


def _other(freezer: Freezer, value: Any) -> Any:
    return freezer._whole(value)


_COPIERS: dict[type[Any], Copier] = {
    list: _list,
    dict: _dict,
    tuple: _tuple,
    set: _set,
    frozenset: _same,
    deque: _deque,
    OrderedDict: _ordered,
    defaultdict: _defaults,
    bytearray: _bytes,
    types.MappingProxyType: _view,
    Send: _send,
    Interrupt: _interrupt,
}


def _copier_for(kind: type[Any]) -> Copier:
    if issubclass(kind, (enum.Enum, type, PurePath, BaseException)):
        return _same  # an error is kept itself: whoever caught it has the same one
    if issubclass(kind, BaseModel):
        return _model
    if dataclasses.is_dataclass(kind):
        return _dataclass
    if issubclass(kind, tuple) and hasattr(kind, "_make"):
        return _named
    if kind.__module__.partition(".")[0] in _ARRAYS:
        return _array
    return _other
