"""Recordings of threads that ran long ago, of both engines, against the recordings of the runs themselves."""

import asyncio
import sqlite3

import pandas as pd
import pytest

from tests.workbench.conftest import says
from workbench import record
from workbench.recording import Recording

KNOWN = {
    "supersteps": ["ns", "step", "source", "tasks", "updated", "status", "checkpoint_id", "parent_id"],
    "tasks": ["ns", "step", "task_id", "node", "path", "kind", "status", "input", "result"],
    "triggers": None,
    "reads": None,
    "writes": None,
    "channels": None,
    "versions": None,
    "values": None,
    "checkpoints": ["ns", "checkpoint_id", "parent_id", "step", "source", "next", "thread_id"],
}


@pytest.fixture
def fan(built, engine):
    """Two Sends beside a node that stands in a graph of its own, then a join, then a question."""
    inner = built(("__start__", "x"), x=says("x")).compile()
    ask = lambda state: {"log": [engine.types.interrupt("Ready?")]}  # noqa: E731
    nodes = {"plan": says("plan"), "each": says("each"), "desk": inner, "ask": ask}
    graph = built(("__start__", "plan"), (["each", "desk"], "ask"), **nodes)
    graph.add_conditional_edges("plan", lambda state: [engine.types.Send("each", n) for n in range(2)], ["each"])
    graph.add_edge("plan", "desk")
    return graph


def same(past, live):
    for name, columns in KNOWN.items():
        one, other = getattr(past, name), getattr(live, name)
        if columns is not None:
            one, other = one[columns], other[columns]
        pd.testing.assert_frame_equal(one, other, check_categorical=False)


@pytest.fixture
def saver(own_saver):
    """Each of the engine's own savers."""
    return own_saver


def test_a_thread_gives_the_frames_of_its_run(chain, saver):
    graph = chain.compile(checkpointer=saver)
    live = record(graph, {"total": 1, "log": ["in"]}, thread="t")
    past = Recording.from_thread(graph, "t")
    same(past, live)
    assert (past.status, past.output, past.thread) == ("done", live.output, "t")
    assert str(past.why("b")) == str(live.why("b"))
    assert str(past.story()) == str(live.story())
    assert "Checkpoints do not tell when tasks began" in past.missing[0]
    assert past.tasks.duration.isna().all()


def test_sends_joins_and_nested_graphs_are_told(fan, saver):
    graph = fan.compile(checkpointer=saver)
    live = record(graph, {"total": 1}, thread="t")
    past = Recording.from_thread(graph, {"configurable": {"thread_id": "t"}})
    same(past, live)
    assert past.summary().verdict == live.summary().verdict == "Waits at ask: “Ready?”"
    assert str(past.why("ask")) == str(live.why("ask"))


def test_an_answered_question_parts_two_runs(fan, saver, engine):
    graph = fan.compile(checkpointer=saver)
    both = record(graph, {"total": 1}, thread="t") + record(graph, engine.types.Command(resume="yes"), thread="t")
    past = Recording.from_thread(graph, "t")
    assert len(past.runs) == 2
    pd.testing.assert_frame_equal(past.interrupts, both.interrupts)
    assert list(past.tasks.query("node == 'ask'").status) == ["interrupted", "ok"]


def test_a_failed_thread_names_its_error(built, saver):
    graph = built(("__start__", "a"), a=lambda state: 1 / 0).compile(checkpointer=saver)
    record(graph, {"total": 1}, thread="t", raise_errors=False)
    past = Recording.from_thread(graph, "t")
    assert past.summary().verdict == "Failed at a: ZeroDivisionError"
    assert list(past.tasks.error.dropna()) == ["ZeroDivisionError: division by zero"]


def test_a_fork_begins_a_run_of_its_own(chain, saver):
    graph = chain.compile(checkpointer=saver)
    live = record(graph, {"total": 1}, thread="t")
    before = live.checkpoints.query("step == 1").checkpoint_id.iloc[0]
    place = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": before}
    graph.invoke(None, graph.update_state({"configurable": place}, {"total": 9}, as_node="a"))
    past = Recording.from_thread(graph, "t")
    assert past.values.total.iloc[-1] == 9
    assert "fork 1 (from 1" in str(past.tree())


def test_a_bare_saver_tells_the_same_but_for_the_graph(fan, saver):
    graph = fan.compile(checkpointer=saver)
    live = record(graph, {"total": 1}, thread="t")
    past = Recording.from_thread(saver, "t")
    columns = ["ns", "step", "task_id", "node", "path", "kind", "status"]
    pd.testing.assert_frame_equal(past.tasks[columns], live.tasks[columns], check_categorical=False)
    pd.testing.assert_frame_equal(past.writes, live.writes)
    assert "Without the graph" in past.missing[2]
    for node in ("plan", "each", "desk"):
        assert str(past.why(node)) == str(live.why(node))


def test_async_savers_are_read_too(chain, engine):
    saver = engine.memory.InMemorySaver()
    graph = chain.compile(checkpointer=saver)
    record(graph, {"total": 1}, thread="t")
    past = asyncio.run(Recording.afrom_thread(graph, "t"))
    assert list(past.tasks.node) == ["__start__", "a", "b"]


def test_a_database_that_langgraph_wrote_is_read_by_our_saver_and_by_its_own(tmp_path):
    pytest.importorskip("langgraph.checkpoint.sqlite")
    from langgraph.checkpoint.sqlite import SqliteSaver as Theirs
    from langgraph.graph import MessagesState, StateGraph

    from runtime.checkpoint.sqlite import SqliteSaver

    builder = StateGraph(MessagesState)
    builder.add_node("talk", lambda state: {"messages": ["hello"]})
    builder.add_edge("__start__", "talk")
    file = str(tmp_path / "runs.db")
    with Theirs.from_conn_string(file) as saver:
        builder.compile(checkpointer=saver).invoke({"messages": ["hi"]}, {"configurable": {"thread_id": "t"}})
    connection = sqlite3.connect(file, check_same_thread=False)
    with SqliteSaver.from_conn_string(file) as ours:
        read = [Recording.from_thread(one, "t") for one in (ours, Theirs(connection))]
    connection.close()
    assert [list(one.tasks.node) for one in read] == [["__start__", "talk"]] * 2
    assert [message.content for message in read[0].values.messages.iloc[-1]] == ["hi", "hello"]


def test_what_keeps_no_thread_is_refused_with_the_way_out(chain, saver):
    with pytest.raises(TypeError, match="keeps no threads. Give a saver, or a graph that was compiled with a"):
        Recording.from_thread(chain.compile(), "t")
    with pytest.raises(LookupError, match="no thread 'nobody' in this saver"):
        Recording.from_thread(saver, "nobody")
    with pytest.raises(ValueError, match="names no thread"):
        Recording.from_thread(saver, {"configurable": {}})
