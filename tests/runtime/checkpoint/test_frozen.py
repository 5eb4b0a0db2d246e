"""Checkpoints by what is new in them: the maps in layers, and which savers are given them."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from runtime.checkpoint.base import BaseCheckpointSaver, FrozenCheckpoint, Layers, Written, shelf_of
from runtime.checkpoint.memory import InMemorySaver
from runtime.errors import InvalidUpdateError
from runtime.graph import START, StateGraph
from runtime.types import Command

CONF = {"thread_id": "t", "checkpoint_ns": ""}


class Log(TypedDict):
    log: Annotated[list[str], add]


def test_layers_read_as_the_dict_that_all_changes_make():
    layers, plain = Layers[int]({}), dict[str, int]()
    for number in range(200):
        before, changes = layers, {f"k{number % 37}": number, "each": number}
        layers = layers.over(changes)
        kept, plain = plain, {**plain, **changes}
        assert (layers.whole(), before.whole()) == (plain, kept)
        assert list(layers.whole()) == list(plain)
        assert (layers.get("each"), layers.get("none")) == (number, None)


def test_layers_are_no_deeper_than_what_they_lie_on_is_large():
    layers = Layers(dict.fromkeys(map(str, range(50)), 0))
    for number in range(1000):
        layers = layers.over({"1": number})
        depth, below = 0, layers._below
        while below is not None:
            depth, below = depth + 1, below._below
        assert depth <= 50


def test_a_changed_dict_that_was_given_up_leaves_no_trace_in_what_was_read():
    layers = Layers({"a": 1}).over({"b": 2})
    layers.whole().clear()
    assert layers.whole() == {"a": 1, "b": 2}


class Own(InMemorySaver):
    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.got = checkpoint
        return super().put(config, checkpoint, metadata, new_versions)


def test_a_saver_whose_put_was_replaced_is_given_whole_checkpoints(colour: Any):
    saver = Own()
    node = lambda state: {"log": ["out"]}  # noqa: E731
    graph = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile(checkpointer=saver)
    colour.invoke(graph, {"log": ["in"]}, {"configurable": {"thread_id": "t"}})
    assert type(saver.got) is dict
    assert saver.got["channel_values"] == {"log": ["in", "out"]}
    assert saver.got["channel_versions"].keys() == {"__start__", "log", "branch:to:n"}
    assert saver.got == saver.get({"configurable": CONF})


@pytest.mark.parametrize("method", ["put", "put_writes"])
def test_a_method_that_is_replaced_on_the_class_or_the_saver_is_called(method: str, monkeypatch: pytest.MonkeyPatch):
    saver = InMemorySaver()
    assert shelf_of(saver, CONF, {}).frozen
    monkeypatch.setattr(saver, method, lambda *_: None)
    assert not shelf_of(saver, CONF, {}).frozen
    monkeypatch.undo()
    monkeypatch.setattr(InMemorySaver, method, lambda *_: None)
    assert not shelf_of(saver, CONF, {}).frozen


def test_a_saver_made_by_others_is_given_whole_checkpoints():
    assert not shelf_of(BaseCheckpointSaver(), CONF, {}).frozen
    assert not shelf_of(object(), CONF, {}).frozen


def test_a_task_whose_writes_fit_no_channel_leaves_them_beside_the_last_barrier(colour: Any):
    class Number(TypedDict):
        x: int

    def twice(state: Number) -> Command[Any]:
        return Command(update=[("x", 1), ("x", 2)])

    saver = InMemorySaver()
    graph = StateGraph(Number).add_node("twice", twice).add_edge(START, "twice").compile(checkpointer=saver)
    with pytest.raises(InvalidUpdateError):
        colour.invoke(graph, {"x": 0}, {"configurable": {"thread_id": "t"}})
    found = saver.get_tuple({"configurable": CONF})
    assert found is not None
    assert found.metadata["step"] == 0
    assert [write[1:] for write in found.pending_writes or ()] == [("x", 1), ("x", 2)]


def test_what_a_task_wrote_is_kept_in_memory_also_where_its_checkpoint_cannot_be():
    saver = InMemorySaver()
    shelf = shelf_of(saver, CONF, {})
    empty: Any = Layers({})
    saver.keep(shelf, None, FrozenCheckpoint("1", 0.0, empty, empty, None, {}, {}), {})
    frozen = FrozenCheckpoint("2", 0.0, Layers({"a": 1}), empty, None, {"a": 1}, {"a": len})
    with pytest.raises(TypeError, match="'a'"):
        saver.keep(shelf, "1", frozen, {}, Written("1", [("a", 1)], "task", ""))
    found = saver.get_tuple({"configurable": CONF})
    assert found is not None
    assert (found.checkpoint["id"], found.pending_writes) == ("1", [("task", "a", 1)])
