"""Forms as values: fields together, and what a JSON schema asks for. Pure; nothing here draws.

What a person typed comes back as a text for each field, and `Form.read` makes typed values of it, or a sentence beside
each field that is wrong. A form comes from a JSON schema (the answer that an interrupt asks for), or from values and
Python types (`widgets.typeforms`); what fits no control is edited as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from pydantic_core import to_jsonable_python

from widgets.fields import Field, Kind, Path, choose, clean
from widgets.schema import faults, resolve

__all__ = ["LEAVES", "NESTED", "Form", "Reading", "answer_form"]

LEAVES: Final = 24
"""More fields than this are edited as JSON."""

NESTED: Final = 3
"""How deep nested values are laid out as fields of their own."""


class Reading(NamedTuple):
    """What a form's controls say: the value, or a sentence for each field that is wrong (-1: the form as a whole)."""

    value: Any
    faults: dict[int, str]


@dataclass(frozen=True)
class Form:
    """Fields, and the JSON schema that their values together must fit, where there is one."""

    fields: tuple[Field, ...]
    schema: Mapping[str, Any] | None = None

    def read(self, raw: Mapping[str, str]) -> Reading:
        """The value of what was typed, by the field's place as text: `{"0": "84", "1": "broken"}`."""
        wrong: dict[int, str] = {}
        value: Any = {}
        for i, one in enumerate(self.fields):
            typed = raw.get(str(i), one.initial)
            if one.path and one.optional and not typed.strip():
                continue
            try:
                found = one.read(typed)
            except ValueError as error:
                wrong[i] = str(error)
                continue
            value = _with(value, one.path, found) if one.path else found
        if self.schema is not None and not (wrong and value == {}):
            for path, words in faults(self.schema, _plain(value)):
                wrong.setdefault(self._place(path), words)
        return Reading(value, wrong)

    def _place(self, path: Sequence[str | int]) -> int:
        """The field that a fault's place belongs to; -1 for the form as a whole."""
        for i, one in enumerate(self.fields):
            if one.path == tuple(map(str, path[: len(one.path)])):
                return i
        return -1


def answer_form(schema: Mapping[str, Any]) -> Form:
    """The form for an answer of a JSON schema: a field for each named value, or one field for a single value."""
    fields = tuple(_from_schema(schema, schema, (), "", False, 0))
    return Form(fields if 0 < len(fields) <= LEAVES else (_json((), schema),), schema)


def _with(whole: Any, path: Path, value: Any) -> Any:
    """A nested mapping with one more value in its place."""
    head, *rest = path
    return {**whole, head: _with(whole.get(head, {}), tuple(rest), value) if rest else value}


def _plain(value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except Exception:  # what is no JSON is judged as it is
        return value


# -- fields from a JSON schema ----------------------------------------------------------------------------------------


def _from_schema(
    given: Any, root: Mapping[str, Any], path: Path, about: str, optional: bool, depth: int
) -> Iterator[Field]:
    schema, nullable = _without_null(resolve(given, root), root)
    optional = optional or nullable
    about = str(schema.get("description", about))
    default = schema.get("default")
    kind = schema.get("type")
    known = schema.get("properties")
    if kind == "object" and isinstance(known, Mapping) and known and depth < NESTED and not (path and optional):
        needed = schema.get("required", ())
        for name, part in known.items():
            yield from _from_schema(part, root, (*path, str(name)), "", name not in needed, depth + 1)
        return
    present = default is not None
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str) and choices:
        found = choose(tuple(choices), default, present, path, optional)
    elif "const" in schema:
        found = choose((schema["const"],), schema["const"], True, path, optional)
    elif kind == "boolean":
        found = choose((True, False), default, present, path, optional)
    elif (name := _schema_kind(schema)) is not None:
        words = f"{_KIND_WORDS[name]}, optional" if optional else _KIND_WORDS[name]
        found = Field(path, name, words, clean(str(default)) if present else "", optional)
    elif kind == "array" and (name := _schema_kind(resolve(schema.get("items", {}), root))) in ("text", "integer"):
        shown = "\n".join(map(str, default)) if isinstance(default, list) else ""
        words = "list, one item on each line" + (", optional" if optional else "")
        found = Field(path, "lines", words, clean(shown), optional, item=name)
    else:
        found = replace(_json(path, schema, optional), initial=json.dumps(default) if present else "")
    yield replace(found, about=about)


_KIND_WORDS: Final[dict[Kind, str]] = {
    "text": "text",
    "integer": "integer",
    "number": "number",
    "date": "date",
    "datetime": "date and time",
}


def _schema_kind(schema: Mapping[str, Any]) -> Kind | None:
    formats: dict[str, Kind] = {"date": "date", "date-time": "datetime"}
    plain: dict[str, Kind] = {"integer": "integer", "number": "number"}
    kind = schema.get("type")
    if kind == "string":
        return formats.get(str(schema.get("format")), "text")
    return plain.get(kind) if isinstance(kind, str) else None


def _without_null(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The schema without its null, and whether there was one."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) == 2:
        return {**schema, "type": next(one for one in kinds if one != "null")}, True
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, Sequence) and len(options) == 2:
        others = [one for one in options if resolve(one, root).get("type") != "null"]
        if len(others) == 1:
            rest = {key: one for key, one in schema.items() if key not in ("anyOf", "oneOf")}
            return {**rest, **resolve(others[0], root)}, True
    return schema, False


def _json(path: Path, schema: Mapping[str, Any], optional: bool = False) -> Field:
    return Field(path, "json", "JSON, optional" if optional else "JSON", "", optional)
