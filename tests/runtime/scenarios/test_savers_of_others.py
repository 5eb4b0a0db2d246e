"""A saver that somebody else wrote works as it is: only the contract's methods are called."""

import sqlite3

import pytest

from runtime.graph import START
from runtime.types import Command, Send, interrupt
from tests.runtime.scenarios.build import asked, builder, says, thread


@pytest.fixture(params=["memory", "sqlite"])
def theirs(request):
    """LangGraph's own saver, with its own serializer."""
    if request.param == "memory":
        yield pytest.importorskip("langgraph.checkpoint.memory").InMemorySaver()
        return
    module = pytest.importorskip("langgraph.checkpoint.sqlite")
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    yield module.SqliteSaver(connection)
    connection.close()


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_graph_stops_and_goes_on_from_it(theirs, durability):
    nodes = {"a": says("a"), "gate": lambda s: {"log": [interrupt("go?")]}}
    app = builder(nodes, [(START, "a"), ("a", "gate")]).compile(checkpointer=theirs)
    assert asked(app.invoke({"log": []}, thread(), durability=durability)) == ["go?"]
    assert app.invoke(Command(resume="yes"), thread(), durability=durability) == {"log": ["a", "yes"]}


def test_queued_sends_come_back_from_it(theirs):
    graph = builder({"plan": says(), "work": lambda s: {"log": [s["i"]]}}, [(START, "plan")])
    graph.add_conditional_edges("plan", lambda s: [Send("work", {"i": i}) for i in range(3)], ["work"])
    app = graph.compile(checkpointer=theirs, interrupt_before=["work"])
    app.invoke({"log": []}, thread())
    assert app.get_state(thread()).next == ("work", "work", "work")
    assert app.invoke(None, thread()) == {"log": [0, 1, 2]}
