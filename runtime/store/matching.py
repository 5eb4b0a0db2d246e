"""Which items a search asks for, and which namespaces a listing, decided in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from runtime.store.base import ListNamespacesOp, MatchCondition

_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def passes(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether an item's value fits all of a filter."""
    return all(_fits(value.get(key), wanted) for key, wanted in (filter or {}).items())


def listed(namespaces: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The page that the operation asks for, of those namespaces that match: cut to its depth, each once, sorted."""
    conditions = op.match_conditions or ()
    found = {
        namespace[: op.max_depth]
        for namespace in namespaces
        if all(_namespace_matches(namespace, condition) for condition in conditions)
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def copied(value: Any) -> Any:
    """A value whose dicts and lists are new; what is in them is shared."""
    if type(value) is dict:
        return {key: copied(part) for key, part in value.items()}
    if type(value) is list:
        return [copied(part) for part in value]
    return value


def _namespace_matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        labels = namespace[: len(path)]
    elif condition.match_type == "suffix":
        labels = namespace[len(namespace) - len(path) :]
    else:
        raise ValueError(f"Unsupported match type: {condition.match_type!r}. It is 'prefix' or 'suffix'.")
    return all(wanted in ("*", label) for wanted, label in zip(path, labels, strict=True))


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(key.startswith("$") for key in wanted):
            return all(_compares(value, sign, other) for sign, other in wanted.items())
        return isinstance(value, Mapping) and all(_fits(value.get(key), part) for key, part in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return isinstance(value, (list, tuple)) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, sign: str, other: Any) -> bool:
    if sign == "$eq":
        return bool(value == other)
    if sign == "$ne":
        return bool(value != other)
    if sign not in _ORDER:
        raise ValueError(f"Unsupported operator: {sign}. A filter knows $eq, $ne, $gt, $gte, $lt and $lte.")
    try:
        return _ORDER[sign](float(value), float(other))
    except (TypeError, ValueError, OverflowError):  # no two numbers: texts have an order too, all else has none
        return isinstance(value, str) and isinstance(other, str) and _ORDER[sign](value, other)
