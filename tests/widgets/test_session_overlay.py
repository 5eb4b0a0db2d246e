"""A session on a graph whose checkpointer is an overlay: a thread of another process, explored without touching it."""

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.overlay import Overlay
from runtime.graph import START
from runtime.types import interrupt
from tests.runtime.scenarios.build import builder, says, thread
from widgets.session import Session
from workbench import record


@pytest.fixture
def base() -> InMemorySaver:
    """A saver whose thread waits for an answer."""
    saver = InMemorySaver()
    graph().compile(checkpointer=saver).invoke({"log": ["in"]}, thread())
    return saver


def graph():
    nodes = {"a": says("a"), "ask": lambda state: {"log": [interrupt("go?")]}}
    return builder(nodes, [(START, "a"), ("a", "ask")])


def test_a_session_answers_rehearses_forks_and_travels_above_the_base(base):
    before = [*base.list(None)]
    session = Session(graph().compile(checkpointer=Overlay(base)), "t")
    assert [one.value for one in session.pending] == ["go?"]
    session.resume("yes")
    assert session.values == {"log": ["in", "a", "yes"]}
    past = session.checkpoints[1]
    session.fork(past, {"log": ["edit"]}, as_node="a")
    assert len(session.branches) == 2
    session.replay(past)
    assert len(session.branches) == 3
    assert [*base.list(None)] == before


def test_a_recording_is_made_of_a_run_above_the_base(base):
    recording = record(graph().compile(checkpointer=Overlay(base)), None, thread())
    assert len(recording.interrupts_pending) == 1
