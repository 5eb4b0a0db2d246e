import asyncio
from typing import Any

import pytest

from runtime.channels import LastValue
from runtime.checkpoint.base import (
    BaseCheckpointSaver,
    DeltaWalk,
    copy_checkpoint,
    create_checkpoint,
    empty_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer


def test_an_empty_checkpoint_holds_nothing():
    made = empty_checkpoint()
    assert (made["v"], made["channel_values"], made["updated_channels"]) == (2, {}, None)


def test_a_copy_of_a_checkpoint_has_maps_of_its_own():
    original = empty_checkpoint() | {"versions_seen": {"node": {"a": 1}}}
    copy = copy_checkpoint(original)
    copy["versions_seen"]["node"]["a"] = 2
    copy["channel_values"]["a"] = 1
    assert (original["versions_seen"], original["channel_values"]) == ({"node": {"a": 1}}, {})


def test_the_next_checkpoint_holds_what_written_channels_have_to_store():
    full, empty, unwritten = LastValue(int), LastValue(int), LastValue(int)
    full.update([1])
    unwritten.update([2])
    before = empty_checkpoint() | {"channel_versions": {"full": 1, "empty": 1}}
    made = create_checkpoint(before, {"full": full, "empty": empty, "unwritten": unwritten}, 3)
    assert made["channel_values"] == {"full": 1}
    assert made["id"] > before["id"]


def test_the_next_checkpoint_takes_a_given_id_and_keeps_the_values_without_channels():
    before = empty_checkpoint() | {"channel_values": {"a": 1}}
    made = create_checkpoint(before, None, 0, id="mine")
    assert (made["id"], made["channel_values"]) == ("mine", {"a": 1})


def test_a_config_without_an_id_means_the_newest():
    assert get_checkpoint_id({"configurable": {"thread_id": "t"}}) is None


def test_metadata_takes_plain_entries_of_the_config():
    config = {
        "metadata": {"user": "ada", "deep": {"a": 1}, "source": "other"},
        "configurable": {"thread_id": "t", "level": 3, "__private": 1, "langgraph_step": 1, "text": "a\0b"},
    }
    made = get_checkpoint_metadata(config, {"source": "loop", "step": 1, "parents": {}})
    assert made == {"source": "loop", "step": 1, "parents": {}, "user": "ada", "level": 3, "text": "ab"}


def test_metadata_for_a_database_drops_the_writes_of_old_releases():
    made = get_serializable_checkpoint_metadata({"configurable": {}}, {"step": 1, "writes": {"a": 1}})
    assert made == {"step": 1}


def test_writes_sort_by_path_then_task_then_place():
    keys = [writes_sort_key("b", "1", 0), writes_sort_key("a", "2", 1), writes_sort_key("a", "2", -4)]
    assert sorted(keys) == [("a", "2", -4), ("a", "2", 1), ("b", "1", 0)]


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("get", ({},)),
        ("get_tuple", ({},)),
        ("list", (None,)),
        ("put", ({}, {}, {}, {})),
        ("put_writes", ({}, [], "task")),
        ("delete_thread", ("t",)),
        ("delete_for_runs", ([],)),
        ("copy_thread", ("a", "b")),
        ("prune", ([],)),
    ],
)
def test_what_a_saver_lacks_it_says_in_both_colours(method: str, args: tuple[Any, ...]):
    saver = BaseCheckpointSaver()
    with pytest.raises(NotImplementedError, match="BaseCheckpointSaver has no"):
        getattr(saver, method)(*args)
    with pytest.raises(NotImplementedError, match="BaseCheckpointSaver has no"):
        asyncio.run(_drained(getattr(saver, "a" + method)(*args)))


async def _drained(answer: Any) -> None:
    await answer


def test_versions_are_whole_numbers_unless_a_saver_says_otherwise():
    saver = BaseCheckpointSaver()
    assert (saver.get_next_version(None, None), saver.get_next_version(3, None)) == (1, 4)
    with pytest.raises(NotImplementedError, match="met the version '1.5'"):
        saver.get_next_version("1.5", None)


class Slow(InMemorySaver):
    """A saver that finds a delta history the base class's way."""

    get_delta_channel_history = BaseCheckpointSaver.get_delta_channel_history
    aget_delta_channel_history = BaseCheckpointSaver.aget_delta_channel_history


@pytest.mark.parametrize("kind", [Slow, InMemorySaver])
def test_a_delta_history_goes_back_to_the_nearest_stored_value(kind: type[InMemorySaver]):
    saver, config = kind(), {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for step, values in enumerate([{}, {"x": ["seed"]}, {}, {}]):
        checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": {"x": step, "y": step}}
        config = saver.put(config, checkpoint, {"step": step}, {"x": step})
        saver.put_writes(config, [("x", [step]), ("y", step)], "task")
    found = saver.get_delta_channel_history(config=config, channels=["x", "y"])
    assert found == {
        "x": {"writes": [("task", "x", [1]), ("task", "x", [2])], "seed": ["seed"]},
        "y": {"writes": [("task", "y", 0), ("task", "y", 1), ("task", "y", 2)]},
    }
    assert asyncio.run(saver.aget_delta_channel_history(config=config, channels=["x", "y"])) == found


def test_a_delta_history_of_no_channels_is_empty(saver: InMemorySaver):
    assert saver.get_delta_channel_history(config={"configurable": {"thread_id": "t"}}, channels=[]) == {}


def test_a_walk_closes_a_channel_at_its_seed():
    walk = DeltaWalk(["x"])
    walk.visit([("1", "x", "new")], {"x": "value"})
    walk.visit([("1", "x", "old")], {"x": "older value"})
    assert walk.histories() == {"x": {"writes": [("1", "x", "new")], "seed": "value"}}


def test_an_allowlist_gives_a_saver_of_the_same_store():
    strict = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    wider = strict.with_allowlist([("my.module", "Thing")])
    assert wider is not strict
    assert wider.storage is strict.storage
    assert wider.with_allowlist([("my.module", "Thing")]) is wider
