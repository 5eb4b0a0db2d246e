"""A tool node as part of a graph: the state its tools see, questions they ask, where their commands lead."""

from operator import add
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from pydantic import BaseModel
from typing_extensions import TypedDict

from runtime.config import get_stream_writer
from runtime.graph.message import MessagesState, add_messages
from runtime.graph.state import StateGraph
from runtime.prebuilt.tool_node import InjectedState, ToolNode, ToolRuntime
from runtime.types import Command, Send, interrupt


def asks(*names: str, **args: Any) -> dict[str, Any]:
    calls = [{"name": name, "args": args, "id": str(n), "type": "tool_call"} for n, name in enumerate(names)]
    return {"messages": [AIMessage("", tool_calls=calls)]}


def graph_of(node: ToolNode, state: Any = MessagesState, **compile: Any) -> Any:
    return StateGraph(state).add_node("tools", node).add_edge("__start__", "tools").compile(**compile)


@tool
def wipe(path: str) -> str:
    """Delete a folder."""
    return f"{path}: {interrupt(f'delete {path}?')}"


async def await_wrapped(request, execute):
    return await execute(request)


@pytest.mark.parametrize(
    "wrappers", [{}, {"wrap_tool_call": lambda request, execute: execute(request)}, {"awrap_tool_call": await_wrapped}]
)
def test_a_tool_may_ask_a_human(colour, saver, wrappers):
    graph = graph_of(ToolNode([wipe], handle_tool_errors=True, **wrappers), checkpointer=saver)
    thread = {"configurable": {"thread_id": "1"}}
    stopped = colour.invoke(graph, asks("wipe", path="/tmp"), thread)
    assert [question.value for question in stopped["__interrupt__"]] == ["delete /tmp?"]
    answered = colour.invoke(graph, Command(resume="no"), thread)["messages"][-1]
    assert (answered.content, answered.status) == ("/tmp: no", "success")


class Settings(BaseModel):
    messages: Annotated[list[Any], add_messages]
    user: str = "nobody"


@tool
def who(state: Annotated[Any, InjectedState]) -> str:
    """Say whose state this is, and of which kind."""
    return f"{type(state).__name__} of {state.user}"


def test_calls_that_come_by_themselves_see_the_graphs_state(colour):
    graph = StateGraph(Settings).add_node("tools", ToolNode([who]))
    call = asks("who")["messages"][0].tool_calls[0]
    graph.add_conditional_edges("__start__", lambda state: [Send("tools", [call])], ["tools"])
    answer = colour.invoke(graph.compile(), {"messages": [], "user": "Ada"})
    assert answer["messages"][-1].content == "Settings of Ada"


def test_a_tool_finds_its_run(colour):
    @tool
    def report(runtime: ToolRuntime) -> str:
        """Write to the custom stream, in both ways."""
        get_stream_writer()("from afar")
        runtime.stream_writer("by hand")
        return f"{runtime.context} {runtime.execution_info.node_attempt} {runtime.config['metadata']['langgraph_node']}"

    graph = graph_of(ToolNode([report]))
    chunks = colour.stream(graph, asks("report"), context="ctx", stream_mode=["custom", "values"])
    assert [payload for mode, payload in chunks if mode == "custom"] == ["from afar", "by hand"]
    assert chunks[-1][1]["messages"][-1].content == "ctx 1 tools"


def test_deltas_of_a_tools_output_are_streamed(colour):
    @tool
    def count(runtime: ToolRuntime) -> str:
        """Give the output in pieces."""
        runtime.emit_output_delta("one")
        return "one two"

    chunks = colour.stream(graph_of(ToolNode([count])), asks("count"), stream_mode="tools")
    assert {"event": "tool-output-delta", "tool_call_id": "0", "delta": "one"} in chunks


class Facts(TypedDict):
    messages: Annotated[list[Any], add_messages]
    facts: Annotated[list[str], add]


def learn(fact: str) -> Any:
    @tool(fact)
    def learn() -> Any:
        """Find something out for the graph around this one."""
        return Command(graph=Command.PARENT, goto="report", update={"facts": [fact]})

    return learn


def test_all_commands_of_one_turn_reach_the_parent(colour):
    runs = []
    names = ("age", "city", "name")
    outer = StateGraph(Facts).add_node("agent", graph_of(ToolNode([learn(name) for name in names])))
    outer.add_node("report", lambda state: runs.append(state["facts"]))
    outer.add_edge("__start__", "agent")
    assert colour.invoke(outer.compile(), asks(*names))["facts"] == ["age", "city", "name"]
    assert runs == [["age", "city", "name"]]


def test_a_tools_command_updates_the_state_and_moves_on(colour):
    @tool
    def hand_over(id: Annotated[str, InjectedToolCallId]) -> Any:
        """Let another node go on."""
        return Command(goto="other", update={"messages": [ToolMessage("done", tool_call_id=id)], "facts": ["handed"]})

    graph = StateGraph(Facts).add_node("tools", ToolNode([hand_over])).add_edge("__start__", "tools")
    graph.add_node("other", lambda state: {"facts": ["reached"]})
    answer = colour.invoke(graph.compile(), asks("hand_over"))
    assert answer["facts"] == ["handed", "reached"]
    assert (answer["messages"][-1].content, answer["messages"][-1].name) == ("done", "hand_over")
