"""What differs between two values, as a list of operations: data, which another module draws.

Mappings, models and dataclasses are compared by field, lists by item, lists of chat messages by message (by id, where
they have ids), all else as a whole. An operation says where (a path of keys and places), what, and both values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, Literal, NamedTuple

from workbench import text

__all__ = ("ABSENT", "Operation", "diff")


class _Absent:
    """The type of `ABSENT`, which stands for the side on which there is no value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()

Path = tuple[Any, ...]


class Operation(NamedTuple):
    """One difference. `path` holds keys, field names and list places; a value that one side lacks is `ABSENT`.

    "append" adds to the end of a list, "add" anywhere else; "remove" takes away; "replace" has both values.
    """

    op: Literal["add", "append", "remove", "replace"]
    path: Path
    before: Any
    after: Any


def diff(before: Any, after: Any, path: Path = ()) -> list[Operation]:
    """The operations that make `after` of `before`; none when they are equal."""
    return list(_compare(before, after, path))


def equal(a: Any, b: Any) -> bool:
    """True when two values are the same; values that cannot be compared differ unless they are one object."""
    if a is b:
        return True
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    try:
        return bool(a == b)
    except Exception:  # arrays and frames do not answer yes or no
        try:
            return type(a) is type(b) and bool(a.equals(b) if hasattr(a, "equals") else (a == b).all())
        except Exception:
            return False


def _compare(before: Any, after: Any, path: Path) -> Iterator[Operation]:
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _mappings(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path)
    elif isinstance(before, Set) and isinstance(after, Set):
        yield from (Operation("remove", path, one, ABSENT) for one in sorted(before - after, key=repr))
        yield from (Operation("add", path, ABSENT, one) for one in sorted(after - before, key=repr))
    elif type(before) is type(after) and (fields := _fields(before, after)) is not None:
        yield from _mappings(*fields, path)
    elif not equal(before, after):
        yield Operation("replace", path, before, after)


def _fields(before: Any, after: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    if text.message(before) is not None:
        return None
    a, b = text.parts(before), text.parts(after)
    return (a.fields, b.fields) if a is not None and b is not None else None


def _mappings(before: Mapping[Any, Any], after: Mapping[Any, Any], path: Path) -> Iterator[Operation]:
    for key, value in before.items():
        if key in after:
            yield from _compare(value, after[key], (*path, key))
        else:
            yield Operation("remove", (*path, key), value, ABSENT)
    for key, value in after.items():
        if key not in before:
            yield Operation("add", (*path, key), ABSENT, value)


def _lists(before: list[Any], after: list[Any], path: Path) -> Iterator[Operation]:
    if _have_ids(before) and _have_ids(after):
        yield from _messages(before, after, path)
        return
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if not old:
        op: Literal["append", "add"] = "add" if tail else "append"
        yield from (Operation(op, (*path, head + place), ABSENT, one) for place, one in enumerate(new))
        return
    for place in range(max(len(old), len(new))):
        here = (*path, head + place)
        if place >= len(new):
            yield Operation("remove", here, old[place], ABSENT)
        elif place >= len(old):
            yield Operation("add" if tail else "append", here, ABSENT, new[place])
        else:
            yield from _compare(old[place], new[place], here)


def _common(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many items from the start are equal."""
    for place, (one, other) in enumerate(zip(a, b, strict=False)):
        if not equal(one, other):
            return place
    return min(len(a), len(b))


def _have_ids(items: list[Any]) -> bool:
    """True for a list of chat messages that all have an id, each its own. An empty list may be one."""
    ids = [getattr(one, "id", None) if text.message(one) is not None else None for one in items]
    return None not in ids and len(set(ids)) == len(ids)


def _messages(before: list[Any], after: list[Any], path: Path) -> Iterator[Operation]:
    """By id: a message is the same one wherever it stands."""
    old = {one.id: one for one in before}
    new = {one.id for one in after}
    for place, one in enumerate(before):
        if one.id not in new:
            yield Operation("remove", (*path, place), one, ABSENT)
    last = max((place for place, one in enumerate(after) if one.id in old), default=-1)
    for place, one in enumerate(after):
        if one.id not in old:
            yield Operation("append" if place > last else "add", (*path, place), ABSENT, one)
        elif not equal(old[one.id], one):
            yield Operation("replace", (*path, place), old[one.id], one)
