"""`Runtime`: what a node may know of its run, and how it finds it."""

import copy
import dataclasses
import pickle
from types import SimpleNamespace

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda

from runtime._context import TaskContext, task_config
from runtime.config import get_config, get_store, get_stream_writer
from runtime.runtime import DEFAULT_RUNTIME, BaseUser, ExecutionInfo, RunControl, Runtime, as_runtime, get_runtime


@pytest.fixture
def task():
    """A task that runs here, with a runtime of its own in its config."""
    config = {
        "configurable": {
            "__pregel_scratchpad": TaskContext(),
            "__pregel_runtime": Runtime(context=1, store="the store", stream_writer=print),
        }
    }
    token = task_config.set(config)
    yield SimpleNamespace(config=config)
    task_config.reset(token)


def test_a_runtime_has_a_default_for_every_field():
    assert Runtime() == DEFAULT_RUNTIME
    assert DEFAULT_RUNTIME.stream_writer("nobody reads this") is None
    assert DEFAULT_RUNTIME.heartbeat() is None


def test_a_runtime_is_frozen_and_takes_keywords_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Runtime().context = 1
    with pytest.raises(TypeError):
        Runtime(1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("value", [Runtime(context={"a": 1}), ExecutionInfo("c", "n", "t", node_attempt=2)])
def test_copies_are_equal(again, value):
    assert again(value) == value


def test_a_runtime_may_be_given_its_context_type():
    assert Runtime[int](context=3).context == 3


def test_override_changes_only_what_it_names():
    assert Runtime(context=1, previous=2).override(context=None) == Runtime(previous=2)
    with pytest.raises(TypeError):
        Runtime().override(no_such_field=1)


def test_merge_takes_what_the_other_sets():
    both = Runtime(context=1, previous=2, stream_writer=print).merge(Runtime(context=3, previous=0))
    assert both == Runtime(context=3, previous=0, stream_writer=print)


def test_an_object_with_some_of_the_fields_may_stand_for_a_runtime():
    assert as_runtime(SimpleNamespace(context=1, other=2)) == Runtime(context=1)
    assert as_runtime(DEFAULT_RUNTIME) is DEFAULT_RUNTIME
    assert as_runtime(None) is None


def test_execution_info_is_patched_in_a_copy():
    before = Runtime(execution_info=ExecutionInfo("c", "n", "t"))
    after = before.patch_execution_info(node_attempt=2)
    assert (before.execution_info.node_attempt, after.execution_info.node_attempt) == (1, 2)


def test_execution_info_that_is_not_there_cannot_be_patched():
    with pytest.raises(RuntimeError, match="execution_info"):
        Runtime().patch_execution_info(node_attempt=2)


def test_the_last_reason_of_a_drain_counts():
    control = RunControl()
    assert (Runtime(control=control).drain_requested, control.drain_reason) == (False, None)
    control.request_drain()
    control.request_drain("deploy")
    assert (Runtime(control=control).drain_requested, Runtime(control=control).drain_reason) == (True, "deploy")


def test_a_mapping_with_a_users_attributes_is_a_user():
    class User(dict):
        is_authenticated, display_name, identity, permissions = True, "Ada", "ada", ()

    assert isinstance(User(), BaseUser)
    assert not isinstance({}, BaseUser)


@pytest.mark.parametrize("ask", [get_config, get_store, get_stream_writer, get_runtime])
def test_outside_of_a_run_there_is_nothing_to_ask(ask):
    with pytest.raises(RuntimeError, match=ask.__name__ if ask is get_config else "outside"):
        ask()


@pytest.mark.parametrize("ask", [get_store, get_stream_writer, get_runtime])
def test_a_runnable_outside_of_a_graph_has_no_runtime(ask):
    with pytest.raises(RuntimeError, match=f"{ask.__name__}.*outside of a graph's run"):
        RunnableLambda(lambda _: ask()).invoke(None)


def test_a_task_finds_its_config_and_runtime(task):
    assert get_config() is task.config
    assert (get_runtime().context, get_runtime(int).context) == (1, 1)
    assert (get_store(), get_stream_writer()) == ("the store", print)


def test_a_runnable_inside_a_task_sees_its_own_config(task):
    def inner(_: None, config: RunnableConfig) -> tuple[list[str], int]:
        return get_config()["tags"], get_runtime().context

    assert RunnableLambda(inner).with_config(tags=["inner"]).invoke(None, task.config) == (["inner"], 1)


def test_a_config_from_outside_the_task_does_not_hide_the_tasks_own(task):
    def outer(_: None) -> RunnableConfig:
        token = task_config.set(task.config)
        try:
            return get_config()
        finally:
            task_config.reset(token)

    assert RunnableLambda(outer).invoke(None, {"configurable": {"other": 1}}) is task.config
