"""What all stores do alike."""

from collections.abc import Callable
from typing import Any

import pytest

from runtime.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from tests.runtime.store.letters import Letters

Open = Callable[..., Any]

HOSTILE = ("%", "_", "*", "[a]", "a'b", 'a"b', "') OR 1=1 --", "a\\", "A", "é", " ", "a/b", "$", "?", "%s", "{}")

FILTERS: list[tuple[dict[str, Any], bool]] = [
    ({"x": 1}, True),
    ({"x": 1.0}, True),
    ({"x": 2}, False),
    ({"x": "1"}, False),
    ({"x": {"$gt": 0, "$lt": 2}}, True),
    ({"x": {"$gte": 2}}, False),
    ({"x": {"$gt": 0.5}}, True),
    ({"x": {"$lt": float("inf")}}, True),
    ({"x": {"$lt": 10**100}}, True),
    ({"x": {"$gt": float("nan")}}, False),
    ({"x": float("nan")}, False),
    ({"n": float("nan")}, False),
    ({"x": {"$ne": float("nan")}}, True),
    ({"x": float("inf")}, False),
    ({"x": {"$ne": float("inf")}}, True),
    ({"x": {"$gt": "a"}}, False),
    ({"x": {"$eq": 1}, "y": {"$ne": 1}}, True),
    ({"x": {"$eq": 1}, "y": {"$ne": "b"}}, False),
    ({"x": {"$ne": 1}}, False),
    ({"x": {"$ne": "1"}}, True),
    ({"y": "b"}, True),
    ({"y": {"$gt": "a"}}, True),
    ({"y": {"$gte": "b", "$lte": "b"}}, True),
    ({"y": {"$lt": "B"}}, False),
    ({"y": {"$gt": 0}}, False),
    ({"l": [1, 2]}, True),
    ({"l": (1, 2)}, True),
    ({"l": {"$eq": [1, 2]}}, True),
    ({"l": {"$ne": [1, 2]}}, False),
    ({"l": [1]}, False),
    ({"l": "[1,2]"}, False),
    ({"l": {"$gt": 0}}, False),
    ({"n": None}, True),
    ({"n": {"$ne": None}}, False),
    ({"n": {"$ne": 1}}, True),
    ({"x": None}, False),
    ({"t": True}, True),
    ({"t": False}, False),
    ({"no": 1}, False),
    ({"no": {"$gt": 1}}, False),
    ({"d": {"$gt": 1}}, False),
    ({"d": {"$eq": {"z": 1}}}, True),
    ({"d": {"$ne": {"z": 1}}}, False),
    ({}, True),
]
"""Filters, and whether they find the item of the test that asks for them."""

LISTED: list[tuple[dict[str, Any], list[tuple[str, ...]]]] = [
    ({}, [("a",), ("a", "b"), ("a", "c", "d"), ("a b",), ("e",)]),
    ({"prefix": ("a",)}, [("a",), ("a", "b"), ("a", "c", "d")]),
    ({"prefix": ("a", "*")}, [("a", "b"), ("a", "c", "d")]),
    ({"prefix": ("*", "c")}, [("a", "c", "d")]),
    ({"suffix": ("*", "d")}, [("a", "c", "d")]),
    ({"prefix": ("a",), "suffix": ("b",)}, [("a", "b")]),
    ({"max_depth": 2}, [("a",), ("a", "b"), ("a", "c"), ("a b",), ("e",)]),
    ({"max_depth": 1, "offset": 1}, [("a b",), ("e",)]),
    ({"limit": 1}, [("a",)]),
    ({"limit": 0}, []),
]
"""What may be asked of the namespaces of the test that asks for them, and those that are found."""


def keys(found: Any) -> list[str]:
    return sorted(item.key for item in found)


def test_an_item_is_put_read_and_deleted(store: Any):
    store.put(("a", "b"), "k", {"x": 1})
    item = store.get(("a", "b"), "k")
    assert (item.namespace, item.key, item.value, item.created_at) == (("a", "b"), "k", {"x": 1}, item.updated_at)
    store.delete(("a", "b"), "k")
    store.delete(("a", "b"), "k")
    assert store.get(("a", "b"), "k") is None


def test_a_put_replaces_all_of_an_item(store: Any):
    store.put(("a",), "k", {"x": 1})
    store.put(("a",), "k", {"y": 2})
    assert store.get(("a",), "k").value == {"y": 2}
    assert keys(store.search(())) == ["k"]


def test_a_key_is_text(store: Any):
    store.put(("a",), 5, {})
    assert store.get(("a",), 5).key == "5"


@pytest.mark.parametrize(
    "value", [{}, {"é": "ü\n\t"}, {"l": [1, 2.5, None, True, "x", [], {}]}, {"d": {"e": {"f": [{"g": -1}]}}}]
)
def test_a_value_comes_back_as_it_was(store: Any, value: dict[str, Any]):
    store.put(("a",), "k", value)
    assert store.get(("a",), "k").value == value
    assert store.search(("a",))[0].value == value


def test_nobody_changes_an_item_but_by_put(store: Any):
    value = {"deep": [{"x": 1}]}
    store.put(("a",), "k", value)
    value["deep"].append({})
    for item in (store.get(("a",), "k"), store.search(("a",))[0]):
        item.value["deep"][0]["x"] = 2
    assert store.get(("a",), "k").value == {"deep": [{"x": 1}]}


def test_a_batch_reads_before_it_writes_and_the_last_put_counts(store: Any):
    ops = [
        PutOp(("a",), "k", {"v": 1}),
        GetOp(("a",), "k"),
        PutOp(("a",), "k", {"v": 2}),
        SearchOp(("a",)),
        ListNamespacesOp(),
        PutOp(("a",), "gone", {}),
        PutOp(("a",), "gone", None),
    ]
    assert store.batch(ops) == [None, None, None, [], [], None, None]
    assert [item.value for item in store.search(("a",))] == [{"v": 2}]


def test_results_come_in_the_order_of_the_operations(store: Any):
    store.put(("a",), "1", {})
    store.put(("b",), "2", {})
    ops = [SearchOp(("b",)), GetOp(("a",), "1"), ListNamespacesOp(), GetOp(("a",), "no"), SearchOp(("a",))]
    found = store.batch(ops)
    assert [keys(found[0]), found[1].key, found[2], found[3], keys(found[4])] == [
        ["2"],
        "1",
        [("a",), ("b",)],
        None,
        ["1"],
    ]


def test_an_empty_batch_has_no_results(store: Any):
    assert store.batch([]) == []


def test_a_batch_with_a_bad_operation_does_nothing(store: Any):
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch([PutOp(("a",), "k", {}), 5])
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a",), "k", {}), GetOp(("a.b",), "k")])
    assert store.get(("a",), "k") is None


def test_a_search_covers_whole_labels(store: Any):
    for namespace, key in [(("a", "b"), "1"), (("a",), "2"), (("ab",), "3"), (("a", "b", "c"), "4"), (("A",), "5")]:
        store.put(namespace, key, {})
    assert keys(store.search(("a",))) == ["1", "2", "4"]
    assert keys(store.search(("a", "b"))) == ["1", "4"]
    assert keys(store.search(())) == ["1", "2", "3", "4", "5"]
    assert store.search(("a",))[0].score is None


def test_pages_of_a_search_hold_every_item_once(store: Any):
    for key in "12345":
        store.put(("a",), key, {})
    pages = [store.search(("a",), limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [len(page) for page in pages] == [2, 2, 1, 0]
    assert keys(item for page in pages for item in page) == ["1", "2", "3", "4", "5"]


def test_a_namespace_and_a_key_are_data(store: Any):
    store.put(("other",), "k", {"v": "other"})
    for text in HOSTILE:
        store.put((text, "x"), text, {"v": text})
        assert store.get((text, "x"), text).value == {"v": text}
        assert [item.namespace for item in store.search((text,))] == [(text, "x")]
        assert keys(store.search((), filter={"v": text})) == [text]
    for text in HOSTILE:
        assert text == "*" or store.list_namespaces(prefix=(text,)) == [(text, "x")]
        store.delete((text, "x"), text)
    assert keys(store.search(())) == ["k"]


def test_a_filter_compares_fields(store: Any):
    store.put(("a",), "k", {"x": 1, "y": "b", "d": {"z": 1}, "l": [1, 2], "n": None, "t": True})
    assert [f for f, found in FILTERS if bool(store.search(("a",), filter=f)) is not found] == []


def test_an_unknown_operator_is_refused(store: Any):
    store.put(("a",), "k", {"x": 1})
    with pytest.raises(ValueError, match="Unsupported operator: .near"):
        store.search(("a",), filter={"x": {"$near": 1}})


def test_namespaces_are_listed(store: Any):
    for namespace in [("e",), ("a", "c", "d"), ("a",), ("a b",), ("a", "b")]:
        store.put(namespace, "k", {})
        store.put(namespace, "k2", {})
    assert [(asked, store.list_namespaces(**asked)) for asked, _ in LISTED] == LISTED


def test_a_namespace_matches_from_either_end_only(store: Any):
    store.put(("a",), "k", {})
    with pytest.raises(ValueError, match="Unsupported match type"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])  # type: ignore[arg-type]


# -- by likeness -------------------------------------------------------------------------------------------------------


def indexed(open_store: Open, *fields: str) -> tuple[Any, Letters]:
    embed = Letters()
    return open_store(index={"dims": 3, "embed": embed, "fields": list(fields) or None}), embed


def test_the_likest_comes_first(open_store: Open):
    store, _ = indexed(open_store, "text")
    store.put(("n",), "far", {"text": "abbb"})
    store.put(("n",), "near", {"text": "aaab"})
    store.put(("m",), "elsewhere", {"text": "a"})
    (found,) = store.batch([SearchOp(("n",), query="a")])
    assert [item.key for item in found] == ["near", "far"]
    assert [round(item.score, 3) for item in found] == [0.949, 0.316]


def test_a_page_is_cut_after_sorting_and_filtering(open_store: Open):
    store, _ = indexed(open_store, "text")
    for key, text in [("1", "abb"), ("2", "aab"), ("3", "aaa"), ("4", "b")]:
        store.put(("n",), key, {"text": text, "even": int(key) % 2 == 0})
    assert [item.key for item in store.search(("n",), query="a", limit=2, offset=1)] == ["2", "1"]
    assert [item.key for item in store.search(("n",), query="a", filter={"even": True})] == ["2", "4"]


def test_an_item_is_as_like_as_its_likest_text(open_store: Open):
    store, embed = indexed(open_store)
    store.put(("n",), "k", {"tags": ["c", "a"], "other": "bbb"}, index=["tags[*]"])
    assert embed.asked == ["c", "a"]
    assert [item.score for item in store.search(("n",), query="a")] == [pytest.approx(1)]


def test_without_fields_all_of_a_value_counts(open_store: Open):
    store, embed = indexed(open_store)
    store.put(("n",), "k", {"y": "c", "x": "b"})
    assert embed.asked == ['{"x": "b", "y": "c"}']


def test_an_equal_text_is_embedded_once(open_store: Open):
    store, embed = indexed(open_store, "text")
    store.batch([PutOp(("n",), key, {"text": "a"}) for key in "12"])
    store.batch([SearchOp(("n",), query="q"), SearchOp((), query="q"), SearchOp(("n",))])
    assert embed.asked == ["a", "q"]
    assert len(store.search(("n",), query="a")) == 2


def test_a_new_value_and_a_deletion_drop_the_old_vectors(open_store: Open):
    store, _ = indexed(open_store, "text")
    scores: list[Any] = []
    for value, index in [({"text": "a"}, None), ({"text": "a"}, False), ({"text": "ab"}, None), ({"other": "a"}, None)]:
        store.put(("n",), "k", value, index=index)
        scores += [[item.score for item in store.search(("n",), query="a") if item.score is not None]]
    store.put(("n",), "k", {"text": "a"})
    store.delete(("n",), "k")
    store.put(("n",), "k", {"other": "a"})
    scores += [[item.score for item in store.search(("n",), query="a") if item.score is not None]]
    assert scores == [[pytest.approx(1)], [], [pytest.approx(0.5**0.5)], [], []]


@pytest.mark.parametrize("query", [None, ""])
def test_without_a_query_nothing_is_embedded(open_store: Open, query: str | None):
    store, embed = indexed(open_store, "text")
    store.put(("n",), "k", {"text": "a"}, index=False)
    assert [item.score for item in store.search(("n",), query=query)] == [None]
    assert embed.asked == []


def test_without_an_index_a_query_is_not_looked_at(store: Any):
    store.put(("n",), "k", {})
    assert [item.score for item in store.search(("n",), query="a")] == [None]
