"""Any value as text that is the same on both engines: what something is made of, not whose class it is."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from langchain_core.messages import BaseMessage

from tests.parity.explained import alike

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")
_ERROR = re.compile(r"""^([A-Z]\w*)\(.*\)$""", re.DOTALL)


def plain(value: Any) -> str:
    """The value as text; an exception as its class."""
    if isinstance(value, str):
        return _TIME.sub("<time>", repr(_ERROR.sub(r"<\1>", value)))
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, AssertionError):
        return f"<an invariant is broken: {value}>"
    if isinstance(value, BaseException):
        return f"<{type(value).__name__}>"
    if isinstance(value, BaseMessage):
        return f"{type(value).__name__}({plain(value.model_dump())})"
    value = alike(value)
    if isinstance(value, dict):
        items = sorted((plain(key), plain(item)) for key, item in value.items())
        return f"{{{', '.join(f'{key}: {item}' for key, item in items)}}}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _fields(value, value._fields)
    if isinstance(value, tuple):
        return f"({', '.join(map(plain, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(plain, value)))}}}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, [field.name for field in dataclasses.fields(value)])
    names = getattr(type(value), "__slots__", None)
    return _fields(value, list(names)) if names else repr(value)


def _fields(value: Any, names: Any) -> str:
    return f"{type(value).__name__}({', '.join(f'{name}={plain(getattr(value, name))}' for name in names)})"
