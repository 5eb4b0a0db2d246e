from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

NOW = datetime(2024, 1, 1, tzinfo=UTC)


class Recording(BaseStore):
    """A store that says what it was asked."""

    supports_ttl = True

    def __init__(self, ttl_config: TTLConfig | None = None) -> None:
        self.ttl_config = ttl_config
        self.asked: list[Any] = []

    def batch(self, ops: Any) -> list[Result]:
        self.asked += ops
        return [None]

    async def abatch(self, ops: Any) -> list[Result]:
        return self.batch(ops)


def test_an_item_reads_times_from_text():
    item = Item(value={}, key="k", namespace=["a"], created_at=NOW.isoformat(), updated_at=NOW)  # type: ignore[arg-type]
    assert (item.created_at, item.namespace) == (NOW, ("a",))


def test_an_item_is_equal_by_all_its_parts_and_found_by_its_place():
    parts: Any = {"value": {"a": 1}, "key": "k", "namespace": ("a",), "created_at": NOW, "updated_at": NOW}
    assert Item(**parts) == Item(**parts)
    assert Item(**parts) != Item(**{**parts, "value": {}})
    assert hash(Item(**parts)) == hash(Item(**{**parts, "value": {}}))


def test_a_found_item_as_plain_data_has_a_score():
    found = SearchItem(("a", "b"), "k", {"x": 1}, NOW, NOW, score=0.5)
    times = {"created_at": NOW.isoformat(), "updated_at": NOW.isoformat()}
    assert found.dict() == {"namespace": ["a", "b"], "key": "k", "value": {"x": 1}, **times, "score": 0.5}


def test_each_method_is_one_operation():
    store = Recording()
    store.get(("a",), 5)  # type: ignore[arg-type]  # keys are turned into text
    store.put(("a",), "k", {"x": 1}, index=False, ttl=3)
    store.delete(("a",), "k")
    store.search(("a",), query="q", filter={"x": 1}, limit=2, offset=1)
    store.list_namespaces(prefix=("a",), suffix=("*", "z"), max_depth=2)
    conditions = (MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("*", "z")))
    assert store.asked == [
        GetOp(("a",), "5"),
        PutOp(("a",), "k", {"x": 1}, False, 3),
        PutOp(("a",), "k", None),
        SearchOp(("a",), {"x": 1}, 2, 1, "q"),
        ListNamespacesOp(conditions, 2),
    ]


def test_the_stores_lifetimes_hold_where_none_is_given():
    store = Recording({"default_ttl": 7, "refresh_on_read": False})
    store.put(("a",), "k", {})
    store.put(("a",), "k", {}, ttl=None)
    store.get(("a",), "k")
    store.get(("a",), "k", refresh_ttl=True)
    assert [op.ttl for op in store.asked[:2]] == [7, None]
    assert [op.refresh_ttl for op in store.asked[2:]] == [False, True]


def test_not_provided_is_false():
    assert not NOT_PROVIDED


@pytest.mark.parametrize("namespace", [(), ("langgraph",), ("langgraph", "a")])
def test_nothing_is_put_at_the_root_or_under_the_reserved_label(namespace: tuple[str, ...]):
    with pytest.raises(InvalidNamespaceError):
        Recording().put(namespace, "k", {})


@pytest.mark.parametrize("label", ["", "a.b", "a\0", 5])
@pytest.mark.parametrize("form", [GetOp, SearchOp, PutOp, MatchCondition])
def test_a_label_is_text_without_dots(label: Any, form: Any):
    op: Any = {
        GetOp: lambda: GetOp(("ok", label), "k"),
        SearchOp: lambda: SearchOp((label,)),
        PutOp: lambda: PutOp((label,), "k", {}),
        MatchCondition: lambda: ListNamespacesOp((MatchCondition("prefix", (label,)),)),
    }[form]()
    with pytest.raises(InvalidNamespaceError, match="Namespace labels"):
        validate_op_namespace(op)
