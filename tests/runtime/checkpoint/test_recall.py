"""What is read again is what is stored, whoever changed it, and nobody's copy is another's."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from runtime.checkpoint.base import empty_checkpoint
from runtime.checkpoint.base.unreadable import UnreadableCheckpointError
from runtime.checkpoint.sqlite import SqliteSaver

ROOT: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


@pytest.fixture
def saver(file: str):
    with SqliteSaver.from_conn_string(file) as made:
        yield made


def put(saver: SqliteSaver, config: Any = ROOT, **values: Any) -> Any:
    versions = dict.fromkeys(values, 1)
    checkpoint = empty_checkpoint() | {
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {"node": dict(versions)},
        "updated_channels": [*values],
    }
    return saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, versions)


def statements(saver: SqliteSaver, call: Any) -> list[str]:
    seen: list[str] = []
    saver.conn.set_trace_callback(seen.append)
    try:
        call()
    finally:
        saver.conn.set_trace_callback(None)
    return [each for each in seen if "pregel_" in each]


READS = pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda saver: saver.get_tuple(ROOT), id="the newest"),
        pytest.param(lambda saver: next(saver.list(ROOT, limit=1)), id="in a list"),
    ],
)


@READS
def test_a_checkpoint_is_read_twice_as_long_as_nothing_changes(saver: SqliteSaver, read: Any):
    put(saver, number=1, text="x" * 500)
    first = [read(saver), read(saver)][0]
    assert not any("pregel_values" in each or "checkpoint," in each for each in statements(saver, lambda: read(saver)))
    assert read(saver) == first


@READS
def test_whoever_gets_a_checkpoint_may_change_it(saver: SqliteSaver, read: Any):
    config = put(saver, number=1, items=["a"], records=[{"a": 1}])
    saver.put_writes(config, [("records", [{"b": 2}])], "task")
    before = read(saver)
    for _ in range(4):
        found = read(saver)
        assert found == before
        found.checkpoint["channel_values"]["items"].append("changed")
        found.checkpoint["channel_values"]["records"][0]["a"] = "changed"
        found.checkpoint["channel_values"]["number"] = "changed"
        found.checkpoint["channel_versions"]["number"] = 9
        found.checkpoint["versions_seen"]["node"]["number"] = 9
        found.checkpoint["updated_channels"].append("changed")
        found.metadata["parents"]["changed"] = "changed"
        found.pending_writes[0][2][0]["b"] = "changed"
    assert before == read(saver)


@READS
def test_another_connections_change_is_seen(saver: SqliteSaver, file: str, read: Any):
    config = put(saver, number=1)
    read(saver), read(saver)
    with SqliteSaver.from_conn_string(file) as other:
        other.put_writes(config, [("number", 2)], "task")
        assert read(saver).pending_writes == [("task", "number", 2)]
        put(other, number=3)
    assert read(saver).checkpoint["channel_values"] == {"number": 3}


@READS
@pytest.mark.parametrize("commits", [True, False])
def test_a_change_by_hand_is_seen(saver: SqliteSaver, read: Any, commits: bool):
    put(saver, number=1)
    before = [read(saver), read(saver)][0]
    saver.conn.execute("BEGIN")
    saver.conn.execute("UPDATE pregel_checkpoints SET metadata = x'c1'")
    with pytest.raises(UnreadableCheckpointError, match="metadata"):
        read(saver)
    saver.conn.execute("COMMIT" if commits else "ROLLBACK")
    if commits:
        with pytest.raises(UnreadableCheckpointError, match="metadata"):
            read(saver)
    else:
        assert read(saver) == before


def test_what_was_read_in_a_transaction_that_is_undone_is_forgotten(saver: SqliteSaver):
    put(saver, number=1)
    saver.conn.execute("BEGIN")
    saver.conn.execute("UPDATE pregel_checkpoints SET parent_checkpoint_id = 'undone'")
    for _ in range(3):
        assert saver.get_tuple(ROOT).parent_config is not None
    saver.conn.execute("ROLLBACK")
    assert saver.get_tuple(ROOT).parent_config is None


def test_a_deleted_thread_is_gone(saver: SqliteSaver, file: str):
    put(saver, number=1)
    assert saver.get_tuple(ROOT) == saver.get_tuple(ROOT)
    with sqlite3.connect(file) as other:
        other.execute("DELETE FROM pregel_checkpoints")
    other.close()
    assert saver.get_tuple(ROOT) is None
    assert list(saver.list(ROOT)) == []
