"""Checkpoints of earlier versions: what their channels become, and that what was stored beside them is found."""

import hashlib

import pytest

from runtime.graph import END, START
from runtime.pregel.migrate import migrate
from tests.runtime.scenarios.build import builder, says, thread

ID = "1f00ffbe-5358-60df-8000-6ca3ea7b2d01"


def saved(v, values, versions, **seen):
    return {
        "v": v, "id": ID, "ts": "2025-04-02T19:51:40+00:00", "channel_values": values, "channel_versions": versions,
        "versions_seen": seen,
    }  # fmt: skip


@pytest.fixture
def graph():
    """a leads to b and c; nothing follows them."""
    return builder({"a": says("a"), "b": says("b"), "c": says("c")}, [(START, "a"), ("a", "b"), ("a", "c"), ("b", END)])


def test_a_channel_that_told_where_a_move_came_from_becomes_those_of_the_nodes_it_led_to(graph):
    old = saved(2, {"log": ["a"], "a": "a"}, {"log": 3, "start:a": 3, "a": 3}, b={"a": 2}, __start__={"start:a": 2})
    new = migrate(old, graph.compile())
    assert new["channel_versions"] == {"log": 3, "branch:to:a": 3, "branch:to:b": 3, "branch:to:c": 3}
    assert new["channel_values"] == {"log": ["a"], "branch:to:b": None, "branch:to:c": None}
    assert new["versions_seen"]["b"] == {"branch:to:b": 2, "branch:to:c": 2}


def test_the_channel_of_a_node_that_nobody_followed_is_gone(graph):
    old = saved(2, {"log": ["a", "b"], "b": "b", "c": "c"}, {"log": 4, "b": 4, "c": 4}, __interrupt__={"b": 4})
    new = migrate(old, graph.compile())
    assert (new["channel_versions"], new["versions_seen"]["__interrupt__"]) == ({"log": 4}, {})
    assert new["channel_values"] == {"log": ["a", "b"]}


def test_the_given_checkpoint_is_not_changed(graph):
    old = saved(2, {"a": "a"}, {"a": 3}, b={"a": 2})
    migrate(old, graph.compile())
    assert old == saved(2, {"a": "a"}, {"a": 3}, b={"a": 2})


def test_queued_sends_move_into_a_channel_of_their_own(graph):
    new = migrate({**saved(3, {}, {"log": 3}), "pending_sends": ["s"]}, graph.compile())
    assert (new["channel_values"]["__pregel_tasks"], new["channel_versions"]["__pregel_tasks"]) == (["s"], 3)


@pytest.mark.parametrize(("v", "sha1"), [(1, True), (2, False)])
def test_a_task_that_finished_beside_a_checkpoint_of_version_1_does_not_run_again(colour, saver, v, sha1):
    ran = []
    app = builder({"a": lambda state: ran.append("a")}, [(START, "a")]).compile(checkpointer=saver)
    seed = bytes.fromhex(ID.replace("-", "")) + b"a1a__pregel_pullbranch:to:a"
    text = hashlib.sha1(seed, usedforsecurity=False).hexdigest()
    id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"
    checkpoint = saved(v, {"log": [], "branch:to:a": None}, {"log": "2", "branch:to:a": "2"})
    config = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {"step": 0}, {
        "log": "2", "branch:to:a": "2",
    })  # fmt: skip
    saver.put_writes(config, [("log", ["then"])], id)
    assert (colour.get_state(app, thread()).tasks[0].id == id) is sha1
    colour.invoke(app, None, thread())
    assert ran == ([] if sha1 else ["a"])
    assert (colour.get_state(app, thread()).values["log"] == ["then"]) is sha1
