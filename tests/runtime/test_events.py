"""Observers: who sees which run, and what a broken one does to it."""

import itertools
import threading

import pytest

from runtime.events import RunFinished, RunStarted, TaskFinished, observe
from runtime.graph import START
from runtime.types import Command, interrupt
from tests.runtime.scenarios.build import builder, says, thread


class Keeps:
    def __init__(self):
        self.events = []

    def event(self, event):
        self.events.append(event)

    def nodes(self):
        return [event.node for event in self.events if isinstance(event, TaskFinished)]


def graph_of(*names, **options):
    edges = [(START, names[0]), *itertools.pairwise(names)]
    return builder({name: says(name) for name in names}, edges).compile(**options)


def test_an_observer_sees_the_runs_of_its_block_and_no_others(colour):
    keeps = Keeps()
    with observe(keeps):
        colour.invoke(graph_of("a", "b"), {"log": []})
    colour.invoke(graph_of("c"), {"log": []})
    assert keeps.nodes() == ["__start__", "a", "b"]
    assert isinstance(keeps.events[0], RunStarted)
    assert keeps.events[-1][4:] == ("done", {"log": ["a", "b"]}, None)


def test_nested_runs_are_seen_with_their_namespace(colour):
    keeps = Keeps()
    app = builder({"child": graph_of("x")}, [(START, "child")]).compile()
    with observe(keeps):
        colour.invoke(app, {"log": []})
    inner = [event.ns for event in keeps.events if isinstance(event, TaskFinished) and event.node == "x"]
    assert [ns.split(":")[0] for ns in inner] == ["child"]


def test_everywhere_sees_runs_of_any_thread():
    keeps = Keeps()
    work = threading.Thread(target=lambda: graph_of("a").invoke({"log": []}))
    with observe(keeps, everywhere=True):
        work.start()
        work.join()
    assert keeps.nodes() == ["__start__", "a"]


def test_a_broken_observer_is_dropped_and_logged_and_the_run_goes_on(colour, caplog):
    class Broken:
        calls = 0

        def task_finished(self, event):
            self.calls += 1
            raise ValueError("observer")

    broken = Broken()
    with observe(broken):
        assert colour.invoke(graph_of("a", "b"), {"log": []}) == {"log": ["a", "b"]}
    assert broken.calls == 1
    assert "Broken raised on TaskFinished" in caplog.text


def test_an_observer_without_methods_is_refused_and_told_their_names():
    with pytest.raises(TypeError, match="task_finished"), observe(object()):
        pass


def test_a_method_gets_its_own_events_and_event_the_rest(colour):
    class Both(Keeps):
        finished = ()

        def run_finished(self, event):
            self.finished = (event.status,)

    both = Both()
    with observe(both):
        colour.invoke(graph_of("a"), {"log": []})
    assert both.finished == ("done",)
    assert not any(isinstance(event, RunFinished) for event in both.events)


def test_a_failed_run_still_ends_with_its_error(colour):
    def fails(state):
        raise ValueError("no")

    keeps = Keeps()
    app = builder({"a": fails}, [(START, "a")]).compile()
    with observe(keeps), pytest.raises(ValueError, match="no"):
        colour.invoke(app, {"log": []})
    assert (keeps.events[-1].status, str(keeps.events[-1].error)) == ("failed", "no")
    assert [event.status for event in keeps.events if isinstance(event, TaskFinished)] == ["ok", "failed"]


def test_writes_are_told_in_the_order_applied_with_the_versions_they_made(colour, saver):
    keeps = Keeps()
    app = builder({"b": says("b"), "a": says("a")}, [(START, "b"), (START, "a")]).compile(checkpointer=saver)
    with observe(keeps):
        colour.invoke(app, {"log": []}, thread())
    last = next(event for event in reversed(keeps.events) if type(event).__name__ == "SuperstepUpdated")
    assert [(write.node, write.value) for write in last.writes] == [("a", ["a"]), ("b", ["b"])]
    log = next(change for change in last.changes if change.channel == "log")
    assert log.version > log.version_before
    assert (log.value, log.writers) == (["a", "b"], ("a", "b"))


def test_the_start_tells_the_recursion_limit(colour):
    keeps = Keeps()
    with observe(keeps):
        colour.invoke(graph_of("a"), {"log": []}, {"recursion_limit": 7})
    assert keeps.events[0].limit == 7


def test_a_task_tells_what_it_asked_answered_or_not(colour, saver):
    def asks(state):
        return {"log": [interrupt("name?"), interrupt("age?")]}

    app, keeps = builder({"a": asks}, [(START, "a")]).compile(checkpointer=saver), Keeps()
    with observe(keeps):
        colour.invoke(app, {"log": []}, thread("t"))
        colour.invoke(app, Command(resume="Ann"), thread("t"))
    ends = [event for event in keeps.events if isinstance(event, TaskFinished) and event.node == "a"]
    assert [(end.questions, end.answers) for end in ends] == [(("name?",), ()), (("name?", "age?"), ("Ann",))]
