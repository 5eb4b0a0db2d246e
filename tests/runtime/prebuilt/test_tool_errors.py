"""Which errors become messages, and their words."""

from typing import Any

import pytest
from langchain_core.tools import tool
from pydantic import ValidationError

from runtime.errors import GraphInterrupt, mark_invalid_resume
from runtime.prebuilt.tool_errors import ErrorPolicy, ToolInvocationError, explain_arguments

CALL: Any = {"name": "add", "args": {"x": "two"}, "id": "1", "type": "tool_call"}


@tool
def add(x: int, secret: int = 0) -> int:
    """Add."""
    return x + secret


def validation_error() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        add.invoke({"x": "two"})
    return caught.value


def for_value_errors(error: ValueError) -> str:
    return f"so: {error}"


def for_two(error: ValueError | KeyError) -> str:
    return "one of two"


def for_text(error: "LookupError") -> str:
    return "a lookup"


class Handler:
    def __call__(self, error: KeyError) -> str:
        return "an object"


HANDLED = [
    (True, OSError("x"), "OSError('x')"),
    ("sorry", OSError(), "sorry"),
    (LookupError, KeyError("k"), "KeyError('k')"),
    ((OSError, KeyError), KeyError("k"), "KeyError('k')"),
    (lambda error: "any", OSError(), "any"),
    (for_value_errors, ValueError("v"), "so: v"),
    (for_two, KeyError(), "one of two"),
    (for_text, KeyError(), "a lookup"),
    (Handler(), KeyError(), "an object"),
]


@pytest.mark.parametrize(("handling", "error", "words"), HANDLED)
def test_a_handled_error_becomes_a_message(handling, error, words):
    message = ErrorPolicy(handling).answer(error, CALL)
    assert words in message.content
    assert (message.status, message.name, message.tool_call_id) == ("error", "add", "1")


@pytest.mark.parametrize("handling", [False, None, "", (), LookupError, for_value_errors, for_two, explain_arguments])
def test_an_error_that_is_not_handled_is_raised(handling):
    with pytest.raises(OSError, match="disk"):
        ErrorPolicy(handling).answer(OSError("disk"), CALL)


def test_control_flow_is_never_handled():
    with pytest.raises(GraphInterrupt):
        ErrorPolicy(True).answer(GraphInterrupt(), CALL)


def test_an_answer_that_does_not_fit_its_interrupt_is_never_handled():
    error = validation_error()
    mark_invalid_resume(error)
    with pytest.raises(ValidationError):
        ErrorPolicy(True).answer(error, CALL)


def of_int(error: int) -> str:
    return ""


def of_mixture(error: int | ValueError) -> str:
    return ""


@pytest.mark.parametrize("handler", [of_int, of_mixture])
def test_a_handler_of_no_exceptions_is_refused(handler):
    with pytest.raises(ValueError, match="exceptions"):
        ErrorPolicy(handler)


def test_an_invocation_error_lists_the_models_mistakes():
    error = ToolInvocationError("add", validation_error(), {"x": "two"}, [{"loc": ("x", 0), "msg": "bad"}])
    assert all(part in str(error) for part in ("'add'", "{'x': 'two'}", "x.0: bad"))
    assert (error.message, error.tool_name, error.tool_kwargs) == (str(error), "add", {"x": "two"})
    assert error.filtered_errors == [{"loc": ("x", 0), "msg": "bad"}]


def test_the_default_explains_wrong_arguments(ask):
    from runtime.prebuilt.tool_node import ToolNode

    (message,) = ask(ToolNode([add]), CALL)
    assert message.status == "error"
    assert "x: Input should be a valid integer" in message.content
