"""What a tool is given beside the model's arguments."""

from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, tool
from pydantic import BaseModel

from runtime.prebuilt.tool_node import InjectedState, InjectedStore, ToolNode, ToolRuntime


def call(tool: str, /, **args: Any) -> dict[str, Any]:
    return {"name": tool, "args": args, "id": "1", "type": "tool_call"}


@tool
def whole(x: int, state: Annotated[Any, InjectedState]) -> str:
    """Take the whole state."""
    return repr(sorted(state))


@tool
def field(x: int, user: Annotated[str, InjectedState("user")]) -> str:
    """Take one field."""
    return f"for {user}"


@tool
def field_or_default(x: int, user: Annotated[str, InjectedState("user")] = "nobody") -> str:
    """Take one field, if it is there."""
    return f"for {user}"


@tool
def stored(x: int, store: Annotated[Any, InjectedStore()]) -> str:
    """Take the store."""
    return f"in {store}"


@tool
def at_runtime(x: int, by_type: ToolRuntime, runtime: Any = None) -> str:
    """Take the runtime, by type and by name."""
    assert by_type is runtime
    return f"{by_type.tool_call_id} {by_type.context} {[tool.name for tool in by_type.tools]}"


@tool
def generic(x: int, it: ToolRuntime[int, dict[str, Any]]) -> str:
    """Take the runtime, typed."""
    return str(it.tool_call_id)


@tool
def call_id(x: int, id: Annotated[str, InjectedToolCallId]) -> str:
    """Take the id of the call."""
    return f"call {id}"


@tool
def private(x: int, level: Annotated[int, InjectedToolArg] = 0) -> str:
    """Have an argument that nobody sends."""
    return str(level)


class Arguments(BaseModel):
    x: int


@tool(args_schema=Arguments)
def by_model(x: int, user: Annotated[str, InjectedState("user")]) -> str:
    """Have a schema that does not tell of the state."""
    return f"for {user}"


@tool(args_schema={"type": "object", "properties": {"x": {"type": "integer"}}})
def by_json(x: int, it: ToolRuntime) -> str:
    """Have a JSON schema."""
    return str(it.tool_call_id)


class Subclass(BaseTool):
    name: str = "subclass"
    description: str = "A tool as a class."

    def _run(self, x: int, user: Annotated[str, InjectedState("user")]) -> str:
        return f"for {user}"


GIVEN = [
    (whole, "['messages', 'user']"),
    (field, "for Ada"),
    (field_or_default, "for Ada"),
    (at_runtime, "1 None ['at_runtime']"),
    (generic, "1"),
    (call_id, "call 1"),
    (private, "0"),
    (by_model, "for Ada"),
    (by_json, "1"),
    (Subclass(), "for Ada"),
]


@pytest.mark.parametrize(("tool", "content"), GIVEN, ids=lambda it: getattr(it, "name", ""))
def test_a_tool_gets_what_it_asks_for(ask, tool, content):
    assert [message.content for message in ask(ToolNode([tool]), call(tool.name, x=1), user="Ada")] == [content]


@pytest.mark.parametrize(
    ("tool", "argument"),
    [(whole, "state"), (field, "user"), (at_runtime, "by_type"), (call_id, "id"), (private, "level")],
    ids=lambda it: getattr(it, "name", ""),
)
def test_what_the_model_sends_for_it_is_dropped(ask, tool, argument):
    (honest,) = ask(ToolNode([tool]), call(tool.name, x=1), user="Ada")
    (forged,) = ask(ToolNode([tool]), call(tool.name, x=1, **{argument: "forged"}), user="Ada")
    assert forged.content == honest.content


def test_the_models_call_is_left_as_it_was(ask):
    made = call("whole", x=1)
    ask(ToolNode([whole]), made)
    assert made == call("whole", x=1)


def test_a_store_is_injected(colour, config):
    message = AIMessage("", tool_calls=[call("stored", x=1)])
    assert colour.invoke(ToolNode([stored]), [message], config(store="the store"))[0].content == "in the store"


def test_a_missing_store_is_an_error_whatever_the_policy(ask):
    with pytest.raises(ValueError, match="'stored'.*store="):
        ask(ToolNode([stored], handle_tool_errors=True), call("stored", x=1))


def test_a_missing_field_is_an_error_unless_there_is_a_default(ask):
    with pytest.raises(KeyError, match="user"):
        ask(ToolNode([field]), call("field", x=1))
    assert ask(ToolNode([field_or_default]), call("field_or_default", x=1))[0].content == "for nobody"


def test_a_state_that_is_an_object_gives_its_attributes(colour, config):
    state = SimpleNamespace(messages=[AIMessage("", tool_calls=[call("field", x=1)])])
    with pytest.raises(AttributeError, match="user"):
        colour.invoke(ToolNode([field]), state, config())
    state.user = "Ada"
    assert colour.invoke(ToolNode([field]), state, config())["messages"][0].content == "for Ada"


def test_a_list_of_messages_is_a_state_of_one_key(colour, config):
    message = AIMessage("", tool_calls=[call("whole", x=1)])
    assert colour.invoke(ToolNode([whole]), [message], config())[0].content == "['messages']"
    with pytest.raises(ValueError, match="'user'"):
        colour.invoke(ToolNode([field]), [AIMessage("", tool_calls=[call("field", x=1)])], config())


def test_a_call_with_its_state_shows_that_state(colour, config):
    given = {"__type": "tool_call_with_context", "tool_call": call("field", x=1), "state": {"user": "Ada"}}
    assert colour.invoke(ToolNode([field]), given, config())["messages"][0].content == "for Ada"


def test_mistakes_in_injected_arguments_are_not_told_to_the_model(ask):
    @tool
    def strict(x: int, count: Annotated[int, InjectedState("user")]) -> str:
        """Take a number from a field that holds text."""
        return ""

    (message,) = ask(ToolNode([strict]), call("strict", x="one"), user="Ada")
    assert "x: Input should be a valid integer" in message.content
    assert "count" not in message.content
    assert "Ada" not in message.content


def test_output_deltas_outside_of_a_graph_go_nowhere():
    runtime = ToolRuntime(state={}, context=None, config={}, stream_writer=print, tool_call_id="1", store=None)
    assert runtime.emit_output_delta("half") is None
