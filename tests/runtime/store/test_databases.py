"""What the stores in databases do, and the one in memory does not."""

from typing import Any

import pytest

from runtime.store.base import GetOp, PutOp, SearchOp
from tests.runtime.store.letters import Letters

Open = Any

EXPIRED = -0.001  # minutes; so nothing need be waited for


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def test_items_outlive_the_store(open_sql: Open):
    open_sql().put(("a",), "k", {"x": 1})
    assert open_sql().get(("a",), "k").value == {"x": 1}


def test_the_newest_comes_first(open_sql: Open):
    store = open_sql()
    for key in "123":
        store.put(("a",), key, {})
    store.put(("a",), "1", {})
    assert keys(store.search(())) == ["1", "3", "2"]
    assert keys(store.search((), limit=1, offset=1)) == ["3"]


def test_an_emptied_namespace_is_gone(open_sql: Open):
    store = open_sql()
    store.put(("a",), "k", {})
    store.delete(("a",), "k")
    assert store.list_namespaces() == []


def test_a_missing_field_is_not_unequal(open_sql: Open):
    store = open_sql()
    store.put(("a",), "k", {})
    assert store.search((), filter={"no": {"$ne": 1}}) == []


@pytest.mark.parametrize("wanted", [{"z": 1}, {"$gt": 0, "z": 1}])
def test_a_dict_in_a_filter_is_operators(open_sql: Open, wanted: dict[str, Any]):
    store = open_sql()
    with pytest.raises(ValueError, match="Unsupported operator: z"):
        store.search((), filter={"d": wanted})


def test_what_json_cannot_hold_is_refused_before_anything_is_written(open_sql: Open):
    store = open_sql()
    with pytest.raises(TypeError, match=r"'k' of namespace \('a',\): its field 'bad', of type set"):
        store.batch([PutOp(("a",), "first", {}), PutOp(("a",), "k", {"good": 1, "bad": {1}})])
    assert store.search(()) == []


def test_a_filter_compares_with_what_json_can_hold(open_sql: Open):
    store = open_sql()
    with pytest.raises(TypeError, match="A filter can't compare"):
        store.search((), filter={"x": b"1"})


def test_an_item_without_a_vector_is_not_found_by_a_query(open_sql: Open):
    store = open_sql(index={"dims": 3, "embed": Letters(), "fields": ["text"]})
    store.put(("n",), "plain", {"text": "a"}, index=False)
    store.put(("n",), "k", {"text": "b"})
    store.put(("n",), "nothing", {"text": "zz"})
    assert [(item.key, item.score) for item in store.search(("n",), query="a")] == [("k", 0), ("nothing", None)]


def test_a_store_without_an_index_takes_the_vectors_of_what_it_deletes(open_sql: Open):
    index = {"dims": 3, "embed": Letters(), "fields": ["text"]}
    open_sql(index=index).put(("n",), "k", {"text": "a"})
    open_sql().delete(("n",), "k")
    store = open_sql(index=index)
    store.put(("n",), "k", {"text": "b"}, index=False)
    assert store.search(("n",), query="a") == []


# -- time to live ------------------------------------------------------------------------------------------------------


def test_an_expired_item_is_seen_until_it_is_swept(open_sql: Open):
    store = open_sql()
    store.put(("a",), "old", {}, ttl=EXPIRED)
    store.put(("a",), "young", {}, ttl=10)
    store.put(("a",), "for good", {})
    assert store.get(("a",), "old", refresh_ttl=False) is not None
    assert store.sweep_ttl() == 1
    assert sorted(keys(store.search(()))) == ["for good", "young"]


def test_expired_items_may_be_hidden(open_sql: Open):
    store = open_sql(ttl={"omit_expired": True})
    store.put(("a",), "old", {}, ttl=EXPIRED)
    store.put(("b",), "young", {}, ttl=10)
    assert store.get(("a",), "old") is None
    assert keys(store.search(())) == ["young"]
    assert store.list_namespaces() == [("b",)]


def test_items_expire_by_default_when_the_store_says(open_sql: Open):
    store = open_sql(ttl={"default_ttl": EXPIRED})
    store.put(("a",), "default", {})
    store.put(("a",), "for good", {}, ttl=None)
    store.put(("a",), "longer", {}, ttl=10)
    assert store.sweep_ttl() == 1
    assert sorted(keys(store.search(()))) == ["for good", "longer"]


@pytest.mark.parametrize("op", [GetOp(("a",), "k"), SearchOp(("a",))])
def test_a_read_gives_new_time_where_it_is_asked_to(open_sql: Open, op: Any):
    store = open_sql(ttl={"omit_expired": True})
    store.put(("a",), "k", {}, ttl=10)
    for refresh, changed in [(False, False), (True, True)]:
        before = expiry(open_sql)
        store.batch([op._replace(refresh_ttl=refresh)])
        assert (expiry(open_sql) != before) is changed


@pytest.mark.parametrize("refreshes", [True, False])
def test_the_config_says_whether_a_read_gives_new_time(open_sql: Open, refreshes: bool):
    store = open_sql(ttl={"refresh_on_read": refreshes})
    store.put(("a",), "k", {}, ttl=10)
    before = expiry(open_sql)
    store.get(("a",), "k")
    assert (expiry(open_sql) != before) is refreshes
    store.get(("a",), "k", refresh_ttl=True)
    assert expiry(open_sql) != before


def test_a_put_for_good_ends_a_lifetime(open_sql: Open):
    store = open_sql()
    store.put(("a",), "k", {}, ttl=EXPIRED)
    store.put(("a",), "k", {})
    assert store.sweep_ttl() == 0


def test_a_sweep_takes_vectors_along(open_sql: Open):
    store = open_sql(index={"dims": 3, "embed": Letters(), "fields": ["text"]})
    store.put(("n",), "k", {"text": "a"}, ttl=EXPIRED)
    store.sweep_ttl()
    store.put(("n",), "k", {"text": "b"}, index=False)
    assert store.search(("n",), query="a") == []


def test_a_sweeper_sweeps_until_it_is_stopped(open_sql: Open):
    store = open_sql(ttl={"default_ttl": EXPIRED, "sweep_interval_minutes": 0.0001})
    started = store.start_ttl_sweeper()
    assert store.start_ttl_sweeper() is started
    store.put(("a",), "k", {})
    while store.get(("a",), "k") is not None:
        assert not started.done()
    assert store.stop_ttl_sweeper() is True
    assert started.done()
    assert store.start_ttl_sweeper(5) is not started


def test_a_sweep_that_fails_is_logged_and_the_next_one_comes(open_sql: Open, caplog: pytest.LogCaptureFixture):
    store = open_sql(ttl={"default_ttl": EXPIRED, "sweep_interval_minutes": 0.0001})
    store.put(("a",), "k", {})
    open_sql.rows("ALTER TABLE store RENAME TO hidden")
    store.start_ttl_sweeper()
    while "A sweep of expired items failed" not in caplog.text:
        store.batch([])
    open_sql.rows("ALTER TABLE hidden RENAME TO store")
    while store.get(("a",), "k") is not None:
        pass
    assert store.stop_ttl_sweeper(5) is True


def test_there_is_nothing_to_sweep_where_no_lifetimes_are_configured(open_sql: Open):
    store = open_sql()
    assert store.stop_ttl_sweeper() is True
    started = store.start_ttl_sweeper()
    assert store.stop_ttl_sweeper() is True
    assert started.done()


def expiry(open_sql: Open) -> Any:
    ((expires_at,),) = open_sql.rows("SELECT expires_at FROM store")
    return expires_at
