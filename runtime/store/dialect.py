"""The statements of a store that are the same in every database, but for some words.

A namespace is stored as its labels with dots between, so all that lies under `a.b` is between `a.b.` and `a.b/`: the
slash is the sign that follows the dot. Parameters are marked by question marks; all that a caller gave is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, ClassVar, Final, NamedTuple

from runtime.store.base import GetOp, ListNamespacesOp, NamespacePath, SearchOp
from runtime.store.batches import Batch, Namespace
from runtime.store.index import Numbers, Vectors
from runtime.store.sql import Read, Row, Write, plain, prefix

_ORDER: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Condition(NamedTuple):
    """A part of a statement, and the parameters in it."""

    sql: str
    params: tuple[Any, ...] = ()


NEVER: Final = Condition("FALSE")


class SqlDialect(ABC):
    """A store's statements, in the words of a database.

    `omit_expired` hides what has expired and is not swept yet.
    """

    columns: ClassVar[str]
    """What is selected of an item: the columns of `Row` but the score."""
    begins: ClassVar[str]
    """That a prefix lies between two texts."""
    newest: ClassVar[str]
    """The order in which the latest change comes first."""

    def __init__(self, *, omit_expired: bool) -> None:
        self.omit_expired = omit_expired

    # -- a database's own words ----------------------------------------------------------------------------------------

    @abstractmethod
    def expired(self) -> Condition:
        """That an item's time has come."""

    @abstractmethod
    def puts(self, batch: Batch, vectors: Vectors) -> list[Write]:
        """What writes a batch's items and their vectors."""

    @abstractmethod
    def renewals(self, rows: list[Row]) -> list[Write]:
        """What gives items as much time again as they had at first."""

    @abstractmethod
    def likeness(self, query: Numbers) -> Condition:
        """How like the query the vector `v.embedding` is; NULL where that cannot be said."""

    @abstractmethod
    def present(self, key: str) -> Condition:
        """That a value has the field. ValueError for a key that leads nowhere."""

    @abstractmethod
    def equal(self, key: str, other: Any) -> Condition:
        """That a field equals what JSON holds."""

    @abstractmethod
    def ordered(self, key: str, sign: str, other: float | str) -> Condition:
        """That a field is of the same kind, text or number, and lies on that side of the other."""

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, op: GetOp) -> Read:
        where = [Condition("s.prefix = ? AND s.key = ?", (prefix(op.namespace), op.key)), *self._living()]
        return _read([Condition(f"SELECT {self.columns} FROM store s")], where)

    def search(self, op: SearchOp, query: Numbers | None) -> Read:
        """The page is made of places alone, as values take long to sort, and then of what is there."""
        where = [*self._under(op.namespace_prefix), *self._conditions(op.filter or {}), *self._living()]
        order = f"ORDER BY score DESC NULLS LAST, {self.newest}"
        select, group = Condition("SELECT s.prefix, s.key, NULL AS score FROM store s"), ""
        if query is not None:
            likeness, group = self.likeness(query), "GROUP BY s.prefix, s.key "
            select = Condition(
                f"SELECT s.prefix, s.key, max({likeness.sql}) AS score "
                "FROM store s JOIN store_vectors v ON v.prefix = s.prefix AND v.key = s.key",
                likeness.params,
            )
        page = _read([select], where, [Condition(f"{group}{order} LIMIT ? OFFSET ?", (op.limit, op.offset))])
        return Read(
            f"SELECT {self.columns}, found.score FROM ({page.sql}) found "
            f"JOIN store s ON s.prefix = found.prefix AND s.key = found.key {order}",
            page.params,
        )

    def namespaces(self, op: ListNamespacesOp) -> Read:
        """The prefixes that begin with all the labels that are asked for; the rest is decided in Python."""
        where = [
            each
            for condition in op.match_conditions or ()
            if condition.match_type == "prefix"
            for each in self._under(_beginning(condition.path))
        ]
        return _read([Condition("SELECT DISTINCT s.prefix FROM store s")], [*where, *self._living()])

    def _living(self) -> list[Condition]:
        if not self.omit_expired:
            return []
        expired = self.expired()
        return [Condition(f"(expires_at IS NULL OR NOT {expired.sql})", expired.params)]

    def _under(self, namespace: Namespace) -> list[Condition]:
        """That an item lies in the namespace, or in one that begins with all of its labels."""
        if not namespace:
            return []
        whole = prefix(namespace)
        return [Condition(f"(s.prefix = ? OR ({self.begins}))", (whole, whole + ".", whole + "/"))]

    def _conditions(self, filter: Mapping[str, Any]) -> Iterator[Condition]:
        for key, wanted in filter.items():
            comparisons = wanted.items() if isinstance(wanted, Mapping) else [("$eq", wanted)]
            for sign, other in comparisons:
                yield self._comparison(str(key), sign, plain(other))

    def _comparison(self, key: str, sign: str, other: Any) -> Condition:
        known = other == other  # all but what is not a number, which equals nothing and has no order
        if sign == "$eq":
            return self.equal(key, other) if known else NEVER
        if sign == "$ne":
            present, equal = self.present(key), self.equal(key, other) if known else NEVER
            return Condition(f"({present.sql} AND NOT {equal.sql})", (*present.params, *equal.params))
        if sign not in _ORDER:
            raise ValueError(f"Unsupported operator: {sign}. A filter knows $eq, $ne, $gt, $gte, $lt and $lte.")
        if not known or not isinstance(other, (str, int, float)):
            return NEVER
        return self.ordered(key, _ORDER[sign], other)


def _read(select: Iterable[Condition], where: Sequence[Condition], rest: Iterable[Condition] = ()) -> Read:
    parts = list(select)
    if where:
        params = tuple(param for each in where for param in each.params)
        parts.append(Condition("WHERE " + " AND ".join(each.sql for each in where), params))
    parts += rest
    return Read(" ".join(each.sql for each in parts), tuple(param for each in parts for param in each.params))


def _beginning(path: NamespacePath) -> Namespace:
    """The labels of a path before its first star."""
    return tuple(takewhile(lambda label: label != "*", path))
