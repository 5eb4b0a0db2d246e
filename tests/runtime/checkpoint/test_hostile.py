"""Nothing that comes from a store runs code, hangs or fills the memory; what can't be read says so, and where."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.checkpoint.base import empty_checkpoint
from runtime.checkpoint.base.unreadable import UnreadableCheckpointError
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.postgres import PostgresSaver
from runtime.checkpoint.serde.encrypted import EncryptedSerializer
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.graph import START
from tests.postgres import execute
from tests.runtime.checkpoint import fuzz
from tests.runtime.checkpoint.postgres import conftest as on_server
from tests.runtime.checkpoint.postgres.build import put
from tests.runtime.checkpoint.postgres.conftest import driver
from tests.runtime.scenarios.build import builder, says, thread


@pytest.fixture(params=[on_server.Sync, on_server.Async], ids=["sync", "async"])
def either(request: pytest.FixtureRequest) -> Any:
    """The colour of a driver of PostgreSQL's savers; the test runs once with each."""
    return request.param


SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)


def test_three_hundred_mutated_payloads_are_read_or_refused():
    found = fuzz.payloads(300, seed=20261130)
    assert found.total() == 300
    assert found["a value"] > 30
    assert found["an error"] > 30


def test_changes_to_a_databases_rows_are_read_or_refused_with_their_place():
    found = fuzz.rows(60, seed=20261130)
    assert found["an unclear error"] == 0
    assert found["read"] > 100
    assert found["an error"] > 10


def test_changes_to_a_servers_rows_are_read_or_refused_with_their_place(postgres: str):
    found = fuzz.server_rows(80, seed=20261130, url=postgres)
    assert found["an unclear error"] == 0
    assert found["read"] > 200
    assert found["an error"] > 10


@given(st.binary(max_size=200), st.sampled_from(["msgpack", "json", "null", "bytes", "bytearray", "pickle", ""]))
def test_any_bytes_are_read_or_refused(data: bytes, tag: str):
    with fuzz.watched(0), suppress(ValueError, NotImplementedError):
        SERDE.loads_typed((tag, data))


def extension(code: int, symbol: tuple[str, str], content: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, ormsgpack.packb([*symbol, content]))


@given(
    st.recursive(
        st.one_of(
            st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=5), st.binary()
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
            st.builds(extension, st.integers(0, 10), st.sampled_from(fuzz.LISTED), inner),
        ),
    )
)
def test_any_extension_of_a_listed_name_is_read(value: Any):
    with fuzz.watched(0):
        SERDE.loads_typed(("msgpack", ormsgpack.packb(value)))


def ext(code: int, *payload: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, ormsgpack.packb(payload))


FAR = ext(1, "builtins", "range", [0, 10**12])
MADE = ("runtime.checkpoint.serde.frames", "made")

SCALAR = ext(6, "<f8", [], "S", b"\0" * 8)

ROWS = ext(2, *MADE, {"form": "range", "start": 0, "stop": 10**10, "step": 1, "name": None})

BOMBS = {
    "a set of a range": ext(0, "builtins", "set", FAR),
    "a queue of a range": ext(1, "collections", "deque", [FAR, 3]),
    "a dict of a range": ext(0, "builtins", "dict", FAR),
    "a range of arguments": ext(1, "builtins", "complex", FAR),
    "an array as long as a number": ext(6, "<f8", [10**10], "C", 10**11),
    "an array as long as a range": ext(6, "|O", [3], "C", FAR),
    "a shape as long as a range": ext(6, "<f8", FAR, "C", b""),
    "items of no size": ext(6, "V0", [10**12], "C", b""),
    "a field as large as a range": ext(6, [["a", "<f8", FAR]], [1], "C", b""),
    "a fraction with an exponent": ext(1, "fractions", "Fraction", ["1e9999999999"]),
    "a message whose words are a range": ext(0, "langchain_core.messages.base", "BaseMessage", FAR),
    "a message of a range": ext(5, "langchain_core.messages.human", "HumanMessage", {"content": [FAR], "id": FAR}),
    "a message of a network": ext(
        5, "langchain_core.messages.human", "HumanMessage", {"content": ext(0, "ipaddress", "IPv6Network", "::/0")}
    ),
    "an item in a range": ext(4, "runtime.store.base", "Item", {"namespace": FAR, "key": "k", "value": {}}),
    "very many ranges": [
        ext(5, "langchain_core.messages.human", "HumanMessage", {"content": ext(1, "builtins", "range", [0, 90_000])})
    ]
    * 300,
    "levels of a range": ext(
        2, *MADE, {"form": "multi", "levels": [ROWS], "codes": [ext(6, "<i8", [1], "C", b"\0" * 8)], "names": ["a"]}
    ),
    "one value for many rows": ext(
        2, *MADE, {"form": "series", "index": ROWS, "data": SCALAR, "name": None, "attrs": {}}
    ),
    "codes as long as a range": ext(
        2, *MADE, {"form": "categories", "codes": ROWS, "categories": [], "ordered": False}
    ),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_few_bytes_do_not_become_very_many_objects(bomb: Any):
    with fuzz.watched(0):
        SERDE.loads_typed(("msgpack", ormsgpack.packb([bomb])))


def test_a_bomb_in_json_does_not_go_off_either():
    far = '{"lc": 2, "type": "constructor", "id": ["builtins", "range"], "args": [0, 1000000000000]}'
    text = f'{{"lc": 2, "type": "constructor", "id": ["builtins", "set"], "args": [{far}]}}'
    with fuzz.watched(0):
        assert SERDE.loads_typed(("json", text.encode()))["id"] == ["builtins", "set"]
        with pytest.raises(ValueError, match="too deeply"):
            SERDE.loads_typed(("json", b"[" * 100_000))


def test_pickle_is_refused_unless_asked_for_and_then_warned_of(caplog: pytest.LogCaptureFixture):
    from runtime.checkpoint.serde import jsonplus

    jsonplus._warn_of_pickle.cache_clear()
    pickling = JsonPlusSerializer(pickle_fallback=True)
    pair = pickling.dumps_typed(slice)
    assert "can run code here" in caplog.text
    assert pickling.loads_typed(pair) is slice
    with pytest.raises(NotImplementedError, match="only with pickle_fallback=True"):
        SERDE.loads_typed(pair)
    with pytest.raises(TypeError, match="type"):
        SERDE.dumps_typed(slice)


# -- a damaged store ---------------------------------------------------------------------------------------------------

GRAPH = builder({"a": says("a" * 20)}, [(START, "a")])


@pytest.fixture
def file(tmp_path: Path) -> str:
    file = str(tmp_path / "threads.db")
    with SqliteSaver.from_conn_string(file) as saver:
        GRAPH.compile(checkpointer=saver).invoke({"log": ["in"]}, thread())
    return file


DAMAGES = {
    "UPDATE pregel_checkpoints SET checkpoint = x'c1'": "the checkpoint itself",
    "UPDATE pregel_checkpoints SET checkpoint = x'93010203'": "the checkpoint itself",
    "UPDATE pregel_checkpoints SET type = 'pickle'": "the checkpoint itself",
    "UPDATE pregel_checkpoints SET metadata = x'01'": "the metadata",
    "UPDATE pregel_values SET value = x'd9' WHERE channel = 'log'": "the value of channel 'log'",
    "UPDATE pregel_values SET value = 'text' WHERE channel = 'log'": "the value of channel 'log'",
    "UPDATE pregel_values SET base = version WHERE channel = 'log'": "a value",
    "UPDATE pregel_values SET base = 'gone' WHERE channel = 'log'": "a value",
}


@pytest.mark.parametrize("statement", DAMAGES)
def test_a_damaged_row_is_told_by_thread_checkpoint_and_part(file: str, statement: str, colour: Any):
    db = sqlite3.connect(file)
    newest = db.execute("SELECT max(checkpoint_id) FROM pregel_checkpoints").fetchone()[0]
    db.execute(statement)
    db.commit()
    db.close()

    async def state() -> Any:
        async with AsyncSqliteSaver.from_conn_string(file) as saver:
            return await GRAPH.compile(checkpointer=saver).aget_state(thread())

    message = rf"^Checkpoint '{newest}' of thread 't' can't be read: {DAMAGES[statement]} is damaged"
    with SqliteSaver.from_conn_string(file) as saver, pytest.raises(UnreadableCheckpointError, match=message) as raised:
        GRAPH.compile(checkpointer=saver).get_state(thread()) if colour.name == "sync" else asyncio.run(state())
    assert (raised.value.thread_id, raised.value.checkpoint_id) == ("t", newest)


SET_JSON = "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{%s}', '7')"

SERVER_DAMAGES = {
    SET_JSON % "id": "the checkpoint itself",
    SET_JSON % "channel_values": "the checkpoint itself",
    SET_JSON % "channel_versions": "the checkpoint itself",
    SET_JSON % "versions_seen,a": "the checkpoint itself",
    "UPDATE checkpoints SET checkpoint = '[]'": "the checkpoint itself",
    "UPDATE checkpoints SET metadata = '[]'": "the metadata",
    r"UPDATE checkpoint_blobs SET blob = '\xd9' WHERE channel = 'log'": "the value of channel 'log'",
    "UPDATE checkpoint_blobs SET blob = NULL WHERE channel = 'log'": "the value of channel 'log'",
    "UPDATE checkpoint_blobs SET type = 'what' WHERE channel = 'log'": "the value of channel 'log'",
    r"UPDATE checkpoint_writes SET blob = '\xc1'": "the write to channel 'log'",
    "UPDATE checkpoint_writes SET type = NULL": "the write to channel 'log'",
}

READS = {
    "get": lambda saver: saver.get_tuple(thread()),
    "list": lambda saver: list(saver.list(None)),
    "list few": lambda saver: list(saver.list(thread(), limit=1)),
}


@pytest.mark.parametrize("statement", SERVER_DAMAGES)
def test_a_servers_damaged_row_is_told_by_thread_checkpoint_and_part(postgres: str, statement: str, either: Any):
    with driver(either, postgres) as made:
        made.setup()
        config = put(made.saver, thread(), log=["in"])
        made.saver.put_writes(config, [("log", ["x"])], "task")
        execute(postgres, statement)
        id = config["configurable"]["checkpoint_id"]
        message = rf"^Checkpoint '{id}' of thread 't' can't be read: {SERVER_DAMAGES[statement]} is damaged"
        for read in READS.values():
            with pytest.raises(UnreadableCheckpointError, match=message):
                read(made.saver)


def test_a_damaged_write_in_a_history_is_told_by_thread_and_checkpoint(postgres: str, either: Any):
    with driver(either, postgres, "pipeline") as made:
        made.setup()
        first = put(made.saver, thread(), log=["in"])
        made.saver.put_writes(first, [("steps", ["x"])], "task")
        newest = put(made.saver, first, step=1)
        execute(postgres, r"UPDATE checkpoint_writes SET blob = '\xc1'")
        id = newest["configurable"]["checkpoint_id"]
        with pytest.raises(UnreadableCheckpointError, match=f"'{id}' of thread 't' .* a write in its history"):
            made.saver.get_delta_channel_history(config=newest, channels=["steps"])
        assert made.saver.get_tuple(newest) is not None


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_other_checkpoints_of_a_damaged_thread_are_read(request: Any, kind: str):
    with sync_saver(request, kind) as saver:
        GRAPH.compile(checkpointer=saver).invoke({"log": ["in"]}, thread())
        newest, before = [each.config for each in saver.list(thread(), limit=2)]
        id = newest["configurable"]["checkpoint_id"]
        if kind == "sqlite":
            saver.conn.execute("UPDATE pregel_checkpoints SET checkpoint = x'c1' WHERE checkpoint_id = ?", (id,))
        else:
            saver.conn.execute("UPDATE checkpoints SET checkpoint = '1' WHERE checkpoint_id = %s", (id,))
        assert GRAPH.compile(checkpointer=saver).get_state(before).values == {"log": ["in"]}


@contextmanager
def sync_saver(request: Any, kind: str) -> Iterator[Any]:
    """An empty saver of this kind."""
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "sqlite":
        with SqliteSaver.from_conn_string(":memory:") as saver:
            yield saver
    else:
        with PostgresSaver.from_conn_string(request.getfixturevalue("postgres")) as saver:
            saver.conn.execute("SET statement_timeout = '5s'")  # so that no way is endless
            saver.setup()
            yield saver


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_a_checkpoint_that_is_its_own_ancestor_is_no_endless_way(request: Any, kind: str, length: int):
    with sync_saver(request, kind) as saver:
        made = [empty_checkpoint() | {"channel_versions": {"x": 1}} for _ in range(length)]
        for each, parent in zip(made, [made[-1], *made[:-1]], strict=True):
            config: Any = thread(checkpoint_ns="", checkpoint_id=parent["id"])
            saver.put(config, each, {"step": 0, "counters_since_delta_snapshot": {"x": (1, 1)}}, {"x": 1})
            saver.put_writes(thread(checkpoint_ns="", checkpoint_id=each["id"]), [("x", each["id"])], "task")
        newest = thread(checkpoint_ns="", checkpoint_id=made[-1]["id"])
        with fuzz.watched(0):
            history = saver.get_delta_channel_history(config=newest, channels=["x"])["x"]
            saver.prune(["t"])
        assert {value for _, _, value in history["writes"]} <= {each["id"] for each in made}
        assert saver.get_tuple(newest) is not None


# -- encrypted ---------------------------------------------------------------------------------------------------------


def test_every_changed_byte_of_an_encrypted_value_is_found():
    pytest.importorskip("Crypto")
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    tag, data = serde.dumps_typed({"log": ["secret", 1, None]})
    for place in range(len(data)):
        for flip in (1, 0x80, 0xFF):
            changed = data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :]
            with pytest.raises(ValueError, match="MAC check failed"):
                serde.loads_typed((tag, changed))
    for length in range(len(data)):
        with pytest.raises(ValueError, match="MAC check failed|Nonce|nonce|MAC|cut short"):
            serde.loads_typed((tag, data[:length]))


def test_an_encrypted_checkpoint_that_was_tampered_with_is_refused_by_its_name(tmp_path: Path):
    pytest.importorskip("Crypto")
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    with SqliteSaver.from_conn_string(str(tmp_path / "secret.db"), serde=serde) as saver:
        GRAPH.compile(checkpointer=saver).invoke({"log": ["in"]}, thread())
        column = "SELECT rowid, data FROM (SELECT 1 AS rowid, value AS data FROM pregel_values WHERE channel = 'log')"
        data = saver.conn.execute(column).fetchall()[-1][1]
        saver.conn.execute(
            "UPDATE pregel_values SET value = ? WHERE channel = 'log'", (data[:-1] + bytes([data[-1] ^ 1]),)
        )
        with pytest.raises(UnreadableCheckpointError, match="of thread 't' can't be read.*MAC check failed"):
            saver.get_tuple(thread())
