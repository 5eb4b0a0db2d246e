"""Copies of the containers in a value, so that code which changes its input in place changes nothing of the state.

Only the plain containers (list, dict, set, tuple around them) are copied, each level once; everything else is handed
on as it is: an object of the user's own is shared by all who read it.
"""

from __future__ import annotations

from typing import Any

_CONTAINERS = frozenset({list, dict, set, tuple})


def is_loose(value: Any) -> bool:
    """True for a value whose reader could change it in place."""
    return type(value) in _CONTAINERS


def isolate(value: Any) -> Any:
    """The value, with every plain container in it copied."""
    kind = type(value)
    if kind is list:
        return value.copy() if _flat(value) else [isolate(item) for item in value]
    if kind is dict:
        return value.copy() if _flat(value.values()) else {key: isolate(item) for key, item in value.items()}
    if kind is set:
        return value.copy()
    if kind is tuple and not _flat(value):
        return tuple(isolate(item) for item in value)
    return value


def _flat(items: Any) -> bool:
    return _CONTAINERS.isdisjoint(map(type, items))
