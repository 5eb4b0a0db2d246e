"""A session on a graph whose checkpointer is an overlay: a thread of another process, explored without touching it."""

import pytest

from runtime.checkpoint.overlay import Overlay
from tests.widgets.conftest import State
from widgets.session import Session
from workbench import record
from workbench.recording import Recording

THREAD = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def base(engine, graph):
    """A saver of the engine's whose thread waits for an answer."""
    saver = engine.memory.InMemorySaver()
    graph.compile(checkpointer=saver).invoke({"log": ["in"]}, THREAD)
    return saver


@pytest.fixture
def graph(engine, says):
    made = engine.graph.StateGraph(State)
    made.add_node("a", says("a"))
    made.add_node("ask", lambda state: {"log": [engine.types.interrupt("go?")]})
    return made.add_edge(engine.graph.START, "a").add_edge("a", "ask")


def test_a_session_answers_rehearses_forks_and_travels_above_the_base(base, graph):
    before = [*base.list(None)]
    session = Session(graph.compile(checkpointer=Overlay(base)), "t")
    assert [one.value for one in session.pending] == ["go?"]
    session.resume("yes")
    assert session.values["log"] == ["in", "a", "yes"]
    past = session.checkpoints[1]
    assert session.fork(past, {"log": ["edit"]}, as_node="a", dry_run=True).next == ("ask",)
    session.fork(past, {"log": ["edit"]}, as_node="a")
    assert len(session.branches) == 2
    session.replay(past)
    assert len(session.branches) == 3
    assert [*base.list(None)] == before


def test_a_recording_is_made_of_a_run_above_the_base(base, graph):
    over = graph.compile(checkpointer=Overlay(base))
    assert len(record(over, None, THREAD).interrupts_pending) == 1
    assert [*Recording.from_thread(over, "t").tasks.node] == ["__start__", "a", "ask"]
