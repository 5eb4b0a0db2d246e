"""The agent's loop: model, tools, model, until there is an answer."""

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

import runtime.prebuilt
from runtime.errors import GraphRecursionError
from runtime.prebuilt.agent_model import OUT_OF_STEPS
from runtime.prebuilt.chat_agent_executor import create_react_agent, create_tool_calling_executor
from runtime.prebuilt.tool_node import ToolNode, ToolRuntime
from runtime.types import Command, interrupt
from runtime.warnings import LangGraphDeprecatedSinceV10
from tests.runtime.prebuilt.scripted import HELLO, add, agent_of, final, said, scripted

both = pytest.mark.parametrize("version", ["v1", "v2"])


@tool
def ask(topic: str) -> str:
    """Ask a human."""
    return interrupt(topic)


@both
def test_the_model_is_asked_until_it_asks_for_no_tool(colour, version):
    model = scripted([("add", {"x": 1}), ("add", {"x": 5})], [("add", {"x": 2})], "it is 3")
    answer = colour.invoke(agent_of(model, [add], version=version), HELLO)
    assert said(answer) == ["hello", "", "2", "6", "", "3", "it is 3"]
    assert model.asked == [["hello"], ["hello", "", "2", "6"], ["hello", "", "2", "6", "", "3"]]


@pytest.mark.parametrize(
    ("version", "tasks"), [("v1", ["agent", "tools", "agent"]), ("v2", ["agent", "tools", "tools", "agent"])]
)
def test_in_version_2_each_tool_call_is_a_task(colour, version, tasks):
    graph = agent_of(scripted([("add", {"x": 1}), ("add", {"x": 5})], "done"), [add], version=version)
    assert [name for chunk in colour.stream(graph, HELLO) for name in chunk] == tasks


@pytest.mark.parametrize(("version", "open"), [("v1", ["first"]), ("v2", ["first", "second"])])
def test_a_tool_may_ask_a_human_and_version_2_keeps_the_answers_of_the_others(colour, saver, version, open):
    model = scripted([("ask", {"topic": "first"}), ("ask", {"topic": "second"}), ("add", {"x": 1})], "done")
    graph = agent_of(model, [ask, add], checkpointer=saver, version=version)
    thread = {"configurable": {"thread_id": "1"}}
    stopped = colour.invoke(graph, HELLO, thread)["__interrupt__"]
    assert [question.value for question in stopped] == open
    while stopped:
        answer = colour.invoke(graph, Command(resume={q.id: f"{q.value}!" for q in stopped}), thread)
        stopped = answer.get("__interrupt__", [])
    assert said(answer)[2:] == ["first!", "second!", "2", "done"]


@both
def test_a_run_may_stop_before_the_tools_and_go_on(colour, saver, version):
    graph = agent_of(
        scripted([("add", {"x": 1})], "done"), [add], version=version, checkpointer=saver, interrupt_before=["tools"]
    )
    thread = {"configurable": {"thread_id": "1"}}
    assert said(colour.invoke(graph, HELLO, thread)) == ["hello", ""]
    assert said(colour.invoke(graph, None, thread)) == ["hello", "", "2", "done"]


@both
@pytest.mark.parametrize("others", [[], [("add", {"x": 1})]])
def test_a_tool_that_answers_itself_ends_the_run(colour, version, others):
    model = scripted([("final", {"x": 7}), *others], "never said")
    answer = colour.invoke(agent_of(model, [add, final], version=version), HELLO)
    assert said(answer) == ["hello", "", "7", *("2" for _ in others)]


def test_the_model_is_asked_again_after_tools_that_do_not_answer_themselves(colour):
    answer = colour.invoke(agent_of(scripted([("add", {"x": 1})], "done"), [add, final]), HELLO)
    assert said(answer) == ["hello", "", "2", "done"]


@pytest.mark.parametrize("tool", [add, final])
@pytest.mark.parametrize(("limit", "before"), [(2, []), (4, ["", "2"])])
def test_the_agent_says_so_when_too_few_steps_are_left_for_the_tools(colour, tool, limit, before):
    model = scripted(*[[("add", {"x": 1})]] * len(before[::2]), [(tool.name, {"x": 1})])
    answer = colour.invoke(agent_of(model, [add, tool], name="clerk"), HELLO, {"recursion_limit": limit})
    assert said(answer) == ["hello", *before, OUT_OF_STEPS]
    assert answer["messages"][-1].name == "clerk"
    assert answer["messages"][-1].id.startswith("lc_run")


def test_the_recursion_limit_still_counts(colour):
    with pytest.raises(GraphRecursionError):
        colour.invoke(agent_of(scripted([("add", {"x": 1})]), [add]), HELLO, {"recursion_limit": 3})


def test_a_tool_node_is_taken_as_it_is(colour):
    @tool
    def count(runtime: ToolRuntime) -> str:
        """Count the messages."""
        return f"{len(runtime.state['messages'])} in {runtime.context}"

    model = scripted([("count", {}), ("broken", {})], "done")
    node = ToolNode([count], handle_tool_errors=False)
    graph = agent_of(model, node, context_schema=str)
    assert said(colour.invoke(graph, HELLO, context="ctx"))[2] == "2 in ctx"
    assert model.tools[0] == ["count"]
    assert graph.nodes["tools"].bound is node


def test_what_the_provider_runs_is_told_to_the_model_alone(colour):
    model = scripted("done")
    graph = agent_of(model, [add, {"type": "web_search"}])
    colour.invoke(graph, HELLO)
    assert model.tools == [["add", "web_search"]]
    assert list(graph.nodes["tools"].bound.tools_by_name) == ["add"]


def test_without_tools_there_is_one_call_whatever_the_model_asks_for(colour):
    graph = agent_of(scripted([("add", {"x": 1})], "never said"), [{"type": "web_search"}])
    assert said(colour.invoke(graph, HELLO)) == ["hello", ""]
    assert "tools" not in graph.nodes


def test_the_name_is_the_graphs_and_that_of_each_reply(colour):
    graph = agent_of(scripted([("add", {"x": 1})], "done"), [add], name="clerk")
    assert graph.name == "clerk"
    names = [message.name for message in colour.invoke(graph, HELLO)["messages"]]
    assert names == [None, "clerk", "add", "clerk"]


def test_a_conversation_goes_on_in_its_thread(colour, saver):
    graph = agent_of(scripted("one", "two"), [], checkpointer=saver)
    thread = {"configurable": {"thread_id": "1"}}
    colour.invoke(graph, HELLO, thread)
    assert said(colour.invoke(graph, {"messages": [HumanMessage("and?")]}, thread)) == ["hello", "one", "and?", "two"]


def test_an_agent_made_this_way_is_told_to_be_deprecated():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="^`create_react_agent` is deprecated") as warned:
        runtime.prebuilt.create_react_agent(scripted(), [])
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.filterwarnings("ignore:`create_react_agent` is deprecated")
def test_the_context_may_still_come_by_its_old_name():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="^`config_schema` is deprecated") as warned:
        graph = create_react_agent(scripted(), [], config_schema=str)
    assert graph.context_schema is str
    assert {warning.filename for warning in warned} == {__file__}


def test_the_old_name_is_the_same_function():
    assert create_tool_calling_executor is create_react_agent


@pytest.mark.parametrize(
    ("wrong", "error", "told"),
    [
        ({"version": "v3"}, ValueError, "'v1' or 'v2', not 'v3'"),
        ({"speed": 3}, TypeError, "unexpected keyword argument 'speed'"),
        ({"interrupt_before": ["tool"]}, ValueError, "names 'tool'"),
        ({"checkpointer": 5}, TypeError, "checkpointer"),
    ],
)
def test_a_wrong_option_is_told(wrong, error, told):
    with pytest.raises(error, match=told):
        agent_of(scripted(), [add], **wrong)
