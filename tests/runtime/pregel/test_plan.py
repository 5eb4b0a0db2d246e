"""The plan: which tasks a state wakes, and what identifies them."""

import xxhash

from runtime.pregel.plan import Place, Planner, fired
from runtime.pregel.program import Program
from runtime.pregel.state import State
from runtime.pregel.task import Task, task_path_str
from runtime.pregel.update import int_version, update
from tests.runtime.pregel.graphs import chain, fan

ID = "1f1ecd6b-6c69-69c5-b000-0307aae298ec"


def started(graph, value=1):
    state = State.fresh(Program(graph), ID)
    given = Task("0", "__input__", ("__input__",), "", None, next(iter(graph.nodes.values())), ())
    given.writes = [("in", value)]
    state.advance(update(state, [given], int_version, -1))
    return state


def outlook(state, step=0, ns=""):
    return Planner(Place(ns), state, step, 10, {}).outlook()


def test_nothing_runs_before_anything_was_written():
    assert outlook(State.fresh(Program(chain()), ID)) == []


def test_a_node_runs_when_its_trigger_is_newer_than_it_has_seen():
    state = started(chain())
    (task,) = outlook(state)
    assert task.node == "one"
    assert fired(state, task) == (("in", 1, None),)


def test_a_node_that_has_seen_the_newest_version_does_not_run():
    state = started(chain())
    state.seen["one"] = {"in": 1}
    assert outlook(state) == []


def test_within_a_run_tasks_are_sorted_by_name_and_from_outside_by_order_of_adding():
    state = started(fan("ba"))
    assert [task.node for task in outlook(state)] == ["a", "b"]
    state.updated = None
    assert [task.node for task in outlook(state)] == ["b", "a"]


def test_a_tasks_id_is_the_hash_of_what_determines_it():
    (task,) = outlook(started(chain()), step=7, ns="outer:1")
    seed = bytes.fromhex(ID.replace("-", ""))
    expected = xxhash.xxh3_128_hexdigest(seed + b"outer:1|one" + b"7" + b"one" + b"__pregel_pull" + b"in")
    assert task.id.replace("-", "") == expected
    assert task.ns == f"outer:1|one:{task.id}"


def test_a_path_sorts_as_its_text_with_numbers_padded():
    assert task_path_str(("__pregel_pull", "x")) == "~__pregel_pull, x"
    assert task_path_str(("__pregel_push", ("__pregel_pull", "x"), 3, True)) == (
        "~__pregel_push, ~__pregel_pull, x, 0000000003, 0000000001"
    )
