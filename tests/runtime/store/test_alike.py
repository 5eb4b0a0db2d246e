"""The three kinds of stores answer alike, whatever they hold and are asked.

Left out is where they differ on purpose: a field that is missing, True beside 1, text that spells a number (each is a
test of its own elsewhere), and the order in which a search without a query finds.
"""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.store.base import PutOp
from runtime.store.memory import InMemoryStore
from runtime.store.postgres import PostgresStore
from runtime.store.sqlite import SqliteStore
from tests.runtime.store.letters import Letters

signs = st.sampled_from("aAbBé%_*[]?'\"\\ /$({|\u0001")
words = st.text(signs, min_size=1, max_size=3) | st.text(
    st.characters(exclude_characters="\0.", exclude_categories=["Cs"]), min_size=1, max_size=3
)
labels = st.sampled_from(["a", "b", "*", "a%"]) | words
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)

numbers = st.integers(-3, 3) | st.floats(-3, 3, allow_subnormal=False).map(lambda number: round(number, 3) + 0.0)
texts = st.text(signs, max_size=2)
fields = st.none() | numbers | texts | st.lists(st.integers(-2, 2) | texts, max_size=2)
values = st.fixed_dictionaries({"x": fields, "y": fields, "l_-1": fields})
operators = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), fields, min_size=1, max_size=2
)
filters = st.dictionaries(st.sampled_from(["x", "y", "l_-1"]), fields | operators, max_size=2)

queries = st.text("abc", min_size=1, max_size=4)

each_time_anew = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def postgres_store(store_address: str) -> Iterator[PostgresStore]:
    index: Any = {"dims": 3, "embed": Letters(), "ann_index_config": {"kind": "flat"}}
    with PostgresStore.from_conn_string(store_address, index=index) as store:
        store.setup()
        yield store


@pytest.fixture
def filled(postgres_store: PostgresStore, store_database: psycopg.Connection) -> Any:
    """Three stores that hold the same items, and nothing else."""

    def fill(items: dict[tuple[tuple[str, ...], str], Any]) -> Iterator[Any]:
        store_database.execute("TRUNCATE store CASCADE")
        index: Any = {"dims": 3, "embed": Letters()}
        with SqliteStore.from_conn_string(":memory:", index=index) as sqlite:
            for store in (InMemoryStore(index=index), sqlite, postgres_store):
                store.batch([PutOp(namespace, key, value) for (namespace, key), value in items.items()])
                yield store

    return fill


def alike(answers: list[Any]) -> None:
    memory, *others = answers
    assert others == [memory] * 2


@each_time_anew
@given(st.dictionaries(st.tuples(namespaces, words), values, max_size=4), filters)
def test_a_filter_finds_the_same_items(filled: Any, items: Any, filter: dict[str, Any]):
    alike([places(store.search((), filter=filter, limit=99)) for store in filled(items)])


@each_time_anew
@given(st.dictionaries(st.tuples(namespaces, words), values, max_size=4), namespaces)
def test_an_item_is_found_by_its_namespace_and_key(filled: Any, items: Any, prefix: tuple[str, ...]):
    for store in filled(items):
        assert [store.get(*place).value for place in items] == list(items.values())  # type: ignore[union-attr]
        assert places(store.search(prefix, limit=99)) == {place for place in items if place[0][: len(prefix)] == prefix}


@each_time_anew
@given(
    st.sets(namespaces, max_size=6),
    st.fixed_dictionaries(
        {},
        optional={
            "prefix": namespaces,
            "suffix": namespaces,
            "max_depth": st.integers(1, 3),
            "limit": st.integers(0, 4),
            "offset": st.integers(0, 3),
        },
    ),
)
def test_the_same_namespaces_are_listed_in_the_same_order(filled: Any, held: set[Any], asked: dict[str, Any]):
    alike([store.list_namespaces(**asked) for store in filled({(namespace, "k"): {} for namespace in held})])


@each_time_anew
@given(
    st.dictionaries(words, st.text("abc", min_size=1, max_size=4), max_size=4), st.text("abc", min_size=1, max_size=4)
)
def test_a_query_measures_the_same_likeness(filled: Any, held: dict[str, str], query: str):
    items = {(("n",), key): {"text": text} for key, text in held.items()}
    memory, *others = [{item.key: item.score for item in store.search(("n",), query=query)} for store in filled(items)]
    assert others == [pytest.approx(memory, abs=1e-6)] * 2


def places(found: Any) -> set[tuple[tuple[str, ...], str]]:
    return {(item.namespace, item.key) for item in found}
