"""Each invariant is broken here once, and is seen to fail."""

import itertools

import pytest

from runtime.graph import START
from runtime.pregel import loop, plan, update
from runtime.pregel.task import Task
from runtime.types import Send
from tests.runtime.invariants import watched
from tests.runtime.scenarios.build import builder, says, thread


def two_after_each_other():
    return builder({name: says(name) for name in "ab"}, [(START, "a"), ("a", "b")]).compile()


def two_at_once():
    return builder({name: says(name) for name in "ab"}, [(START, "a"), (START, "b")]).compile()


def assert_broken(graph, number):
    with watched(), pytest.raises(AssertionError, match=f"^{number}: "):
        graph.invoke({"log": []})


def test_a_sound_engine_breaks_none():
    for graph in (two_after_each_other(), two_at_once()):
        with watched():
            assert graph.invoke({"log": ["in"]})["log"] == ["in", "a", "b"]


@pytest.mark.parametrize("spoil", [
    lambda state, tasks: state.values.update(log=["spoilt"]),
    lambda state, tasks: state.versions.update(log=99),
    lambda state, tasks: [value.append("spoilt") for task in tasks for name, value in task.writes if name == "log"],
])  # fmt: skip
def test_an_update_that_changes_the_state_or_what_a_node_gave_is_seen(monkeypatch, spoil):
    sound = loop.update

    def spoilt(state, tasks, *rest):
        step = sound(state, tasks, *rest)
        spoil(state, tasks)
        return step

    monkeypatch.setattr(loop, "update", spoilt)
    assert_broken(two_at_once(), 1)


def test_a_write_that_is_taken_in_before_the_barrier_is_seen(monkeypatch):
    sound = loop.commit

    def early(run, progress, task):
        yield from sound(run, progress, task)
        if task.node == "a":
            progress.state.advance(loop.update(progress.state, [task], progress.next_version, progress.step))

    monkeypatch.setattr(loop, "commit", early)
    app = builder({name: says(name) for name in "abc"}, [(START, "a"), (START, "b"), (START, "c")]).compile()
    with watched(), pytest.raises(AssertionError, match="^2: "):
        list(app.stream({"log": []}, stream_mode=["updates", "tasks"]))


def test_a_router_that_reads_what_a_sibling_wrote_is_seen(monkeypatch):
    sound = Task.read_fresh

    def leaky(task, state, names):
        return {**sound(task, state, names), "log": ["of a sibling"]}

    monkeypatch.setattr(Task, "read_fresh", leaky)
    graph = builder({name: says(name) for name in "ab"}, [(START, "a")])
    graph.add_conditional_edges("a", lambda state: "b", ["b"])
    assert_broken(graph.compile(), 2)


def test_writes_that_are_applied_as_they_come_are_seen(monkeypatch):
    monkeypatch.setattr(update, "task_path_str", lambda path: "")
    assert_broken(two_at_once(), 3)


@pytest.mark.parametrize("version", [lambda current, _=None: 1, lambda current, _=None: -(current or 0)])
def test_a_version_that_does_not_grow_is_seen(monkeypatch, version):
    from runtime.pregel import progress

    monkeypatch.setattr(progress, "int_version", version)
    assert_broken(two_after_each_other(), 4)


def test_an_id_that_depends_on_more_than_the_tasks_place_is_seen(monkeypatch, saver):
    counter, sound = itertools.count(), plan.task_id
    monkeypatch.setattr(plan, "task_id", lambda seed, text, old: sound(seed, f"{text}{next(counter)}", old))
    app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver, interrupt_before=["a"])
    with watched():
        app.invoke({"log": []}, thread())
        with pytest.raises(AssertionError, match="^5: .* has two ids"):
            app.get_state(thread())


def test_an_id_that_two_tasks_share_is_seen(monkeypatch):
    sound = plan.task_id
    monkeypatch.setattr(plan, "task_id", lambda seed, text, old: sound(seed, text.rstrip("0123456789"), old))
    graph = builder({"work": says("x")}, [])
    graph.add_conditional_edges(START, lambda state: [Send("work", {}), Send("work", {})], ["work"])
    assert_broken(graph.compile(), 5)
