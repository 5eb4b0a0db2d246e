"""Fields for values of Python types: plain ones, enums, lists, dates, and the members of nested models. Pure."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import types
import typing
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Final, Literal, NotRequired, Required, Union

from pydantic_core import to_jsonable_python
from typing_extensions import ReadOnly, is_typeddict

from widgets.fields import Field, Kind, Path, choose, clean
from widgets.forms import LEAVES, NESTED, Form
from workbench import text

__all__ = ["fields_of", "value_form"]

_LONGEST: Final = 50_000


def value_form(values: Mapping[str, Any]) -> Form:
    """The form that edits named values, such as a tool call's arguments; each keeps its type."""
    return Form(tuple(_from_value(str(name), one) for name, one in values.items()))


def fields_of(annotation: Any, value: Any, present: bool) -> tuple[Field, ...]:
    """The fields for a value of a Python type: one, or one for each member of a nested model, or one of JSON.

    With `present` they show the value as it is; else they start empty.
    """
    found = tuple(_from_type(annotation, value, present, (), 0))
    return found if 0 < len(found) <= LEAVES else (_as_json(annotation, value, present, (), False),)


# -- a field from a value ---------------------------------------------------------------------------------------------


def _from_value(name: str, value: Any) -> Field:
    path = (name,)
    found = _scalar(type(value), value, True, path, value is None)
    return found or _as_json(Any, value, True, path, False)


def _scalar(kind: Any, value: Any, present: bool, path: Path, optional: bool) -> Field | None:
    """The field of a plain type; None for one that has no control of its own, or a value of another type."""
    if kind is bool:
        return choose((True, False), value, present, path, optional, bool)
    for base, name, words in _SCALARS:
        if kind is base:
            if present and value is not None and not isinstance(value, base) and not (base is float and _whole(value)):
                return None
            shown = "" if not present or value is None else _initial(value)
            words = f"{words}, optional" if optional else words
            return Field(path, name, words, shown, optional, annotation=kind)
    return None


_SCALARS: Final[tuple[tuple[type, Kind, str], ...]] = (
    (str, "text", "text"),
    (int, "integer", "integer"),
    (float, "number", "number"),
    (datetime.datetime, "datetime", "date and time"),
    (datetime.date, "date", "date"),
)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _initial(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return clean(str(value))


def _as_json(annotation: Any, value: Any, present: bool, path: Path, optional: bool) -> Field:
    """The value as JSON text; fixed, where JSON cannot hold it, or it is too long for a control."""
    words = "JSON, optional" if optional else "JSON"
    if not present:
        return Field(path, "json", words, "", optional, annotation=annotation)
    try:
        plain = to_jsonable_python(value, fallback=_refuse)
        shown = json.dumps(plain, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return Field(path, "fixed", f"a {type(value).__name__}", text.value(value), annotation=annotation)
    if len(shown) > _LONGEST:
        return Field(path, "fixed", f"{text.count(len(shown), 'character')} of JSON", text.value(value))
    if annotation is Any and not _survives(value, plain):
        return Field(path, "fixed", f"a {type(value).__name__}", text.value(value))
    return Field(path, "json", words, clean(shown), optional, annotation=annotation)


def _refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)


def _survives(value: Any, plain: Any) -> bool:
    """True for a value that JSON gives back as it was; what its type restores need not."""
    try:
        return bool(value == plain) or isinstance(value, tuple | Set)
    except Exception:
        return False


# -- fields from a Python type ----------------------------------------------------------------------------------------


def _from_type(annotation: Any, value: Any, present: bool, path: Path, depth: int) -> Iterator[Field]:
    kind, optional = peel(annotation)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    members = _members(kind)
    if members and depth < NESTED and not (optional and value is None):
        for name, part in members.items():
            one, known = _member(value, name)
            yield from _from_type(part, one, present and known, (*path, name), depth + 1)
    elif origin is Literal:
        yield choose(arguments, value, present, path, optional, annotation)
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        shown = next((one for one in kind if value in (one, one.value)), value)
        yield choose(tuple(kind), shown, present, path, optional, annotation)
    elif (found := _scalar(kind, value, present, path, optional)) is not None:
        yield replace(found, annotation=annotation)
    elif (found := _list_field(kind, annotation, value, present, path, optional)) is not None:
        yield found
    elif depth < NESTED and _is_flat(kind, value):
        for name, one in value.items():
            yield from _from_type(Any, one, present, (*path, name), depth + 1)
    elif kind is Any and present and (found := _scalar(type(value), value, True, path, optional)) is not None:
        yield found
    else:
        yield _as_json(annotation, value, present, path, optional)


def peel(annotation: Any) -> tuple[Any, bool]:
    """The type inside `Annotated`, `Required` and `Optional`, and whether None is allowed."""
    optional = False
    while True:
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated or origin in (Required, NotRequired, ReadOnly):
            annotation = arguments[0]
        elif origin in (Union, types.UnionType) and type(None) in arguments and len(arguments) == 2:
            annotation = next(one for one in arguments if one is not type(None))
            optional = True
        else:
            return annotation, optional


def _list_field(kind: Any, annotation: Any, value: Any, present: bool, path: Path, optional: bool) -> Field | None:
    """A list of texts or numbers, one on each line; None for any other."""
    origin = typing.get_origin(kind) or kind
    if origin is Any and present and isinstance(value, list):
        origin = list
    if not (isinstance(origin, type) and issubclass(origin, Sequence) and not issubclass(origin, str | bytes)):
        return None
    arguments = typing.get_args(kind)
    inner = peel(arguments[0])[0] if arguments and arguments[0] is not ... else None
    items = list(value) if present and isinstance(value, list | tuple) else []
    if inner in (None, Any):
        inner = type(items[0]) if items and len({type(one) for one in items}) == 1 else str if not present else None
    lines: dict[Any, Kind] = {str: "text", int: "integer", float: "number"}
    item = lines.get(inner) if not len(set(arguments[1:]) - {...}) else None
    plain = all(type(one) is inner and str(one).strip() and "\n" not in clean(str(one)) for one in items)
    if item is None or not plain:
        return None
    words = f"list of {'text' if item == 'text' else f'{item}s'}, one on each line"
    return Field(path, "lines", words, clean("\n".join(map(str, items))), optional, item=item, annotation=annotation)


def _members(kind: Any) -> dict[str, Any]:
    """The members of a nested type, with their types; none for a type that has no members."""
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        try:
            return typing.get_type_hints(kind, include_extras=True)
        except Exception:  # annotations that cannot be read any more: the whole is edited as JSON
            return {}
    fields = getattr(kind, "model_fields", None) if isinstance(kind, type) else None
    if not isinstance(fields, Mapping) or {"content", "type"} <= fields.keys():  # a message is no form of its parts
        return {}
    return {name: one.rebuild_annotation() for name, one in fields.items()}


def _member(value: Any, name: str) -> tuple[Any, bool]:
    if isinstance(value, Mapping):
        return value.get(name), name in value
    return getattr(value, name, None), hasattr(value, name)


def _is_flat(kind: Any, value: Any) -> bool:
    """True for a mapping of a few plain values, which reads better as fields than as JSON."""
    origin = typing.get_origin(kind) or kind
    loose = origin is Any or (isinstance(origin, type) and issubclass(origin, Mapping))
    return (
        loose
        and isinstance(value, Mapping)
        and 0 < len(value) <= 12
        and all(isinstance(key, str) and key for key in value)
        and all(one is None or isinstance(one, str | int | float | bool) for one in value.values())
    )
