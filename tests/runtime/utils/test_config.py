"""Configs put together: which one wins, key by key."""

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.runnables.config import var_child_runnable_config

from runtime.utils.config import DEFAULT_RECURSION_LIMIT, ensure_config, merge_configs, patch_configurable


@pytest.fixture
def ambient():
    """The config of a run that is already going on here."""
    config = {
        "tags": ["outer"],
        "metadata": {"who": "outer", "lc_versions": {"a": 1}},
        "configurable": {"checkpoint_ns": "n", "__pregel_key": 1},
        "recursion_limit": 50,
    }
    token = var_child_runnable_config.set(config)
    yield config
    var_child_runnable_config.reset(token)


def test_nothing_given_is_a_config_of_defaults():
    assert ensure_config(None) == {
        "tags": [], "metadata": {}, "callbacks": None, "recursion_limit": 10007, "configurable": {}
    }  # fmt: skip


def test_the_ambient_config_is_the_base(ambient):
    config = ensure_config({"configurable": {"user": 1}})
    assert config["configurable"] == {"checkpoint_ns": "n", "__pregel_key": 1, "user": 1}
    assert config["recursion_limit"] == 50


@pytest.mark.parametrize("named", [{"thread_id": "1"}, {"checkpoint_ns": ""}, {"checkpoint_map": {"": "x"}}])
def test_who_names_a_thread_or_checkpoint_leaves_the_ambient_configurable(ambient, named):
    assert ensure_config({"configurable": named})["configurable"] == named


@pytest.mark.parametrize("nothing", [{"thread_id": None}, {"checkpoint_map": {}}])
def test_an_empty_name_leaves_nothing(ambient, nothing):
    assert ensure_config({"configurable": nothing})["configurable"] == {**ambient["configurable"], **nothing}


def test_tags_follow_each_other_and_inherited_ones_are_not_repeated(ambient):
    assert ensure_config({"tags": ["outer", "a"]}, {"tags": ["a"]})["tags"] == ["outer", "a", "a"]


def test_metadata_is_merged_per_key_and_versions_one_level_deeper(ambient):
    config = ensure_config({"metadata": {"who": "inner", "lc_versions": {"b": 2}, "d": {"x": 1}}})
    assert config["metadata"] == {
        "who": "inner", "lc_versions": {"a": 1, "b": 2}, "d": {"x": 1}, "checkpoint_ns": "n"
    }  # fmt: skip
    assert ambient["metadata"] == {"who": "outer", "lc_versions": {"a": 1}}


def test_what_names_the_run_is_copied_to_metadata_once():
    config = {"configurable": {"thread_id": "1", "graph_id": "", "secret": 2}, "metadata": {"thread_id": "mine"}}
    assert ensure_config(config)["metadata"] == {"thread_id": "mine"}
    assert ensure_config({"configurable": {"run_id": "r", "assistant_id": "a"}})["metadata"] == {
        "run_id": "r", "assistant_id": "a"
    }  # fmt: skip


def test_unknown_keys_go_to_configurable():
    assert ensure_config({"model": "small"})["configurable"] == {"model": "small"}


def test_callbacks_join():
    first, second = BaseCallbackHandler(), BaseCallbackHandler()
    assert merge_configs({"callbacks": [first]}, {"callbacks": [second]})["callbacks"] == [first, second]
    joined = merge_configs({"callbacks": CallbackManager([first])}, {"callbacks": [second]})["callbacks"]
    assert joined.handlers == [first, second]


def test_a_limit_that_nobody_chose_gives_way_to_one_that_somebody_did():
    assert merge_configs({"recursion_limit": 5}, ensure_config())["recursion_limit"] == 5
    assert merge_configs({"recursion_limit": 5}, {"recursion_limit": int(DEFAULT_RECURSION_LIMIT)}) == {
        "recursion_limit": 10007
    }


def test_patching_leaves_the_original_as_it_was():
    config = {"configurable": {"a": 1}, "tags": ["t"]}
    assert patch_configurable(config, {"b": 2}) == {"configurable": {"a": 1, "b": 2}, "tags": ["t"]}
    assert patch_configurable(None, {"b": 2}) == {"configurable": {"b": 2}}
    assert config == {"configurable": {"a": 1}, "tags": ["t"]}
