"""`ToolNode`: what it may be given, what it answers, and what a wrapper can do."""

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from runtime.errors import GraphInterrupt, ParentCommand
from runtime.prebuilt.tool_node import ToolCallRequest, ToolNode, ToolRuntime, tools_condition
from runtime.types import Command, Interrupt


def call(tool: str, id: str = "1", /, **args: Any) -> dict[str, Any]:
    return {"name": tool, "args": args, "id": id, "type": "tool_call"}


@tool
def double(x: int) -> int:
    """Twice the number."""
    return 2 * x


@tool
def fail(reason: str = "no reason") -> str:
    """Raise."""
    raise KeyError(reason)


def asks(*calls: Any) -> AIMessage:
    return AIMessage("", tool_calls=list(calls))


def shown(messages: list[Any]) -> list[tuple[Any, ...]]:
    return [(message.content, message.name, message.tool_call_id, message.status) for message in messages]


class Model(BaseModel):
    messages: list[Any]


class Plain:
    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages


ANSWER = [("4", "double", "1", "success")]


# -- input and output -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        {"messages": [asks(call("double", x=2))]},
        Model(messages=[asks(call("double", x=2))]),
        Plain([asks(call("double", x=2))]),
        [call("double", x=2)],
        {"__type": "tool_call_with_context", "tool_call": call("double", x=2), "state": {}},
    ],
    ids=["dict", "model", "object", "calls", "call with its state"],
)
def test_a_state_or_calls_are_answered_by_a_dict(colour, config, state):
    assert shown(colour.invoke(ToolNode([double]), state, config())["messages"]) == ANSWER


def test_a_list_of_messages_is_answered_by_a_list(colour, config):
    assert shown(colour.invoke(ToolNode([double]), [asks(call("double", x=2))], config())) == ANSWER


def test_messages_may_lie_under_another_key(colour, config):
    node = ToolNode([double], messages_key="chat")
    assert shown(colour.invoke(node, {"chat": [asks(call("double", x=2))]}, config())["chat"]) == ANSWER


def test_the_latest_ai_message_counts_even_if_others_follow(colour, config):
    messages = [asks(call("double", x=1)), asks(call("double", x=2)), HumanMessage("well?")]
    assert shown(colour.invoke(ToolNode([double]), messages, config())) == ANSWER


def test_an_ai_message_without_calls_has_no_answers(colour, config):
    assert colour.invoke(ToolNode([double]), [AIMessage("done")], config()) == []


@pytest.mark.parametrize("nothing", [[], {}, {"messages": []}, [HumanMessage("hi")], "text", 3])
def test_an_input_without_an_ai_message_is_an_error(colour, config, nothing):
    with pytest.raises(ValueError, match="no messages|no AIMessage"):
        colour.invoke(ToolNode([double]), nothing, config())


def test_outside_of_a_graph_there_is_no_runtime(colour):
    with pytest.raises(ValueError, match="'helpers' finds no runtime"):
        colour.invoke(ToolNode([double], name="helpers"), [asks(call("double", x=2))])


def test_functions_become_tools(ask):
    def greet(name: str) -> str:
        """Say hello."""
        return f"hello {name}"

    node = ToolNode([greet])
    assert list(node.tools_by_name) == ["greet"]
    assert shown(ask(node, call("greet", name="Ada"))) == [("hello Ada", "greet", "1", "success")]


def test_answers_come_in_the_order_of_the_calls(ask):
    first_may_end = threading.Event()

    @tool
    def wait() -> str:
        """End after the other."""
        assert first_may_end.wait(10)
        return "waited"

    @tool
    def let_go() -> str:
        """Let the other end."""
        first_may_end.set()
        return "let go"

    assert [m.content for m in ask(ToolNode([wait, let_go]), call("wait", "1"), call("let_go", "2"))] == [
        "waited",
        "let go",
    ]


def test_async_tools_run_side_by_side(config):
    async def main() -> Any:
        both_are_here = asyncio.Barrier(2)

        @tool
        async def meet() -> str:
            """Wait for the other call."""
            await asyncio.wait_for(both_are_here.wait(), 10)
            return "met"

        return await ToolNode([meet]).ainvoke([asks(call("meet", "1"), call("meet", "2"))], config())

    assert [message.content for message in asyncio.run(main())] == ["met", "met"]


def test_an_error_is_raised_when_the_other_calls_have_ended(colour, config):
    ended = []

    @tool
    def note() -> str:
        """Note that it ran."""
        ended.append(1)
        return ""

    with pytest.raises(KeyError):
        colour.invoke(ToolNode([fail, note]), [asks(call("fail", "1"), call("note", "2"))], config())
    assert ended == [1]


def test_a_tool_that_is_not_there_is_explained_to_the_model(ask):
    node = ToolNode([double, fail], handle_tool_errors=False)
    (message,) = ask(node, call("halve", x=2))
    assert (message.status, message.name) == ("error", "halve")
    assert all(name in message.content for name in ("halve", "double", "fail"))


# -- control flow -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("up", [GraphInterrupt([Interrupt("?")]), ParentCommand(Command(graph=Command.PARENT))])
@pytest.mark.parametrize("where", ["tool", "wrapper"])
def test_control_flow_passes_through_every_policy(colour, config, up, where):
    @tool
    def ask_human() -> str:
        """Ask."""
        raise up

    def wrap(request, execute):
        if where == "wrapper":
            raise up
        return execute(request)

    node = ToolNode([ask_human], handle_tool_errors=True, wrap_tool_call=wrap)
    with pytest.raises(type(up)):
        colour.invoke(node, [asks(call("ask_human"))], config())


# -- wrappers ---------------------------------------------------------------------------------------------------------


def test_a_wrapper_sees_the_request_and_may_change_it(ask):
    seen = []

    def wrap(request, execute):
        seen.append((request.tool, request.state["user"], request.runtime.tool_call_id))
        return execute(request.override(tool_call={**request.tool_call, "args": {"x": 10}}))

    (message,) = ask(ToolNode([double], wrap_tool_call=wrap), call("double", x=1), user="Ada")
    assert message.content == "20"
    assert seen == [(double, "Ada", "1")]


def test_a_wrapper_may_answer_itself(ask):
    def wrap(request, execute):
        return ToolMessage("not now", tool_call_id=request.tool_call["id"])

    assert [m.content for m in ask(ToolNode([fail], wrap_tool_call=wrap), call("fail"))] == ["not now"]


def test_a_wrapper_may_try_again(ask):
    tries = []

    @tool
    def flaky() -> str:
        """Fail twice."""
        tries.append(1)
        if len(tries) < 3:
            raise KeyError
        return "at last"

    def wrap(request, execute):
        while True:
            try:
                return execute(request)
            except KeyError:
                pass

    assert [m.content for m in ask(ToolNode([flaky], wrap_tool_call=wrap), call("flaky"))] == ["at last"]


def test_a_wrapper_may_bring_a_tool_that_the_node_lacks(ask):
    @tool
    def late(runtime: ToolRuntime) -> str:
        """Known to nobody."""
        return f"for {runtime.tool_call_id}"

    def wrap(request, execute):
        assert request.tool is None
        return execute(request.override(tool=late))

    assert [m.content for m in ask(ToolNode([double], wrap_tool_call=wrap), call("late"))] == ["for 1"]


@pytest.mark.parametrize(
    ("handling", "content"),
    [
        (True, "KeyError('wrapped')"),
        ("a text", "a text"),
        (KeyError, "KeyError('wrapped')"),
        (lambda e: "said", "said"),
    ],
)
def test_errors_of_a_wrapper_follow_the_policy(ask, handling, content):
    def wrap(request, execute):
        raise KeyError("wrapped")

    (message,) = ask(ToolNode([double], wrap_tool_call=wrap, handle_tool_errors=handling), call("double", x=1))
    assert message.status == "error"
    assert content in message.content


@pytest.mark.parametrize("handling", [{}, {"handle_tool_errors": False}])
def test_errors_of_a_wrapper_are_raised_where_the_policy_takes_none(ask, handling):
    def wrap(request, execute):
        raise KeyError("wrapped")

    with pytest.raises(KeyError, match="wrapped"):
        ask(ToolNode([double], wrap_tool_call=wrap, **handling), call("double", x=1))


def test_an_async_run_prefers_the_async_wrapper(config):
    def wrap(request, execute):
        raise AssertionError("the sync wrapper was called")

    async def awrap(request, execute):
        message = await execute(request)
        return message.model_copy(update={"content": f"wrapped {message.content}"})

    node = ToolNode([double], wrap_tool_call=wrap, awrap_tool_call=awrap)
    (message,) = asyncio.run(node.ainvoke([asks(call("double", x=2))], config()))
    assert message.content == "wrapped 4"


def request_of(state: Any) -> ToolCallRequest:
    runtime = ToolRuntime(
        state=state, context=None, config={}, stream_writer=print, tool_call_id="1", store=None, tools=[double]
    )
    return ToolCallRequest(tool_call=call("double", x=1), tool=double, state=state, runtime=runtime)


def test_another_state_of_a_request_is_its_runtimes_too():
    old = request_of({"a": 1})
    new = old.override(state={"b": 2})
    assert (new.state, new.runtime.state) == ({"b": 2}, {"b": 2})
    assert (old.state, old.runtime.state) == ({"a": 1}, {"a": 1})


def test_setting_a_field_of_a_request_is_deprecated_and_works():
    request = request_of({})
    with pytest.warns(DeprecationWarning, match=r"override\(tool="):
        request.tool = None
    assert request.tool is None


# -- tools_condition --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [list, lambda m: {"messages": m}, Plain, lambda m: Model(messages=m)])
def test_the_last_message_says_whether_tools_come_next(form):
    calling = asks(call("double", x=1))
    assert tools_condition(form([calling])) == "tools"
    assert tools_condition(form([calling, ToolMessage("2", tool_call_id="1")])) == "__end__"


def test_a_router_without_messages_is_an_error():
    assert tools_condition({"chat": [asks(call("double", x=1))]}, "chat") == "tools"
    with pytest.raises(ValueError, match="'messages'"):
        tools_condition({"messages": []})
