"""What the two reducing channels share: a type's empty value, the forms of an overwrite, reducers compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence, Set
from inspect import isclass
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin

from runtime._words import MISSING, OVERWRITE
from runtime.channels.base import BaseChannel
from runtime.channels.wording import label, shown
from runtime.errors import ErrorCode, InvalidUpdateError, create_error_message
from runtime.types import Overwrite

_CONCRETE: dict[Any, type] = {
    Sequence: list,
    MutableSequence: list,
    Set: set,
    MutableSet: set,
    Mapping: dict,
    MutableMapping: dict,
}

_MAY_OVERWRITE = (Overwrite, dict)


def concrete(typ: Any) -> Any:
    """The class to call for an empty value: annotations and type arguments peeled off, `Sequence` read as `list`."""
    while (origin := get_origin(typ)) is not None:
        if origin in (Annotated, Required, NotRequired):
            typ = get_args(typ)[0]
        elif isclass(origin):
            typ = origin
        else:  # a union, a literal: nothing to call
            break
    return next((kind for abstract, kind in _CONCRETE.items() if typ is abstract), typ)


def zero(kind: Any) -> Any:
    """A new empty value of a class, or `MISSING` when the class cannot be called without arguments."""
    try:
        return kind()
    except Exception:  # whatever a user's constructor raises, it has no empty value
        return MISSING


def overwritten(write: Any) -> Any:
    """The value that an overwrite carries, or `MISSING` for a plain write.

    An overwrite is an `Overwrite`, a dict with the one key `__overwrite__`, or the JSON form of the dataclass.
    """
    if isinstance(write, Overwrite):
        return write.value
    if isinstance(write, dict):
        if len(write) == 1 and OVERWRITE in write:
            return write[OVERWRITE]
        kind = write.get("type")
        if isinstance(kind, str) and kind == OVERWRITE and "value" in write:
            return write["value"]
    return MISSING


def sole_overwrite(channel: BaseChannel[Any, Any, Any], writes: Sequence[Any]) -> Any:
    """The value of the one overwrite among a superstep's writes, or `MISSING`. Two raise `InvalidUpdateError`."""
    found = []
    for write in writes:
        if isinstance(write, _MAY_OVERWRITE) and (value := overwritten(write)) is not MISSING:
            found.append(value)
    if len(found) > 1:
        raise InvalidUpdateError(
            create_error_message(
                message=f"{label(channel)} took {len(found)} overwrites in one superstep, but only one can stand:"
                f" {shown(found)}. Let one of their nodes follow the other.",
                error_code=ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
            )
        )
    return found[0] if found else MISSING


def same_reducer(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether two declarations of a key may stand together; a lambda is made anew each time, so it fits any reducer."""
    return one is other or any(getattr(reducer, "__name__", None) == "<lambda>" for reducer in (one, other))


def reducer_failed(channel: BaseChannel[Any, Any, Any], reducer: Callable[..., Any], value: Any, write: Any) -> str:
    """The note for an error that a user's reducer raised."""
    name = getattr(reducer, "__name__", None) or type(reducer).__name__
    return (
        f"{label(channel)}: its reducer {name!r} failed on the value {shown([value])} and the write {shown([write])}."
    )
