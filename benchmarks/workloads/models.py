"""Messages, and an agent around a model that answers at once."""

import warnings
from typing import Annotated, Any

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import new_thread, state_class


def messages(engine: Engine, size: int) -> Job:
    """A conversation that grows to `size` messages, one a step."""
    from langchain_core.messages import AIMessage

    end = engine.graph.END

    def talk(state: dict[str, Any]) -> dict[str, Any]:
        number = len(state["messages"])
        return {"messages": [AIMessage(content=f"line {number}", id=f"id {number}")]}

    builder = engine.graph.StateGraph(state_class("Talk", {"messages": Annotated[list, engine.graph.add_messages]}))
    builder.add_node("talk", talk)
    builder.add_edge(engine.graph.START, "talk")
    builder.add_conditional_edges("talk", lambda state: "talk" if len(state["messages"]) < size else end)
    graph = builder.compile()

    def run() -> list[Any]:
        said = graph.invoke({"messages": []}, new_thread())["messages"]
        return [len(said), said[-1].content]

    return Job(size, run)


def react(engine: Engine, size: int) -> Job:
    """The prebuilt agent with a model that asks for one tool `size` times and then answers."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool

    class Asking(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "asking"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            answered = sum(isinstance(message, ToolMessage) for message in messages)
            call = {"id": f"call {answered}", "name": "look_up", "args": {"word": f"word {answered}"}}
            reply = AIMessage("", tool_calls=[call]) if answered < size else AIMessage(f"{answered} words are enough")
            return ChatResult(generations=[ChatGeneration(message=reply)])

    @tool
    def look_up(word: str) -> str:
        """What a word means."""
        return f"{word} may mean many things. " * 4

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangGraph 1 tells where this function has moved to
        agent = engine.prebuilt.create_react_agent(Asking(), [look_up])

    def run() -> list[Any]:
        said = agent.invoke({"messages": [("user", "what do they mean?")]}, new_thread())["messages"]
        return [len(said), said[-1].content]

    return Job(size, run)
