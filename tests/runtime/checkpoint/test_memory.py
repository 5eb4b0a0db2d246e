import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.base import FrozenCheckpoint, Layers, checkpoint_id, empty_checkpoint, shelf_of
from runtime.checkpoint.memory import InMemorySaver, MemorySaver, PersistentDict
from runtime.checkpoint.memory.lineage import check
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer

ROOT = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.fixture
def saver() -> Iterator[InMemorySaver]:
    made = InMemorySaver()
    yield made
    for lineages in made.storage.values():
        for lineage in lineages.values():
            check(lineage)


def put(saver: InMemorySaver, config: Any = ROOT, step: int = 0, ns: str | None = None, **values: Any) -> Any:
    """The config of a new checkpoint, each of whose values has the version `step`."""
    if ns is not None:
        config = {"configurable": {**config["configurable"], "checkpoint_ns": ns}}
    versions = dict.fromkeys(values, step)
    checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": versions}
    return saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)


def steps(found: Any) -> list[int]:
    return [each.metadata["step"] for each in found]


def test_put_gives_the_config_of_the_new_checkpoint(saver: InMemorySaver):
    config = put(saver)["configurable"]
    assert config.keys() == {"thread_id", "checkpoint_ns", "checkpoint_id"}


def test_without_an_id_the_newest_checkpoint_is_read(saver: InMemorySaver):
    put(saver, put(saver, a=1), step=1, a=2)
    found = saver.get_tuple({"configurable": {"thread_id": "t"}})
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": 2}


def test_the_newest_checkpoint_has_the_highest_id_whenever_it_was_put(saver: InMemorySaver):
    ids = [checkpoint_id() for _ in range(3)]
    for id in (ids[1], ids[2], ids[0]):
        saver.put(ROOT, empty_checkpoint() | {"id": id}, {}, {})
    assert [each.checkpoint["id"] for each in saver.list(ROOT)] == ids[::-1]
    assert saver.get(ROOT)["id"] == ids[2]


def test_with_an_id_the_callers_own_config_comes_back(saver: InMemorySaver):
    config = {**put(saver), "tags": ["mine"]}
    assert saver.get_tuple(config).config is config


def test_a_checkpoint_knows_its_parent(saver: InMemorySaver):
    first = put(saver)
    second = saver.get_tuple(put(saver, first, step=1))
    assert second.parent_config == first
    assert saver.get_tuple(first).parent_config is None


def test_what_is_not_there_is_none(saver: InMemorySaver):
    assert saver.get_tuple(ROOT) is None
    put(saver)
    assert saver.get_tuple({"configurable": {**ROOT["configurable"], "checkpoint_id": "none"}}) is None
    assert saver.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": "child"}}) is None


def test_reading_an_unknown_thread_leaves_no_trace(saver: InMemorySaver):
    saver.get_tuple(ROOT)
    list(saver.list(ROOT))
    assert saver.storage == {}


def test_a_value_is_found_by_its_version(saver: InMemorySaver):
    first = put(saver, a="kept", b="old")
    checkpoint = empty_checkpoint() | {"channel_values": {"b": "new"}, "channel_versions": {"a": 0, "b": 1}}
    second = saver.put(first, checkpoint, {}, {"b": 1})
    assert saver.get(second)["channel_values"] == {"a": "kept", "b": "new"}
    assert saver.get(first)["channel_values"] == {"a": "kept", "b": "old"}


def test_none_is_a_value_and_nothing_is_none(saver: InMemorySaver):
    checkpoint = empty_checkpoint() | {"channel_values": {"a": None}, "channel_versions": {"a": 1, "gone": 1}}
    assert saver.get(saver.put(ROOT, checkpoint, {}, {"a": 1, "gone": 1}))["channel_values"] == {"a": None}


def test_stored_state_does_not_follow_live_objects(saver: InMemorySaver):
    checkpoint = empty_checkpoint() | {"channel_values": {"a": {"k": []}}, "channel_versions": {"a": 1}}
    checkpoint["versions_seen"] = {"node": {"a": 1}}
    config = saver.put(ROOT, checkpoint, {}, {"a": 1})
    checkpoint["channel_values"]["a"]["k"].append(1)
    checkpoint["channel_versions"]["a"] = 2
    checkpoint["versions_seen"]["node"]["a"] = 2
    found = saver.get(config)
    assert (found["channel_values"], found["channel_versions"]) == ({"a": {"k": []}}, {"a": 1})
    assert found["versions_seen"] == {"node": {"a": 1}}


def test_a_reader_cannot_change_what_is_stored(saver: InMemorySaver):
    config = put(saver, a=["x"])
    found = saver.get(config)
    found["channel_values"]["a"].append("y")
    found["channel_versions"].clear()
    assert saver.get(config)["channel_values"] == {"a": ["x"]}


def test_a_frozen_checkpoint_is_kept_without_copying_its_maps(saver: InMemorySaver):
    shelf = shelf_of(saver, {"thread_id": "t", "checkpoint_ns": "", "user": "ada"}, {})
    frozen = FrozenCheckpoint("1", 0.0, Layers({"a": 1}), Layers({"n": {"a": 1}}), ["a"], {"a": 1}, {"a": "value"})
    saver.keep(shelf, None, frozen, {"source": "loop", "step": 1})
    assert saver.storage["t"][""].records["1"].versions is frozen.versions
    found = saver.get_tuple(ROOT)
    assert found is not None
    assert found.checkpoint == frozen.whole()
    assert found.metadata == {"source": "loop", "step": 1, "user": "ada"}


def test_an_old_checkpoint_keeps_the_keys_that_it_has(saver: InMemorySaver):
    old = empty_checkpoint() | {"pending_sends": [["node", 1]]}
    del old["updated_channels"]
    assert saver.get(saver.put(ROOT, old, {}, {})) == old


def test_a_list_is_newest_first_and_limited_after_filtering(saver: InMemorySaver):
    config: Any = ROOT
    for step in range(6):
        config = put(saver, config, step=step)
    assert steps(saver.list(ROOT)) == [5, 4, 3, 2, 1, 0]
    assert steps(saver.list(ROOT, limit=2)) == [5, 4]
    assert steps(saver.list(ROOT, limit=0)) == []
    assert steps(saver.list(ROOT, filter={"step": 1}, limit=1)) == [1]
    assert steps(saver.list(ROOT, filter={"step": 1, "source": "input"})) == []


def test_a_list_stays_before_a_checkpoint_or_shows_just_one(saver: InMemorySaver):
    configs = [put(saver, step=step) for step in range(3)]
    assert steps(saver.list(ROOT, before=configs[2])) == [1, 0]
    assert steps(saver.list(configs[1])) == [1]


def test_a_list_covers_a_namespace_a_thread_or_everything(saver: InMemorySaver):
    put(saver, step=0)
    put(saver, step=1, ns="child")
    put(saver, {"configurable": {"thread_id": "other"}}, step=2)
    assert steps(saver.list(ROOT)) == [0]
    assert steps(saver.list({"configurable": {"thread_id": "t"}})) == [0, 1]
    assert steps(saver.list(None)) == [0, 1, 2]


def test_writes_are_read_by_path_task_and_place(saver: InMemorySaver):
    config = put(saver)
    saver.put_writes(config, [("a", 1), ("__interrupt__", "ask"), ("b", 2)], "task-2", "path-b")
    saver.put_writes(config, [("a", 3)], "task-1", "path-b")
    saver.put_writes(config, [("a", 4)], "task-3", "path-a")
    saver.put_writes(config, [("__resume__", 5)], "null-task")
    assert saver.get_tuple(config).pending_writes == [
        ("null-task", "__resume__", 5),
        ("task-3", "a", 4),
        ("task-1", "a", 3),
        ("task-2", "__interrupt__", "ask"),
        ("task-2", "a", 1),
        ("task-2", "b", 2),
    ]


def test_a_write_stays_at_its_place_unless_it_is_no_state(saver: InMemorySaver):
    config = put(saver)
    saver.put_writes(config, [("a", "first")], "task")
    saver.put_writes(config, [("a", "second"), ("__error__", "late")], "task")
    saver.put_writes(config, [("__error__", "later")], "task")
    assert saver.get_tuple(config).pending_writes == [("task", "__error__", "later"), ("task", "a", "first")]


def test_an_error_names_channel_thread_and_type(saver: InMemorySaver):
    with pytest.raises(
        TypeError, match="Channel 'a' of thread 't' can't be saved.*builtin_function_or_method at .'k'."
    ):
        put(saver, a={"k": len})
    config = put(saver)
    with pytest.raises(TypeError, match="Channel 'b' of thread 't'"):
        saver.put_writes(config, [("a", 1), ("b", len)], "task")


def test_deleting_a_thread_leaves_the_others(saver: InMemorySaver):
    saver.put_writes(put(saver, a=1), [("a", 1)], "task")
    put(saver, {"configurable": {"thread_id": "other"}})
    saver.delete_thread("t")
    saver.delete_thread("never was")
    assert saver.get_tuple(ROOT) is None
    assert list(saver.storage) == ["other"]


def test_checkpoints_of_a_run_can_be_forgotten_with_their_values(saver: InMemorySaver):
    for run, version in (("one", 1), ("two", 2)):
        checkpoint = empty_checkpoint() | {"channel_values": {"a": run}, "channel_versions": {"a": version}}
        saver.put_writes(saver.put(ROOT, checkpoint, {"run_id": run}, {"a": version}), [("a", run)], "task")
    saver.delete_for_runs(["one"])
    assert [each.metadata["run_id"] for each in saver.list(ROOT)] == ["two"]
    assert (len(saver.blobs), len(saver.writes)) == (1, 1)


def test_a_copied_thread_goes_its_own_way(saver: InMemorySaver):
    config = put(saver, a=["x"])
    saver.put_writes(config, [("a", 1)], "task")
    put(saver, step=1, ns="child")
    saver.copy_thread("t", "copy")
    copy = {"configurable": {**config["configurable"], "thread_id": "copy"}}
    assert saver.get_tuple(copy).pending_writes == [("task", "a", 1)]
    put(saver, copy, step=1, a=["x", "copy"])
    put(saver, config, step=1, a=["x", "own"])
    assert saver.get({"configurable": {"thread_id": "copy"}})["channel_values"] == {"a": ["x", "copy"]}
    assert saver.get(ROOT)["channel_values"] == {"a": ["x", "own"]}
    assert steps(saver.list({"configurable": {"thread_id": "copy", "checkpoint_ns": "child"}})) == [1]


def test_pruning_keeps_the_newest_checkpoint_of_each_namespace(saver: InMemorySaver):
    first = put(saver, a=1)
    saver.put_writes(put(saver, first, step=1, a=2), [("a", 3)], "task")
    put(saver, step=2, ns="child")
    saver.prune(["t", "never was"])
    assert steps(saver.list({"configurable": {"thread_id": "t"}})) == [1, 2]
    assert saver.get_tuple(ROOT).pending_writes == [("task", "a", 3)]
    assert len(saver.blobs) == 1


def test_pruning_keeps_what_a_delta_channel_is_made_of(saver: InMemorySaver):
    config: Any = ROOT
    for step, values in enumerate([{}, {"x": DeltaSnapshot(["seed"])}, {}, {}]):
        checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": {"x": step}}
        metadata = {"step": step, "counters_since_delta_snapshot": {"x": (step, step)}}
        config = saver.put(config, checkpoint, metadata, {"x": step})
        saver.put_writes(config, [("x", [step])], "task")
    before = saver.get_delta_channel_history(config=config, channels=["x"])
    saver.prune(["t"])
    assert steps(saver.list(ROOT)) == [3, 2, 1]
    assert saver.get_delta_channel_history(config=config, channels=["x"]) == before


def test_pruning_by_delete_forgets_the_thread(saver: InMemorySaver):
    put(saver)
    saver.prune(["t"], strategy="delete")
    assert saver.get_tuple(ROOT) is None


def test_pruning_refuses_a_text_and_an_unknown_strategy(saver: InMemorySaver):
    with pytest.raises(TypeError, match="Give a list"):
        saver.prune("t")
    with pytest.raises(ValueError, match="'half' is unknown"):
        saver.prune(["t"], strategy="half")


def test_versions_sort_as_text_and_tell_branches_apart(saver: InMemorySaver):
    first = saver.get_next_version(None, None)
    second = saver.get_next_version(first, None)
    assert first.startswith("0" * 31 + "1.0.")
    assert second > first
    assert saver.get_next_version(first, None) != second
    assert saver.get_next_version(41, None).startswith("0" * 30 + "42.")


def test_the_async_twins_do_the_same(saver: InMemorySaver):
    async def run() -> Any:
        async with saver as same:
            config = await same.aput(ROOT, empty_checkpoint(), {"step": 7, "run_id": "r"}, {})
            await same.aput_writes(config, [("a", 1)], "task")
            await same.acopy_thread("t", "copy")
            await same.aprune(["copy"], strategy="delete")
            found = await same.aget_tuple(ROOT)
            listed = [each async for each in same.alist(ROOT, limit=1)]
            await same.adelete_for_runs(["r"])
            gone = await same.aget(ROOT)
            await same.adelete_thread("t")
            return found, listed, gone

    found, listed, gone = asyncio.run(run())
    assert (found.metadata["step"], found.pending_writes, listed, gone) == (7, [("task", "a", 1)], [found], None)


def test_a_hundred_threads_may_write_at_once(saver: InMemorySaver):
    def work(number: int) -> None:
        config: Any = {"configurable": {"thread_id": str(number % 10), "checkpoint_ns": ""}}
        for step in range(10):
            config = put(saver, config, step=100 * number + step, log=[f"{number}.{each}" for each in range(step + 1)])
            saver.put_writes(config, [("log", step)], f"task-{number}")
            assert saver.get(config)["channel_values"]["log"][-1] == f"{number}.{step}"

    with ThreadPoolExecutor(100) as pool:
        list(pool.map(work, range(100)))
    assert sum(1 for _ in saver.list(None)) == 1000


class Counting(JsonPlusSerializer):
    loads = 0

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        self.loads += 1
        return super().loads_typed(data)


def test_reading_the_newest_state_does_not_read_the_history():
    serde = Counting()
    saver, config = InMemorySaver(serde=serde), ROOT
    counts = []
    for step in range(40):
        config = put(saver, config, step=step, a={"n": step})
        serde.loads = 0
        saver.get_tuple(ROOT)
        next(saver.list(ROOT, limit=1))
        counts.append(serde.loads)
    assert set(counts) == {counts[0]}


def test_a_list_that_grows_is_stored_once(saver: InMemorySaver):
    config: Any = ROOT
    log: list[str] = []
    for step in range(200):
        log = [*log, f"line {step}"]
        config = put(saver, config, step=step, log=log)
    buffers = {id(blob._buffer) for blob in saver.blobs.values()}
    assert len(buffers) == 1


def test_a_saver_goes_on_from_its_file(tmp_path: Path):
    factory = partial(PersistentDict, filename=str(tmp_path / "threads"))
    rows = [{"row": index, "text": "x" * 20} for index in range(40)]
    with InMemorySaver(factory=factory) as saver:
        config = put(saver, a=["x"], b={"k": (1, 2)}, rows=rows, none=None)
        saver.put_writes(config, [("a", 1)], "task", "path")
        before = saver.get_tuple(config)
    with InMemorySaver(factory=factory) as again:
        assert again.get_tuple(config) == before
        assert steps(again.list(None)) == [0]


def test_a_persistent_dict_is_written_whole_or_not_at_all(tmp_path: Path):
    file = tmp_path / "kept"
    kept = PersistentDict(list, filename=str(file))
    kept["a"].append(1)
    kept.sync()
    kept["bad"] = [object()]
    with pytest.raises(TypeError):
        kept.sync()
    assert dict(PersistentDict(list, filename=str(file))) == {"a": [1]}
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_memory_saver_is_the_same_class():
    assert MemorySaver is InMemorySaver


def test_a_thread_may_be_laid_out_by_hand_as_langgraph_does(saver: InMemorySaver):
    dumps = saver.serde.dumps_typed
    saver.blobs["t", "", "a", 1] = dumps(["x"])
    saver.blobs["t", "", "gone", 1] = ("empty", b"")
    saver.writes["t", "", "cp"]["task", 0] = ("task", "a", dumps("y"), "")
    checkpoint = empty_checkpoint() | {"id": "cp", "channel_versions": {"a": 1, "gone": 1}}
    saver.storage["t"] = {"": {"cp": (dumps(checkpoint), dumps({"step": 3}), None)}}  # type: ignore[dict-item]
    found = saver.get_tuple(ROOT)
    assert found is not None
    assert (found.checkpoint["channel_values"], found.metadata) == ({"a": ["x"]}, {"step": 3})
    assert found.pending_writes == [("task", "a", "y")]
    assert list(saver.blobs) == [("t", "", "a", 1)]
    del saver.blobs["t", "", "a", 1], saver.writes["t", "", "cp"]
    assert (len(saver.blobs), len(saver.writes)) == (0, 0)
