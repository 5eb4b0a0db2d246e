"""JSON schema, as far as an answer's schema goes: what is wrong with a value, said in sentences. Pure.

Known: type, enum, const, the limits of numbers, texts and lists, pattern, format (date, date-time, time, uuid),
properties, required, additionalProperties, items, prefixItems, anyOf, oneOf, allOf and local `$ref`. A keyword that is
not known forbids nothing: the graph itself has the last word.
"""

from __future__ import annotations

import datetime
import math
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from workbench import text

__all__ = ["Fault", "complaints", "faults", "resolve"]


class Fault(NamedTuple):
    """Something wrong with a value: where in it (`()` for all of it), and a sentence."""

    path: tuple[str | int, ...]
    words: str


def complaints(schema: Mapping[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, as sentences that say where; nothing for one that fits."""
    return [f"{'.'.join(map(str, path))}: {words}" if path else words for path, words in faults(schema, value)]


def faults(schema: Mapping[str, Any], value: Any) -> list[Fault]:
    """What is wrong with a value, by place; nothing for one that fits."""
    return list(_faults(schema, value, (), schema, 0))


def resolve(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a local `$ref` stands for, or the schema itself."""
    seen = 0
    while isinstance(schema, Mapping) and isinstance(ref := schema.get("$ref"), str) and seen < 20:
        found: Any = root
        for part in ref.removeprefix("#").split("/")[1:] if ref.startswith("#") else ["$"]:
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        schema = {**found, **{key: one for key, one in schema.items() if key != "$ref"}} if found else {}
        seen += 1
    return schema if isinstance(schema, Mapping) else {}


# What a schema calls a type: how people say it, and the test.
_TYPES: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "string": ("a text", lambda one: isinstance(one, str)),
    "integer": ("a whole number", lambda one: _number(one) and float(one).is_integer()),
    "number": ("a number", lambda one: _number(one)),
    "boolean": ("true or false", lambda one: isinstance(one, bool)),
    "null": ("nothing", lambda one: one is None),
    "array": ("a list", lambda one: isinstance(one, list | tuple)),
    "object": ("an object with named values", lambda one: isinstance(one, Mapping)),
}

_DEPTH: Final = 40


def _faults(
    given: Any, value: Any, path: tuple[str | int, ...], root: Mapping[str, Any], depth: int
) -> Iterator[Fault]:
    if given is False:
        yield Fault(path, "Nothing is allowed here.")
        return
    schema = resolve(given, root)
    if depth > _DEPTH or not schema:
        return
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if names and not any(name not in _TYPES or _TYPES[name][1](value) for name in names):
        kinds = text.listing((_TYPES[name][0] for name in names), "or")
        yield Fault(path, f"{_said(value)} is not {kinds}. Enter {kinds}.")
        return
    yield from (Fault(path, words) for words in _plain(schema, value))
    for words in _choices(schema, value, root, depth):
        yield Fault(path, words)
    for part in schema.get("allOf", ()):
        yield from _faults(part, value, path, root, depth + 1)
    if isinstance(value, Mapping):
        yield from _members(schema, value, path, root, depth)
    elif isinstance(value, list | tuple):
        yield from _items(schema, value, path, root, depth)


def _plain(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    """The keywords that look at one value alone."""
    if "const" in schema and not _equal(value, schema["const"]):
        yield f"{_said(value)} is not {_said(schema['const'])}, which the schema asks for."
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not any(_equal(value, one) for one in choices):
        yield f"{_said(value)} is not one of {text.listing(map(_said, choices), 'or')}."
    if _number(value):
        yield from _limits(schema, value)
    elif isinstance(value, str):
        yield from _lengths(schema, len(value), "character", "minLength", "maxLength")
        yield from _forms(schema, value)
    elif isinstance(value, list | tuple):
        yield from _lengths(schema, len(value), "item", "minItems", "maxItems")
        if schema.get("uniqueItems") and any(one in value[:i] for i, one in enumerate(value)):
            yield "An item stands twice in the list. Keep each one once."


def _limits(schema: Mapping[str, Any], value: float) -> Iterator[str]:
    high, low = schema.get("maximum"), schema.get("minimum")
    above, below = schema.get("exclusiveMaximum"), schema.get("exclusiveMinimum")
    if _number(high) and value > high:
        yield f"{_said(value)} is over the limit of {_said(high)} in the schema. Enter {_said(high)} or less."
    if _number(low) and value < low:
        yield f"{_said(value)} is under the limit of {_said(low)} in the schema. Enter {_said(low)} or more."
    if _number(above) and value >= above:
        yield f"{_said(value)} is not below {_said(above)}. Enter less than {_said(above)}."
    if _number(below) and value <= below:
        yield f"{_said(value)} is not above {_said(below)}. Enter more than {_said(below)}."
    step = schema.get("multipleOf")
    if _number(step) and step > 0 and math.isfinite(value) and abs(value / step - round(value / step)) > 1e-9:
        yield f"{_said(value)} is not a multiple of {_said(step)}."


def _lengths(schema: Mapping[str, Any], size: int, noun: str, low: str, high: str) -> Iterator[str]:
    if isinstance(least := schema.get(low), int) and size < least:
        yield f"It has {text.count(size, noun)}, and needs {least:,} or more."
    if isinstance(most := schema.get(high), int) and size > most:
        yield f"It has {text.count(size, noun)}, and may have {most:,} or fewer."


def _forms(schema: Mapping[str, Any], value: str) -> Iterator[str]:
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and len(value) <= 10_000:
        try:
            fits = re.search(pattern, value) is not None
        except re.error:  # a pattern in another dialect is left to the graph
            fits = True
        if not fits:
            yield f"{_said(value)} does not have the form {pattern}."
    known = _FORMATS.get(schema.get("format", ""))
    if known is not None:
        try:
            known[1](value)
        except ValueError:
            yield f"{_said(value)} is not {known[0]}."


_FORMATS: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    "date": ("a date such as 2026-11-30", datetime.date.fromisoformat),
    "date-time": ("a date and time such as 2026-11-30T09:30:00", datetime.datetime.fromisoformat),
    "time": ("a time such as 09:30:00", datetime.time.fromisoformat),
    "uuid": ("a UUID", uuid.UUID),
}


def _choices(schema: Mapping[str, Any], value: Any, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if not isinstance(options, Sequence) or not options:
            continue
        tries = [list(_faults(option, value, (), root, depth + 1)) for option in options]
        if all(tries):
            best = min(tries, key=lambda found: (-max(len(one.path) for one in found), len(found)))
            where, words = best[0]
            yield f"{'.'.join(map(str, where))}: {words}" if where else words


def _members(
    schema: Mapping[str, Any],
    value: Mapping[Any, Any],
    path: tuple[str | int, ...],
    root: Mapping[str, Any],
    depth: int,
) -> Iterator[Fault]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield Fault((*path, name), "This value is missing.")
    rest = schema.get("additionalProperties", True)
    for name, one in value.items():
        if name in known:
            yield from _faults(known[name], one, (*path, name), root, depth + 1)
        elif rest is False:
            yield Fault(
                (*path, name), f"The schema knows no {_said(name)}. It has {text.listing(known) or 'no names'}."
            )
        elif isinstance(rest, Mapping):
            yield from _faults(rest, one, (*path, name), root, depth + 1)


def _items(
    schema: Mapping[str, Any], value: Sequence[Any], path: tuple[str | int, ...], root: Mapping[str, Any], depth: int
) -> Iterator[Fault]:
    first = schema.get("prefixItems", ())
    for i, one in enumerate(value):
        part = first[i] if i < len(first) else schema.get("items", True)
        yield from _faults(part, one, (*path, i), root, depth + 1)


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _said(value: Any) -> str:
    """A value as it stands in a sentence: numbers bare, texts quoted."""
    if isinstance(value, str):
        return f"“{text.value(value, 40)}”" if value else "an empty text"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return text.value(value, 40)
