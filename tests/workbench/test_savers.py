import importlib
import operator
import sqlite3
from pathlib import Path
from typing import Annotated, TypedDict

import pytest

from workbench import savers
from workbench.savers import SaverError


class State(TypedDict, total=False):
    x: int
    log: Annotated[list[str], operator.add]


def fill(engine, saver):
    """Two threads of a graph that asks: one that waits, and one that was answered."""

    def asks(state):
        return {"log": [engine.types.interrupt("ship it?")]}

    graph = engine.graph.StateGraph(State).add_node("count", lambda state: {"x": state["x"] + 1}).add_node("ask", asks)
    app = graph.add_edge("__start__", "count").add_edge("count", "ask").compile(checkpointer=saver)
    for name in ("waits", "done"):
        app.invoke({"x": 1}, {"configurable": {"thread_id": name}})
    app.invoke(engine.types.Command(resume="yes"), {"configurable": {"thread_id": "done"}})
    return app


@pytest.fixture
def database(engine, tmp_path):
    path = tmp_path / "runs.db"
    with importlib.import_module(f"{engine.name}.checkpoint.sqlite").SqliteSaver.from_conn_string(str(path)) as saver:
        fill(engine, saver)
    return str(path)


def test_the_threads_of_a_file_are_listed_those_gone_on_with_last_first(database):
    with savers.opened(database) as saver:
        found = savers.threads(saver)
    assert [(one.id, one.checkpoints, one.newest.stands) for one in found] == [
        ("done", 4, "ended"),
        ("waits", 3, "asks"),
    ]
    assert found[1].newest.next == ("ask",)
    assert found[1].newest.asks == ("ship it?",)
    assert found[1].newest.values == {"x": 2}


def test_a_task_that_was_answered_and_asks_again_is_shown_with_its_new_question(engine):
    def asks(state):
        return {"log": [engine.types.interrupt("ship it?"), engine.types.interrupt("when?")]}

    saver = importlib.import_module(f"{engine.name}.checkpoint.memory").InMemorySaver()
    app = engine.graph.StateGraph(State).add_node("ask", asks).add_edge("__start__", "ask").compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    app.invoke({"x": 1}, config)
    app.invoke(engine.types.Command(resume="yes"), config)
    (found,) = savers.threads(saver)
    assert (found.newest.stands, found.newest.asks) == ("asks", ("when?",))


def test_a_checkpoint_is_found_by_thread_by_step_and_by_its_id(database):
    with savers.opened(database) as saver:
        newest, *_, first = savers.checkpoints(saver, "done")
        assert (newest.step, newest.values["log"]) == (2, ["yes"])
        assert savers.find(saver, "done") == newest
        assert savers.find(saver, "done@1").next == ("ask",)
        assert savers.find(saver, "done@-1") == first
        assert savers.find(saver, newest.id) == savers.find(saver, f"done@{newest.id[-30:]}") == newest


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nobody", "There is no checkpoint 'nobody'.*The threads are"),
        ("nobody@1", "There is no thread 'nobody'.*The threads are"),
        ("done@9", "There is no checkpoint 'done@9'"),
        ("1", "checkpoints fit '1'"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(database, place, words):
    with savers.opened(database) as saver, pytest.raises(SaverError, match=words):
        savers.find(saver, place)


def test_looking_changes_not_a_byte(database):
    before = Path(database).read_bytes()
    with savers.opened(database) as saver:
        savers.threads(saver)
        savers.find(saver, "done@1")
        with pytest.raises(Exception, match="can only be read"):
            saver.delete_thread("done")
    assert Path(database).read_bytes() == before


def test_a_file_that_is_no_database_of_checkpoints_is_refused(tmp_path):
    with pytest.raises(SaverError, match="There is no database"), savers.opened(str(tmp_path / "no.db")):
        pass
    (tmp_path / "a.txt").write_text("hello, this is text")
    with pytest.raises(SaverError, match="is no SQLite database"), savers.opened(str(tmp_path / "a.txt")):
        pass
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE tea (x)")
    other.close()
    with pytest.raises(SaverError, match="cannot be read"), savers.opened(str(tmp_path / "other.db")) as saver:
        savers.threads(saver)


def test_a_saver_with_only_the_contracts_methods_is_listed(engine):
    saver = importlib.import_module(f"{engine.name}.checkpoint.memory").InMemorySaver()
    fill(engine, saver)
    assert [one.id for one in savers.threads(saver)] == ["done", "waits"]


def test_a_postgresql_database_is_only_read(postgres):
    from runtime.checkpoint.postgres import PostgresSaver
    from tests.engines import engine_of

    with PostgresSaver.from_conn_string(postgres) as saver:
        saver.setup()
        fill(engine_of("runtime"), saver)
    with savers.opened(postgres) as saver:
        assert [one.id for one in savers.threads(saver)] == ["done", "waits"]
        with pytest.raises(Exception, match="read-only"):
            saver.delete_thread("done")


def test_a_postgresql_server_that_is_not_there_is_told():
    with pytest.raises(SaverError, match="cannot be read"), savers.opened("postgresql://nobody@127.0.0.1:1/none"):
        pass
