"""The barrier, as a pure function: a state and finished tasks in, a step out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.channels import BinaryOperatorAggregate, LastValue
from runtime.errors import InvalidUpdateError
from runtime.pregel.node import PregelNode
from runtime.pregel.program import Program
from runtime.pregel.state import State, check
from runtime.pregel.task import Task
from runtime.pregel.update import int_version, update
from tests.runtime.pregel.graphs import chain, fan

NODE = PregelNode(channels=[], triggers=["in"])


def state_of(graph):
    return State.fresh(Program(graph), "1f1ecd6b-6c69-69c5-b000-0307aae298ec")


def task(node, *writes, triggers=("in",), path=None):
    done = Task(node, node, path or ("__pregel_pull", node), node, None, NODE, triggers)
    done.writes = list(writes)
    return done


def test_all_channels_of_a_superstep_get_one_version_greater_than_all_before():
    state = state_of(chain())
    state.advance(update(state, [task("a", ("in", 1), triggers=())], int_version, 0))
    step = update(state, [task("one", ("mid", 2), ("out", 3))], int_version, 1)
    assert step.versions == {"mid": 2, "out": 2, "in": 2}


def test_the_state_is_not_touched_until_the_step_is_taken_in():
    state = state_of(chain())
    step = update(state, [task("a", ("in", 1), triggers=())], int_version, 0)
    assert state.values == {}
    assert state.versions == {}
    state.advance(step)
    assert state.values == {"in": 1}
    assert state.updated == {"in"}
    check(state)


def test_a_channel_that_reacts_to_silence_is_emptied_one_superstep_later():
    state = state_of(chain())
    state.advance(update(state, [task("a", ("in", 1), triggers=())], int_version, 0))
    state.advance(update(state, [task("one", ("mid", 2))], int_version, 1))
    assert state.values == {"mid": 2}
    check(state)


def test_writes_without_triggers_silence_nothing():
    state = state_of(chain())
    state.advance(update(state, [task("a", ("in", 1), triggers=())], int_version, 0))
    state.advance(update(state, [task("b", ("out", 2), triggers=())], int_version, 1))
    assert state.values == {"in": 1, "out": 2}


def test_a_task_has_seen_the_versions_that_woke_it():
    state = state_of(chain())
    state.advance(update(state, [task("a", ("in", 1), triggers=())], int_version, 0))
    assert update(state, [task("one", ("mid", 2))], int_version, 1).seen == {"one": {"in": 1}}


def test_two_writes_to_a_plain_channel_fail_and_name_nodes_channel_and_superstep():
    state = state_of(fan(total=LastValue(int)))
    with pytest.raises(InvalidUpdateError, match="(?s)superstep 3.*'a', 'b'.*'total'"):
        update(state, [task("a", ("total", 1)), task("b", ("total", 2))], int_version, 3)


def test_a_write_to_no_channel_is_ignored_with_a_warning(caplog):
    state = state_of(chain())
    step = update(state, [task("a", ("nowhere", 1))], int_version, 0)
    assert step.channels == {}
    assert "'nowhere'" in caplog.text


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_in_which_tasks_finish_changes_nothing(order):
    names = BinaryOperatorAggregate(list, lambda left, right: left + right)
    state = state_of(fan("abcd", total=names))
    step = update(state, [task(name, ("total", [name])) for name in order], int_version, 1)
    assert step.channels["total"].get() == ["a", "b", "c", "d"]


def test_pulls_are_applied_before_pushes_and_pushes_by_their_place_in_the_queue():
    state = state_of(fan(total=BinaryOperatorAggregate(list, lambda left, right: left + right)))
    tasks = [
        task("z", ("total", ["push 10"]), path=("__pregel_push", 10, False)),
        task("z", ("total", ["push 9"]), path=("__pregel_push", 9, False)),
        task("z", ("total", ["pull"])),
    ]
    assert update(state, tasks, int_version, 1).channels["total"].get() == ["pull", "push 9", "push 10"]
