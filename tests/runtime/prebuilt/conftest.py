"""A tool node without a graph: the config that a graph would hand to it, and a turn of it."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from runtime.runtime import Runtime


@pytest.fixture
def config():
    """The config of a task, as far as a tool node looks at it; keywords go to its Runtime."""
    return lambda **fields: {"configurable": {"__pregel_runtime": Runtime(**fields)}}


@pytest.fixture
def ask(colour, config):
    """Run a tool node on these calls, in the colour of the test, and give its messages."""

    def ask(node: Any, *calls: Any, **state: Any) -> list[Any]:
        answer = colour.invoke(node, {"messages": [AIMessage("", tool_calls=list(calls))], **state}, config())
        return answer["messages"]

    return ask
