"""A node that runs the tools which a model asked for, and the router that leads to it.

One turn goes: read the calls from the input; for each, fill in what the tool asks for beside the model's arguments,
run it, and turn its output or its error into a message; put the answers together in the order of the calls. Calls of
one turn run side by side, in threads or as coroutines. A wrapper may stand around each.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict

from runtime._words import CONFIG_KEY_RUNTIME
from runtime.prebuilt.tool_arguments import InjectedState, InjectedStore, ToolRuntime, Wants, graph_state, wants_of
from runtime.prebuilt.tool_errors import (
    INVALID_TOOL_NAME_ERROR_TEMPLATE,
    TOOL_CALL_ERROR_TEMPLATE,
    TOOL_EXECUTION_ERROR_TEMPLATE,
    TOOL_INVOCATION_ERROR_TEMPLATE,
    ErrorPolicy,
    Handling,
    ToolInvocationError,
    explain_arguments,
    passes_through,
)
from runtime.prebuilt.tool_results import Shape, msg_content_output
from runtime.types import Command
from runtime.utils.config import ensure_config
from runtime.utils.threads import side_by_side

if TYPE_CHECKING:
    from runtime.runtime import Runtime

__all__ = (
    "INVALID_TOOL_NAME_ERROR_TEMPLATE",
    "TOOL_CALL_ERROR_TEMPLATE",
    "TOOL_EXECUTION_ERROR_TEMPLATE",
    "TOOL_INVOCATION_ERROR_TEMPLATE",
    "AsyncToolCallWrapper",
    "InjectedState",
    "InjectedStore",
    "ToolCallRequest",
    "ToolCallWithContext",
    "ToolCallWrapper",
    "ToolInvocationError",
    "ToolNode",
    "ToolRuntime",
    "msg_content_output",
    "tools_condition",
)


@dataclass
class ToolCallRequest:
    """One tool call on its way, as a wrapper sees it. `tool` is None for a name that no tool has.

    To change it make another: `request.override(tool_call={...})`.
    """

    tool_call: ToolCall
    tool: BaseTool | None
    state: Any
    runtime: ToolRuntime[Any, Any]

    def __post_init__(self) -> None:
        self.__dict__["_whole"] = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_whole" in self.__dict__:
            warnings.warn(
                f"A ToolCallRequest should not be changed in place: instead of setting {name}, take the copy that "
                f"request.override({name}=...) gives.",
                DeprecationWarning,
                stacklevel=2,
            )
        super().__setattr__(name, value)

    def override(self, **overrides: Any) -> ToolCallRequest:
        """A copy with these fields changed. Another `state` is also the one that the tool's runtime shows."""
        if "state" in overrides and "runtime" not in overrides:
            overrides["runtime"] = replace(self.runtime, state=overrides["state"])
        return replace(self, **overrides)


ToolResult = ToolMessage | Command[Any]
ToolCallWrapper = Callable[[ToolCallRequest, Callable[[ToolCallRequest], ToolResult]], ToolResult]
"""Stands around a tool call: `wrapper(request, execute)` may call `execute(request)` once, often or never."""
AsyncToolCallWrapper = Callable[
    [ToolCallRequest, Callable[[ToolCallRequest], Awaitable[ToolResult]]], Awaitable[ToolResult]
]
"""The same for async runs; `execute` is awaited."""


class ToolCallWithContext(TypedDict):
    """One tool call together with the state that its tool is to see: an input of `ToolNode`, for use in a Send."""

    tool_call: ToolCall
    __type: Literal["tool_call_with_context"]
    state: Any


class _Turn(NamedTuple):
    """What a tool node was asked: the calls, the state that tools see, and the form of the answer."""

    calls: Sequence[ToolCall]
    state: Any
    shape: Shape
    config: RunnableConfig
    runtime: Runtime[Any]


class ToolNode(Runnable[Any, Any]):
    """Runs the tools that the latest AIMessage asks for, and answers with their ToolMessages.

    The input is a state (a dict or an object with `messages_key`), a list of messages, a list of tool calls, or a
    `ToolCallWithContext`. A list of messages is answered by a list, all else by a dict.

    `tools` are tools or functions. `handle_tool_errors` says which errors become messages to the model: by default
    only wrong arguments (see `ErrorPolicy` for all its forms). `wrap_tool_call` and `awrap_tool_call` stand around
    each call; an async run prefers the second.

    Runs in a graph. Raises ValueError where no runtime is in the config, and for an input without an AIMessage.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        *,
        name: str = "tools",
        tags: list[str] | None = None,
        handle_tool_errors: Handling = explain_arguments,
        messages_key: str = "messages",
        wrap_tool_call: ToolCallWrapper | None = None,
        awrap_tool_call: AsyncToolCallWrapper | None = None,
    ) -> None:
        self.name = name
        self.tags = tags
        self.messages_key = messages_key
        self._policy = ErrorPolicy(handle_tool_errors)
        self._wrap = wrap_tool_call
        self._awrap = awrap_tool_call
        self._tools: dict[str, BaseTool] = {}
        self._wants: dict[str, Wants] = {}
        for given in tools:
            made = given if isinstance(given, BaseTool) else as_tool(given)
            self._tools[made.name] = made
            self._wants[made.name] = wants_of(made)

    @property
    def tools_by_name(self) -> dict[str, BaseTool]:
        """The tools of this node."""
        return self._tools

    def __repr__(self) -> str:
        return f"ToolNode({list(self._tools)}, name={self.name!r})"

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the calls, several of them in threads. An error of one is raised when the others have ended."""
        turn = self._turn(input, config)
        calls = [partial(self._run, turn, call) for call in turn.calls]
        return turn.shape.together(side_by_side(calls, turn.config.get("max_concurrency")))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The same, with the calls as coroutines side by side."""
        turn = self._turn(input, config)
        outputs = await asyncio.gather(*(self._arun(turn, call) for call in turn.calls), return_exceptions=True)
        for output in outputs:
            if isinstance(output, BaseException):
                raise output
        return turn.shape.together(outputs)

    # -- reading the input --------------------------------------------------------------------------------------------

    def _turn(self, input: Any, config: RunnableConfig | None) -> _Turn:
        config = ensure_config(config)
        runtime = config.get("configurable", {}).get(CONFIG_KEY_RUNTIME)
        if runtime is None:
            raise ValueError(
                f"The tool node '{self.name}' finds no runtime in its config. Run it as a node of a graph, or pass it "
                f"the config of the node that calls it."
            )
        if isinstance(input, list) and input and _is_call(input[-1]):
            return _Turn(input, graph_state(config), Shape(False, self.messages_key), config, runtime)
        if isinstance(input, Mapping) and input.get("__type") == "tool_call_with_context":
            return _Turn([input["tool_call"]], input["state"], Shape(False, self.messages_key), config, runtime)
        message = _latest_ai_message(_messages_in(input, self.messages_key), self.name)
        return _Turn(message.tool_calls, input, Shape(isinstance(input, list), self.messages_key), config, runtime)

    # -- running one call ---------------------------------------------------------------------------------------------

    def _run(self, turn: _Turn, call: ToolCall) -> Any:
        request = self._request(turn, call)
        if self._wrap is None:
            return self._execute(turn, request)
        try:
            return self._wrap(request, lambda request: self._execute(turn, request))
        except Exception as error:
            return self._policy.answer_for_wrapper(error, call)

    async def _arun(self, turn: _Turn, call: ToolCall) -> Any:
        if self._awrap is None and self._wrap is not None:
            return self._run(turn, call)
        request = self._request(turn, call)
        if self._awrap is None:
            return await self._aexecute(turn, request)
        try:
            return await self._awrap(request, lambda request: self._aexecute(turn, request))
        except Exception as error:
            return self._policy.answer_for_wrapper(error, call)

    def _execute(self, turn: _Turn, request: ToolCallRequest) -> Any:
        tool = request.tool
        if tool is None:
            return self._unknown(request.tool_call)
        call, hidden = self._filled(tool, request)
        try:
            output = tool.invoke(call, request.runtime.config)
            return turn.shape.checked(output, request.tool_call)
        except Exception as error:
            return self._policy.answer(_explained(error, request.tool_call, hidden), request.tool_call)

    async def _aexecute(self, turn: _Turn, request: ToolCallRequest) -> Any:
        tool = request.tool
        if tool is None:
            return self._unknown(request.tool_call)
        call, hidden = self._filled(tool, request)
        try:
            output = await tool.ainvoke(call, request.runtime.config)
            return turn.shape.checked(output, request.tool_call)
        except Exception as error:
            return self._policy.answer(_explained(error, request.tool_call, hidden), request.tool_call)

    def _request(self, turn: _Turn, call: ToolCall) -> ToolCallRequest:
        runtime = turn.runtime
        return ToolCallRequest(
            tool_call=call,
            tool=self._tools.get(call["name"]),
            state=turn.state,
            runtime=ToolRuntime(
                state=turn.state,
                context=runtime.context,
                config=turn.config,
                stream_writer=runtime.stream_writer,
                tool_call_id=call["id"],
                store=runtime.store,
                tools=list(self._tools.values()),
                execution_info=runtime.execution_info,
                server_info=runtime.server_info,
            ),
        )

    def _filled(self, tool: BaseTool, request: ToolCallRequest) -> tuple[ToolCall, frozenset[str]]:
        """The call with all that the tool asks for, and the parameters in which the model has no say."""
        call = request.tool_call
        own = self._tools.get(tool.name) is tool
        wants = self._wants[tool.name] if own else wants_of(tool)
        args = {name: value for name, value in call["args"].items() if name not in wants.hidden}
        args |= wants.arguments(tool.name, request.state, request.runtime, self.messages_key)
        return cast("ToolCall", {**call, "args": args, "type": "tool_call"}), wants.hidden

    def _unknown(self, call: ToolCall) -> ToolMessage:
        text = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(
            requested_tool=call["name"], available_tools=", ".join(self._tools)
        )
        return ToolMessage(content=text, name=call["name"], tool_call_id=call["id"], status="error")


def _explained(error: Exception, call: ToolCall, hidden: frozenset[str]) -> Exception:
    """The error; for arguments that do not fit, one that explains them to the model."""
    if not isinstance(error, ValidationError) or passes_through(error):
        return error
    about_the_models = [item for item in error.errors() if not item["loc"] or item["loc"][0] not in hidden]
    return ToolInvocationError(call["name"], error, call["args"], about_the_models)


def _is_call(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "tool_call"


def _messages_in(state: Any, messages_key: str) -> list[Any]:
    if isinstance(state, list):
        return state
    found = state.get(messages_key) if isinstance(state, Mapping) else getattr(state, messages_key, None)
    return found or []


def _latest_ai_message(messages: Sequence[Any], who: str | None) -> AIMessage:
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message
    what = "messages that hold no AIMessage" if messages else "no messages"
    raise ValueError(f"The tool node '{who}' was given {what}. It runs the tool calls of the latest AIMessage.")


def tools_condition(
    state: list[AnyMessage] | dict[str, Any] | BaseModel, messages_key: str = "messages"
) -> Literal["tools", "__end__"]:
    """A router: "tools" when the last message asks for tools, else the end. ValueError when there is no message."""
    messages = _messages_in(state, messages_key)
    if not messages:
        raise ValueError(f"tools_condition finds no message in its input (looking for '{messages_key}'): {state!r}")
    return "tools" if getattr(messages[-1], "tool_calls", None) else "__end__"
