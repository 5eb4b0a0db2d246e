import asyncio

import pytest

from runtime.cache.base import FullKey
from runtime.cache.memory import InMemoryCache

A: FullKey = (("a",), "k")
AB: FullKey = (("a", "b"), "k")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one number that a test may change."""
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    return now


@pytest.fixture
def cache() -> InMemoryCache[object]:
    return InMemoryCache()


def test_only_what_is_there_is_found(cache: InMemoryCache[object]):
    cache.set({A: ({"x": (1, 2)}, None)})
    assert cache.get([A, AB]) == {A: {"x": [1, 2]}}
    assert cache.get([]) == {}


def test_nobody_changes_what_is_cached(cache: InMemoryCache[list[int]]):
    value = [1]
    cache.set({A: (value, None)})
    value.append(2)
    cache.get([A])[A].append(3)
    assert cache.get([A]) == {A: [1]}


def test_a_value_expires_at_its_time(cache: InMemoryCache[object], clock: list[float]):
    cache.set({A: (1, 10), AB: (2, None)})
    clock[0] += 9.9
    assert cache.get([A, AB]) == {A: 1, AB: 2}
    clock[0] += 0.1
    assert cache.get([A, AB]) == {AB: 2}


def test_namespaces_are_cleared_one_by_one_or_all(cache: InMemoryCache[object]):
    cache.set({A: (1, None), AB: (2, None)})
    cache.clear([])
    cache.clear([("a",), ("never was",)])
    assert cache.get([A, AB]) == {AB: 2}
    cache.clear()
    assert cache.get([AB]) == {}


def test_the_async_twins_do_the_same(cache: InMemoryCache[object]):
    async def run() -> tuple[dict[FullKey, object], dict[FullKey, object]]:
        await cache.aset({A: (1, None)})
        before = await cache.aget([A])
        await cache.aclear()
        return before, await cache.aget([A])

    assert asyncio.run(run()) == ({A: 1}, {})


def test_what_cannot_be_serialised_is_refused(cache: InMemoryCache[object]):
    with pytest.raises(TypeError, match="not serializable"):
        cache.set({A: (object(), None)})
