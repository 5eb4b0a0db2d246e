"""A chat model that says what a test has written down, and the agent around it."""

import warnings
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from runtime.prebuilt.chat_agent_executor import create_react_agent
from runtime.warnings import LangGraphDeprecatedSinceV10


class Scripted(BaseChatModel):
    """Says its replies one after the other, the last one again and again, and keeps what it was asked."""

    replies: list[Any]
    asked: list[Any]
    tools: list[Any]

    @property
    def _llm_type(self):
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, tools=(), **kwargs):
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append([message.content for message in messages])
        self.tools.append([described.get("name", described["type"]) for described in tools])
        message = AIMessage(reply) if isinstance(reply, str) else calls(*reply)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[t if isinstance(t, dict) else {"type": "function", "name": t.name} for t in tools])

    def with_structured_output(self, schema, **kwargs):
        def fill(messages):
            self.asked.append([message.content for message in messages])
            return {schema["title"]: len(messages)}

        return RunnableLambda(fill)


def scripted(*replies):
    """The model with replies of its own: text, or a list of (tool, arguments)."""
    return Scripted(replies=list(replies) or ["done"], asked=[], tools=[])


def calls(*asked):
    """A message that asks for these tools; the ids of the calls are "add-0", "add-1" and so on."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": f"{name}-{n}"} for n, (name, args) in enumerate(asked)]
    )


def agent_of(model, tools=(), **options):
    """An agent, without the warning that it is an old way to make one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)
        return create_react_agent(model, tools, **options)


@tool
def add(x: int) -> int:
    """Add one."""
    return x + 1


@tool(return_direct=True)
def final(x: int) -> int:
    """Give the answer itself."""
    return x


HELLO = {"messages": [("user", "hello")]}


def said(answer):
    """The contents of the messages."""
    return [message.content for message in answer["messages"]]
