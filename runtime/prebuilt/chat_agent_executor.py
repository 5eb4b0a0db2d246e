"""`create_react_agent`: a model that may call tools, in a loop, until it answers without one. Deprecated.

The graph is small: the model's node, the tools' node, and an edge back. Around the model's node there may be a hook on
either side, and at the end a node that puts the outcome into a form. Where the run goes next is decided in `_Routes`,
from the messages alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, make_dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypeVar, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolCall
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, create_model
from typing_extensions import TypedDict, deprecated

from runtime.channels.ephemeral_value import EphemeralValue
from runtime.graph import END
from runtime.graph.message import add_messages
from runtime.graph.state import StateGraph
from runtime.managed import RemainingSteps
from runtime.prebuilt.agent_model import (
    LLM_INPUT,
    Chooser,
    Model,
    ModelCall,
    ModelSource,
    Prompt,
    StructuredCall,
    answered_ids,
    as_prompt,
    field,
    latest_calls,
    model_source,
)
from runtime.prebuilt.tool_node import ToolCallWithContext, ToolNode
from runtime.types import Send
from runtime.utils.runnable import RunnableCallable, RunnableLike
from runtime.warnings import LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from runtime.graph.state import CompiledStateGraph
    from runtime.store.base import BaseStore
    from runtime.types import Checkpointer

__all__ = (
    "AgentState",
    "AgentStatePydantic",
    "AgentStateWithStructuredResponse",
    "AgentStateWithStructuredResponsePydantic",
    "create_react_agent",
    "create_tool_calling_executor",
)

_OLD_STATE = "The state classes of create_react_agent are deprecated with it. Declare a state of your own."

StructuredResponse = dict[str, Any] | BaseModel
StructuredResponseSchema = dict[str, Any] | type[BaseModel]


@deprecated(_OLD_STATE, category=LangGraphDeprecatedSinceV10)
class AgentState(TypedDict):
    """The state of the agent."""

    messages: Annotated[Sequence[BaseMessage], add_messages]
    remaining_steps: NotRequired[RemainingSteps]


@deprecated(_OLD_STATE, category=LangGraphDeprecatedSinceV10)
class AgentStatePydantic(BaseModel):
    """The state of the agent."""

    messages: Annotated[Sequence[BaseMessage], add_messages]
    remaining_steps: RemainingSteps = 25


@deprecated(_OLD_STATE, category=LangGraphDeprecatedSinceV10)
class AgentStateWithStructuredResponse(AgentState):
    """The state of an agent whose outcome has the form of a schema."""

    structured_response: StructuredResponse


with warnings.catch_warnings():
    warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)  # a subclass here is no use of the old class

    @deprecated(_OLD_STATE, category=LangGraphDeprecatedSinceV10)
    class AgentStateWithStructuredResponsePydantic(AgentStatePydantic):
        """The state of an agent whose outcome has the form of a schema; None until it is there."""

        structured_response: StructuredResponse | None = None


StateSchema = TypeVar("StateSchema", bound=AgentState | AgentStatePydantic)
StateSchemaType = type[StateSchema]


@deprecated(
    "`create_react_agent` is deprecated: it stays for the programs that use it. A new agent is a StateGraph with a "
    "node for the model and a ToolNode.",
    category=LangGraphDeprecatedSinceV10,
)
def create_react_agent(
    model: str | Model | Chooser,
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | ToolNode,
    *,
    prompt: Prompt | None = None,
    response_format: StructuredResponseSchema | tuple[str, StructuredResponseSchema] | None = None,
    pre_model_hook: RunnableLike | None = None,
    post_model_hook: RunnableLike | None = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    interrupt_before: list[str] | None = None,
    interrupt_after: list[str] | None = None,
    debug: bool = False,
    version: Literal["v1", "v2"] = "v2",
    name: str | None = None,
    **old: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """An agent: calls the model, runs the tools it asks for, and calls it again, until it asks for none.

    `model` is a chat model, its name as "provider:model", or a function of state and runtime, of either colour, that
    gives one with its tools bound. `tools` are tools, functions, a `ToolNode`, or dicts that describe tools which the
    provider runs. `prompt` is text or a SystemMessage to stand before the messages, or a function or Runnable that
    makes the model's input of the state.

    `pre_model_hook` is a node before each call of the model; what it gives as `llm_input_messages` stands in for the
    conversation in that call. `post_model_hook` is a node after each. With `response_format`, a schema or a pair of
    prompt and schema, one more call at the end makes `structured_response`. `state_schema` needs `messages` and
    `remaining_steps`; with too few steps left for the tools the agent says so, instead of asking for them. A tool with
    `return_direct` ends the run. In version "v1" one task runs all tool calls of a message, in "v2" each has its own.

    The nodes are `agent` and `tools`, and as asked for `pre_model_hook`, `post_model_hook` and
    `generate_structured_response`; `interrupt_before` and `interrupt_after` take these names. `name` is the graph's,
    and that of each reply. Raises ValueError or TypeError for what does not fit.
    """
    if version not in ("v1", "v2"):
        raise ValueError(f"An agent's version is 'v1' or 'v2', not {version!r}.")
    context_schema = _context_schema(context_schema, old)
    schema = _state_schema(state_schema, response_format is not None)
    node, offered = _tools(tools)
    source = model_source(model, offered)
    asking = ModelCall(source, as_prompt(prompt), name)

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(schema, context_schema=context_schema)
    graph.add_node(
        "agent", _node(asking, "call_model"), input_schema=schema if pre_model_hook is None else _with_llm_input(schema)
    )
    if node is not None:
        graph.add_node("tools", node)
    for hook, action in (("pre_model_hook", pre_model_hook), ("post_model_hook", post_model_hook)):
        if action is not None:
            graph.add_node(hook, action)
    if response_format is not None:
        graph.add_node("generate_structured_response", _structured(source, response_format))
    _connect(graph, node, each_call_alone=version == "v2")
    return graph.compile(
        checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name,
    )


create_tool_calling_executor = create_react_agent


# -- arguments --------------------------------------------------------------------------------------------------------


def _context_schema(given: type[Any] | None, old: dict[str, Any]) -> type[Any] | None:
    if "config_schema" in old:
        warnings.warn(
            "`config_schema` is deprecated: it is called `context_schema` now.",
            LangGraphDeprecatedSinceV10,
            stacklevel=4,  # past this function, the agent's, and what marks it as deprecated
        )
        before = old.pop("config_schema")
        given = before if given is None else given
    if old:
        raise TypeError(f"create_react_agent() got an unexpected keyword argument {next(iter(old))!r}")
    return given


def _state_schema(given: type[Any] | None, structured: bool) -> type[Any]:
    if given is None:
        return AgentStateWithStructuredResponse if structured else AgentState
    needed = ["messages", "remaining_steps", *(["structured_response"] if structured else [])]
    hints = get_type_hints(given)
    missing = [key for key in needed if key not in hints]
    if missing:
        raise ValueError(
            f"The agent's state_schema '{given.__name__}' lacks {', '.join(map(repr, missing))}. Add them, or inherit "
            f"from AgentState."
        )
    return given


def _with_llm_input(schema: Any) -> Any:
    """The state together with the messages that a hook may give for one call of the model: the next step forgets them.

    A schema that has such a key of its own is left as it is.
    """
    hints = get_type_hints(schema, include_extras=True)
    if LLM_INPUT in hints:
        return schema
    key = Annotated[list[AnyMessage], EphemeralValue]
    if issubclass(schema, BaseModel):
        fields: dict[str, Any] = {LLM_INPUT: (key, Field(default_factory=list))}
        return create_model("ModelInput", __base__=schema, **fields)
    if hasattr(schema, "__dataclass_params__"):
        item: Any = (LLM_INPUT, key, dataclass_field(default_factory=list))
        return make_dataclass("ModelInput", [item], bases=(schema,), frozen=schema.__dataclass_params__.frozen)
    return TypedDict("ModelInput", {**hints, LLM_INPUT: NotRequired[key]})  # type: ignore[operator]  # keys known late


def _tools(
    given: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | ToolNode,
) -> tuple[ToolNode | None, list[BaseTool | dict[str, Any]]]:
    """The node that runs the tools, if the agent runs any, and all tools that the model is told of."""
    if isinstance(given, ToolNode):
        return given, list(given.tools_by_name.values())
    described = [tool for tool in given if isinstance(tool, dict)]
    node = ToolNode([tool for tool in given if not isinstance(tool, dict)])
    run_here = list(node.tools_by_name.values())
    return (node if run_here else None), [*run_here, *described]


def _node(call: ModelCall | StructuredCall, name: str) -> RunnableCallable:
    return RunnableCallable(call.call, call.acall, name=name, trace=False)


def _structured(source: ModelSource, response_format: Any) -> RunnableCallable:
    text, schema = response_format if isinstance(response_format, tuple) else (None, response_format)
    lead = () if text is None else (SystemMessage(text),)
    return _node(StructuredCall(source, schema, lead), "generate_structured_response")


# -- edges ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Routes:
    """Where an agent goes next. `entry` begins a turn, `finish` follows the last one.

    `direct` are the tools whose answer is the agent's; `each_call_alone` makes a task of every tool call.
    """

    entry: str
    finish: str
    direct: frozenset[str]
    each_call_alone: bool

    def after_model(self, state: Any) -> str | list[Send]:
        """To the tools when the reply asks for some, else on to the end."""
        messages = field(state, "messages")
        calls = messages[-1].tool_calls if messages and isinstance(messages[-1], AIMessage) else []
        if not calls:
            return self.finish
        return self._each(calls, state) if self.each_call_alone else "tools"

    def after_hook(self, state: Any) -> str | list[Send]:
        """To the tools for the calls that still wait, else to the model when the hook answered all, else to the end."""
        messages = field(state, "messages") or []
        answered = answered_ids(messages)
        waiting = [call for call in latest_calls(messages) if call["id"] not in answered]
        if waiting:
            return self._each(waiting, state) if self.each_call_alone else [Send("tools", waiting)]
        return self.entry if messages and messages[-1].type == "tool" else self.finish

    def after_tools(self, state: Any) -> str:
        """To the end when one of the tools called answers in the model's place, else to the next turn."""
        calls = latest_calls(field(state, "messages") or [])
        return END if any(call["name"] in self.direct for call in calls) else self.entry

    def _each(self, calls: Sequence[ToolCall], state: Any) -> list[Send]:
        """A task for each call, with the state that its tool is to see."""
        return [
            Send("tools", ToolCallWithContext(__type="tool_call_with_context", tool_call=call, state=state))
            for call in calls
        ]


def _connect(graph: StateGraph[Any, Any, Any, Any], tools: ToolNode | None, *, each_call_alone: bool) -> None:
    """The edges between the nodes that are there."""
    run_here = tools.tools_by_name if tools is not None else {}
    routes = _Routes(
        entry="pre_model_hook" if "pre_model_hook" in graph.nodes else "agent",
        finish="generate_structured_response" if "generate_structured_response" in graph.nodes else END,
        direct=frozenset(name for name, tool in run_here.items() if tool.return_direct),
        each_call_alone=each_call_alone,
    )
    last, route, targets = "agent", routes.after_model, ["tools", routes.finish]
    if "post_model_hook" in graph.nodes:
        last, route, targets = "post_model_hook", routes.after_hook, ["tools", routes.entry, routes.finish]
        graph.add_edge("agent", last)
    graph.set_entry_point(routes.entry)
    if routes.entry != "agent":
        graph.add_edge(routes.entry, "agent")
    if routes.finish != END:
        graph.add_edge(routes.finish, END)
    if tools is None:
        graph.add_edge(last, routes.finish)
        return
    graph.add_conditional_edges(last, _of_state(graph.state_schema, route), targets)
    if routes.direct:
        graph.add_conditional_edges("tools", _of_state(graph.state_schema, routes.after_tools), [routes.entry, END])
    else:
        graph.add_edge("tools", routes.entry)


def _of_state(schema: Any, route: Callable[[Any], Any]) -> RunnableCallable:
    """The route as a router that reads the state itself, also after a node that reads more: it is sent on to tools."""

    def routed(state: Any) -> Any:
        return route(state)

    async def arouted(state: Any) -> Any:  # where it is called, for it never waits
        return route(state)

    routed.__annotations__ = {"state": schema}
    return RunnableCallable(routed, arouted, name=route.__name__)
