"""Values to MessagePack: what `ormsgpack` does not know by itself goes into extension types.

An extension's payload is itself MessagePack: `[module, name, data]` and, for some, a method. The codes are LangGraph's,
so that databases can be read both ways.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PurePath
from typing import Any, Final, NamedTuple, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

import ormsgpack

from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.serde import frames
from runtime.checkpoint.serde.trust import stored_name, type_name
from runtime.types import Interrupt, Send

EXT_CONSTRUCTOR_SINGLE_ARG: Final = 0
EXT_CONSTRUCTOR_POS_ARGS: Final = 1
EXT_CONSTRUCTOR_KW_ARGS: Final = 2
EXT_METHOD_SINGLE_ARG: Final = 3
EXT_PYDANTIC_V1: Final = 4
EXT_PYDANTIC_V2: Final = 5
EXT_NUMPY_ARRAY: Final = 6
EXT_DELTA_SNAPSHOT: Final = 7

SCALAR: Final = "S"
"""Stands where an array has its memory order ("C", "F"): the payload is a numpy scalar, no array."""

_OPTIONS: Final = (
    ormsgpack.OPT_REPLACE_SURROGATES
    | ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)

Encoder = Callable[[Any], Any]

_PLAIN_KEYS: Final = frozenset({str, float, bool, bytes, type(None)})

# Kinds of numpy dtype whose bytes mean the same in another process. Objects and variable strings are pointers.
_PLAIN_KINDS: Final = "biufcmMSUV"

# Encoders of a program's own classes are remembered up to this number, for classes may be made without end.
_MAX_REMEMBERED: Final = 4096


def pack(value: Any) -> bytes:
    """The value as MessagePack. TypeError when some part of it can't be packed; see `culprit`."""
    try:
        return ormsgpack.packb(value, default=_encode, option=_OPTIONS)
    except TypeError:
        if not _has_other_keys(value):
            raise
    return ormsgpack.packb(_with_pairs(value), default=_encode, option=_OPTIONS | ormsgpack.OPT_NON_STR_KEYS)


class _Pairs(NamedTuple):
    """A dict some of whose keys MessagePack would store as text: dates, enums, UUIDs and others."""

    items: list[tuple[Any, Any]]


def _has_other_keys(value: Any) -> bool:
    """True where a dict among these containers has a key that is no text."""
    if type(value) is dict:
        return any(type(key) is not str for key in value) or any(map(_has_other_keys, value.values()))
    return type(value) in (list, tuple) and any(map(_has_other_keys, value))


def _with_pairs(value: Any) -> Any:
    """The containers, with pairs in the place of dicts whose keys need that."""
    if type(value) is dict:
        if all(map(_is_plain_key, value)):
            return {key: _with_pairs(part) for key, part in value.items()}
        return _Pairs([(_with_pairs(key), _with_pairs(part)) for key, part in value.items()])
    return [_with_pairs(part) for part in value] if type(value) in (list, tuple) else value


def _is_plain_key(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_plain_key, key))
    if type(key) is int:
        return -(1 << 63) <= key < 1 << 64
    return type(key) in _PLAIN_KEYS or (isinstance(key, str) and not isinstance(key, Enum))


def culprit(value: Any, path: str = "") -> tuple[str, Any]:
    """The innermost part of a value that can't be packed, and where it is, such as ("['frames'][2]", frame)."""
    for step, part in _parts(value):
        try:
            pack(part)
        except (TypeError, ValueError, RecursionError):
            return culprit(part, path + step)
    return path, value


def reason(value: Any) -> str:
    """Why a value can't be packed, where more is known than its type."""
    try:
        _encode(value)
    except _UnknownType:
        return ""
    except Exception as error:
        return str(error)
    return ""


class _UnknownType(TypeError):
    """There is no form for values of this type."""

    def __init__(self, cls: type) -> None:
        super().__init__(f"{cls.__module__}.{cls.__qualname__} can't be serialised")


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f".keys()[{place}]", key) for place, key in enumerate(value) if not isinstance(key, str))
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        yield from (("{…}", part) for part in value)
    elif isinstance(value, Send):
        yield ".arg", value.arg
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((f".{field.name}", getattr(value, field.name, None)) for field in dataclasses.fields(value))
    elif type(value).__module__.partition(".")[0] == "pandas":
        yield from frames.parts(value)
    elif _is_model(type(value)):
        yield from ((f".{name}", vars(value).get(name)) for name in type(value).model_fields)


def _encode(value: Any) -> Any:
    """An extension, or plainer data, for a value of a type that `ormsgpack` does not know."""
    cls = type(value)
    encoder = _encoders.get(cls)
    if encoder is None:
        encoder = _choose(cls)
        if len(_encoders) > _MAX_REMEMBERED:
            _encoders.clear()
            _encoders.update(_BASIC)
        _encoders[cls] = encoder
    return encoder(value)


def _ext(code: int, *payload: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, pack(payload))


# -- values of the standard library and the runtime's own --------------------------------------------------------------


def _by(module: str, name: str, argument: Encoder) -> Encoder:
    return lambda value: _ext(EXT_CONSTRUCTOR_SINGLE_ARG, module, name, argument(value))


def _positional(module: str, name: str, arguments: Encoder) -> Encoder:
    return lambda value: _ext(EXT_CONSTRUCTOR_POS_ARGS, module, name, arguments(value))


def _int(value: int) -> Any:
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "builtins", "int", (hex(value), 16))


def _complex(value: complex) -> Any:
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "builtins", "complex", (value.real, value.imag))


def _deque(value: deque[Any]) -> Any:
    if value.maxlen is None:
        return _ext(EXT_CONSTRUCTOR_SINGLE_ARG, "collections", "deque", list(value))
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "collections", "deque", (list(value), value.maxlen))


def _datetime(value: datetime) -> Any:
    if value.fold or (isinstance(value.tzinfo, ZoneInfo) and value.tzinfo.key is not None):
        return _ext(EXT_CONSTRUCTOR_KW_ARGS, "datetime", "datetime", _date_fields(value) | _time_fields(value))
    return _ext(EXT_METHOD_SINGLE_ARG, "datetime", "datetime", value.isoformat(), "fromisoformat")


def _date(value: date) -> Any:
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "datetime", "date", (value.year, value.month, value.day))


def _time(value: time) -> Any:
    return _ext(EXT_CONSTRUCTOR_KW_ARGS, "datetime", "time", _time_fields(value))


def _date_fields(value: date) -> dict[str, Any]:
    return {"year": value.year, "month": value.month, "day": value.day}


def _time_fields(value: datetime | time) -> dict[str, Any]:
    return {
        "hour": value.hour,
        "minute": value.minute,
        "second": value.second,
        "microsecond": value.microsecond,
        "tzinfo": value.tzinfo,
        "fold": value.fold,
    }


def _timedelta(value: timedelta) -> Any:
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "datetime", "timedelta", (value.days, value.seconds, value.microseconds))


def _timezone(value: timezone) -> Any:
    offset, name = value.utcoffset(None), value.tzname(None)
    named = name != timezone(offset).tzname(None)
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "datetime", "timezone", (offset, name) if named else (offset,))


def _zone(value: ZoneInfo) -> Any:
    if value.key is None:
        raise TypeError("A ZoneInfo that was read from a file has no key to store.")
    return _ext(EXT_CONSTRUCTOR_SINGLE_ARG, "zoneinfo", "ZoneInfo", value.key)


def _path(value: PurePath) -> Any:
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "pathlib", type(value).__name__, value.parts)


def _pattern(value: re.Pattern[Any]) -> Any:
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, "re", "compile", (value.pattern, value.flags))


def _send(value: Send) -> Any:
    parts = (value.node, value.arg) if value.timeout is None else (value.node, value.arg, value.timeout)
    return _ext(EXT_CONSTRUCTOR_POS_ARGS, *stored_name(Send), parts)


def _interrupt(value: Interrupt) -> Any:
    data = {"value": value.value, "id": value.id}
    if value.response_schema is not None:
        data["response_schema"] = value.response_schema
    return _ext(EXT_CONSTRUCTOR_KW_ARGS, *stored_name(Interrupt), data)


def _snapshot(value: DeltaSnapshot) -> Any:
    return ormsgpack.Ext(EXT_DELTA_SNAPSHOT, pack(value.value))


_BASIC: Final[dict[type, Encoder]] = {
    int: _int,
    complex: _complex,
    range: _positional("builtins", "range", lambda value: (value.start, value.stop, value.step)),
    slice: _positional("builtins", "slice", lambda value: (value.start, value.stop, value.step)),
    Fraction: _positional("fractions", "Fraction", lambda value: (value.numerator, value.denominator)),
    _Pairs: _by("builtins", "dict", lambda value: value.items),
    set: _by("builtins", "set", list),
    frozenset: _by("builtins", "frozenset", list),
    deque: _deque,
    UUID: _by("uuid", "UUID", lambda value: value.hex),
    Decimal: _by("decimal", "Decimal", str),
    datetime: _datetime,
    date: _date,
    time: _time,
    timedelta: _timedelta,
    timezone: _timezone,
    ZoneInfo: _zone,
    re.Pattern: _pattern,
    Send: _send,
    Interrupt: _interrupt,
    DeltaSnapshot: _snapshot,
    **{
        cls: _by("ipaddress", cls.__name__, str)
        for cls in (IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network)
    },
}

_encoders: dict[type, Encoder] = dict(_BASIC)


# -- everything else, by the sort of its class -------------------------------------------------------------------------


def _choose(cls: type) -> Encoder:
    """The encoder for a class. TypeError when there is none."""
    if issubclass(cls, BaseException):
        return repr
    if issubclass(cls, Enum):
        return _by(cls.__module__, type_name(cls), lambda value: value.value)
    if issubclass(cls, PurePath):
        return _path
    if _is_model(cls):
        return _model_encoder(cls)
    if callable(getattr(cls, "get_secret_value", None)):
        return _by(cls.__module__, cls.__name__, lambda value: value.get_secret_value())
    if issubclass(cls, tuple):
        return _named_tuple_encoder(cls) if hasattr(cls, "_fields") else list
    if dataclasses.is_dataclass(cls):
        return _dataclass_encoder(cls)
    if cls.__module__.partition(".")[0] in ("numpy", "pandas"):
        return _science_encoder(cls)
    for base in cls.__mro__[1:]:
        if base in _BASIC:
            return _BASIC[base]
    if callable(getattr(cls, "dict", None)):
        module, name = stored_name(cls)
        return lambda value: _ext(EXT_PYDANTIC_V1, module, name, value.dict())
    raise _UnknownType(cls)


def _is_model(cls: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(cls, pydantic.BaseModel)


def _model_encoder(cls: Any) -> Encoder:
    module, name = cls.__module__, type_name(cls.__pydantic_generic_metadata__["origin"] or cls)

    def encode(value: Any) -> Any:
        try:
            return _ext(EXT_PYDANTIC_V2, module, name, _fields_reader(cls)(value), "model_validate_json")
        except TypeError:
            dumped = value.model_dump(warnings=False)  # its types may have serializers of their own
            return _ext(EXT_PYDANTIC_V2, module, name, dumped, "model_validate_json")

    return encode


@lru_cache(maxsize=_MAX_REMEMBERED)
def _fields_reader(cls: Any) -> Encoder:
    """What to store of a model: its fields as they are, or what its own serializers say where it has some.

    A model in a field becomes a dict where the field's type names its class, for validation makes it again from that.
    Where the field says less (a base class, `Any`) the part keeps its class.
    """
    if cls.__pydantic_root_model__:
        return lambda value: value.root
    decorators = cls.__pydantic_decorators__
    if decorators.field_serializers or decorators.model_serializers:
        return lambda value: value.model_dump(warnings=False)
    names = tuple(field for field, info in cls.model_fields.items() if not info.exclude)
    declared = frozenset(part for info in cls.model_fields.values() for part in _models_in(info.annotation))

    def read(value: Any) -> Any:
        held = vars(value)
        data = {field: held[field] for field in names if field in held}
        if value.__pydantic_extra__:
            data |= value.__pydantic_extra__
        return {field: _undressed(part, declared) for field, part in data.items()} if declared else data

    return read


def _models_in(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and _is_model(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _undressed(value: Any, declared: frozenset[type]) -> Any:
    """The value, its models of declared classes as dicts."""
    cls: Any = type(value)
    if cls in declared:
        return _fields_reader(cls)(value)
    if cls is list or cls is tuple:
        return [_undressed(part, declared) for part in value]
    if cls is dict:
        return {key: _undressed(part, declared) for key, part in value.items()}
    return value


def _named_tuple_encoder(cls: Any) -> Encoder:
    module, name = stored_name(cls)
    return lambda value: _ext(EXT_CONSTRUCTOR_KW_ARGS, module, name, value._asdict())


def _dataclass_encoder(cls: Any) -> Encoder:
    module, name = stored_name(cls)
    names = tuple(field.name for field in dataclasses.fields(cls))

    def encode(value: Any) -> Any:
        data = {field: getattr(value, field) for field in names if hasattr(value, field)}
        return _ext(EXT_CONSTRUCTOR_KW_ARGS, module, name, data)

    return encode


def _science_encoder(cls: Any) -> Encoder:
    """Encoders for what numpy and pandas hold data in, where these libraries are imported."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None:
        if cls is numpy.ndarray or cls is numpy.memmap:
            return _array
        if issubclass(cls, numpy.generic):
            return lambda value: _ext(EXT_NUMPY_ARRAY, _dtype(value.dtype), (), SCALAR, value.tobytes())
    if pandas is not None:
        if cls is pandas.Timestamp:
            return _timestamp
        if cls is pandas.Timedelta:
            return _by("pandas", "Timedelta", lambda value: value.isoformat())
        if cls is type(pandas.NaT):
            return _by("pandas", "Timestamp", str)
        if cls is type(pandas.NA):
            return lambda value: _ext(EXT_CONSTRUCTOR_KW_ARGS, frames.MODULE, frames.NAME, {"form": "missing"})
        tell = frames.teller(cls)
        if tell is not None:
            return lambda value: _ext(EXT_CONSTRUCTOR_KW_ARGS, frames.MODULE, frames.NAME, tell(value))
    raise _UnknownType(cls)


def _array(value: Any) -> Any:
    if value.dtype == object:
        return _ext(EXT_NUMPY_ARRAY, "|O", value.shape, "C", value.ravel().tolist())
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return _ext(EXT_NUMPY_ARRAY, _dtype(value.dtype), value.shape, order, value.tobytes(order=order))


def _dtype(dtype: Any) -> Any:
    """A dtype as its short string, or as the list of its fields."""
    if dtype.hasobject or dtype.kind not in _PLAIN_KINDS:
        raise TypeError(f"A numpy value of dtype {dtype} can't be serialised")
    return dtype.str if dtype.names is None else dtype.descr


def _timestamp(value: Any) -> Any:
    if value.tz is None:
        return _ext(EXT_CONSTRUCTOR_KW_ARGS, "pandas", "Timestamp", {"ts_input": value.isoformat()})
    utc = value.tz_convert("UTC").isoformat()
    return _ext(EXT_CONSTRUCTOR_KW_ARGS, "pandas", "Timestamp", {"ts_input": utc, "tz": value.tz})
