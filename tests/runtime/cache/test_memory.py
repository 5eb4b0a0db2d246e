import pytest

from runtime.cache.base import FullKey
from runtime.cache.memory import InMemoryCache

A: FullKey = (("a",), "k")
AB: FullKey = (("a", "b"), "k")


@pytest.fixture
def cache() -> InMemoryCache[object]:
    return InMemoryCache()


def test_nobody_changes_what_is_cached(cache: InMemoryCache[list[int]]):
    value = [1]
    cache.set({A: (value, None)})
    value.append(2)
    cache.get([A])[A].append(3)
    assert cache.get([A]) == {A: [1]}
