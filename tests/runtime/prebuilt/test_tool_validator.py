"""`ValidationNode`, which is deprecated and works."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from pydantic import BaseModel
from pydantic.v1 import BaseModel as BaseModelV1

from runtime.prebuilt import ValidationNode
from runtime.warnings import LangGraphDeprecatedSinceV10


class Point(BaseModel):
    x: int
    y: int = 0


class OldPoint(BaseModelV1):
    x: int


@tool
def a_tool(x: int) -> str:
    """Take a number."""
    return ""


def a_function(x: int) -> str:
    """Take a number."""
    return ""


@pytest.fixture
def node():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="ValidationNode"):
        return ValidationNode([Point, OldPoint, a_tool, a_function])


def asks(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "1"}])


@pytest.mark.parametrize("name", ["Point", "OldPoint", "a_tool", "a_function"])
def test_arguments_that_fit_come_back_as_json(colour, node, name):
    (message,) = colour.invoke(node, [asks(name, x="3")])
    assert message.content.replace(" ", "").startswith('{"x":3')
    assert (message.name, message.tool_call_id, message.additional_kwargs) == (name, "1", {})


@pytest.mark.parametrize("name", ["Point", "OldPoint", "a_tool", "a_function"])
def test_arguments_that_do_not_fit_are_explained(colour, node, name):
    (message,) = colour.invoke(node, {"messages": [asks(name, x="three")]})["messages"]
    assert "valid" in message.content
    assert message.additional_kwargs == {"is_error": True}


def test_the_explanation_may_be_ones_own():
    with pytest.warns(LangGraphDeprecatedSinceV10):
        node = ValidationNode([Point], format_error=lambda error, call, schema: f"{call['name']} {schema.__name__}")
    assert node.invoke([asks("Point")])[0].content == "Point Point"


@pytest.mark.parametrize("wrong", [[], {"messages": []}, [HumanMessage("x")], [asks("Point", x=1), HumanMessage("x")]])
def test_the_last_message_must_be_an_ai_message(colour, node, wrong):
    with pytest.raises(ValueError, match="no messages|must be an AIMessage"):
        colour.invoke(node, wrong)


@pytest.mark.parametrize("wrong", [3, "x", {"x": 1}, int])
def test_a_schema_must_be_a_model_a_tool_or_a_function(wrong):
    with pytest.warns(LangGraphDeprecatedSinceV10), pytest.raises(ValueError, match="not"):
        ValidationNode([wrong])
