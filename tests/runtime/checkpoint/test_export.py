"""A database that LangGraph's own SqliteSaver opens: read and gone on with by the real package."""

import asyncio
import importlib
import itertools
import operator
import sqlite3
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from runtime.checkpoint.base import empty_checkpoint
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.serde.encrypted import EncryptedSerializer
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.checkpoint.sqlite.export import Exported, aexport, export
from tests.runtime.scenarios.build import thread

THEIRS = pytest.importorskip("langgraph.checkpoint.sqlite")


def added(value: list, writes: Any) -> list:
    return [*value, *itertools.chain(*writes)]


def graph(engine: str) -> Any:
    """A graph of either engine: a nested graph that asks, a queue of Sends, and a delta channel."""
    word = lambda module, name: getattr(importlib.import_module(f"{engine}.{module}"), name)  # noqa: E731
    interrupt, Send, START = word("types", "interrupt"), word("types", "Send"), word("graph", "START")

    class State(TypedDict):
        log: Annotated[list, operator.add]
        steps: Annotated[list, word("channels", "DeltaChannel")(added)]

    inner = word("graph", "StateGraph")(State)
    inner.add_node("ask", lambda state: {"log": [interrupt({"go": "on?"})], "steps": ["ask"]})
    inner.add_edge(START, "ask")
    outer = word("graph", "StateGraph")(State)
    outer.add_node("plan", lambda state: {"log": ["plan"], "steps": ["plan"]})
    outer.add_node("work", lambda part: {"log": [part["i"]], "steps": [str(part["i"])]})
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "plan")
    outer.add_conditional_edges("plan", lambda state: [Send("work", {"i": i}) for i in range(3)], ["work"])
    outer.add_edge("work", "inner")
    return outer


def shown(app: Any, name: str = "t") -> list[Any]:
    return [
        (s.values, s.next, s.metadata, s.config, s.parent_config, s.created_at, [i.value for i in s.interrupts])
        for s in app.get_state_history(thread(name))
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "theirs.db"


@pytest.fixture
def ours(tmp_path: Path) -> Any:
    with SqliteSaver.from_conn_string(str(tmp_path / "ours.db")) as saver:
        for name in "tu":
            graph("runtime").compile(checkpointer=saver).invoke({"log": ["in"], "steps": ["in"]}, thread(name))
        yield saver


def test_langgraph_shows_the_same_history_and_goes_on_with_it(ours: Any, file: Path):
    done = export(ours, file)
    assert done.threads == 2
    assert done.checkpoints == len(list(ours.list(None)))
    mine = graph("runtime").compile(checkpointer=ours)
    with THEIRS.SqliteSaver.from_conn_string(str(file)) as saver:
        app = graph("langgraph").compile(checkpointer=saver)
        assert shown(app) == shown(mine)
        nested = app.get_state(thread(), subgraphs=True).tasks[0].state
        assert nested.next == ("ask",)
        resume = importlib.import_module("langgraph.types").Command(resume="yes")
        result = app.invoke(resume, thread())
    assert result["log"][-1] == "yes"
    assert app.checkpointer.conn is not ours.conn
    assert mine.get_state(thread()).next == ("inner",)


def test_it_is_what_langgraph_itself_would_have_written(ours: Any, file: Path, tmp_path: Path):
    export(ours, file, ["t"])
    with THEIRS.SqliteSaver.from_conn_string(str(tmp_path / "own.db")) as saver:
        graph("langgraph").compile(checkpointer=saver).invoke({"log": ["in"], "steps": ["in"]}, thread())
        theirs = rows_of(saver.conn)
    with THEIRS.SqliteSaver.from_conn_string(str(file)) as saver:
        assert rows_of(saver.conn) == theirs


def rows_of(db: sqlite3.Connection) -> Any:
    """Tables and rows, without what is drawn anew in each run."""
    tables = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    writes = db.execute("SELECT task_path, idx, channel, type FROM writes ORDER BY 1, 2, 3").fetchall()
    checkpoints = db.execute("SELECT substr(checkpoint_ns, 1, 5), type FROM checkpoints ORDER BY checkpoint_id")
    return [(name, "".join(sql.split())) for name, sql in tables], writes, checkpoints.fetchall()


def test_our_own_saver_opens_it_too(ours: Any, file: Path):
    export(ours, file)
    with SqliteSaver.from_conn_string(str(file)) as saver:
        apps = [graph("runtime").compile(checkpointer=each) for each in (saver, ours)]
        assert shown(apps[0]) == shown(apps[1])


def test_named_threads_go_into_a_file_that_langgraph_began(ours: Any, file: Path):
    with THEIRS.SqliteSaver.from_conn_string(str(file)) as saver:
        graph("langgraph").compile(checkpointer=saver).invoke({"log": ["old"], "steps": []}, thread("old"))
    export(ours, file, ["u"])
    again = export(ours, file, ["u"])
    with THEIRS.SqliteSaver.from_conn_string(str(file)) as saver:
        found = {each.config["configurable"]["thread_id"] for each in saver.list(None)}
        assert saver.conn.execute("SELECT count(*) FROM writes WHERE thread_id = 'u'").fetchone() == (again.writes,)
    assert found == {"old", "u"}


def test_any_saver_is_exported(file: Path, colour: Any):
    theirs = pytest.importorskip("langgraph.checkpoint.memory").InMemorySaver()
    graph("langgraph").compile(checkpointer=theirs).invoke({"log": ["in"], "steps": ["in"]}, thread())
    before = shown(graph("langgraph").compile(checkpointer=theirs))
    if colour.name == "sync":
        export(theirs, file)
    else:
        asyncio.run(aexport(theirs, file))
    with THEIRS.SqliteSaver.from_conn_string(str(file)) as saver:
        assert shown(graph("langgraph").compile(checkpointer=saver)) == before


def test_an_async_saver_is_exported(tmp_path: Path, ours: Any, file: Path):
    async def exported() -> Exported:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "ours.db")) as saver:
            return await aexport(saver, file)

    assert asyncio.run(exported()) == export(ours, tmp_path / "again.db")
    tables = [sqlite3.connect(each) for each in (file, tmp_path / "again.db")]
    assert rows_of(tables[0]) == rows_of(tables[1])
    for each in tables:
        each.close()


def test_a_delta_without_a_parents_log_and_versions_of_numbers_come_along(file: Path):
    saver = InMemorySaver()
    checkpoint: Any = empty_checkpoint() | {"channel_values": {"x": (1, 2)}, "channel_versions": {"x": 3}}
    config = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {"step": 7}, {"x": 3})
    saver.put_writes(config, [("x", 1), ("__interrupt__", "a"), ("x", 2)], "task")
    export(saver, file)
    with THEIRS.SqliteSaver.from_conn_string(str(file)) as theirs:
        found = theirs.get_tuple(config)
    assert found.checkpoint == {**checkpoint, "channel_values": {"x": [1, 2]}}
    assert found.metadata == {"step": 7}
    assert found.pending_writes == [("task", "__interrupt__", "a"), ("task", "x", 1), ("task", "x", 2)]


def test_what_is_encrypted_stays_so(tmp_path: Path, file: Path):
    pytest.importorskip("Crypto")
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    with SqliteSaver.from_conn_string(str(tmp_path / "secret.db"), serde=serde) as saver:
        graph("runtime").compile(checkpointer=saver).invoke({"log": ["secret"], "steps": []}, thread())
        export(saver, file)
    assert b"secret" not in file.read_bytes()
    encrypted = importlib.import_module("langgraph.checkpoint.serde.encrypted").EncryptedSerializer
    db = sqlite3.connect(file)
    theirs = THEIRS.SqliteSaver(db, serde=encrypted.from_pycryptodome_aes(key=b"0123456789abcdef"))
    assert theirs.get_tuple(thread()).checkpoint["channel_values"]["log"][0] == "secret"
    db.close()


def test_a_file_in_our_layout_is_no_target(ours: Any, tmp_path: Path):
    with pytest.raises(ValueError, match="Export into another file"):
        export(ours, tmp_path / "ours.db")


def test_an_export_that_fails_leaves_nothing(ours: Any, file: Path):
    class Failing(InMemorySaver):
        def list(self, *args: Any, **kw: Any) -> Any:
            yield from itertools.islice(ours.list(None), 2)
            raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        export(Failing(), file)
    with SqliteSaver.from_conn_string(str(file)) as saver:
        assert list(saver.list(None)) == []
