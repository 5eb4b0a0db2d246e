"""Delta channels in a graph: what is stored of them, and that their value is always there."""

import itertools
import operator
from typing import Annotated, TypedDict

import pytest
from langchain_core.messages import HumanMessage

from runtime.cache.memory import InMemoryCache
from runtime.channels import DeltaChannel
from runtime.graph import START, StateGraph
from runtime.graph.message import _messages_delta_reducer
from runtime.types import CachePolicy, Command, Overwrite, interrupt
from tests.runtime.scenarios.build import builder, says, thread


def added(value, writes):
    return [*value, *(item for write in writes for item in write)]


class Log(TypedDict):
    log: Annotated[list, DeltaChannel(added)]


def graph_of(names="abc", frequency=2):
    class State(TypedDict):
        log: Annotated[list, DeltaChannel(added, snapshot_frequency=frequency)]

    edges = [(START, names[0]), *itertools.pairwise(names)]
    return builder({name: says(name) for name in names}, edges, State)


def test_the_history_shows_the_whole_value_at_every_step(colour, saver):
    app = graph_of().compile(checkpointer=saver)
    assert colour.invoke(app, {"log": ["in"]}, thread()) == {"log": ["in", "a", "b", "c"]}
    values = [s.values.get("log") for s in colour.get_state_history(app, thread())]
    assert values == [["in", "a", "b", "c"], ["in", "a", "b"], ["in", "a"], ["in"], []]


def test_a_checkpoint_holds_the_value_only_every_so_many_updates(colour, saver):
    app = graph_of().compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    found = list(saver.list(thread()))[::-1]
    counters = [item.metadata.get("counters_since_delta_snapshot") for item in found]
    assert [c and tuple(c["log"]) for c in counters] == [(0, 1), (1, 2), None, (1, 1), None]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_thread_goes_on_with_the_value_it_had(colour, saver, durability):
    app = graph_of("ab", 100).compile(checkpointer=saver)
    for _ in range(2):
        result = colour.invoke(app, {"log": ["in"]}, thread(), durability=durability)
    assert result == {"log": ["in", "a", "b", "in", "a", "b"]}


def test_a_fork_from_an_older_checkpoint_has_a_value_of_its_own(colour, saver):
    app = graph_of("ab", 100).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    before_b = next(s for s in colour.get_state_history(app, thread()) if s.next == ("b",))
    fork = colour.update_state(app, before_b.config, {"log": ["edit"]}, "a")
    assert colour.get_state(app, fork).values["log"] == ["in", "a", "edit"]
    assert colour.invoke(app, None, fork)["log"] == ["in", "a", "edit", "b"]


def test_an_overwrite_is_where_the_value_starts_from(colour, saver):
    graph = graph_of("a", 100)
    graph.add_node("anew", lambda state: {"log": Overwrite(["new"])}).add_edge("a", "anew")
    app = graph.compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    assert colour.get_state(app, thread()).values["log"] == ["new"]


def counters(saver):
    return [s.metadata.get("counters_since_delta_snapshot", {}).get("log") for s in saver.list(thread())]


def test_at_exit_the_log_stands_beside_the_checkpoint_that_the_run_started_from(colour, saver):
    app = graph_of("ab", 100).compile(checkpointer=saver)
    for _ in range(2):
        colour.invoke(app, {"log": ["in"]}, thread(), durability="exit")
    newest, first, empty = saver.list(thread())
    assert [s.metadata["step"] for s in (newest, first, empty)] == [6, 2, -2]
    assert [len(s.pending_writes) for s in (newest, first, empty)] == [0, 3, 3]
    assert "log" not in newest.checkpoint["channel_values"]


@pytest.mark.parametrize("frequency", [1, 2, 3, 100])
def test_at_exit_a_snapshot_comes_as_it_would_have_come_on_the_way(colour, saver, frequency):
    app = graph_of("ab", frequency).compile(checkpointer=saver)
    for _ in range(3):
        result = colour.invoke(app, {"log": ["in"]}, thread(), durability="exit")
    assert colour.get_state(app, thread()).values == result == {"log": ["in", "a", "b"] * 3}
    assert [c and tuple(c) for c in counters(saver)][:3] == ([None] * 3 if frequency < 4 else [(9, 12), (6, 8), (3, 4)])


def test_at_exit_siblings_are_replayed_in_the_order_in_which_they_were_applied(colour, saver):
    graph = graph_of("a", 100)
    for name in "hgfedcb":
        graph.add_node(name, says(name)).add_edge("a", name)
    app = graph.compile(checkpointer=saver)
    result = colour.invoke(app, {"log": []}, thread(), durability="exit")
    assert colour.get_state(app, thread()).values == result == {"log": [*"abcdefgh"]}


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_a_replay_has_the_value_of_its_checkpoint_and_nothing_of_what_came_after(colour, saver, durability):
    graph = graph_of("a", 100)
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]}).add_edge("a", "ask")
    app = graph.compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread(), durability=durability)
    stop = colour.get_state(app, thread()).config
    colour.invoke(app, Command(resume="answer"), thread(), durability=durability)
    colour.invoke(app, None, stop, durability=durability)
    assert colour.get_state(app, thread()).values == {"log": ["in", "a"]}


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_what_was_given_up_is_not_in_the_value(colour, saver, durability):
    graph = graph_of("a", 100)
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]}).add_edge(START, "ask")
    app = graph.compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread(), durability=durability)  # a has finished, and waits for ask
    result = colour.invoke(app, {"log": ["anew"]}, thread(), durability=durability)
    result.pop("__interrupt__")
    assert colour.get_state(app, thread()).values == result == {"log": ["in", "anew", "a"]}


def test_a_cached_result_is_in_the_value(colour, saver):
    graph = StateGraph(Log).add_node("a", says("a"), cache_policy=CachePolicy()).add_edge(START, "a")
    app = graph.compile(checkpointer=saver, cache=InMemoryCache())
    for name in ("first", "second"):
        colour.invoke(app, {"log": ["in"]}, thread(name))
    assert colour.get_state(app, thread("second")).values == {"log": ["in", "a"]}


@pytest.mark.parametrize(
    "item", [{"role": "user", "content": "hi"}, {"type": "human", "content": "hi"}, HumanMessage("hi")]
)
def test_a_message_is_given_an_id_before_it_is_stored_and_the_callers_dict_is_left_alone(colour, saver, item):
    app = graph_of("a", 100).compile(checkpointer=saver)
    colour.invoke(app, {"log": [item]}, thread())
    ids = {colour.get_state(app, thread()).values["log"][0].id for _ in range(2)}
    assert len(ids) == 1
    assert ids != {None}
    assert isinstance(item, HumanMessage) or "id" not in item


def test_messages_as_text_are_messages_with_ids_in_the_log_too(colour, saver):
    class State(TypedDict):
        messages: Annotated[list, DeltaChannel(_messages_delta_reducer)]

    app = builder({"a": lambda state: {"messages": ("ai", "yes")}}, [(START, "a")], State).compile(checkpointer=saver)
    colour.invoke(app, {"messages": ["hello"]}, thread())
    found = [[(m.id, m.content) for m in colour.get_state(app, thread()).values["messages"]] for _ in range(2)]
    assert found[0] == found[1]
    assert [content for id, content in found[0] if id] == ["hello", "yes"]


@pytest.mark.parametrize(("values", "as_node"), [({"other": 1}, "a"), (None, None), ({"other": 1}, "__input__")])
def test_an_edit_elsewhere_leaves_the_value_as_the_checkpoint_had_it(colour, saver, values, as_node):
    class Two(Log):
        other: int

    app = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")], Two).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    before_b = next(s for s in colour.get_state_history(app, thread()) if s.next == ("b",))
    fork = colour.update_state(app, before_b.config, values, as_node)
    assert colour.get_state(app, fork).values["log"] == ["in", "a"]


def test_a_delta_channel_is_an_empty_list_before_anybody_wrote_to_it(colour, saver):
    app = graph_of("a").compile(checkpointer=saver)
    colour.update_state(app, thread(), {}, START)
    assert colour.get_state(app, thread()).values == {"log": []}
    assert colour.invoke(app, {}, thread("other")) == {"log": ["a"]}


def test_at_exit_an_update_is_counted_once(colour, saver):
    app = builder({"quiet": lambda state: None}, [(START, "quiet")], graph_of(frequency=2).state_schema)
    colour.invoke(app.compile(checkpointer=saver), {"log": ["in"]}, thread(), durability="exit")
    assert next(c and tuple(c) for c in counters(saver)) == (1, 3)


def test_an_input_that_is_replayed_is_in_the_value_once(colour, saver):
    app = graph_of("a", 100).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    start = colour.get_state_history(app, thread())[-1]
    colour.invoke(app, None, start.config)
    assert colour.get_state(app, thread()).values == {"log": ["in", "a"]}


def test_an_edit_of_an_older_checkpoint_is_not_in_the_values_of_its_other_children(colour, saver):
    app = graph_of("ab", 100).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    start = colour.get_state_history(app, thread())[-1]
    colour.update_state(app, start.config, {"log": ["edit"]}, "b")
    history = colour.get_state_history(app, thread())
    assert [s.values["log"] for s in history] == [["edit"], ["in", "a", "b"], ["in", "a"], ["in"], []]


@pytest.mark.parametrize("durabilities", list(itertools.product(["sync", "exit"], repeat=2)))
@pytest.mark.parametrize("frequency", [1, 3, 100])
@pytest.mark.parametrize("lasting", [None, True])
def test_however_runs_are_saved_a_thread_holds_what_they_showed(colour, saver, durabilities, frequency, lasting):
    child = graph_of("i", frequency)
    child.add_node("ask", lambda state: {"log": [interrupt("?")]}).add_edge("i", "ask")
    graph = graph_of("ab", frequency).add_node("c", says("c")).add_node("child", child.compile(checkpointer=lasting))
    app = graph.add_edge("a", "c").add_edge(["b", "c"], "child").compile(checkpointer=saver)
    for durability in durabilities:
        for given in ({"log": ["in"]}, Command(resume="answer")):
            shown = colour.invoke(app, given, thread(), durability=durability)["log"]
            assert colour.get_state(app, thread()).values["log"] == shown
    values = [s.values["log"] for s in colour.get_state_history(app, thread())]
    assert all(new[: len(old)] == old for new, old in itertools.pairwise(values))


def test_an_edit_leaves_out_of_the_value_what_a_sibling_of_a_question_had_written(colour, saver):
    graph = graph_of("a", 100)
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]}).add_edge(START, "ask")
    app = graph.compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())  # a has finished, and waits for ask
    edit = colour.update_state(app, thread(), {"log": ["edit"]}, "ask")
    assert colour.get_state(app, edit).values == {"log": ["in", "edit"]}


def test_a_word_at_the_checkpoint_that_only_holds_the_log_stands_beside_it(colour, saver):
    class Two(TypedDict):
        log: Annotated[list, DeltaChannel(added)]
        words: Annotated[list, operator.add]

    app = builder({"a": says("a")}, [(START, "a")], Two).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread(), durability="exit")
    holder = colour.get_state_history(app, thread())[-1]
    colour.invoke(app, Command(update={"words": ["word"]}), holder.config)
    assert colour.get_state(app, holder.config).values["words"] == ["word"]


def test_a_new_input_leaves_out_what_a_task_that_waited_had_first_written(colour, saver):
    class Two(Log):
        other: int

    nodes = {"a": says("a"), "gate": lambda state: {"other": interrupt("go?")}}
    app = builder(nodes, [(START, "a"), (START, "gate")], Two).compile(checkpointer=saver)
    colour.invoke(app, {"other": 1}, thread())
    colour.invoke(app, {"log": ["in"]}, thread())
    values = [s.values["log"] for s in colour.get_state_history(app, thread())]
    assert (values, colour.get_state(app, thread()).values["log"]) == ([["in"], [], [], []], ["in", "a"])


def test_what_a_fork_holds_whole_is_no_news_to_a_breakpoint(colour, saver):
    app = graph_of("a").compile(checkpointer=saver, interrupt_before=["a"])
    colour.invoke(app, {"log": ["in"]}, thread())
    first = colour.get_state_history(app, thread())[-1].config
    assert colour.invoke(app, Command(goto="a"), first) == {"log": ["in", "a"]}


def test_a_clone_of_the_checkpoint_that_only_holds_the_log_is_empty(colour, saver):
    app = graph_of("ab", 100).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread(), durability="exit")
    holder = colour.get_state_history(app, thread())[-1].config
    config = colour.update_state(app, holder, None, as_node="__copy__")
    assert colour.get_state(app, config).values == {"log": []}
    assert colour.invoke(app, {"log": ["new"]}, config) == {"log": ["new", "a", "b"]}
