"""Controls as values: what each asks for, and how to read what was typed in it. Pure; nothing here draws."""

from __future__ import annotations

import datetime
import enum
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import ConfigDict, TypeAdapter

from widgets.schema import faults
from workbench import html, text

__all__ = ["Field", "Kind", "Path", "adapter_for", "choose", "clean", "convert", "read_json"]

Kind = Literal["text", "integer", "number", "choice", "date", "datetime", "lines", "json", "fixed"]
"""The controls: `lines` is a list with one item on each line, `fixed` a value that can only be looked at."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """One control. `path` is where its value belongs, `()` for a form that is one value.

    `words` says the kind to a person, `initial` is what the control shows at first; `choices` are the values behind a
    choice, in its order. `item` is the kind of a line's items. An `optional` field may be left empty.
    """

    path: Path
    kind: Kind
    words: str
    initial: str = ""
    optional: bool = False
    choices: tuple[Any, ...] = ()
    item: Kind = "text"
    about: str = ""
    annotation: Any = field(default=Any, repr=False, compare=False)

    @property
    def label(self) -> str:
        return ".".join(self.path)

    @property
    def option_words(self) -> tuple[str, ...]:
        """The choices as a person reads them."""
        return tuple(_choice_words(one) for one in self.choices)

    def read(self, raw: str) -> Any:
        """The typed value of what was typed. Raises ValueError with a sentence."""
        if not raw.strip() and self.kind not in ("text", "lines"):
            if self.optional:
                return None
            raise ValueError("A value is needed here.")
        if self.kind == "text" and raw == "" and self.optional:
            return None
        return convert(self.annotation, _READERS[self.kind](self, raw))


def clean(words: str) -> str:
    """A text as it comes back from a control that nobody touched."""
    return html.clean(words).replace("\r\n", "\n").replace("\r", "\n")


def adapter_for(annotation: Any) -> TypeAdapter[Any] | None:
    """What checks and converts values of a type; None for a type that cannot be checked."""
    for config in (ConfigDict(arbitrary_types_allowed=True), None):
        try:
            return TypeAdapter(annotation, config=config)
        except Exception:  # pydantic has no schema for this type: it is not checked
            continue
    return None


def convert(annotation: Any, value: Any) -> Any:
    """The value as its declared type: an enum's member, a model. Raises ValueError with a sentence."""
    adapter = None if annotation is Any else adapter_for(annotation)
    if adapter is None:
        return value
    try:
        return adapter.validate_python(value)
    except ValueError as error:
        raise ValueError(sentence(error, value)) from None


def sentence(error: ValueError, value: Any) -> str:
    """What pydantic found wrong, as one sentence that names the value."""
    details = getattr(error, "errors", None)
    found = details(include_url=False) if callable(details) else []
    if not found:
        return str(error)
    first = found[0]
    limits = first.get("ctx", {})
    for key, keyword in _PYDANTIC_LIMITS.items():
        if key in limits and first["type"].startswith(("greater", "less")):
            told = faults({keyword: limits[key]}, first["input"])
            if told:
                return told[0].words
    where = ".".join(map(str, first["loc"]))
    return f"{text.value(first.get('input', value), 40)}: {first['msg']}{f' (at {where})' if where else ''}."


_PYDANTIC_LIMITS: Final = {"le": "maximum", "ge": "minimum", "lt": "exclusiveMaximum", "gt": "exclusiveMinimum"}


# -- reading ----------------------------------------------------------------------------------------------------------


def _integer(_: Field, raw: str) -> int:
    try:
        return int(raw.strip().replace("−", "-"))  # noqa: RUF001 - a minus sign that was pasted
    except ValueError:
        raise ValueError(f"“{text.value(raw, 40)}” is not a whole number. Enter digits, as in 12.") from None


def _decimal(_: Field, raw: str) -> float:
    words = raw.strip().replace("−", "-")  # noqa: RUF001 - a minus sign that was pasted
    try:
        found = float(words)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"“{text.value(raw, 40)}” is not a number. Enter one, as in 12.5.")
    return found


def _choice(one: Field, raw: str) -> Any:
    try:
        return one.choices[int(raw)]
    except (ValueError, IndexError):
        raise ValueError(f"Choose one of {text.listing(one.option_words, 'or')}.") from None


def _date(_: Field, raw: str) -> str:
    try:
        return datetime.date.fromisoformat(raw.strip()).isoformat()
    except ValueError:
        raise ValueError(f"“{text.value(raw, 40)}” is not a date. Enter one as 2026-11-30.") from None


def _datetime(_: Field, raw: str) -> str:
    try:
        return datetime.datetime.fromisoformat(raw.strip()).isoformat()
    except ValueError:
        raise ValueError(f"“{text.value(raw, 40)}” is not a date and time. Enter it as 2026-11-30T09:30:00.") from None


def _lines(one: Field, raw: str) -> list[Any]:
    return [_READERS[one.item](one, line) for line in raw.split("\n") if line.strip()]


def _from_json(_: Field, raw: str) -> Any:
    return read_json(raw)


def read_json(raw: str) -> Any:
    """The value of JSON text. Raises ValueError with a sentence that says where it goes wrong."""
    try:
        return json.loads(raw, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"This is not JSON: {error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno}, column {error.colno}. "
            'Texts stand in double quotes, as in "yes".'
        ) from None
    except RecursionError:
        raise ValueError("This JSON is nested too deep.") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}. Enter a number.")


def _fixed(one: Field, raw: str) -> Any:
    raise ValueError(f"{one.words[:1].upper()}{one.words[1:]} cannot be edited here.")


_READERS: Final[dict[Kind, Callable[[Field, str], Any]]] = {
    "text": lambda _, raw: raw,
    "integer": _integer,
    "number": _decimal,
    "choice": _choice,
    "date": _date,
    "datetime": _datetime,
    "lines": _lines,
    "json": _from_json,
    "fixed": _fixed,
}


def choose(
    choices: Sequence[Any], value: Any, present: bool, path: Path, optional: bool, annotation: Any = Any
) -> Field:
    """A field with a value to choose from several; it shows the one that is there."""
    at = next((i for i, one in enumerate(choices) if type(one) is type(value) and one == value), None)
    known = present and at is not None
    words = "true or false" if tuple(choices) == (True, False) else f"one of {len(choices)}"
    return Field(
        path,
        "choice",
        f"{words}, optional" if optional else words,
        str(at) if known else "",
        optional,
        tuple(choices),
        annotation=annotation,
    )


def _choice_words(value: Any) -> str:
    if isinstance(value, enum.Enum):
        value = value.value if isinstance(value.value, str | int) else value.name
    if isinstance(value, bool):
        return "true" if value else "false"
    return text.value(value)
