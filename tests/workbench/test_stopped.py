"""Ctrl-C: what was recorded by then can be looked at, and what was being made of it can be asked for again."""

import gc

import pytest

from runtime.graph import START
from tests.runtime.scenarios.build import builder, says
from workbench import frames, record, recording
from workbench.heap import at_rest


def stops(state):
    raise KeyboardInterrupt


def test_a_run_that_was_stopped_leaves_its_recording():
    graph = builder({"a": says("a"), "b": stops}, [(START, "a"), ("a", "b")]).compile()
    with pytest.raises(KeyboardInterrupt) as stopped, recording() as rec:
        graph.invoke({"log": []})
    assert stopped.value.recording is rec
    assert rec.status == "cancelled"
    assert list(rec.supersteps.status) == ["ok", "ok", "ok", "cancelled"]
    assert list(rec.writes.query("node == 'a' and channel == 'log'").value) == [["a"]]


def test_a_frame_that_was_stopped_is_made_when_it_is_asked_for_again(monkeypatch):
    rec = record(builder({"a": says("a")}, [(START, "a")]).compile(), {"log": []})
    with monkeypatch.context() as patch:
        patch.setattr(frames, "frame", lambda name, index: stops(None))
        with pytest.raises(KeyboardInterrupt):
            _ = rec.tasks
    assert gc.isenabled()
    assert list(rec.tasks.node) == ["__start__", "a"]


def test_the_collector_rests_in_the_outermost_block_and_goes_on_after_it():
    with at_rest():
        with at_rest():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
