"""A state class, read as what a graph needs of it: a channel or a managed value for each key.

A class without annotations makes a state that is one bare value, under the key `__root__`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from inspect import isclass
from typing import Annotated, Any, get_args, get_origin
from weakref import WeakKeyDictionary

from runtime._annotations import signature
from runtime._words import ROOT
from runtime.channels.base import BaseChannel
from runtime.channels.binop import BinaryOperatorAggregate
from runtime.channels.delta import DeltaChannel
from runtime.channels.last_value import LastValue
from runtime.managed.base import ManagedValueSpec, is_managed_value
from runtime.pregel.schemas import WRAPPERS, hints_of, is_model, name_of, unwrapped

__all__ = ("Channel", "fields_of")

Channel = BaseChannel[Any, Any, Any]

_READABLE_ZEROS = (bool, int, float, str, list, dict, set, tuple)


def fields_of(schema: Any) -> dict[str, Channel | ManagedValueSpec]:
    """Each key of the state, in order of declaration, with a new channel of its own or its managed value.

    Raises ValueError for a reducer that does not take exactly two arguments, and NameError for an annotation that
    cannot be read.
    """
    hints = hints_of(schema)
    if hints is None:
        return {ROOT: _channel(ROOT, schema, {}, schema)}
    defaults = _defaults(schema)
    return {key: _managed(hint) or _channel(key, hint, defaults.get(key, {}), schema) for key, hint in hints.items()}


# -- one key ----------------------------------------------------------------------------------------------------------


def _managed(hint: Any) -> ManagedValueSpec | None:
    """The managed value in an annotation, however deep `NotRequired` and the like have wrapped it."""
    while (origin := get_origin(hint)) is Annotated or origin in WRAPPERS:
        if origin is Annotated:
            for item in hint.__metadata__:
                if is_managed_value(item):
                    return item
        hint = get_args(hint)[0]
    return None


def _channel(key: str, hint: Any, default: dict[str, Any], schema: Any) -> Channel:
    hint = unwrapped(hint)
    channel = _annotated_channel(key, hint, default, schema) if get_origin(hint) is Annotated else LastValue(hint)
    channel.key = key
    return channel


def _annotated_channel(key: str, hint: Any, default: dict[str, Any], schema: Any) -> Channel:
    typ = get_args(hint)[0]
    for item in hint.__metadata__:
        if isinstance(item, DeltaChannel):
            return type(item)(item.reducer, typ, snapshot_frequency=item.snapshot_frequency)
        if isinstance(item, BaseChannel):
            return item.copy() if item.key and item.key != key else item
        if isclass(item) and issubclass(item, BaseChannel):
            return item(typ)
    reducer = hint.__metadata__[-1]
    if not callable(reducer):
        return LastValue(hint)
    _check_reducer(reducer, key, schema)
    return _reducing(hint, reducer, default)


def _reducing(hint: Any, reducer: Callable[[Any, Any], Any], default: dict[str, Any]) -> Channel:
    """A reducer channel that starts from the field's default, where that is not what the type is empty as anyway."""
    plain: BinaryOperatorAggregate[Any] = BinaryOperatorAggregate(hint, reducer)
    if not default:
        return plain
    start = default["default_factory"]() if "default_factory" in default else default["default"]
    if start is None or (type(start) in _READABLE_ZEROS and not start and type(start) is type(plain.value)):
        return plain
    return BinaryOperatorAggregate(hint, reducer, **default)


def _defaults(schema: Any) -> dict[str, dict[str, Any]]:
    """The fields of a model that declare a default, as keyword arguments for a channel."""
    if not is_model(schema):
        return {}
    found: dict[str, dict[str, Any]] = {}
    if dataclasses.is_dataclass(schema):
        for field in dataclasses.fields(schema):
            if field.default_factory is not dataclasses.MISSING:
                found[field.name] = {"default_factory": field.default_factory}
            elif field.default is not dataclasses.MISSING:
                found[field.name] = {"default": field.default}
        return found
    for key, info in getattr(schema, "model_fields", {}).items():
        if info.default_factory is not None:
            if not info.default_factory_takes_validated_data:
                found[key] = {"default_factory": info.default_factory}
        elif not info.is_required():
            found[key] = {"default": info.default}
    return found


_counted: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def _check_reducer(reducer: Callable[..., Any], key: str, schema: Any) -> None:
    """Raise ValueError unless the reducer takes two positional arguments: the value so far, and one write."""
    try:
        count = _counted[reducer]
    except (KeyError, TypeError):  # TypeError: it can be neither hashed nor referenced weakly
        count = _positional(reducer, key, schema)
        with suppress(TypeError):
            _counted[reducer] = count
    if count != 2:
        raise ValueError(
            f"Invalid reducer {getattr(reducer, '__name__', reducer)!r} of key '{key}' of state schema "
            f"'{name_of(schema)}': it is called with two positional arguments, the value so far and one write, "
            f"but takes {count}."
        )


def _positional(reducer: Callable[..., Any], key: str, schema: Any) -> int:
    try:
        parameters = signature(reducer).parameters.values()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Invalid reducer {reducer!r} of key '{key}' of state schema '{name_of(schema)}': it has no signature that "
            "can be read. Wrap it in a function of two arguments: `lambda value, write: …`."
        ) from error
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
