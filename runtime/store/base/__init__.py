"""The store's port: items under namespaces, and the operations on them.

An **item** is a dict of plain values, under a key in a **namespace**, a tuple of labels such as `("users", "ada")`.
Every method of a store is one operation handed to `batch` or `abatch`, which are all that a store must implement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from langchain_core.embeddings import Embeddings
from typing_extensions import TypedDict

from runtime.store.base.embed import (
    AEmbeddingsFunc,
    EmbeddingsFunc,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)

__all__ = (
    "NOT_PROVIDED",
    "AEmbeddingsFunc",
    "BaseStore",
    "Embeddings",
    "EmbeddingsFunc",
    "GetOp",
    "IndexConfig",
    "InvalidNamespaceError",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "NamespaceMatchType",
    "NamespacePath",
    "NotProvided",
    "Op",
    "PutOp",
    "Result",
    "SearchItem",
    "SearchOp",
    "TTLConfig",
    "ensure_embeddings",
    "get_text_at_path",
    "tokenize_path",
    "validate_op_namespace",
)

NamespacePath = tuple[str | Literal["*"], ...]
"""A namespace in which `*` stands for any one label."""

NamespaceMatchType = Literal["prefix", "suffix"]

_RESERVED_ROOT: Final = "langgraph"


class NotProvided:
    """The type of `NOT_PROVIDED`, which stands for an argument that was not given. It is false."""

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_PROVIDED: Final = NotProvided()


class InvalidNamespaceError(ValueError):
    """A namespace that no item can have."""


class Item:
    """A stored item: its value, where it is, and when it was made and changed. Times may be given as ISO text."""

    __slots__ = ("created_at", "key", "namespace", "updated_at", "value")

    def __init__(
        self,
        *,
        value: dict[str, Any],
        key: str,
        namespace: tuple[str, ...],
        created_at: datetime,
        updated_at: datetime,
    ) -> None:
        self.value = value
        self.key = key
        self.namespace = tuple(namespace)
        self.created_at = _time(created_at)
        self.updated_at = _time(updated_at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and all(getattr(self, name) == getattr(other, name) for name in Item.__slots__)

    def __hash__(self) -> int:
        return hash((self.namespace, self.key))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.dict().items())})"

    def dict(self) -> dict[str, Any]:
        """The item as plain data: the namespace a list, the times ISO text."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


class SearchItem(Item):
    """An item that a search found. `score` says how like the query it is; None where likeness was not measured."""

    __slots__ = ("score",)

    def __init__(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: dict[str, Any],
        created_at: datetime,
        updated_at: datetime,
        score: float | None = None,
    ) -> None:
        super().__init__(value=value, key=key, namespace=namespace, created_at=created_at, updated_at=updated_at)
        self.score = score

    def dict(self) -> dict[str, Any]:
        return {**super().dict(), "score": self.score}


class GetOp(NamedTuple):
    """Read one item. Its result: the item, or None."""

    namespace: tuple[str, ...]
    key: str
    refresh_ttl: bool = True


class SearchOp(NamedTuple):
    """Find items whose namespace begins with the prefix. Its result: a list of `SearchItem`.

    `filter` compares fields of the value: with a plain value, or by `{"$gt": 3}` and its like ($eq, $ne, $gt, $gte,
    $lt, $lte). `query` sorts by likeness where the store has an index.
    """

    namespace_prefix: tuple[str, ...]
    filter: dict[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    query: str | None = None
    refresh_ttl: bool = True


class MatchCondition(NamedTuple):
    """How a namespace must begin or end."""

    match_type: NamespaceMatchType
    path: NamespacePath


class ListNamespacesOp(NamedTuple):
    """List namespaces, sorted, cut to `max_depth` labels. Its result: a list of tuples."""

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


class PutOp(NamedTuple):
    """Store an item, or delete it where `value` is None. Its result: None.

    `index` says which fields the query of a search looks at: False none, a list of paths those, None the store's own
    choice. `ttl` is in minutes.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    ttl: float | None = None


Op = GetOp | SearchOp | PutOp | ListNamespacesOp
Result = Item | list[Item] | list[SearchItem] | list[tuple[str, ...]] | None


class TTLConfig(TypedDict, total=False):
    """How long items live, in minutes, and what renews them."""

    refresh_on_read: bool
    omit_expired: bool
    default_ttl: float | None
    sweep_interval_minutes: int | None


class IndexConfig(TypedDict, total=False):
    """How items are found by likeness: the vectors' length, what makes them, and of which fields (`$`: all of it)."""

    dims: int
    embed: Embeddings | EmbeddingsFunc | AEmbeddingsFunc | str
    fields: list[str] | None


class BaseStore(ABC):
    """Keeps items under namespaces. Implement `batch` and `abatch`; the other methods are made of them."""

    supports_ttl: bool = False
    renews_on_read: bool = True  # where `refresh_on_read` of the config does not say
    ttl_config: TTLConfig | None = None

    __slots__ = ("__weakref__",)

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations and give their results in the same order.

        Reads see the store as it was before the batch; of several puts of one key the last counts.
        """

    @abstractmethod
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, awaited."""

    def get(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """The item, or None."""
        return self._one(self._get_op(namespace, key, refresh_ttl))  # type: ignore[return-value]  # of a GetOp

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """The items under the prefix that pass the filter, most like the query first."""
        op = SearchOp(namespace_prefix, filter, limit, offset, query, self._refresh(refresh_ttl))
        return self._one(op)  # type: ignore[return-value]  # of a SearchOp

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store an item; one of the same key is replaced. `ttl` is in minutes; None keeps the item for good."""
        self._one(self._put_op(namespace, key, value, index, ttl))

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Forget the item, if it is there."""
        self._one(PutOp(namespace, str(key), None))

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """The namespaces that begin and end so, sorted, cut to `max_depth` labels. `*` stands for any label."""
        op = _list_op(prefix, suffix, max_depth, limit, offset)
        return self._one(op)  # type: ignore[return-value]  # of a ListNamespacesOp

    async def aget(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        return await self._aone(self._get_op(namespace, key, refresh_ttl))  # type: ignore[return-value]  # of a GetOp

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        op = SearchOp(namespace_prefix, filter, limit, offset, query, self._refresh(refresh_ttl))
        return await self._aone(op)  # type: ignore[return-value]  # of a SearchOp

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        await self._aone(self._put_op(namespace, key, value, index, ttl))

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        await self._aone(PutOp(namespace, str(key), None))

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        op = _list_op(prefix, suffix, max_depth, limit, offset)
        return await self._aone(op)  # type: ignore[return-value]  # of a ListNamespacesOp

    def _one(self, op: Op) -> Result:
        return self.batch([op])[0]

    async def _aone(self, op: Op) -> Result:
        return (await self.abatch([op]))[0]

    def _get_op(self, namespace: tuple[str, ...], key: str, refresh_ttl: bool | None) -> GetOp:
        return GetOp(namespace, str(key), self._refresh(refresh_ttl))

    def _put_op(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None,
        ttl: float | NotProvided | None,
    ) -> PutOp:
        if not namespace:
            raise InvalidNamespaceError(
                "Namespace cannot be empty: an item needs at least one label, such as ('users',)."
            )
        if namespace[0] == _RESERVED_ROOT:
            raise InvalidNamespaceError(
                f"The namespace {namespace!r} begins with {_RESERVED_ROOT!r}, which the runtime keeps for itself. "
                f"Begin it with another label."
            )
        if not isinstance(ttl, NotProvided):
            if ttl is not None and not self.supports_ttl:
                raise NotImplementedError(
                    f"TTL is not supported by {type(self).__name__}. Leave ttl out, or use a store whose items expire."
                )
            lifetime = ttl
        else:
            lifetime = (self.ttl_config or {}).get("default_ttl")
        return PutOp(namespace, str(key), value, index, lifetime)

    def _refresh(self, refresh_ttl: bool | None) -> bool:
        if refresh_ttl is not None:
            return refresh_ttl
        return (self.ttl_config or {}).get("refresh_on_read", self.renews_on_read)


def validate_op_namespace(op: Op) -> None:
    """Raise InvalidNamespaceError where a label of the operation's namespace is one that no namespace can have."""
    if isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            _check_labels(condition.path)
    elif isinstance(op, SearchOp):
        _check_labels(op.namespace_prefix)
    else:
        _check_labels(op.namespace)


def _check_labels(namespace: tuple[Any, ...]) -> None:
    for label in namespace:
        if not isinstance(label, str):
            problem = f"must be strings, but got {type(label).__name__}"
        elif not label:
            problem = "cannot be empty strings"
        elif "." in label:
            problem = "cannot contain periods ('.')"
        elif "\0" in label:
            problem = "cannot contain NUL bytes ('\\x00')"
        else:
            continue
        raise InvalidNamespaceError(
            f"Invalid namespace label {label!r} found in {namespace!r}. Namespace labels {problem}."
        )


def _list_op(
    prefix: NamespacePath | None, suffix: NamespacePath | None, max_depth: int | None, limit: int, offset: int
) -> ListNamespacesOp:
    conditions: list[MatchCondition] = []
    if prefix:
        conditions.append(MatchCondition("prefix", prefix))
    if suffix:
        conditions.append(MatchCondition("suffix", suffix))
    return ListNamespacesOp(tuple(conditions) or None, max_depth, limit, offset)


def _time(value: datetime | str) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
