"""MessagePack back to values. Types are found by the rule of `trust`; what can't be rebuilt comes back as its data.

Reading never raises for what a value *is*, only for bytes that are no MessagePack: a checkpoint must stay readable
after a class has changed.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from inspect import signature
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import ormsgpack

from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.serde import frames
from runtime.checkpoint.serde.packing import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_CONSTRUCTOR_SINGLE_ARG,
    EXT_DELTA_SNAPSHOT,
    EXT_METHOD_SINGLE_ARG,
    EXT_NUMPY_ARRAY,
    EXT_PYDANTIC_V1,
    EXT_PYDANTIC_V2,
    SCALAR,
)
from runtime.checkpoint.serde.trust import Symbol, Trust, warn_not_rebuilt
from runtime.types import Send

logger = logging.getLogger(__name__)

Hook = Callable[[int, bytes], Any]
Builder = Callable[[Any, Any], Any]


def unpack(data: bytes, hook: Hook) -> Any:
    """The value that the bytes say. ValueError when they are no MessagePack."""
    return ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)


def reviving(trust: Trust) -> Hook:
    """The function that turns an extension into its value, by this rule of trust."""

    def revive(code: int, data: bytes) -> Any:
        if code == EXT_DELTA_SNAPSHOT:
            return DeltaSnapshot(unpack(data, revive))
        if code == EXT_NUMPY_ARRAY:
            return _numpy_value(unpack(data, revive))
        sort = _SORTS.get(code)
        if sort is None:
            logger.warning("A checkpoint holds an extension of the unknown code %d; its bytes are given instead.", code)
            return data
        before = _long.met
        payload = unpack(data, revive)
        if not _is_payload(payload):
            return payload
        module, name, content = payload[:3]
        if code == EXT_METHOD_SINGLE_ARG:
            found = trust.admit_method((module, name), str(payload[3]) if len(payload) > 3 else "")
        else:
            found = trust.admit((module, name), sort.fits)
        if found is None:
            return content
        return noted(_built((module, name), sort.build if _long.met == before else as_it_is, found, content))

    return revive


class _Long(threading.local):
    """How many objects that are longer than their bytes this thread has met, and their items, since `begin`."""

    met = 0
    items = 0


_long = _Long()

# Constructors may go through so many items that no bytes stand for.
_MOST_ITEMS: Final = 100_000

_LONG_KINDS: Final = ("range", "RangeIndex", "IPv4Network", "IPv6Network")


def begin() -> None:
    """Begin to count anew: what is read next is another value."""
    _long.met = _long.items = 0


def met_long() -> bool:
    """True where the value that is read holds more items than its bytes stand for, in ranges or networks."""
    return _long.met > 0


def noted(built: Any) -> Any:
    """What was built; a range or a network is counted, for whoever goes through it may never come to its end."""
    if type(built).__name__ in _LONG_KINDS:
        size = getattr(built, "num_addresses", None)
        _long.items += min(
            _MOST_ITEMS + 1, size if size is not None else max(built.stop - built.start, built.start - built.stop)
        )
        _long.met += _long.items > _MOST_ITEMS
    return built


def as_it_is(found: Any, content: Any) -> Any:
    """A record or a model whose parts may be too long to be gone through: its fields are set, and nothing runs."""
    if found in _COLLECTIONS:
        return construct(found, [content])
    if found is frames.made:
        return found(**content)
    if is_model(found):
        return found.model_construct(**content)
    if not is_record(found):
        raise TypeError("its argument holds a range or a network that is too long to be gone through")
    if issubclass(found, tuple):
        return found(**content)
    made = object.__new__(found)
    for field in dataclasses.fields(found):
        object.__setattr__(made, field.name, content[field.name])
    return made


def is_record(cls: Any) -> bool:
    """True for a dataclass or a named tuple: a class that keyword arguments make."""
    return isinstance(cls, type) and (
        dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
    )


def is_model(cls: Any) -> bool:
    """True for a pydantic model."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(cls, type) and issubclass(cls, pydantic.BaseModel)


def is_model_v1(cls: Any) -> bool:
    """True for a model of pydantic's version 1, or of the copy of it in version 2."""
    bases = (getattr(sys.modules.get(name), "BaseModel", None) for name in ("pydantic.v1", "pydantic"))
    return isinstance(cls, type) and any(
        base is not None and not hasattr(base, "model_validate") and issubclass(cls, base) for base in bases
    )


def is_enum(cls: Any) -> bool:
    """True for an enum."""
    return isinstance(cls, type) and issubclass(cls, Enum)


def is_plain_data(cls: Any) -> bool:
    """True for any class of the sorts above."""
    return is_enum(cls) or is_record(cls) or is_model(cls) or is_model_v1(cls)


def model(cls: Any, data: Any) -> Any:
    """A pydantic model from its fields: validated, or as it was stored where that fails."""
    try:
        if not isinstance(data, dict):
            return cls.model_validate(data)
        if any(field.alias or field.validation_alias for field in cls.model_fields.values()):
            return cls.model_validate(data, by_alias=True, by_name=True)
        return cls(**data)
    except Exception:
        return cls.model_construct(**data)


def record(cls: Any, data: dict[str, Any]) -> Any:
    """A dataclass or named tuple from its fields, as they were, whatever its constructor takes and makes of them."""
    makeup = _makeup(cls)
    if makeup is None:
        return cls(**data)
    if makeup.asks and makeup.fields <= data.keys():
        made = object.__new__(cls)
    else:
        made = cls(**{name: value for name, value in data.items() if name not in makeup.late})
    for name in makeup.fields & data.keys():
        if not _is_still(made, name, data[name]):
            object.__setattr__(made, name, data[name])
    return made


class _Makeup(NamedTuple):
    """What tells a dataclass whose constructor does more than to keep its arguments."""

    fields: frozenset[str]
    late: frozenset[str]
    """The fields that its constructor does not take."""
    asks: bool
    """True where it takes what is no field, and needs it."""


@lru_cache(maxsize=512)
def _makeup(cls: Any) -> _Makeup | None:
    """None for a class that is made of its fields as they are."""
    kind: Any = cls
    if not dataclasses.is_dataclass(cls) or hasattr(cls, "__pydantic_fields__"):
        return None
    fields = dataclasses.fields(cls)
    late = frozenset(field.name for field in fields if not field.init)
    names = frozenset(field.name for field in fields)
    parameters = signature(kind).parameters.values()
    asks = any(each.name not in names and each.default is each.empty and each.kind <= 1 for each in parameters)
    return _Makeup(names, late, asks) if late or asks or hasattr(cls, "__post_init__") else None


def _is_still(made: Any, name: str, stored: Any) -> bool:
    """True where a field holds what was stored, but for lists that the class makes tuples again."""
    try:
        held = getattr(made, name)
        return bool(held is stored or held == stored or (isinstance(stored, list) and held == _frozen(stored)))
    except Exception:  # it holds nothing, or what can't be compared
        return False


def _built(symbol: Symbol, build: Builder, found: Any, content: Any) -> Any:
    try:
        return build(found, content)
    except Exception as error:
        warn_not_rebuilt(symbol, error)
        return content


def _is_payload(payload: Any) -> bool:
    return (
        isinstance(payload, list) and len(payload) > 2 and isinstance(payload[0], str) and isinstance(payload[1], str)
    )


def construct(found: Any, arguments: Any, keywords: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """What a listed constructor makes of stored arguments.

    A few bytes must not become very many objects, so what is counted or copied here is a list, as it was stored: a
    range, or an array, would have any length.
    """
    arguments = listed(arguments)
    if is_model(found):
        raise TypeError("a model is stored by its fields")
    if found in _COLLECTIONS and arguments:
        return _collected(found, listed(arguments[0]), *arguments[1:], **keywords)
    if found is Fraction and not all(type(part) is int for part in arguments):
        raise TypeError("a fraction is stored as two whole numbers")
    if found is Send and len(arguments) == 3:
        return Send(arguments[0], arguments[1], timeout=arguments[2])
    return found(*arguments, **keywords)


def listed(value: Any) -> list[Any]:
    """The value, which is a list. TypeError when it is not."""
    if not isinstance(value, list):
        raise TypeError(f"a list is stored here, and not {type(value).__name__}")
    return value


_COLLECTIONS: Final = (set, frozenset, deque, dict)


def _collected(found: Any, items: list[Any], *rest: Any) -> Any:
    if found is dict:
        return {_frozen(key): value for key, value in map(listed, items)}
    try:
        return found(items, *rest)
    except TypeError:  # some of them were tuples
        return found(map(_frozen, items), *rest)


def _from_one(found: Any, argument: Any) -> Any:
    if not is_enum(found):
        return construct(found, [argument])
    try:
        return found(argument)
    except ValueError:
        return found(_frozen(argument))


def _frozen(value: Any) -> Any:
    """A part of a set, a key or the value of an enum as it was: its lists were tuples."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return type(value)._make(map(_frozen, value))
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            part = getattr(value, field.name, None)
            if isinstance(part, list):
                object.__setattr__(value, field.name, _frozen(part))
    return value


def _from_keywords(found: Any, data: dict[str, Any]) -> Any:
    return record(found, data) if is_record(found) else found(**data)


def _model_v1(cls: Any, data: dict[str, Any]) -> Any:
    try:
        return cls(**data)
    except Exception:
        construct = getattr(cls, "construct", None)
        if construct is None:
            raise
        return construct(**data)


@dataclasses.dataclass(frozen=True, slots=True)
class _Sort:
    """What an extension code holds: which types fit it in permissive mode, and how one is built."""

    fits: Callable[[Any], bool]
    build: Builder


def _nothing(cls: Any) -> bool:
    """No type of a program's own is ever stored in this way."""
    return False


_SORTS: Final[dict[int, _Sort]] = {
    EXT_CONSTRUCTOR_SINGLE_ARG: _Sort(is_enum, _from_one),
    EXT_CONSTRUCTOR_POS_ARGS: _Sort(_nothing, construct),
    EXT_CONSTRUCTOR_KW_ARGS: _Sort(is_record, _from_keywords),
    EXT_METHOD_SINGLE_ARG: _Sort(_nothing, lambda found, argument: found(argument)),
    EXT_PYDANTIC_V1: _Sort(is_model_v1, _model_v1),
    EXT_PYDANTIC_V2: _Sort(is_model, model),
}


def _numpy_value(payload: Any) -> Any:
    """The array or scalar, which may be written to, like the one that was stored; else the payload."""
    try:
        import numpy  # noqa: PLC0415  # optional: only where arrays were stored
        from numpy.lib.format import descr_to_dtype  # noqa: PLC0415  # the same

        dtype, shape, order, content = payload
        shape = tuple(listed(shape))
        if dtype == "|O":
            return _object_array(numpy, shape, listed(content))
        kind = numpy.dtype(dtype) if isinstance(dtype, str) else descr_to_dtype(_as_tuples(dtype))
        if kind.hasobject:
            raise TypeError("pointers are not read from bytes")
        if not isinstance(content, bytes) or kind.itemsize == 0:
            raise TypeError("the items of an array are stored as bytes")
        array = numpy.ndarray(shape, kind, buffer=bytearray(content), order=None if order == SCALAR else order)
        return array[()] if order == SCALAR else array
    except Exception as error:
        warn_not_rebuilt(("numpy", "ndarray"), error)
        return payload


def _object_array(numpy: Any, shape: tuple[int, ...], content: list[Any]) -> Any:
    flat = numpy.empty(len(content), dtype=object)
    for index, item in enumerate(content):
        flat[index] = item
    return flat.reshape(shape)


def _as_tuples(descr: list[Any]) -> list[tuple[Any, ...]]:
    """A list of (name, type) or (name, type, shape), as numpy wants it, where a type may be such a list again."""
    return [
        (
            field[0],
            _as_tuples(field[1]) if isinstance(field[1], list) else field[1],
            *map(tuple, map(listed, field[2:])),
        )
        for field in map(listed, descr)
    ]
