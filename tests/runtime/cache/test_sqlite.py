import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langgraph.cache.sqlite import SqliteCache as LangGraphCache

from runtime.cache.base import FullKey
from runtime.cache.sqlite import SqliteCache

A: FullKey = (("a",), "k")
AB: FullKey = (("a", "b"), "k")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[SqliteCache[object]]:
    made: SqliteCache[object] = SqliteCache(path=str(tmp_path / "cache"))
    yield made
    made.close()


def test_a_second_cache_finds_what_the_first_one_kept(tmp_path: Path):
    first, second = (SqliteCache[object](path=str(tmp_path / "cache")) for _ in range(2))
    first.set({A: ({"x": (1, 2)}, None)})
    assert second.get([A, AB]) == {A: {"x": [1, 2]}}
    assert second.get([]) == {}


def test_the_row_of_a_value_goes_when_it_has_expired(cache: SqliteCache[object], clock: list[float], tmp_path: Path):
    cache.set({A: (1, 10), AB: (2, None)})
    clock[0] += 10
    assert cache.get([A, AB]) == {AB: 2}
    with sqlite3.connect(tmp_path / "cache") as db:
        assert db.execute("SELECT ns, key, expiry FROM cache").fetchall() == [("a,b", "k", None)]
    db.close()


def test_what_cannot_be_serialised_is_refused_and_nothing_is_kept(cache: SqliteCache[object]):
    with pytest.raises(TypeError, match="not serializable"):
        cache.set({A: (1, None), AB: (object(), None)})
    assert cache.get([A]) == {}


def test_many_threads_may_use_it_at_once(cache: SqliteCache[object]):
    def work(number: int) -> object:
        key: FullKey = (("n",), str(number))
        cache.set({key: (number, None)})
        return cache.get([key])[key]

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(work, range(100))) == list(range(100))


def test_a_cache_of_langgraph_is_read(tmp_path: Path):
    theirs = pytest.importorskip("langgraph.cache.sqlite").SqliteCache(path=str(tmp_path / "cache"))
    theirs.set({AB: ([1, "x"], 1000)})
    theirs._conn.close()
    assert SqliteCache[object](path=str(tmp_path / "cache")).get([AB]) == {AB: [1, "x"]}


@pytest.mark.parametrize(("writer", "reader"), [(LangGraphCache, SqliteCache), (SqliteCache, LangGraphCache)])
def test_langgraphs_cache_and_ours_share_a_file(tmp_path: Path, writer: Any, reader: Any):
    one, other = (cls(path=str(tmp_path / "cache")) for cls in (writer, reader))
    one.set({A: ({"x": {1}}, None), AB: ([1], 100), (("old",), "k"): (1, -1)})
    assert other.get([A, AB, (("old",), "k")]) == {A: {"x": {1}}, AB: [1]}
    other.clear([("a",)])
    assert one.get([A, AB]) == {AB: [1]}
    one._conn.close()
    other._conn.close()
