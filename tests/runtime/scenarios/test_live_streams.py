"""The streams of models and tools, live."""

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from runtime.graph import START, MessagesState, StateGraph
from runtime.prebuilt import ToolNode


def graph_of(node, name="node"):
    return StateGraph(MessagesState).add_node(name, node).add_edge(START, name).compile()


def test_tokens_come_as_chunks_with_the_node_that_made_them(colour):
    def talk(state):
        model = GenericFakeChatModel(messages=iter([AIMessage("a teapot broke")]))
        return {"messages": model.invoke(state["messages"])}

    chunks = colour.stream(graph_of(talk), {"messages": [HumanMessage("hi")]}, stream_mode="messages")
    assert "".join(message.content for message, _ in chunks) == "a teapot broke"
    assert len(chunks) > 1
    assert {metadata["langgraph_node"] for _, metadata in chunks} == {"node"}


def test_a_message_that_a_node_was_given_or_that_was_shown_is_not_shown_again(colour):
    def echo(state):
        return {"messages": [*state["messages"], AIMessage("new", id="n")]}

    chunks = colour.stream(graph_of(echo), {"messages": [HumanMessage("hi", id="h")]}, stream_mode="messages")
    assert [message.content for message, _ in chunks] == ["new"]


@pytest.mark.parametrize("subgraphs", [False, True])
def test_a_nested_graphs_message_is_shown_once_with_subgraphs_from_inside_and_else_as_its_nodes_own(colour, subgraphs):
    child = graph_of(lambda state: {"messages": [AIMessage("new", id="n")]}, "inner")
    app = graph_of(child, "outer")
    found = colour.stream(app, {"messages": []}, stream_mode="messages", subgraphs=subgraphs)
    chunks = [chunk for _, chunk in found] if subgraphs else found
    assert [(message.content, metadata["langgraph_node"]) for message, metadata in chunks] == [
        ("new", "inner" if subgraphs else "outer")
    ]


@pytest.mark.parametrize(("word", "events"), [("ok", ["tool-started", "tool-finished"]), ("bad", ["tool-started"])])
def test_a_tool_is_told_when_it_begins_and_ends(colour, word, events):
    @tool
    def say(word: str) -> str:
        """Say a word."""
        if word == "bad":
            raise ValueError("bad word")
        return word

    call = {"name": "say", "args": {"word": word}, "id": "c1", "type": "tool_call"}
    app = graph_of(ToolNode([say], handle_tool_errors=True), "tools")
    told = colour.stream(app, {"messages": [AIMessage("", tool_calls=[call])]}, stream_mode="tools")
    assert [item["event"] for item in told][: len(events)] == events
    assert {item["tool_call_id"] for item in told} == {"c1"}
    assert told[-1]["event"] == ("tool-finished" if word == "ok" else "tool-error")
