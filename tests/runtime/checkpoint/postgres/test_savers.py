"""What every saver of PostgreSQL does, on each kind of connection and in both colours."""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest

from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.base import FrozenCheckpoint, Layers, Written, checkpoint_id, empty_checkpoint, shelf_of
from runtime.checkpoint.base.outline import outline_of
from runtime.checkpoint.retention import Retention
from runtime.types import Command
from tests.runtime.checkpoint.postgres.build import ROOT, graph_of, put, steps, thread, values


class Colour(StrEnum):
    RED = "red"


def test_a_run_stops_and_goes_on(driven: Any):
    graph = graph_of("runtime", driven.saver)
    driven.invoke(graph, {"log": ["in"]}, thread())
    driven.invoke(graph, Command(resume="ab"), thread())
    out = driven.invoke(graph, None, thread())
    assert out["log"] == ["in", "begun", "asked", "beside", "a", "b"]
    assert out["trail"] == ["begin", "ask", "beside", "a", "b"]
    assert steps(driven.history(graph, thread())) == [3, 2, 1, 0, -1]


def test_a_checkpoint_comes_back_whole(saver: Any):
    first = put(saver, a={"k": (1, 2)}, b=None)
    config = put(saver, first, step=1, a="new")
    saver.put_writes(config, [("a", 1)], "task")
    found = saver.get_tuple(ROOT)
    assert (found.config, found.parent_config, found.metadata["step"]) == (config, first, 1)
    assert (found.checkpoint["channel_values"], found.pending_writes) == ({"a": "new"}, [("task", "a", 1)])
    assert values(saver, first) == {"a": {"k": [1, 2]}, "b": None}
    assert saver.get_tuple(thread("other")) is None
    assert saver.get_tuple({"configurable": {**ROOT["configurable"], "checkpoint_id": "other"}}) is None


VALUES = [
    None, True, 0, -1, 2**63 - 1, 2**63, 10**5000, 0.0, -0.0, 0.1, 1e-7, 1e22, float("inf"), "", "text", "nul\0",
    "long" * 1000, "snow \u2603", Decimal("1.10"), b"\0bytes", {"nul\0": ["nul\0"]}, Colour.RED,
]  # fmt: skip


def test_a_value_comes_back_equal_and_of_its_type(saver: Any):
    found = values(saver, put(saver, **{f"v{number}": value for number, value in enumerate(VALUES)}))
    for number, value in enumerate(VALUES):
        back = found[f"v{number}"]
        assert (back, type(back)) == (value, type(value))
    assert str(found["v8"]) == "-0.0"


def test_what_a_superstep_left_as_it_was_is_found_again(saver: Any):
    first = put(saver, kept="in json", large=["by version"], gone="in json", changed="old", emptied=["old"])
    shelf = shelf_of(saver, ROOT["configurable"], {})
    new = {"gone": 1, "changed": 1, "emptied": 1}
    versions = Layers(dict.fromkeys(("kept", "large"), 0) | new)
    frozen = FrozenCheckpoint(checkpoint_id(), 0.0, versions, Layers({"n": {"a": 0}}), ["changed"], new, {"changed": 2})
    last = Written(first["configurable"]["checkpoint_id"], [("changed", 2)], "task", "path")
    saver.keep(shelf, last.checkpoint_id, frozen, {"step": 1}, last)
    found = saver.get_tuple(ROOT)
    assert found.checkpoint == frozen.whole() | {
        "channel_values": {"kept": "in json", "large": ["by version"], "changed": 2}
    }
    assert (found.parent_config, found.metadata) == (first, {"step": 1})
    assert saver.get_tuple(first).pending_writes == [("task", "changed", 2)]


def test_a_value_that_did_not_change_is_stored_once(saver: Any, rows: Callable[[str], list[Any]]):
    config = put(saver, large=["x" * 5000], text="y" * 5000)
    for step in range(1, 6):
        shelf, id = shelf_of(saver, ROOT["configurable"], {}), config["configurable"]["checkpoint_id"]
        versions = Layers({"large": 0, "text": 0, "n": step})
        saver.keep(
            shelf, id, FrozenCheckpoint(checkpoint_id(), 0, versions, Layers({}), None, {"n": step}, {"n": 1}), {}
        )
        config = saver.get_tuple(ROOT).config
    assert values(saver, config) == {"large": ["x" * 5000], "text": "y" * 5000, "n": 1}
    assert rows("SELECT count(*), sum(length(blob)) < 11000 FROM checkpoint_blobs") == [(2, True)]


@pytest.mark.parametrize("version", [1, 1.5, "0001.0.5"])
def test_versions_may_be_numbers_or_text(saver: Any, version: Any):
    checkpoint = empty_checkpoint() | {"channel_values": {"a": [1]}, "channel_versions": {"a": version}}
    found = saver.get(saver.put(ROOT, checkpoint, {}, {"a": version}))
    assert (found["channel_values"], found["channel_versions"]) == ({"a": [1]}, {"a": version})


def test_the_same_id_is_stored_anew(saver: Any):
    config = put(saver, a=[1], b=1)
    again = saver.get(config) | {"channel_values": {"a": [2], "b": 2}}
    assert saver.put(ROOT, again, {"step": 5}, {"a": 0, "b": 0}) == config
    assert (values(saver, config), steps(saver.list(ROOT))) == ({"a": [2], "b": 2}, [5])


def test_a_list_is_newest_first_filtered_and_limited(saver: Any):
    configs = [put(saver, step=step) for step in range(4)]
    put(saver, thread("other"), step=9)
    put(saver, step=7, ns="child")
    assert steps(saver.list(ROOT)) == [3, 2, 1, 0]
    assert steps(saver.list(thread("t"))) == [7, 3, 2, 1, 0]
    assert steps(saver.list(None, limit=2)) == [7, 9]
    assert steps(saver.list(ROOT, limit=0)) == []
    assert steps(saver.list(ROOT, before=configs[2])) == [1, 0]
    assert steps(saver.list(configs[1])) == [1]
    assert steps(saver.list(ROOT, filter={"source": "loop", "parents": {}}, limit=1)) == [3]
    assert steps(saver.list(ROOT, filter={"step": 9})) == []


@pytest.mark.parametrize("limit", [None, 50, 21, 20])
def test_a_long_list_is_whole_and_in_order(saver: Any, limit: int | None):
    config = ROOT
    for step in range(45):
        config = put(saver, config, step=step, a=[step])
    found = list(saver.list(ROOT, limit=limit))
    assert steps(found) == list(range(44, -1, -1))[:limit]
    assert [each.checkpoint["channel_values"]["a"] for each in found] == [[step] for step in steps(found)]


def test_what_is_deleted_while_a_list_is_read_is_left_out(saver: Any):
    for step in range(30):
        put(saver, step=step)
    found = saver.list(ROOT)
    assert next(found).metadata["step"] == 29
    saver.delete_thread("t")
    assert len(list(found)) == 19


HOSTILE = ["'; DROP TABLE checkpoints; --", "x') = '1' OR 1=1 --", "%s %(id)s {}", '"', "\\", "a.b", "nul\0", "\ud800"]


def test_whatever_stands_in_a_filter_is_data(saver: Any):
    for text in HOSTILE:
        put(saver, step=1)
        saver.put(ROOT, empty_checkpoint(), {"step": 2, text: {text: text}}, {})  # type: ignore[typeddict-unknown-key]
        assert steps(saver.list(None, filter={text: {text: text}})) == [2]
        assert steps(saver.list(None, filter={text: "other"})) == []
    assert len(list(saver.list(None))) == 2 * len(HOSTILE)


def test_names_and_ids_are_data(saver: Any):
    put(saver)
    for text in HOSTILE[:-2]:
        config = {"configurable": {"thread_id": text, "checkpoint_ns": text}}
        saver.put_writes(put(saver, config, **{text: [1], f"{text}2": "x"}), [(text, 1)], text, text)
        found = saver.get_tuple(config)
        assert found.checkpoint["channel_values"] == {text: [1], f"{text}2": "x"}
        assert found.pending_writes == [(text, text, 1)]
        saver.copy_thread(text, "copy")
        saver.delete_thread(text)
        assert {each.config["configurable"]["thread_id"] for each in saver.list(None)} == {"copy", "t"}


def test_a_filter_is_a_part_of_the_metadata(saver: Any):
    saver.put(ROOT, empty_checkpoint(), {"step": 1, "parents": {"a": "1", "b": "2"}}, {})
    assert steps(saver.list(ROOT, filter={"parents": {"a": "1"}})) == [1]
    assert steps(saver.list(ROOT, filter={"parents": {}})) == [1]
    assert steps(saver.list(ROOT, filter={"parents": {"a": "2"}})) == []


def test_a_write_stays_at_its_place_unless_it_is_no_state(saver: Any):
    config = put(saver)
    saver.put_writes(config, [("a", "first")], "task-2", "path-b")
    saver.put_writes(config, [("a", "second"), ("__error__", "late")], "task-2", "path-b")
    saver.put_writes(config, [("__error__", "later"), ("__error__", "last")], "task-2", "path-b")
    saver.put_writes(config, [("a", "own")], "task-3", "path-a")
    saver.put_writes(config, [], "task-4", "path-a")
    assert saver.get_tuple(config).pending_writes == [
        ("task-3", "a", "own"),
        ("task-2", "__error__", "last"),
        ("task-2", "a", "first"),
    ]


def test_what_cannot_be_stored_is_named_and_nothing_of_it_is_kept(saver: Any, rows: Callable[[str], list[Any]]):
    with pytest.raises(TypeError, match="Channel 'b' of thread 't' can't be saved"):
        put(saver, a=[1], b=len)
    assert saver.get_tuple(ROOT) is None
    assert rows("SELECT count(*) FROM checkpoint_blobs") == [(0,)]
    config = put(saver)
    with pytest.raises(TypeError, match="Channel 'c' of thread 't'"):
        saver.put_writes(config, [("a", 1), ("c", len)], "task")
    assert saver.get_tuple(config).pending_writes == []
    with pytest.raises(TypeError, match="JSON can't hold the metadata of thread 't'"):
        saver.put(ROOT, empty_checkpoint(), {"what": len}, {})  # type: ignore[typeddict-unknown-key]


def test_what_the_last_task_wrote_is_kept_where_the_checkpoint_cannot_be(saver: Any):
    first = put(saver)
    shelf, id = shelf_of(saver, ROOT["configurable"], {}), first["configurable"]["checkpoint_id"]
    frozen = FrozenCheckpoint("9", 0, Layers({"a": 1}), Layers({}), None, {"a": 1}, {"a": len})
    with pytest.raises(TypeError, match="Channel 'a' of thread 't'"):
        saver.keep(shelf, id, frozen, {}, Written(id, [("a", 1)], "task", ""))
    assert (steps(saver.list(ROOT)), saver.get_tuple(first).pending_writes) == ([0], [("task", "a", 1)])


def test_a_history_goes_back_to_the_nearest_value_for_each_channel(saver: Any):
    config = put(saver, near=[0], far=["seed"], loose=DeltaSnapshot(["old"]))
    for step in range(1, 5):
        saver.put_writes(config, [("near", step), ("far", step)], f"task-{step}")
        kept = {"near": ["snapshot"]} if step == 3 else {}
        versions = {"near": step, "far": step, "loose": step}
        checkpoint = empty_checkpoint() | {"channel_values": kept, "channel_versions": versions}
        config = saver.put(config, checkpoint, {"step": step}, versions)
    found = saver.get_delta_channel_history(config=config, channels=["near", "far", "none"])
    assert found["near"] == {"seed": ["snapshot"], "writes": [("task-4", "near", 4)]}
    assert found["far"] == {"seed": ["seed"], "writes": [(f"task-{step}", "far", step) for step in range(1, 5)]}
    assert found["none"] == {"writes": []}
    assert saver.get_delta_channel_history(config=ROOT, channels=["near"])["near"] == found["near"]
    assert saver.get_delta_channel_history(config=ROOT, channels=[]) == {}
    assert saver.get_delta_channel_history(config=thread("other"), channels=["near"]) == {"near": {"writes": []}}


def test_a_history_ends_where_a_channel_held_none(saver: Any):
    config = put(saver, put(saver, a=["old"]), step=1, a=None)
    saver.put_writes(config, [("a", 1)], "task")
    child = saver.put(config, empty_checkpoint(), {}, {})
    assert saver.get_delta_channel_history(config=child, channels=["a"]) == {"a": {"writes": [("task", "a", 1)]}}


def test_a_checkpoint_that_is_its_own_parent_ends_a_history(saver: Any):
    config = put(saver)
    again = saver.put(config, saver.get(config), {}, {})
    assert saver.get_delta_channel_history(config=again, channels=["a"]) == {"a": {"writes": []}}


def test_a_copy_is_whole_and_takes_the_place_of_what_was_there(saver: Any):
    config = put(saver, a=[1])
    saver.put_writes(put(saver, config, step=1, a=[1, 2]), [("a", 3)], "task")
    put(saver, ns="child", b=[1])
    put(saver, thread("copy"), step=9)
    saver.copy_thread("t", "copy")
    for id in ("t", "copy"):
        assert steps(saver.list(thread(id))) == [0, 1, 0]
        found = saver.get_tuple(thread(id))
        assert (found.checkpoint["channel_values"], found.pending_writes) == ({"a": [1, 2]}, [("task", "a", 3)])
    saver.copy_thread("copy", "copy")
    saver.copy_thread("nobody", "copy")
    saver.delete_thread("t")
    assert (steps(saver.list(thread("t"))), steps(saver.list(thread("copy")))) == ([], [0, 1, 0])


def test_pruning_keeps_the_newest_and_what_it_is_made_of(saver: Any, rows: Callable[[str], list[Any]]):
    for id in ("t", "other"):
        config = put(saver, thread(id), a=[0], same=["same"])
        config = put(saver, config, step=1, a=[1], same=["same"])
        saver.put_writes(config, [("a", 1)], "task")
    put(saver, step=5, ns="child")
    put(saver, step=6, ns="child")
    saver.prune(["t"])
    assert steps(saver.list(thread("t"))) == [6, 1]
    assert saver.get_tuple(thread("t")).pending_writes == [("task", "a", 1)]
    assert values(saver, thread("t")) == {"a": [1], "same": ["same"]}
    assert rows("SELECT thread_id, count(*) FROM checkpoint_blobs GROUP BY 1 ORDER BY 1") == [("other", 4), ("t", 2)]
    assert steps(saver.list(thread("other"))) == [1, 0]
    saver.prune(["t", "nobody"], strategy="delete")
    saver.prune([])
    assert steps(saver.list(None)) == [1, 0]
    for wrong, kind in (({"thread_ids": "t"}, TypeError), ({"thread_ids": ["t"], "strategy": "some"}, ValueError)):
        with pytest.raises(kind):
            saver.prune(**wrong)


def test_pruning_leaves_a_delta_channel_its_value(driven: Any):
    graph = graph_of("runtime", driven.saver)
    for _ in range(4):
        driven.invoke(graph, {"log": ["in"]}, thread())
        driven.invoke(graph, Command(resume=""), thread())
    whole = driven.history(graph, thread())
    driven.saver.prune(["1"])
    left = driven.history(graph, thread())
    assert 1 < len(left) < len(whole)
    assert left[0].values["trail"] == whole[0].values["trail"] == ["begin", "ask", "beside"] * 4


def test_the_checkpoints_of_a_run_go_with_what_only_they_held(saver: Any, rows: Callable[[str], list[Any]]):
    config = put(saver, a=[0], same=["same"])
    versions = {"a": 1, "same": 0}
    made = empty_checkpoint() | {"channel_values": {"a": [1], "same": ["same"]}, "channel_versions": versions}
    of_run = saver.put(config, made, {"step": 1, "run_id": "r-1"}, {"a": 1})
    saver.put_writes(of_run, [("a", 1)], "task")
    saver.delete_for_runs(["r-1", "r-2"])
    assert (steps(saver.list(ROOT)), values(saver, ROOT)) == ([0], {"a": [0], "same": ["same"]})
    assert rows("SELECT (SELECT count(*) FROM checkpoint_blobs), (SELECT count(*) FROM checkpoint_writes)") == [(2, 0)]
    with pytest.raises(TypeError, match="Give a list"):
        saver.delete_for_runs("r-1")


def test_an_outline_says_what_a_checkpoint_holds_and_whether_a_question_waits(driven: Any):
    graph = graph_of("runtime", driven.saver)
    driven.invoke(graph, {"log": ["in"]}, thread())
    put(driven.saver, thread("t"), a=[1], b=2)
    assert sorted(driven.saver.thread_ids()) == ["1", "t"]
    for id in ("1", "t", "nobody"):
        whole = [outline_of(each) for each in driven.saver.list(thread(id))]
        assert sorted(driven.saver.outline(id)) == sorted(whole)
    assert [each.asks for each in sorted(driven.saver.outline("1"), key=lambda each: each.id)] == [False, False, True]


def test_single_checkpoints_go_with_what_only_they_held(saver: Any, rows: Callable[[str], list[Any]]):
    first = put(saver, a=[0])
    second = put(saver, first, step=1, a=[1])
    saver.put_writes(first, [("a", 1)], "task")
    saver.delete_checkpoints("t", "", [first["configurable"]["checkpoint_id"], "nobody"])
    saver.delete_checkpoints("t", "", [])
    assert (steps(saver.list(ROOT)), values(saver, second)) == ([1], {"a": [1]})
    assert rows("SELECT (SELECT count(*) FROM checkpoint_blobs), (SELECT count(*) FROM checkpoint_writes)") == [(1, 0)]
    with pytest.raises(TypeError, match="Give a list"):
        saver.delete_checkpoints("t", "", "nobody")


def test_a_rule_keeps_the_newest_checkpoints(saver: Any):
    config = ROOT
    for step in range(5):
        config = put(saver, config, step=step, a=[step])
    Retention(keep=2).apply(saver)
    assert (steps(saver.list(ROOT)), values(saver, ROOT)) == ([4, 3], {"a": [4]})
