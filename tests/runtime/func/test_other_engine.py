"""Tasks of a function that the other engine has finished do not run again: both know a task by the same id."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.engines import engine_of

THREAD = {"configurable": {"thread_id": "t"}}


class Program:
    """A function on a saver of LangGraph's. Its task calls another one, then it asks; `ran` tells which tasks ran."""

    def __init__(self) -> None:
        self.saver = engine_of("langgraph").memory.InMemorySaver()
        self.ran: list[str] = []

    def on(self, engine: Any) -> Any:
        """The function, for this engine."""

        @engine.func.task
        def pay(item: str) -> str:
            self.ran.append("pay")
            return f"paid {item}"

        @engine.func.task
        def order(item: str) -> str:
            self.ran.append("order")
            return str(pay(item).result())

        @engine.func.entrypoint(checkpointer=self.saver)
        def shop(item: str) -> list[str]:
            return [order(item).result(), engine.types.interrupt("send it?")]

        return shop


@pytest.mark.parametrize("first", ["runtime", "langgraph"])
def test_a_thread_that_one_engine_began_is_ended_by_the_other(first: str) -> None:
    pytest.importorskip("langgraph")
    second = engine_of("langgraph" if first == "runtime" else "runtime")
    program = Program()
    program.on(engine_of(first)).invoke("tea", THREAD)
    assert program.on(second).invoke(second.types.Command(resume="yes"), THREAD) == ["paid tea", "yes"]
    assert program.ran == ["order", "pay"]


def test_a_graph_in_a_task_stands_in_the_namespace_of_the_task_and_of_its_callers(engine: Any) -> None:
    graph = engine.graph.StateGraph(dict)
    graph.add_node("agent", lambda state: state).add_edge("__start__", "agent")
    app = graph.compile()

    @engine.func.task
    def asks(item: str) -> Any:
        return app.invoke({"item": item})

    @engine.func.entrypoint()
    def shop(item: str) -> Any:
        return asks(item).result()

    chunks = [*shop.stream("tea", subgraphs=True, stream_mode="updates")]
    assert [re.sub(r":[0-9a-f-]{36}", "", "/".join(ns)) for ns, _ in chunks] == ["shop/asks", "", ""]
