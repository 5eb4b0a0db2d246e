"""What the store in PostgreSQL does its own way, and that LangGraph's and ours can share a database."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from langgraph.store.postgres import AsyncPostgresStore as AsyncLangGraphStore
from langgraph.store.postgres import PostgresStore as LangGraphStore
from psycopg_pool import ConnectionPool

from runtime.store.base import GetOp, PutOp, SearchOp
from runtime.store.postgres import AsyncPostgresStore, PostgresStore
from tests.postgres import execute
from tests.runtime.store.conftest import AsyncFace
from tests.runtime.store.letters import Letters

INDEX: Any = {"dims": 3, "embed": Letters(), "fields": ["text"]}

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


@pytest.fixture
def store(store_address: str) -> Iterator[PostgresStore]:
    with PostgresStore.from_conn_string(store_address) as store:
        store.setup()
        yield store


@pytest.fixture(params=["connection", "pool", "pipeline"])
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How a store connects."""
    ways: dict[str, dict[str, Any]] = {
        "connection": {},
        "pool": {"pool_config": {"min_size": 1, "max_size": 3}},
        "pipeline": {"pipeline": True},
    }
    return ways[request.param]


@pytest.fixture(params=["sync", "async"])
def connected(request: pytest.FixtureRequest, way: dict[str, Any], store_address: str) -> Iterator[Any]:
    """A store of each colour on each kind of connection."""
    with ExitStack() as stack:
        if request.param == "sync":
            store: Any = stack.enter_context(PostgresStore.from_conn_string(store_address, **way))
        else:
            runner = stack.enter_context(asyncio.Runner())
            made = AsyncPostgresStore.from_conn_string(store_address, **way)
            store = AsyncFace(runner.run(made.__aenter__()), runner)
            stack.callback(lambda: runner.run(made.__aexit__(None, None, None)))
        store.setup()
        yield store


# -- what is its own ---------------------------------------------------------------------------------------------------


def test_a_put_keeps_the_time_when_an_item_was_made(store: PostgresStore):
    store.put(("a",), "k", {})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"new": 1})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.created_at == first.created_at < second.updated_at
    assert first.created_at.tzinfo is not None


def test_a_lifetime_is_whole_minutes_once_it_is_renewed(store: PostgresStore, store_database: psycopg.Connection):
    for key, ttl in [("none", 0.4), ("two", 1.6)]:
        store.put(("a",), key, {}, ttl=ttl)
    assert store_database.execute("SELECT ttl_minutes FROM store ORDER BY key").fetchall() == [(0,), (2,)]
    assert store.sweep_ttl() == 0
    store.search(("a",))
    assert store.sweep_ttl() == 1


def test_a_read_gives_new_time_unless_it_is_asked_not_to(store: PostgresStore, store_database: psycopg.Connection):
    store.put(("a",), "k", {}, ttl=10)
    before = store_database.execute("SELECT expires_at FROM store").fetchall()
    store.get(("a",), "k", refresh_ttl=False)
    assert store_database.execute("SELECT expires_at FROM store").fetchall() == before
    store.get(("a",), "k")
    assert store_database.execute("SELECT expires_at FROM store").fetchall() > before


def test_a_filter_key_is_the_name_of_a_field_whatever_is_in_it(store: PostgresStore):
    names = ["a.b", "a'b", 'a"b', "x') OR 1=1 --", "", "$x", "%s", "?", "a b"]
    store.put(("a",), "k", {name: number for number, name in enumerate(names)} | {"d": {"z": 1}})
    for number, name in enumerate(names):
        assert keys(store.search((), filter={name: number})) == ["k"]
        assert keys(store.search((), filter={name: {"$gt": number}})) == []
    assert keys(store.search((), filter={"d.z": 1})) == []


def test_true_is_not_one_and_a_missing_field_is_not_none(store: PostgresStore):
    store.put(("a",), "k", {"t": True, "one": 1, "n": None})
    assert keys(store.search((), filter={"t": True, "one": 1, "n": None})) == ["k"]
    for wrong in ({"t": 1}, {"one": True}, {"no": None}):
        assert keys(store.search((), filter=wrong)) == []


def test_numbers_compare_as_numbers_and_text_by_its_signs(store: PostgresStore):
    store.put(("a",), "k", {"n": 10, "exact": 0.1 + 0.2, "t": "Z"})
    assert keys(store.search((), filter={"n": {"$gt": 9, "$lt": 10.5}, "exact": {"$gt": 0.3}})) == ["k"]
    assert keys(store.search((), filter={"t": {"$lt": "a", "$gt": "A"}})) == ["k"]


def test_an_object_equals_one_whose_keys_come_in_another_order(store: PostgresStore):
    store.put(("a",), "k", {"d": {"x": 1, "y": 2}})
    assert keys(store.search((), filter={"d": {"$eq": {"y": 2.0, "x": 1}}})) == ["k"]


def test_the_sync_store_may_be_awaited_too(store: PostgresStore):
    async def scenario() -> Any:
        await store.aput(("a",), "k", {"x": 1})
        return await store.aget(("a",), "k")

    assert asyncio.run(scenario()).value == {"x": 1}


# -- connections -------------------------------------------------------------------------------------------------------


def test_a_store_works_on_every_kind_of_connection(connected: Any):
    connected.batch([PutOp(("a",), key, {"n": int(key)}, ttl=10) for key in "123"])
    connected.batch([PutOp(("a",), "1", None), PutOp(("a",), "2", {"n": 5})])
    found = connected.batch(
        [GetOp(("a",), "1"), GetOp(("a",), "2"), SearchOp(("a",), {"n": {"$gt": 2}}), SearchOp(("b",))]
    )
    assert (found[0], found[1].value, sorted(keys(found[2])), found[3]) == (None, {"n": 5}, ["2", "3"], [])
    assert connected.list_namespaces() == [("a",)]
    assert connected.sweep_ttl() == 0


def test_a_failed_batch_leaves_nothing_and_the_store_goes_on(connected: Any):
    connected.put(("a",), "k", {})
    with pytest.raises(psycopg.DataError):
        connected.batch([PutOp(("a",), "good", {}), PutOp(("a",), "k", None), PutOp(("a",), "nul", {"v": "\0"})])
    assert keys(connected.search(())) == ["k"]


def test_older_tables_are_brought_up_to_date_on_a_connection_that_has_been_used(store_address: str):
    with PostgresStore.from_conn_string(store_address) as store:
        store.setup()
        store.put(("a",), "0", {})
        execute(store_address, "DELETE FROM store_migrations WHERE v > 0")
        store.setup()
        for key in "12":
            store.put(("a",), key, {})
        assert sorted(keys(store.search(()))) == ["0", "1", "2"]


def test_a_connection_that_does_not_commit_by_itself_is_committed(store: PostgresStore, store_address: str):
    with psycopg.connect(store_address) as connection:
        PostgresStore(connection).put(("a",), "k", {})
        connection.rollback()
    assert store.get(("a",), "k") is not None


def test_inside_a_transaction_of_the_programs_own_it_is_the_program_that_commits(
    store: PostgresStore, store_address: str
):
    with psycopg.connect(store_address, autocommit=True) as connection, connection.transaction(force_rollback=True):
        inside = PostgresStore(connection)
        inside.put(("a",), "k", {})
        assert inside.get(("a",), "k") is not None
    assert store.get(("a",), "k") is None


def test_a_pipeline_is_not_for_a_pool(store_address: str):
    with (
        ConnectionPool(store_address, min_size=1) as pool,
        psycopg.connect(store_address) as connection,
        connection.pipeline() as pipe,
        pytest.raises(ValueError, match="one connection"),
    ):
        PostgresStore(pool, pipe=pipe)


def test_a_pool_makes_a_new_connection_for_one_that_was_lost(store_address: str, store_database: psycopg.Connection):
    with PostgresStore.from_conn_string(store_address, pool_config={"min_size": 1}) as store:
        store.setup()
        store.put(("a",), "k", {})
        store_database.execute(CUT)
        assert store.get(("a",), "k") is not None


def test_a_lost_connection_is_an_error_that_names_the_way_out(store: PostgresStore, store_database: psycopg.Connection):
    store_database.execute(CUT)
    with pytest.raises(psycopg.OperationalError) as caught:
        store.get(("a",), "k")
    assert any("pool" in note for note in caught.value.__notes__)


def test_without_tables_the_error_says_how_to_make_them(store_address: str):
    with PostgresStore.from_conn_string(store_address) as store, pytest.raises(psycopg.errors.UndefinedTable) as caught:
        store.get(("a",), "k")
    assert any("setup()" in note for note in caught.value.__notes__)


def test_several_may_set_up_at_once(store_address: str):
    def set_up() -> None:
        with PostgresStore.from_conn_string(store_address, index=INDEX) as store:
            store.setup()

    failed = in_threads(*[set_up] * 4)
    assert failed == []


@pytest.mark.parametrize("divisor", [100, 3], ids=["puts", "puts and deletions"])
def test_batches_at_once_on_the_same_items_all_come_through(store_address: str, divisor: int):
    with PostgresStore.from_conn_string(
        store_address, index=INDEX, pool_config={"min_size": 4, "max_size": 4}
    ) as store:
        store.setup()
        ops = [PutOp(("a",), str(key), {"text": "a"} if key % divisor else None, ttl=5) for key in range(20)]

        def write(ops: list[PutOp]) -> None:
            for _ in range(10):
                store.batch([*ops, SearchOp(("a",), limit=20)])

        turned = [PutOp(op.namespace, op.key, {"text": "b"}, ttl=5) for op in ops[5:] + ops[:5]]
        assert in_threads(lambda: write(ops), lambda: write(ops[::-1]), lambda: write(turned)) == []


def in_threads(*functions: Any) -> list[BaseException]:
    """Run the functions at once; what they raised."""
    failed: list[BaseException] = []

    def run(function: Any) -> None:
        try:
            function()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


# -- vectors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "index"),
    [
        ({}, "hnsw (embedding vector_cosine_ops)"),
        ({"distance_type": "l2"}, "hnsw (embedding vector_l2_ops)"),
        ({"distance_type": "inner_product"}, "hnsw (embedding vector_ip_ops)"),
        ({"ann_index_config": {"kind": "flat"}}, None),
        (
            {"ann_index_config": {"kind": "hnsw", "vector_type": "halfvec", "m": 8, "ef_construction": 32}},
            "hnsw (embedding halfvec_cosine_ops) WITH (m='8', ef_construction='32')",
        ),
        (
            {"ann_index_config": {"kind": "ivfflat", "nlist": 2}},
            "ivfflat (embedding vector_cosine_ops) WITH (lists='2')",
        ),
    ],
)
def test_an_index_measures_as_langgraphs_does(
    store_address: str, store_database: psycopg.Connection, config: Any, index: str | None
):
    with PostgresStore.from_conn_string(store_address, index=INDEX | config) as ours:
        ours.setup()
        for key, text in [("1", "a"), ("2", "ab"), ("3", "aab"), ("4", "c"), ("5", "aaaa")]:
            ours.put(("n",), key, {"text": text})
        with LangGraphStore.from_conn_string(store_address, index=INDEX | config) as theirs:
            expected = {item.key: pytest.approx(item.score) for item in theirs.search(("n",), query="a")}
        found = ours.search(("n",), query="a")
    assert {item.key: item.score for item in found} == expected
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)  # type: ignore[type-var]
    rows = store_database.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'store_vectors_embedding_idx'")
    assert [definition.split(" USING ")[1] for (definition,) in rows] == ([] if index is None else [index])


@pytest.mark.parametrize(
    "config",
    [
        {"distance_type": "hamming"},
        {"ann_index_config": {"kind": "tree"}},
        {"ann_index_config": {"kind": "hnsw", "vector_type": "bit"}},
    ],
)
def test_an_index_that_there_is_not_is_refused(store_address: str, config: Any):
    with pytest.raises(ValueError, match="for pgvector"):
        PostgresStore.from_conn_string(store_address, index=INDEX | config).__enter__()


# -- one database with LangGraph ---------------------------------------------------------------------------------------


def fill(store: Any) -> None:
    store.put(("a", "b"), "k", {"x": 1, "d": {"z": "é"}, "l": [1, 2], "text": "a"})
    store.put(("a",), "other", {"x": 2, "text": "ab"})
    store.put(("a",), "gone", {})
    store.delete(("a",), "gone")
    store.put(("t",), "old", {}, ttl=-5)
    store.put(("t",), "young", {}, ttl=5)


def seen(store: Any) -> list[Any]:
    return [
        store.get(("a", "b"), "k").dict(),
        keys(store.search(("a",), filter={"x": 1, "d": {"$eq": {"z": "é"}}, "l": [1, 2]})),
        [(item.key, pytest.approx(item.score)) for item in store.search(("a",), query="a")],
        store.list_namespaces(prefix=("a",)),
        store.sweep_ttl(),
        keys(store.search(("t",))),
    ]


@pytest.mark.parametrize(("writer", "reader"), [(LangGraphStore, PostgresStore), (PostgresStore, LangGraphStore)])
def test_each_reads_what_the_other_wrote(store_address: str, writer: Any, reader: Any):
    with writer.from_conn_string(store_address, index=INDEX) as store:
        store.setup()
        fill(store)
        written = store.get(("a", "b"), "k").dict()
    with reader.from_conn_string(store_address, index=INDEX) as store:
        store.setup()
        scores = [("k", pytest.approx(1)), ("other", pytest.approx(0.5**0.5))]
        assert seen(store) == [written, ["k"], scores, [("a",), ("a", "b")], 1, ["young"]]


@pytest.mark.parametrize(
    ("writer", "reader"), [(AsyncLangGraphStore, AsyncPostgresStore), (AsyncPostgresStore, AsyncLangGraphStore)]
)
def test_each_async_store_reads_what_the_other_wrote(store_address: str, writer: Any, reader: Any):
    async def scenario() -> Any:
        async with writer.from_conn_string(store_address, index=INDEX) as store:
            await store.setup()
            await store.aput(("n",), "k", {"text": "a"}, ttl=5)
        async with reader.from_conn_string(store_address, index=INDEX) as store:
            await store.setup()
            return await store.asearch(("n",), query="a")

    (found,) = asyncio.run(scenario())
    assert (found.key, found.value, found.score) == ("k", {"text": "a"}, 1)


def test_an_older_database_is_brought_up_to_date(store_address: str, store_database: psycopg.Connection):
    store_database.execute(
        """CREATE TABLE store_migrations (v INTEGER PRIMARY KEY);
        INSERT INTO store_migrations VALUES (0), (1);
        CREATE TABLE store (prefix text, key text, value jsonb, created_at timestamptz DEFAULT CURRENT_TIMESTAMP,
            updated_at timestamptz DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (prefix, key));
        INSERT INTO store (prefix, key, value) VALUES ('a', 'k', '{"x":1}');"""
    )
    with PostgresStore.from_conn_string(store_address) as store:
        store.setup()
        store.put(("a",), "new", {}, ttl=5)
        assert store.get(("a",), "k").value == {"x": 1}  # type: ignore[union-attr]
    assert store_database.execute("SELECT v FROM store_migrations ORDER BY v").fetchall() == [(n,) for n in range(4)]
