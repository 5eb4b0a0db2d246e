import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from runtime.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, Result, SearchItem, SearchOp
from runtime.store.memory import InMemoryStore

Run = Callable[[InMemoryStore, Iterable[Op]], list[Result]]


@pytest.fixture(params=["batch", "abatch"])
def run(request: pytest.FixtureRequest) -> Run:
    """The way to run a batch; the test runs once with each."""
    if request.param == "batch":
        return lambda store, ops: store.batch(ops)
    return lambda store, ops: asyncio.run(store.abatch(ops))


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def test_an_item_is_put_read_and_deleted(store: InMemoryStore):
    store.put(("a",), "k", {"x": 1})
    item = store.get(("a",), "k")
    assert item is not None
    assert (item.namespace, item.key, item.value, item.created_at) == (("a",), "k", {"x": 1}, item.updated_at)
    store.delete(("a",), "k")
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None


def test_nobody_changes_an_item_but_by_put(store: InMemoryStore):
    value = {"deep": [{"x": 1}]}
    store.put(("a",), "k", value)
    value["deep"].append({})
    for item in (store.get(("a",), "k"), store.search(("a",))[0]):
        assert item is not None
        item.value["deep"][0]["x"] = 2
    assert store.get(("a",), "k").value == {"deep": [{"x": 1}]}


def test_a_key_is_text(store: InMemoryStore):
    store.put(("a",), 5, {})  # type: ignore[arg-type]
    assert store.get(("a",), 5).key == "5"  # type: ignore[arg-type, union-attr]


def test_a_batch_reads_before_it_writes_and_the_last_put_counts(store: InMemoryStore, run: Run):
    ops = [
        PutOp(("a",), "k", {"v": 1}),
        GetOp(("a",), "k"),
        PutOp(("a",), "k", {"v": 2}),
        SearchOp(("a",)),
        ListNamespacesOp(),
    ]
    assert run(store, ops) == [None, None, None, [], []]
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"v": 2}


def test_a_search_covers_whole_labels_in_order_of_insertion(store: InMemoryStore):
    for namespace, key in [(("a", "b"), "1"), (("a",), "2"), (("ab",), "3"), (("a", "b"), "4")]:
        store.put(namespace, key, {})
    assert keys(store.search(("a",))) == ["1", "4", "2"]
    assert keys(store.search((), limit=2, offset=1)) == ["4", "2"]
    assert store.search(("a",))[0].score is None


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"x": 1}, True),
        ({"x": 2}, False),
        ({"x": {"$gt": 0, "$lt": 2}}, True),
        ({"x": {"$gte": 2}}, False),
        ({"x": {"$lte": "1"}}, True),
        ({"x": {"$eq": 1}, "y": {"$ne": 1}}, True),
        ({"x": {"$ne": 1}}, False),
        ({"d": {"z": 1}}, True),
        ({"d": {"z": {"$gt": 1}}}, False),
        ({"d": {"z": {"w": 1}}}, False),
        ({"l": [1, 2]}, True),
        ({"l": [1, {"$gt": 1}]}, True),
        ({"l": [1]}, False),
        ({"no": None}, True),
        ({"no": {"$gt": 1}}, False),
        ({"d": {"$gt": 1}}, False),
        ({}, True),
    ],
)
def test_a_filter_compares_fields(store: InMemoryStore, filter: dict[str, Any], found: bool):
    store.put(("a",), "k", {"x": 1, "d": {"z": 1, "w": 2}, "l": [1, 2]})
    assert bool(store.search(("a",), filter=filter)) is found


def test_an_unknown_operator_is_refused(store: InMemoryStore):
    store.put(("a",), "k", {"x": 1})
    with pytest.raises(ValueError, match="Unsupported operator: .near"):
        store.search(("a",), filter={"x": {"$near": 1}})


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [("a",), ("a", "b"), ("a", "c", "d"), ("e",)]),
        ({"prefix": ("a",)}, [("a",), ("a", "b"), ("a", "c", "d")]),
        ({"prefix": ("a", "*")}, [("a", "b"), ("a", "c", "d")]),
        ({"suffix": ("*", "d")}, [("a", "c", "d")]),
        ({"prefix": ("a",), "suffix": ("b",)}, [("a", "b")]),
        ({"max_depth": 2}, [("a",), ("a", "b"), ("a", "c"), ("e",)]),
        ({"max_depth": 1, "offset": 1}, [("e",)]),
        ({"limit": 1}, [("a",)]),
    ],
)
def test_namespaces_are_listed(store: InMemoryStore, asked: dict[str, Any], found: list[tuple[str, ...]]):
    for namespace in [("e",), ("a", "c", "d"), ("a",), ("a", "b")]:
        store.put(namespace, "k", {})
    store.delete(("e",), "k")
    assert store.list_namespaces(**asked) == found


def test_what_a_store_cannot_do_it_says(store: InMemoryStore):
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        store.put(("a",), "k", {}, ttl=5)
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch([5])  # type: ignore[list-item]
    store.put(("a",), "k", {})
    with pytest.raises(ValueError, match="Unsupported match type"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])  # type: ignore[arg-type]


# -- by likeness -------------------------------------------------------------------------------------------------------


class Letters:
    """Embeds a text as how many a, b and c it holds, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def indexed(*fields: str) -> tuple[InMemoryStore, Letters]:
    embed = Letters()
    return InMemoryStore(index={"dims": 3, "embed": embed, "fields": list(fields) or None}), embed


def test_the_likest_comes_first_and_what_has_no_vector_last(run: Run):
    store, _ = indexed("text")
    store.put(("n",), "plain", {"text": "aaa"}, index=False)
    store.put(("n",), "far", {"text": "abbb"})
    store.put(("n",), "near", {"text": "aaab"})
    (found,) = run(store, [SearchOp(("n",), query="a")])
    assert keys(found) == ["near", "far", "plain"]
    assert [item.score and round(item.score, 3) for item in found] == [0.949, 0.316, None]  # type: ignore[union-attr]


def test_a_page_is_cut_after_sorting_and_filtering():
    store, _ = indexed("text")
    for key, text in [("1", "abb"), ("2", "aab"), ("3", "aaa"), ("4", "b")]:
        store.put(("n",), key, {"text": text, "even": int(key) % 2 == 0})
    assert keys(store.search(("n",), query="a", limit=2, offset=1)) == ["2", "1"]
    assert keys(store.search(("n",), query="a", filter={"even": True})) == ["2", "4"]


def test_an_item_is_as_like_as_its_likest_text():
    store, embed = indexed()
    store.put(("n",), "k", {"tags": ["c", "a"], "other": "bbb"}, index=["tags[*]"])
    assert embed.asked == ["c", "a"]
    assert store.search(("n",), query="a")[0].score == pytest.approx(1)


def test_an_equal_text_is_embedded_once(run: Run):
    store, embed = indexed("text")
    run(store, [PutOp(("n",), key, {"text": "a"}) for key in "12"])
    run(store, [SearchOp(("n",), query="q"), SearchOp((), query="q"), SearchOp(("n",))])
    assert embed.asked == ["a", "q"]
    assert len(store.search(("n",), query="a")) == 2


def test_a_new_value_and_a_deletion_drop_the_old_vectors():
    store, _ = indexed("text")
    store.put(("n",), "k", {"text": "a"})
    store.put(("n",), "k", {"text": "a"}, index=False)
    assert store.search(("n",), query="a")[0].score is None
    store.put(("n",), "k", {"text": "a"})
    store.delete(("n",), "k")
    store.put(("n",), "k", {"other": "a"})
    assert store.search(("n",), query="a")[0].score is None


def test_without_an_index_a_query_is_not_looked_at(store: InMemoryStore):
    store.put(("n",), "k", {})
    found: list[SearchItem] = store.search(("n",), query="a")
    assert (keys(found), found[0].score) == (["k"], None)


def test_an_async_embedder_serves_the_async_methods():
    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    async def scenario() -> list[SearchItem]:
        store = InMemoryStore(index={"dims": 1, "embed": embed})
        await store.aput(("n",), "k", {"text": "a"})
        return await store.asearch(("n",), query="a")

    assert asyncio.run(scenario())[0].score == 1


def test_likeness_needs_no_numpy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("runtime.store.likeness.find_spec", lambda name: None)
    store, _ = indexed("text")
    store.put(("n",), "k", {"text": "ab"})
    assert store.search(("n",), query="a")[0].score == pytest.approx(0.5**0.5)
