"""Which errors of a tool become messages to the model, and what those say.

Control flow (interrupts, drains, commands for the parent) and answers that do not fit their interrupt are no errors
of a tool. They pass through every policy.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from pydantic import ValidationError

from runtime._annotations import signature
from runtime.errors import GraphBubbleUp, is_invalid_resume

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall
    from pydantic_core import ErrorDetails

__all__ = ("ErrorPolicy", "Handling", "ToolInvocationError", "explain_arguments", "passes_through")

# The model reads these: each says what happened and what to do next.
INVALID_TOOL_NAME_ERROR_TEMPLATE = (
    "There is no tool named '{requested_tool}'. The tools that can be called: {available_tools}."
)
TOOL_CALL_ERROR_TEMPLATE = "The call failed: {error}\nCorrect the call, or go on without it."
TOOL_EXECUTION_ERROR_TEMPLATE = (
    "The tool '{tool_name}' failed, called with {tool_kwargs}:\n{error}\nCorrect the call, or go on without it."
)
TOOL_INVOCATION_ERROR_TEMPLATE = (
    "The arguments {tool_kwargs} do not fit the tool '{tool_name}':\n{error}\nCall it again with arguments that fit."
)


class ToolInvocationError(ToolException):
    """The arguments that the model gave do not fit the tool. `str()` says which, in words meant for the model.

    `filtered_errors` are the problems without those of injected arguments, which the model knows nothing of.
    """

    def __init__(
        self,
        tool_name: str,
        source: ValidationError,
        tool_kwargs: dict[str, Any],
        filtered_errors: list[ErrorDetails] | None = None,
    ) -> None:
        problems = str(source) if filtered_errors is None else _in_lines(filtered_errors)
        self.message = TOOL_INVOCATION_ERROR_TEMPLATE.format(
            tool_name=tool_name, tool_kwargs=tool_kwargs, error=problems
        )
        self.tool_name = tool_name
        self.tool_kwargs = tool_kwargs
        self.source = source
        self.filtered_errors = filtered_errors
        super().__init__(self.message)


def _in_lines(errors: Sequence[ErrorDetails]) -> str:
    return "\n".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in errors)


def passes_through(error: BaseException) -> bool:
    """True for what no policy may turn into a message."""
    return isinstance(error, GraphBubbleUp) or is_invalid_resume(error)


def explain_arguments(error: ToolInvocationError) -> str:
    """The default policy: wrong arguments are explained to the model, all other errors are raised."""
    return error.message


Handling = bool | str | Callable[..., str] | type[Exception] | tuple[type[Exception], ...]
"""What `handle_tool_errors` may be; `ErrorPolicy` says what each means."""


class ErrorPolicy:
    """What to tell the model about an error, or that it is to be raised.

    True: all errors, shown by `repr`. A text: all errors, that text. An exception class or a tuple of them: those.
    A function: what it says, for the types that its first parameter is annotated with (any when it is not). Anything
    false: none. ValueError for a function whose annotation is no exception.
    """

    def __init__(self, handling: Handling) -> None:
        self.handling = handling
        self.types = _handled_types(handling)

    def answer(self, error: Exception, call: ToolCall) -> ToolMessage:
        """The message for an error of the tool; raises the error when it is not handled."""
        if passes_through(error) or not isinstance(error, self.types):
            raise error
        return self._message(error, call)

    def answer_for_wrapper(self, error: Exception, call: ToolCall) -> ToolMessage:
        """The same for an error of a wrapper, whose type matters only to the default policy."""
        if passes_through(error) or not self.handling:
            raise error
        if self.handling is explain_arguments and not isinstance(error, ToolInvocationError):
            raise error
        return self._message(error, call)

    def _message(self, error: Exception, call: ToolCall) -> ToolMessage:
        handling = self.handling
        if isinstance(handling, str):
            text = handling
        elif callable(handling) and not isinstance(handling, type):
            text = handling(error)
        else:
            text = TOOL_CALL_ERROR_TEMPLATE.format(error=repr(error))
        return ToolMessage(content=text, name=call["name"], tool_call_id=call["id"], status="error")


def _handled_types(handling: Handling) -> tuple[type[Exception], ...]:
    if not handling:
        return ()
    if isinstance(handling, tuple):
        return handling
    if isinstance(handling, type):
        return (handling,)
    return _types_of_first_parameter(handling) if callable(handling) else (Exception,)


def _types_of_first_parameter(handler: Callable[..., str]) -> tuple[type[Exception], ...]:
    first = next(iter(signature(handler).parameters), None)
    function = handler if inspect.isroutine(handler) else type(handler).__call__
    annotation = get_type_hints(function).get(first) if first else None
    if annotation is None:
        return (Exception,)
    union = get_origin(annotation) in (Union, types.UnionType)
    found = get_args(annotation) if union else (annotation,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in found):
        raise ValueError(
            f"A tool error handler says by its annotation which exceptions it takes; {annotation!r} is not made of "
            f"exceptions. Write for instance: def handler(error: ValueError | TypeError) -> str"
        )
    return tuple(found)
