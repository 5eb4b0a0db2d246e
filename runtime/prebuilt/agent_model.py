"""An agent's calls of its model: which model, what it is given, and what becomes of its reply.

A node of the agent is one of these as a pair of methods, one for each colour. What they share, reading the state and
judging the reply, is in plain functions.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig, RunnableSequence
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from runtime.errors import ErrorCode, create_error_message
from runtime.runtime import Runtime
from runtime.utils.runnable import RunnableCallable

__all__ = (
    "LLM_INPUT",
    "OUT_OF_STEPS",
    "Chooser",
    "ChosenModel",
    "FixedModel",
    "Model",
    "ModelCall",
    "ModelSource",
    "Prompt",
    "StructuredCall",
    "answered_ids",
    "as_prompt",
    "check_history",
    "field",
    "latest_calls",
    "model_source",
)

LLM_INPUT = "llm_input_messages"
"""The key under which a hook gives messages for the next call of the model alone."""

OUT_OF_STEPS = "Sorry, need more steps to process this request."
"""What the agent says in the model's place where the tools could not run any more; a value that programs compare."""

Model = Runnable[Any, Any]
Chooser = Callable[[Any, Runtime[Any]], Model | Awaitable[Model]]
Prompt = SystemMessage | str | Callable[[Any], Any] | Runnable[Any, Any]


# -- which model ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FixedModel:
    """One model for every call, with the tools bound to it."""

    model: Model

    def find(self, state: Any, runtime: Runtime[Any]) -> Model:
        return self.model

    async def afind(self, state: Any, runtime: Runtime[Any]) -> Model:
        return self.model


@dataclass(frozen=True)
class ChosenModel:
    """A function that gives the model for each call. It binds the tools itself."""

    choose: Chooser

    def find(self, state: Any, runtime: Runtime[Any]) -> Model:
        """The model for this call. RuntimeError for an async function: a sync run cannot wait for it."""
        answer = self.choose(state, runtime)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise RuntimeError(
                "The agent's model is chosen by an async function, but the agent was called by a sync run. "
                "Call it by ainvoke or astream, or choose the model in a plain function."
            )
        return _checked(answer)

    async def afind(self, state: Any, runtime: Runtime[Any]) -> Model:
        answer = self.choose(state, runtime)
        return _checked(await answer if inspect.isawaitable(answer) else answer)


ModelSource = FixedModel | ChosenModel


def _checked(answer: Any) -> Model:
    if isinstance(answer, Runnable):
        return answer
    raise TypeError(f"The function that chooses the agent's model gave {answer!r}. It must give a model or a Runnable.")


def model_source(model: str | Model | Chooser, tools: Sequence[BaseTool | dict[str, Any]]) -> ModelSource:
    """Where the agent finds its model; a given one has the tools bound to it, unless it has them already.

    Raises ImportError for a name while `langchain` is missing, ValueError for a model that has other tools bound, and
    TypeError for what is no model, or one that tools cannot be bound to.
    """
    if isinstance(model, str):
        model = _by_name(model)
    if not isinstance(model, Runnable):
        if callable(model):
            return ChosenModel(model)
        raise TypeError(
            f"An agent's model is a chat model, its name 'provider:model', or a function of state and runtime that "
            f"gives one, not {model!r}."
        )
    bound = _bound_tools(model)
    if bound is not None:
        _compare(bound, tools)
        return FixedModel(model)
    if not tools:
        return FixedModel(model)
    bind = getattr(model, "bind_tools", None)
    if bind is None:
        raise TypeError(
            f"The agent cannot give its tools to a {type(model).__name__}, which has no bind_tools. Bind them to the "
            f"chat model in it first: chat_model.bind_tools(tools)."
        )
    return FixedModel(bind(tools))


def _by_name(name: str) -> Model:
    try:
        init_chat_model = importlib.import_module("langchain.chat_models").init_chat_model
    except ImportError as error:
        raise ImportError(
            f"A model given by its name, {name!r}, is made by the package langchain: pip install langchain. "
            "Or pass the model itself."
        ) from error
    made: Model = init_chat_model(name)
    return made


def _bound_tools(model: Model) -> Sequence[Any] | None:
    """The tools bound to a model, also where it is a step of a sequence; None where nothing was bound."""
    if isinstance(model, RunnableBinding):
        found = model.kwargs.get("tools")
        return found if found is not None else _bound_tools(model.bound)
    if isinstance(model, RunnableSequence):
        return next((found for step in model.steps if (found := _bound_tools(step)) is not None), None)
    return None


def _compare(bound: Sequence[Any], tools: Sequence[BaseTool | dict[str, Any]]) -> None:
    """Raise ValueError unless the model has as many tools as the agent, and each of them by name."""
    known = {name for tool in bound if (name := _name_in(tool)) is not None}
    missing = [tool.name for tool in tools if isinstance(tool, BaseTool) and tool.name not in known]
    if missing or len(bound) != len(tools):
        lacks = f", and lacks {', '.join(map(repr, missing))}" if missing else ""
        raise ValueError(
            f"The model has {len(bound)} tools bound to it, the agent has {len(tools)}{lacks}. Give both the same "
            f"tools, or give the agent the bare model."
        )


def _name_in(tool: Any) -> str | None:
    """The name in a tool as providers describe it: at the top, or in a part of its own."""
    if isinstance(tool, BaseTool):
        return tool.name
    if not isinstance(tool, Mapping):
        return None
    part = next((tool[key] for key in ("function", "toolSpec") if isinstance(tool.get(key), Mapping)), tool)
    return part.get("name")


def bare(model: Model) -> Any:
    """The chat model without what was bound to it or set around it. TypeError where there is none."""
    if isinstance(model, RunnableBinding):
        return bare(model.bound)
    if isinstance(model, RunnableSequence):
        for step in model.steps:
            if isinstance(step, RunnableBinding) or hasattr(step, "with_structured_output"):
                return bare(step)
    if hasattr(model, "with_structured_output"):
        return model
    raise TypeError(
        f"A structured response needs a chat model, whose with_structured_output makes it; the agent's model is "
        f"{type(model).__name__}."
    )


# -- what it is given -------------------------------------------------------------------------------------------------


def field(state: Any, name: str) -> Any:
    """A field of a state that is a dict or an object; None where there is none."""
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def _for_the_model(state: Any) -> Any:
    """The state as prompt and model see it: with what a hook gave for this call in place of the conversation."""
    instead = field(state, LLM_INPUT)
    if not instead:
        return state
    if not isinstance(instead, (list, tuple)):
        raise TypeError(f"The hook before the model gave {LLM_INPUT}={instead!r}. It must be a list of messages.")
    if isinstance(state, Mapping):
        return {**state, "messages": instead}
    if isinstance(state, BaseModel):
        return state.model_copy(update={"messages": instead})
    return replace(state, messages=instead)


def as_prompt(prompt: Prompt | None) -> Runnable[Any, Any]:
    """The step that makes the model's input of the state. ValueError for what is no prompt."""
    if isinstance(prompt, str):
        prompt = SystemMessage(prompt)
    if prompt is None or isinstance(prompt, SystemMessage):
        lead = _Lead(() if prompt is None else (prompt,))
        return RunnableCallable(lead.before, lead.abefore, name="Prompt", trace=False)  # the model's run shows it all
    if isinstance(prompt, Runnable):
        return prompt
    if callable(prompt):
        return RunnableCallable(prompt, name="Prompt")
    raise ValueError(
        f"An agent's prompt is text, a SystemMessage, a function of the state or a Runnable, not {prompt!r}."
    )


class _Lead(NamedTuple):
    """Messages that stand before the conversation."""

    messages: tuple[BaseMessage, ...]

    def before(self, state: Any) -> list[Any]:
        return [*self.messages, *(field(state, "messages") or ())]

    async def abefore(self, state: Any) -> list[Any]:
        return self.before(state)


def check_history(messages: Sequence[Any]) -> None:
    """Raise ValueError for tool calls that no ToolMessage answers: providers refuse such a conversation."""
    answered = answered_ids(messages)
    open = [
        call
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"] not in answered
    ]
    if open:
        shown = ", ".join(f"{call['name']}({call['args']}) with id {call['id']!r}" for call in open[:3])
        raise ValueError(
            create_error_message(
                message=f"The model cannot be called: of the tool calls in its messages, {len(open)} have no "
                f"ToolMessage as answer: {shown}{', ...' if len(open) > 3 else ''}. Answer each, or remove the "
                f"AIMessage that asks.",
                error_code=ErrorCode.INVALID_CHAT_HISTORY,
            )
        )


def answered_ids(messages: Sequence[Any]) -> set[str]:
    """The ids of the tool calls that have an answer among the messages."""
    return {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}


def latest_calls(messages: Sequence[Any]) -> list[ToolCall]:
    """The tool calls of the latest AIMessage; none where there is no such message."""
    return next((message.tool_calls for message in reversed(messages) if isinstance(message, AIMessage)), [])


# -- the nodes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelCall:
    """The node that asks the model how to go on."""

    source: ModelSource
    prompt: Runnable[Any, Any]
    name: str | None

    def call(self, state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        model = self.source.find(state, runtime)
        asked = self._asked(state)
        return self._answer(model.invoke(self.prompt.invoke(asked, config), config), state)

    async def acall(self, state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        model = await self.source.afind(state, runtime)
        asked = self._asked(state)
        return self._answer(await model.ainvoke(await self.prompt.ainvoke(asked, config), config), state)

    def _asked(self, state: Any) -> Any:
        asked = _for_the_model(state)
        check_history(field(asked, "messages") or ())
        return asked

    def _answer(self, reply: Any, state: Any) -> dict[str, Any]:
        """The reply as an update of the state: under the agent's name, and without calls that could not run."""
        if not isinstance(reply, BaseMessage):
            raise TypeError(f"The agent's model gave {reply!r}. It must give a message.")
        left = field(state, "remaining_steps")
        if left is not None and left < 2 and getattr(reply, "tool_calls", None):
            reply = AIMessage(OUT_OF_STEPS, id=reply.id)
        if self.name is not None:
            reply = reply.model_copy(update={"name": self.name})
        return {"messages": [reply]}


@dataclass(frozen=True)
class StructuredCall:
    """The node that has the model put the outcome of the conversation into the form of a schema."""

    source: ModelSource
    schema: Any
    lead: tuple[SystemMessage, ...]

    def call(self, state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        model = bare(self.source.find(state, runtime)).with_structured_output(self.schema)
        return {"structured_response": model.invoke(self._asked(state), config)}

    async def acall(self, state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        model = bare(await self.source.afind(state, runtime)).with_structured_output(self.schema)
        return {"structured_response": await model.ainvoke(self._asked(state), config)}

    def _asked(self, state: Any) -> list[Any]:
        return [*self.lead, *(field(state, "messages") or ())]
