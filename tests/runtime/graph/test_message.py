"""`add_messages` and its kin: which message stands where after an update."""

import warnings
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage

from runtime.graph.message import (
    REMOVE_ALL_MESSAGES,
    MessageGraph,
    MessagesState,
    _messages_delta_reducer,
    add_messages,
    push_message,
)
from runtime.graph.state import StateGraph
from runtime.warnings import LangGraphDeprecatedSinceV10

EMPTY = RemoveMessage(id=REMOVE_ALL_MESSAGES)


def human(text: str, id: str | None = None) -> HumanMessage:
    return HumanMessage(text, id=id)


def ids(messages: list[Any]) -> list[Any]:
    return [message.id for message in messages]


def texts(messages: list[Any]) -> list[Any]:
    return [message.content for message in messages]


def test_new_messages_follow():
    assert ids(add_messages([human("a", "1")], [human("b", "2")])) == ["1", "2"]


def test_a_known_id_replaces_in_place():
    assert texts(add_messages([human("a", "1"), human("b", "2")], [AIMessage("c", id="1")])) == ["c", "b"]


def test_the_last_of_one_id_in_an_update_wins():
    assert texts(add_messages([], [human("a", "1"), human("b", "2"), human("c", "1")])) == ["c", "b"]


def test_a_missing_id_is_given_to_the_callers_own_object():
    left, right = [human("a")], human("b")
    merged = add_messages(left, right)
    assert merged[0] is left[0]
    assert merged[1] is right
    assert len({left[0].id, right.id, None}) == 3


def test_left_is_never_changed():
    left = [human(str(n), str(n)) for n in range(40)]
    before = left.copy()
    add_messages(left, [human("new", "3"), RemoveMessage(id="5"), human("more", "99")])
    assert left == before


@pytest.mark.parametrize("like", ["hi", ("user", "hi"), {"role": "user", "content": "hi"}, ["hi"], [("user", "hi")]])
def test_what_langchain_reads_as_a_message_is_one(like):
    assert texts(add_messages([], like)) == ["hi"]


def test_chunks_become_messages():
    merged = add_messages([AIMessageChunk("a", id="1")], AIMessageChunk("b", id="2"))
    assert [type(message) for message in merged] == [AIMessage, AIMessage]


def test_a_removal_deletes():
    assert ids(add_messages([human("a", "1"), human("b", "2")], RemoveMessage(id="1"))) == ["2"]


def test_a_removal_of_what_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="'9'"):
        add_messages([human("a", "1")], RemoveMessage(id="9"))


def test_a_later_message_of_that_id_undoes_its_removal():
    assert texts(add_messages([human("a", "1"), human("b", "2")], [RemoveMessage(id="1"), human("c", "1")])) == [
        "c",
        "b",
    ]


def test_a_removal_in_the_update_that_brought_the_message_deletes_it():
    assert add_messages([], [human("a", "1"), RemoveMessage(id="1")]) == []


def test_only_what_follows_the_last_marker_is_kept():
    assert ids(add_messages([human("a", "1")], [human("b", "2"), EMPTY, human("c", "3"), EMPTY, human("d", "4")])) == [
        "4"
    ]
    assert add_messages([human("a", "1")], EMPTY) == []


@pytest.mark.parametrize("one", [{"left": []}, {"right": []}])
def test_one_side_alone_is_an_error(one):
    with pytest.raises(ValueError, match="both"):
        add_messages(**one)


def test_without_messages_it_makes_a_reducer_with_its_format():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
    (message,) = add_messages(format="langchain-openai")([], [HumanMessage([image], id="1")])
    assert message.content == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]
    assert message.id == "1"


def test_an_unknown_format_is_an_error():
    with pytest.raises(ValueError, match="'yaml'"):
        add_messages([], [], format="yaml")


def test_messages_state_carries_its_reducer():
    assert get_type_hints(MessagesState, include_extras=True)["messages"].__metadata__ == (add_messages,)


# -- long lists, of which something is kept ---------------------------------------------------------------------------


@pytest.fixture
def long() -> list[Any]:
    """A list that add_messages made, long enough to be remembered."""
    return add_messages([], [human(f"m{n}", str(n)) for n in range(50)])


def test_a_long_list_grows_as_a_short_one(long):
    grown = add_messages(add_messages(long, human("x", "50")), [human("y", "7"), human("z", "50")])
    assert (len(grown), grown[7].content, grown[50].content) == (51, "y", "z")


def test_the_same_list_may_be_merged_twice(long):
    first = add_messages(long, human("x", "x"))
    second = add_messages(long, human("y", "y"))
    assert (ids(first)[-1], ids(second)[-1], len(first), len(second)) == ("x", "y", 51, 51)
    assert ids(add_messages(second, human("x again", "x")))[-2:] == ["y", "x"]


def test_a_list_that_was_changed_in_place_is_read_again(long):
    long[3] = human("other", "other")
    assert ids(add_messages(long, human("back", "3")))[-1] == "3"
    long.pop()
    assert ids(add_messages(long, human("back", "49")))[-1] == "49"


def test_a_failed_merge_leaves_nothing_behind(long):
    with pytest.raises(ValueError, match="'no'"):
        add_messages(long, [human("x", "x"), human("new", "3"), RemoveMessage(id="no")])
    assert texts(add_messages(long, []))[3] == "m3"


def test_only_a_few_lists_are_kept():
    from runtime.graph import message

    for start in range(0, 5000, 100):
        add_messages([], [human("m", str(start + n)) for n in range(40)])
    assert len(message._recent) <= message._KEPT


# -- the batch form ---------------------------------------------------------------------------------------------------


def test_a_batch_merges_all_writes_at_once():
    merged = _messages_delta_reducer([human("a", "1")], [[human("b", "2")], human("c", "1"), ("user", "d")])
    assert texts(merged) == ["c", "b", "d"]


def test_a_batch_gives_no_ids():
    assert ids(_messages_delta_reducer([], [human("a")])) == [None]


def test_a_batch_may_remove_what_is_not_there():
    assert ids(_messages_delta_reducer([human("a", "1")], [RemoveMessage(id="9"), RemoveMessage(id="1")])) == []


def test_a_marker_in_a_batch_drops_earlier_writes_too():
    assert ids(_messages_delta_reducer([human("a", "1")], [human("b", "2"), [EMPTY, human("c", "3")]])) == ["3"]


# -- in a graph -------------------------------------------------------------------------------------------------------


def graph_of(node: Any) -> Any:
    return StateGraph(MessagesState).add_node("node", node).add_edge("__start__", "node").compile()


def test_a_pushed_message_is_streamed_at_once_and_written(colour):
    def node(state):
        push_message(AIMessage("half", id="1"))
        return {"messages": [AIMessage("whole", id="2")]}

    chunks = colour.stream(graph_of(node), {"messages": []}, stream_mode=["messages", "values"])
    shown, metadata = next(payload for mode, payload in chunks if mode == "messages")
    assert (shown.content, metadata["langgraph_node"]) == ("half", "node")
    assert ids(chunks[-1][1]["messages"]) == ["1", "2"]


def test_a_pushed_message_need_not_be_written(colour):
    def node(state):
        push_message(AIMessage("x", id="1"), state_key=None)

    assert colour.invoke(graph_of(node), {"messages": []}) == {"messages": []}


def test_a_message_without_an_id_cannot_be_pushed(colour):
    with pytest.raises(ValueError, match="ID is required"):
        colour.invoke(graph_of(lambda state: push_message(("ai", "x"))), {"messages": []})


def test_outside_of_a_graph_nothing_can_be_pushed():
    with pytest.raises(RuntimeError):
        push_message(AIMessage("x", id="1"))


def test_a_message_graph_is_a_list_of_messages(colour):
    with pytest.warns(LangGraphDeprecatedSinceV10, match="MessagesState"):
        builder = MessageGraph()
    builder.add_node("bot", lambda messages: AIMessage(f"you said: {messages[-1].content}"))
    builder.add_edge("__start__", "bot")
    assert texts(colour.invoke(builder.compile(), [("user", "hi")])) == ["hi", "you said: hi"]


# -- the same as LangGraph --------------------------------------------------------------------------------------------

some_id = st.sampled_from(["1", "2", "3", "4"])
update = st.lists(
    st.one_of(
        st.builds(human, st.sampled_from("abc"), some_id),
        some_id.map(lambda id: RemoveMessage(id=id)),
        st.just(EMPTY),
    ),
    max_size=5,
)


def outcome(reducer: Any, *args: Any) -> Any:
    try:
        return [(type(message), message.id, message.content) for message in reducer(*args)]
    except ValueError:
        return ValueError


@given(updates=st.lists(update, max_size=4), padding=st.sampled_from([0, 40]))
def test_any_updates_give_what_langgraph_gives(updates, padding):
    with warnings.catch_warnings(action="ignore"):
        from langgraph.graph import message as oracle
    ours = theirs = [human("pad", f"pad{n}") for n in range(padding)]
    for new in updates:
        assert outcome(add_messages, ours, new) == outcome(oracle.add_messages, theirs, new)
        assert outcome(_messages_delta_reducer, ours, [new, new]) == outcome(
            oracle._messages_delta_reducer, theirs, [new, new]
        )
        if outcome(add_messages, ours, new) is not ValueError:
            ours, theirs = add_messages(ours, new), oracle.add_messages(theirs, new)
