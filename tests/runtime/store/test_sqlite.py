"""What the store in SQLite does its own way, and that LangGraph's and ours can share a file."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.sqlite import SqliteStore as LangGraphStore

import runtime.store.sqlite
from runtime.store.base import GetOp, PutOp
from runtime.store.sqlite import AsyncSqliteStore, SqliteStore
from runtime.store.sqlite.vectors import as_blob, cosine_distance, teach
from tests.runtime.store.letters import Letters

INDEX: Any = {"dims": 3, "embed": Letters(), "fields": ["text"]}

LANGGRAPH_INDEX: Any = {"dims": 3, "embed": Letters(), "text_fields": ["text"]}


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    with SqliteStore.from_conn_string(":memory:") as store:
        yield store


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def test_times_are_utc_without_a_zone_in_whole_seconds(store: SqliteStore):
    before = datetime.now(UTC).replace(microsecond=0, tzinfo=None)
    store.put(("a",), "k", {})
    item = store.get(("a",), "k")
    assert item is not None
    assert before <= item.created_at <= datetime.now(UTC).replace(tzinfo=None)
    assert item.created_at.microsecond == 0


def test_a_put_begins_both_times_anew(store: SqliteStore):
    store.put(("a",), "k", {})
    store.conn.execute("UPDATE store SET created_at = '2020-01-01 00:00:00', updated_at = '2020-01-02 00:00:00'")
    store.put(("a",), "k", {})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.created_at == item.updated_at > datetime(2026, 1, 1)


def test_a_dotted_key_leads_into_fields_of_fields(store: SqliteStore):
    store.put(("a",), "k", {"d": {"z": {"w-1": 3}}, "d.z": 7})
    assert keys(store.search((), filter={"d.z.w-1": 3})) == ["k"]
    assert keys(store.search((), filter={"d.z.w-1": {"$gt": 3}})) == []
    assert keys(store.search((), filter={"d.z": 7})) == []


@pytest.mark.parametrize("key", ["", "a b", "a'b", 'a"b', "x') OR 1=1 --", "a[0]", "$", "a\0", "a\n", "é", "*"])
def test_a_key_that_leads_nowhere_is_refused(store: SqliteStore, key: str):
    with pytest.raises(ValueError, match="Invalid filter key"):
        store.search((), filter={key: 1})


def test_true_is_one_as_in_python(store: SqliteStore):
    store.put(("a",), "k", {"t": True, "one": 1})
    assert keys(store.search((), filter={"t": 1, "one": True})) == ["k"]


def test_a_missing_field_is_none(store: SqliteStore):
    store.put(("a",), "k", {})
    assert keys(store.search((), filter={"no": None})) == ["k"]


def test_a_read_gives_no_new_time_unless_it_is_asked_to(store: SqliteStore):
    store.put(("a",), "k", {}, ttl=10)
    before = store.conn.execute("SELECT expires_at FROM store").fetchall()
    store.get(("a",), "k")
    assert store.conn.execute("SELECT expires_at FROM store").fetchall() == before


def test_the_async_methods_are_the_async_stores(store: SqliteStore):
    with pytest.raises(NotImplementedError, match="AsyncSqliteStore"):
        asyncio.run(store.aget(("a",), "k"))


def test_both_stores_have_one_address():
    assert runtime.store.sqlite.AsyncSqliteStore is AsyncSqliteStore
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        runtime.store.sqlite.Nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_deserializer_reads_the_values():
    with closing(sqlite3.connect(":memory:")) as conn:
        store = SqliteStore(conn, deserializer=lambda text: {"read": text})
        store.put(("a",), "k", {"x": 1})
        assert store.search(())[0].value == {"read": '{"x":1}'}


def test_what_the_program_left_open_on_the_connection_is_kept():
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute("CREATE TABLE mine (x)")
        conn.execute("INSERT INTO mine VALUES (1)")
        SqliteStore(conn).put(("a",), "k", {})
        conn.rollback()
        assert conn.execute("SELECT x FROM mine").fetchall() == [(1,)]


def test_many_threads_may_use_a_store(file: str):
    with SqliteStore.from_conn_string(file) as store, SqliteStore.from_conn_string(file) as other:
        each = [store, other] * 2
        threads = [
            threading.Thread(target=lambda s=s, n=n: [s.put((f"n{n}",), str(key), {}) for key in range(25)])
            for n, s in enumerate(each)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.search((), limit=1000)) == 100


def test_a_failed_batch_leaves_nothing(store: SqliteStore):
    store.put(("a",), "k", {"v": 1})
    store.conn.execute(
        "CREATE TRIGGER refuses BEFORE INSERT ON store WHEN new.key = 'bad' BEGIN SELECT raise(FAIL, 'no'); END"
    )
    with pytest.raises(sqlite3.IntegrityError):
        store.batch([PutOp(("a",), "k", None), PutOp(("a",), "good", {}), PutOp(("a",), "bad", {})])
    assert keys(store.search(())) == ["k"]


def test_a_locked_file_is_an_error_that_names_the_way_out(file: str):
    with SqliteStore.from_conn_string(file) as store, closing(sqlite3.connect(file, isolation_level=None)) as other:
        store.put(("a",), "k", {})
        store.conn.execute("PRAGMA busy_timeout = 0")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            store.put(("a",), "k", {"new": 1})
        other.execute("ROLLBACK")
        assert any("longer timeout" in note for note in caught.value.__notes__)
        assert [item.value for item in store.search(())] == [{}]


def test_a_file_that_can_only_be_read_is_read(file: str):
    with SqliteStore.from_conn_string(file) as store:
        store.put(("a",), "k", {"x": 1})
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as conn:
        store = SqliteStore(conn)
        assert store.get(("a",), "k").value == {"x": 1}  # type: ignore[union-attr]
        with pytest.raises(sqlite3.OperationalError, match="readonly") as caught:
            store.put(("a",), "k", {})
    assert any("permissions" in note for note in caught.value.__notes__)


# -- one file with LangGraph -------------------------------------------------------------------------------------------


def fill(store: Any) -> None:
    store.put(("a", "b"), "k", {"x": 1, "d": {"z": "é"}, "l": [1, 2]})
    store.put(("a",), "other", {"x": 2})
    store.put(("a",), "gone", {})
    store.delete(("a",), "gone")
    store.put(("t",), "old", {}, ttl=-5)
    store.put(("t",), "young", {}, ttl=5)


def seen(store: Any) -> list[Any]:
    return [
        store.get(("a", "b"), "k").dict(),
        keys(store.search(("a",), filter={"x": 1})),
        keys(store.search((), filter={"d.z": "é", "l": [1, 2]})),
        store.list_namespaces(prefix=("a",)),
        store.sweep_ttl(),
        keys(store.search(("t",))),
    ]


@pytest.mark.filterwarnings("ignore:The default datetime adapter")  # LangGraph's store leaves that to Python
@pytest.mark.parametrize(("writer", "reader"), [(LangGraphStore, SqliteStore), (SqliteStore, LangGraphStore)])
def test_each_reads_what_the_other_wrote(file: str, writer: Any, reader: Any):
    with writer.from_conn_string(file) as store:
        store.setup()
        fill(store)
        written = store.get(("a", "b"), "k").dict()
    with reader.from_conn_string(file) as store:
        store.setup()
        assert seen(store) == [written, ["k"], ["k"], [("a",), ("a", "b")], 1, ["young"]]


def test_both_write_to_one_file_at_once(file: str):
    with LangGraphStore.from_conn_string(file) as theirs, SqliteStore.from_conn_string(file) as ours:
        ours.put(("a",), "k", {"v": 1})
        theirs.put(("a",), "k", {"v": 2})
        ours.put(("b",), "k", {"v": 3})
        assert [item.value for item in ours.search(("a",))] == [{"v": 2}]
        assert [item.value for item in theirs.search(("b",))] == [{"v": 3}]


class Loading(sqlite3.Connection):
    """A connection that LangGraph can load sqlite-vec into, as far as it sees."""

    def enable_load_extension(self, enabled: bool) -> None: ...


@pytest.fixture
def theirs(file: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[LangGraphStore]:
    """LangGraph's store with an index, on our function for likeness where this Python loads no extensions."""
    factory: Any = sqlite3.Connection
    if not hasattr(factory, "enable_load_extension"):
        factory = Loading
        monkeypatch.setattr(
            "sqlite_vec.load", lambda conn: conn.create_function("vec_distance_cosine", 2, cosine_distance())
        )
    with closing(sqlite3.connect(file, isolation_level=None, factory=factory)) as conn:
        store = LangGraphStore(conn, index=LANGGRAPH_INDEX)
        store.setup()
        yield store


def test_each_finds_by_likeness_what_the_other_wrote(file: str, theirs: LangGraphStore):
    with SqliteStore.from_conn_string(file, index=INDEX) as ours:
        for store, key, text in [(theirs, "near", "a"), (ours, "far", "ab"), (theirs, "near too", "aa")]:
            store.put(("n",), key, {"text": text})
        for store in (ours, theirs):
            scores = {item.key: item.score for item in store.search(("n",), query="a")}
            assert scores == {"near": 1, "near too": 1, "far": pytest.approx(0.5**0.5)}


@pytest.mark.parametrize("index", [INDEX, LANGGRAPH_INDEX])
def test_the_fields_of_an_index_go_by_either_name(index: Any):
    with SqliteStore.from_conn_string(":memory:", index=index) as store:
        store.put(("n",), "k", {"text": "a", "other": "bbbb"})
        assert [item.score for item in store.search(("n",), query="a")] == [1]


def test_an_older_file_is_brought_up_to_date(file: str):
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.executescript(
            """CREATE TABLE store_migrations (v INTEGER PRIMARY KEY);
            INSERT INTO store_migrations VALUES (0), (1);
            CREATE TABLE store (prefix text, key text, value text, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (prefix, key));
            INSERT INTO store (prefix, key, value) VALUES ('a', 'k', '{"x":1}');"""
        )
        with SqliteStore.from_conn_string(file) as store:
            store.put(("a",), "new", {}, ttl=5)
            assert store.batch([GetOp(("a",), "k")])[0].value == {"x": 1}  # type: ignore[union-attr]
        assert db.execute("SELECT v FROM store_migrations").fetchall() == [(n,) for n in range(5)]


def test_sqlite_vec_and_numpy_measure_alike():
    with closing(sqlite3.connect(":memory:")) as db:
        if not hasattr(db, "enable_load_extension"):
            pytest.skip("this Python's sqlite3 loads no extensions, so there is only numpy's measure")
        teach(db)
        one, other, zero = as_blob([1, 2, 3]), as_blob([-1, 0.5, 2]), as_blob([0, 0, 0])
        measured = db.execute("SELECT vec_distance_cosine(?, ?)", (one, other)).fetchone()[0]
        assert measured == pytest.approx(cosine_distance()(one, other))
        assert db.execute("SELECT vec_distance_cosine(?, ?)", (one, zero)).fetchone()[0] is None
        assert cosine_distance()(one, zero) is None
