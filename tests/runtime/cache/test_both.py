"""What every cache does, in memory and in a file alike."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.cache.base import BaseCache, FullKey
from runtime.cache.memory import InMemoryCache
from runtime.cache.sqlite import SqliteCache

A: FullKey = (("a",), "k")
AB: FullKey = (("a", "b"), "k")
Cache = BaseCache[object]


@pytest.fixture(params=["memory", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cache]:
    if request.param == "memory":
        yield InMemoryCache()
        return
    made: SqliteCache[object] = SqliteCache(path=str(tmp_path / "cache"))
    yield made
    made.close()


def test_only_what_is_there_is_found(cache: Cache):
    cache.set({A: ({"x": (1, 2)}, None)})
    assert cache.get([A, AB]) == {A: {"x": [1, 2]}}
    assert cache.get([]) == {}


def test_a_value_expires_at_its_time(cache: Cache, clock: list[float]):
    cache.set({A: (1, 10), AB: (2, None)})
    clock[0] += 9.9
    assert cache.get([A, AB]) == {A: 1, AB: 2}
    clock[0] += 0.1
    assert cache.get([A, AB]) == {AB: 2}


def test_a_value_is_replaced(cache: Cache):
    cache.set({A: (1, None)})
    cache.set({A: (2, None)})
    assert cache.get([A]) == {A: 2}


def test_namespaces_are_cleared_one_by_one_or_all(cache: Cache):
    cache.set({A: (1, None), AB: (2, None)})
    cache.clear([])
    cache.clear([("a",), ("never was",), ("never' OR 1=1 --",)])
    assert cache.get([A, AB]) == {AB: 2}
    cache.clear()
    assert cache.get([AB]) == {}


def test_the_async_twins_do_the_same(cache: Cache):
    async def run() -> tuple[dict[FullKey, object], dict[FullKey, object]]:
        await cache.aset({A: (1, None)})
        before = await cache.aget([A])
        await cache.aclear()
        return before, await cache.aget([A])

    assert asyncio.run(run()) == ({A: 1}, {})


def test_what_cannot_be_serialised_is_refused(cache: Cache):
    with pytest.raises(TypeError, match="not serializable"):
        cache.set({A: (object(), None)})
