"""A node that checks a model's tool calls against schemas and runs nothing. Deprecated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, create_schema_from_function
from langchain_core.utils.pydantic import is_basemodel_subclass
from pydantic import BaseModel, ValidationError
from pydantic.v1 import BaseModel as BaseModelV1
from pydantic.v1 import ValidationError as ValidationErrorV1

from runtime.warnings import LangGraphDeprecatedSinceV10

__all__ = ("ValidationNode",)

Schema = type[BaseModel] | type[BaseModelV1]
FormatError = Callable[[BaseException, ToolCall, Schema], str]


def _explain(error: BaseException, call: ToolCall, schema: Schema) -> str:
    return f"{error!r}\n\nCorrect all of these, then answer again."


class ValidationNode(Runnable[Any, Any]):
    """Deprecated: `ToolNode` checks arguments itself.

    Answers each tool call of the last AIMessage with a ToolMessage: the arguments as JSON when they fit the schema of
    that name, else what `format_error` says, marked `is_error` in `additional_kwargs`. Schemas are pydantic models,
    tools, or functions. A list of messages is answered by a list, a dict by a dict.
    """

    def __init__(
        self,
        schemas: Sequence[BaseTool | Schema | Callable[..., Any]],
        *,
        format_error: FormatError | None = None,
        name: str = "validation",
        tags: list[str] | None = None,
    ) -> None:
        warnings.warn(
            "ValidationNode is deprecated. ToolNode tells the model about arguments that do not fit.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        self.name = name
        self.tags = tags
        self._format_error = format_error or _explain
        self.schemas_by_name: dict[str, Schema] = dict(_named_schema(given) for given in schemas)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Check the calls. ValueError when the last message is no AIMessage; KeyError for a call without a schema."""
        messages = input if isinstance(input, list) else _messages_of(input)
        if not messages:
            raise ValueError(f"The validation node '{self.name}' was given no messages.")
        message = messages[-1]
        if not isinstance(message, AIMessage):
            raise ValueError(
                f"The validation node '{self.name}' checks the tool calls of the last message, which must be an "
                f"AIMessage, not {type(message).__name__}."
            )
        answers = [self._checked(call) for call in message.tool_calls]
        return answers if isinstance(input, list) else {"messages": answers}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The same; nothing here waits."""
        return self.invoke(input, config, **kwargs)

    def _checked(self, call: ToolCall) -> ToolMessage:
        schema = self.schemas_by_name[call["name"]]
        try:
            return ToolMessage(_parsed(schema, call["args"]), name=call["name"], tool_call_id=call["id"])
        except (ValidationError, ValidationErrorV1) as error:
            return ToolMessage(
                self._format_error(error, call, schema),
                name=call["name"],
                tool_call_id=call["id"],
                additional_kwargs={"is_error": True},
            )


def _messages_of(state: Any) -> list[Any]:
    found = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return found or []


def _parsed(schema: Schema, args: Mapping[str, Any]) -> str:
    if issubclass(schema, BaseModel):
        return schema.model_validate(args).model_dump_json()
    return schema(**args).json()


def _named_schema(given: Any) -> tuple[str, Schema]:
    if isinstance(given, BaseTool):
        if not isinstance(given.args_schema, type):
            raise ValueError(
                f"Tool '{given.name}' has no pydantic model as args_schema ({given.args_schema!r}), so its calls "
                f"cannot be checked."
            )
        return given.name, given.args_schema
    if isinstance(given, type) and is_basemodel_subclass(given):
        return given.__name__, given
    if callable(given) and not isinstance(given, type):
        return given.__name__, create_schema_from_function(given.__name__, given)
    raise ValueError(f"A schema of a validation node is a pydantic model, a tool or a function, not {given!r}.")
