"""A thread in PostgreSQL tells the same as one in memory: forks, nested graphs, failures, every durability."""

import operator
from typing import Annotated, Any, TypedDict

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.overlay import Overlay
from runtime.graph import START, StateGraph
from runtime.types import Command, Send, interrupt
from tests.runtime.checkpoint.postgres.build import thread


class State(TypedDict):
    log: Annotated[list[str], operator.add]
    left: int
    note: str


def outer(saver: Any) -> Any:
    """A nested graph that asks, a branch that sends, and a loop."""
    inner = StateGraph(State).add_node("ask", lambda state: {"log": [interrupt("?")], "note": "asked"})
    inner = inner.add_node("say", lambda state: {"log": ["said"]}).add_edge(START, "ask").add_edge("ask", "say")
    graph = StateGraph(State).add_node("inner", inner.compile())
    graph.add_node("turn", lambda state: {"log": [f"turn {state['left']}"], "left": state["left"] - 1})
    graph.add_node("work", lambda sent: {"log": [f"work {sent}"]})
    graph.add_edge(START, "turn").add_edge("turn", "inner")

    def on(state: State) -> Any:
        return "turn" if state["left"] else [Send("work", 1), Send("work", 2)]

    return graph.add_conditional_edges("inner", on, ["turn", "work"]).compile(checkpointer=saver)


def told(history: list[Any]) -> list[Any]:
    """What a history says but for ids and times."""
    where = operator.itemgetter("step", "source")
    return [(each.values, each.next, where(each.metadata), [i.value for i in each.interrupts]) for each in history]


def play(saver: Any, invoke: Any, history: Any, durability: str) -> list[Any]:
    """A run with two questions, a fork from the middle of it, and what is left of both."""
    graph = outer(saver)
    invoke(graph, {"log": ["in"], "left": 2, "note": "long " * 200}, thread(), durability=durability)
    invoke(graph, Command(resume="yes"), thread(), durability=durability)
    seen = [told(history(graph, thread()))]
    past = [each for each in history(graph, thread()) if each.next == ("inner",)][-1]
    fork = graph.update_state(past.config, {"log": ["edited"], "note": ""})
    invoke(graph, None, fork, durability=durability)
    invoke(graph, Command(resume="no"), thread(), durability=durability)
    return [*seen, told(history(graph, thread())), graph.get_state(thread(), subgraphs=True).values]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_thread_with_a_fork_and_a_nested_graph(driven: Any, durability: str):
    memory = play(
        InMemorySaver(),
        lambda graph, *args, **kw: graph.invoke(*args, **kw),
        lambda graph, config: list(graph.get_state_history(config)),
        durability,
    )
    assert play(driven.saver, driven.invoke, driven.history, durability) == memory


def test_a_thread_is_explored_over_a_database_that_is_only_read(driven: Any, rows: Any):
    graph = outer(driven.saver)
    driven.invoke(graph, {"log": ["in"], "left": 1, "note": ""}, thread())
    look = "SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM checkpoint_{} AS t"
    tables = ("blobs", "writes")
    before = [rows(look.format(table)) for table in tables], rows("SELECT * FROM checkpoints")
    over = outer(Overlay(driven.saver, InMemorySaver()))
    out = driven.invoke(over, Command(resume="yes"), thread())
    assert out["log"] == ["in", "turn 1", "in", "turn 1", "yes", "said", "work 1", "work 2"]
    assert ([rows(look.format(table)) for table in tables], rows("SELECT * FROM checkpoints")) == before
