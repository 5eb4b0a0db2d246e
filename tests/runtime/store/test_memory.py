"""What the store in memory does its own way."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from runtime.store.base import SearchItem
from runtime.store.memory import InMemoryStore
from tests.runtime.store.letters import Letters


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def test_items_are_found_in_the_order_in_which_they_came(store: InMemoryStore):
    for namespace, key in [(("a", "b"), "1"), (("a",), "2"), (("ab",), "3"), (("a", "b"), "4")]:
        store.put(namespace, key, {})
    assert keys(store.search(("a",))) == ["1", "4", "2"]
    assert keys(store.search((), limit=2, offset=1)) == ["4", "2"]


def test_a_put_begins_both_times_anew(store: InMemoryStore):
    store.put(("a",), "k", {})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.created_at == second.updated_at > first.updated_at


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"x": {"$lte": "1"}}, True),
        ({"no": None}, True),
        ({"no": {"$ne": 1}}, True),
        ({"d": {"z": 1}}, True),
        ({"d": {"z": {"$gt": 1}}}, False),
        ({"d": {"z": {"w": 1}}}, False),
        ({"l": [1, {"$gt": 1}]}, True),
    ],
)
def test_a_filter_looks_into_fields_and_takes_text_for_numbers(
    store: InMemoryStore, filter: dict[str, Any], found: bool
):
    store.put(("a",), "k", {"x": 1, "d": {"z": 1, "w": 2}, "l": [1, 2]})
    assert bool(store.search(("a",), filter=filter)) is found


def test_an_emptied_namespace_stays_listed(store: InMemoryStore):
    store.put(("a",), "k", {})
    store.delete(("a",), "k")
    assert store.list_namespaces() == [("a",)]


def test_nothing_expires(store: InMemoryStore):
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        store.put(("a",), "k", {}, ttl=5)


def test_what_has_no_vector_comes_last():
    store = InMemoryStore(index={"dims": 3, "embed": Letters(), "fields": ["text"]})
    store.put(("n",), "plain", {"text": "aaa"}, index=False)
    store.put(("n",), "far", {"text": "abbb"})
    store.put(("n",), "near", {"text": "aaab"})
    found = store.search(("n",), query="a")
    assert keys(found) == ["near", "far", "plain"]
    assert found[2].score is None


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
    store = InMemoryStore(index={"dims": 3, "embed": Letters(), "fields": ["text"]})
    store.put(("n",), "k", {"text": "ab"})
    assert store.search(("n",), query="a")[0].score == pytest.approx(0.5**0.5)
