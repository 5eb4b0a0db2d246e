"""The rules for a run that need no more than both engines tell, on runs of both."""

import importlib
import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage

from workbench import record


class State(TypedDict, total=False):
    x: int
    thing: Any
    log: Annotated[list[Any], operator.add]


charged: list[str] = []


def charge(item: str) -> None:
    charged.append(item)


@pytest.fixture
def compiled(engine):
    def make(node, *, again=None, saves=True):
        made = engine.graph.StateGraph(State).add_node("node", node).add_edge("__start__", "node")
        if again is not None:
            made.add_conditional_edges("node", again, ["node", "__end__"])
        saver = importlib.import_module(f"{engine.name}.checkpoint.memory").InMemorySaver()
        return made.compile(checkpointer=saver if saves else None)

    return make


def test_an_effect_before_a_question(engine, compiled):
    def pays(state):
        charge("teapot")
        return {"log": [engine.types.interrupt("send it?")]}

    app = compiled(pays)
    rec = record(app, {}, thread="t") + record(app, engine.types.Command(resume="yes"), thread="t")
    assert rec.lint().codes == ["WB202"]


def test_a_tool_call_without_its_message(compiled):
    def calls(state):
        return {"log": [AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "c"}])]}

    assert record(compiled(calls), {}, thread="t").lint().codes == ["WB204"]


def test_a_value_that_no_checkpoint_holds(compiled):
    assert record(compiled(lambda state: {"thing": threading.Lock()}, saves=False), {"x": 1}).lint().codes == ["WB205"]


def test_growth_and_the_recursion_limit(compiled):
    app = compiled(
        lambda state: {"x": state["x"] + 1, "log": ["again"]},
        again=lambda state: "__end__" if state["x"] > 30 else "node",
        saves=False,
    )
    assert record(app, {"x": 0}).lint().codes == ["WB206"]
    assert record(app, {"x": 0}, {"recursion_limit": 5}, raise_errors=False).lint().codes == ["WB207"]


def test_what_langgraph_does_not_tell_the_rules_about_is_said(engine, compiled):
    """A changed input and questions in another order: found in our runs; of LangGraph's, `missing` names the rules."""
    orders = iter(["ab", "ba"])

    def asks(state):
        state["log"].append("changed in place")
        for question in next(orders):
            engine.types.interrupt(question)

    app = compiled(asks)
    rec = record(app, {"log": ["x"]}, thread="t")
    rec += record(app, engine.types.Command(resume="first"), thread="t")
    assert {"WB201", "WB203"} & set(rec.lint().codes) == ({"WB201", "WB203"} if engine.ours else set())
    assert any("WB201 and WB203 are silent" in sentence for sentence in rec.missing) is not engine.ours


def test_a_clean_run(compiled):
    assert not record(compiled(lambda state: {"x": 2}), {"x": 1}, thread="t").lint()
