"""Each rule: a program that truly goes wrong, what its recording shows, and the mended program in which nothing is."""

import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic import BaseModel

from runtime.graph import add_messages
from runtime.types import RetryPolicy
from workbench import record


class State(TypedDict, total=False):
    x: int
    xs: list[int]
    log: Annotated[list[str], operator.add]
    messages: Annotated[list[Any], add_messages]
    thing: Any


ours = pytest.mark.parametrize("engine", ["runtime"], indirect=True)
"""For rules that need more than LangGraph tells; `rec.missing` names them there."""


@pytest.fixture
def chain(engine):
    """Makes a graph of functions in a row."""

    def make(*nodes, saver=None, **more):
        made = engine.graph.StateGraph(State)
        for node in nodes:
            made.add_node(node.__name__, node, **more)
        for one, other in zip((None, *nodes), nodes, strict=False):
            made.add_edge(one.__name__ if one else "__start__", other.__name__)
        return made.compile(checkpointer=saver)

    return make


@pytest.fixture
def answered(engine):
    """The recording of a run and of the runs that answers make of it."""

    def run(app, *answers):
        rec = record(app, {}, thread="t")
        for answer in answers:
            rec += record(app, engine.types.Command(resume=answer), thread="t")
        return rec

    return run


# -- in place ---------------------------------------------------------------------------------------------------------


@ours
def test_a_node_that_appends_to_its_input_is_found_and_a_retry_of_it_goes_wrong(chain):
    tries = []

    def appends(state):
        state["xs"].append(7)
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError
        return {"xs": state["xs"]}

    rec = record(chain(appends, retry_policy=RetryPolicy(initial_interval=0.001)), {"xs": [1]})
    assert rec.output["xs"] == [1, 7, 7]  # the retry began with what the failed try had left
    (found,) = rec.lint()
    assert (found.code, found.nodes, found.channel, found.step) == ("WB201", ("appends",), "xs", 1)
    assert found.what == "appends changed 'xs' in place: [1] became [1, 7, 7]."

    def adds(state):
        return {"xs": [*state["xs"], 7]}

    assert not record(chain(adds), {"xs": [1]}).lint()


@ours
def test_a_change_in_place_of_a_list_is_lost(chain):
    def appends(state):
        state["xs"].append(7)
        return {}

    rec = record(chain(appends), {"xs": []})
    assert rec.output["xs"] == []
    assert rec.lint().codes == ["WB201"]


@ours
def test_nodes_side_by_side_share_an_object_of_the_users_and_any_may_be_the_one(engine):
    class Basket(BaseModel):
        items: list[str] = []

    def looks(state):
        return {}

    def adds(state):
        state["thing"].items.append("tea")
        return {}

    made = (
        engine.graph.StateGraph(State)
        .add_node(looks)
        .add_node(adds)
        .add_edge("__start__", "looks")
        .add_edge("__start__", "adds")
    )
    rec = record(made.compile(), {"thing": Basket()})
    assert rec.output["thing"].items == ["tea"]  # though nobody wrote it
    (found,) = rec.lint()
    assert found.nodes == ("adds", "looks")
    assert found.what.startswith("adds or looks changed 'thing' in place")


@ours
def test_a_message_that_is_changed_in_a_list_is_found_when_it_is_met_again(chain):
    def edits(state):
        state["messages"][0].content = "never said"
        return {}

    def after(state):
        return {"log": ["after"]}

    for nodes in ([edits, after], [edits]):
        rec = record(chain(*nodes), {"messages": [HumanMessage("hello", id="h")]})
        assert rec.output["messages"][0].content == "never said"  # though nobody wrote it
        (found,) = rec.lint()
        assert (found.code, found.nodes, found.step) == ("WB201", ("edits",), 1)


@ours
def test_a_change_deep_inside_and_in_a_nested_graph_is_told_once(engine, chain):
    def edits(state):
        state["thing"]["rows"][0]["n"] = 2
        return {}

    desk = chain(edits)
    made = engine.graph.StateGraph(State).add_node("desk", desk).add_edge("__start__", "desk").compile()
    (found,) = record(made, {"thing": {"rows": [{"n": 1}]}}).lint()
    assert (found.where, found.channel) == ("desk: edits, superstep 1", "thing")


@ours
def test_the_outermost_object_is_the_tasks_own_and_may_be_changed(chain):
    def counts(state):
        state["x"] += 1
        return state

    rec = record(chain(counts), {"x": 1})
    assert rec.output["x"] == 2
    assert not rec.lint()


@ours
def test_a_reducer_that_changes_its_value_in_place_is_no_nodes_fault(engine):
    class Loose(TypedDict):
        xs: Annotated[list[int], lambda a, b: a.extend(b) or a]

    made = (
        engine.graph.StateGraph(Loose)
        .add_node("a", lambda state: {"xs": [2]})
        .add_edge("__start__", "a")
        .add_node("b", lambda s: {})
    )
    assert not record(made.add_edge("a", "b").compile(), {"xs": [1]}).lint()


# -- effects ----------------------------------------------------------------------------------------------------------

charged: list[str] = []


def charge(item: str) -> str:
    charged.append(item)
    return f"receipt for {item}"


def price_of(item: str) -> int:
    return len(item)


@pytest.fixture
def saver(engine):
    charged.clear()
    return engine.memory.InMemorySaver()


def test_an_effect_before_a_question_happens_again(engine, chain, answered, saver):
    def pays(state):
        receipt = charge("teapot")
        ok = engine.types.interrupt(f"{receipt}: send it?")
        return {"log": [ok]}

    rec = answered(chain(pays, saver=saver), "yes")
    assert charged == ["teapot", "teapot"]
    (found,) = rec.lint()
    assert (found.code, found.nodes) == ("WB202", ("pays",))
    assert "and with it charge(…) (test_after.py:" in found.what


def test_an_effect_behind_the_question_happens_once(engine, chain, answered, saver):
    def pays(state):
        price = price_of("teapot")
        parts = []
        parts.append(f"{price}: pay?")
        ok = engine.types.interrupt(" ".join(parts))
        charge("teapot")
        return {"log": [ok]}

    rec = answered(chain(pays, saver=saver), "yes")
    assert charged == ["teapot"]
    assert not rec.lint()


def test_calls_made_for_their_effect_alone_and_changes_of_what_is_outside_are_effects(engine, chain, answered, saver):
    ledger = {}

    def notes(state):
        charged.append("note")
        ledger["count"] = ledger.get("count", 0) + 1
        return {"log": [engine.types.interrupt("ok?")]}

    (found,) = answered(chain(notes, saver=saver), "yes").lint()
    assert ledger["count"] == 2
    assert "charged.append(…) (test_after.py:" in found.what
    assert "ledger['count'] (test_after.py:" in found.what


def test_a_node_that_waits_still_has_run_once(engine, chain, answered, saver):
    def pays(state):
        charge("teapot")
        return {"log": [engine.types.interrupt("ok?")]}

    assert not answered(chain(pays, saver=saver)).lint()


# -- the order of questions -------------------------------------------------------------------------------------------


@ours
def test_questions_in_another_order_get_each_others_answers(engine, chain, answered, saver):
    asked = [["name?", "age?"], ["age?", "name?"], ["age?", "name?"]]

    def asks(state):
        order = asked.pop(0)
        given = {question: engine.types.interrupt(question) for question in order}
        return {"log": [f"{question} {given[question]}" for question in sorted(given)]}

    rec = answered(chain(asks, saver=saver), "Ann", "41")
    assert rec.output["log"] == ["age? Ann", "name? 41"]
    (found,) = rec.lint()
    assert (found.code, found.nodes) == ("WB203", ("asks",))
    assert "first asked “name?”; when it ran again, “age?” stood in its place" in found.what


@ours
def test_questions_in_one_order_and_one_asked_again_are_no_finding(engine, chain, answered, saver):
    def asks(state):
        name = engine.types.interrupt("name?")
        age = engine.types.interrupt("age?")
        while not age.isdecimal():
            age = engine.types.interrupt("age?")
        return {"log": [name, age]}

    rec = answered(chain(asks, saver=saver), "Ann", "old", "41")
    assert rec.output["log"] == ["Ann", "41"]
    assert not rec.lint()


# -- tool calls -------------------------------------------------------------------------------------------------------


def calls(id):
    return AIMessage("", id=f"m{id}", tool_calls=[{"name": "look_up", "args": {"n": 1}, "id": id}])


def strict_model(state):
    """Answers as a provider does: it refuses a conversation in which a tool call has no answer."""
    waiting = set()
    for message in state["messages"]:
        waiting |= {call["id"] for call in getattr(message, "tool_calls", ())}
        waiting -= {getattr(message, "tool_call_id", None)}
    if waiting:
        raise ValueError(f"no tool message for {waiting}")
    return {"messages": [AIMessage("done", id="last")]}


def test_a_tool_call_that_the_conversation_passes_without_an_answer(chain):
    def agent(state):
        return {"messages": [calls("c1")]}

    def person(state):
        return {"messages": [HumanMessage("no, stop", id="h")]}

    rec = record(chain(agent, person, strict_model), {}, raise_errors=False)
    assert isinstance(rec.error, ValueError)
    (found,) = rec.lint()
    assert (found.code, found.nodes, found.channel, found.step) == ("WB204", ("person",), "messages", 2)
    assert "The tool call look_up(n=1) in 'messages' has no tool message" in found.what

    def tools(state):
        return {"messages": [ToolMessage("refused", tool_call_id="c1", id="t")]}

    mended = record(chain(agent, tools, person, strict_model), {})
    assert mended.output["messages"][-1].content == "done"
    assert not mended.lint()


def test_a_thread_that_ends_with_an_open_call_fails_when_it_goes_on(chain, saver):
    def agent(state):
        return {"messages": [calls("c1")]}

    rec = record(chain(agent, saver=saver), {}, thread="t")
    assert rec.lint().codes == ["WB204"]
    assert not record(chain(agent), {}).lint()  # nothing goes on here
    on = record(chain(strict_model, saver=saver), {"messages": [("user", "hello?")]}, thread="t", raise_errors=False)
    assert isinstance(on.error, ValueError)


def test_a_call_that_waits_for_a_person_is_still_to_be_answered(engine, chain, saver):
    def agent(state):
        return {"messages": [calls("c1")]}

    def tools(state):
        return {"messages": [ToolMessage(engine.types.interrupt("may I?"), tool_call_id="c1", id="t")]}

    assert not record(chain(agent, tools, saver=saver), {}, thread="t").lint()


# -- what no checkpoint holds -----------------------------------------------------------------------------------------


def test_a_value_that_no_checkpoint_holds_runs_without_a_saver_and_fails_with_one(chain, saver):
    def opens(state):
        return {"thing": threading.Lock()}

    rec = record(chain(opens), {})
    assert rec.status == "done"
    (found,) = rec.lint()
    assert (found.code, found.nodes, found.channel, found.step) == ("WB205", ("opens",), "thing", 1)
    assert "lock" in found.what
    with pytest.raises(Exception, match="lock"):
        record(chain(opens, saver=saver), {}, thread="t")

    def names(state):
        return {"thing": {"path": "a.txt"}}

    assert not record(chain(names, saver=saver), {}, thread="t").lint()


# -- growth -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def rounds(engine):
    """Makes a graph of one node that runs so often."""

    def make(node, many, state=State):
        made = engine.graph.StateGraph(state).add_node("agent", node).add_edge("__start__", "agent")
        return made.add_conditional_edges("agent", lambda s: "__end__" if s["x"] >= many else "agent").compile()

    return make


def test_a_history_that_only_grows_fills_any_window(rounds):
    def agent(state):
        if len(state.get("messages", [])) > 25:
            raise ValueError("the model's window is full")
        return {"x": state["x"] + 1, "messages": [AIMessage("hm", id=f"m{state['x']}")]}

    rec = record(rounds(agent, 40), {"x": 0}, raise_errors=False)
    assert "window is full" in str(rec.error)
    (found,) = rec.lint()
    assert (found.code, found.nodes, found.channel) == ("WB206", ("agent",), "messages")
    assert "grew with each of 26 rounds of agent, from 1 to 26 parts" in found.what


def test_a_history_that_is_trimmed_is_no_finding(rounds):
    class Short(TypedDict):
        x: int
        messages: Annotated[list[Any], lambda old, new: [*old, *new][-5:]]

    def agent(state):
        return {"x": state["x"] + 1, "messages": [state["x"]]}

    rec = record(rounds(agent, 40, Short), {"x": 0})
    assert len(rec.output["messages"]) == 5
    assert not rec.lint()


def test_a_short_run_that_adds_to_a_list_is_no_finding(rounds):
    def agent(state):
        return {"x": state["x"] + 1, "log": ["again"]}

    assert not record(rounds(agent, 5), {"x": 0}).lint()


# -- the recursion limit ----------------------------------------------------------------------------------------------


def counts(state):
    return {"x": state["x"] + 1}


def test_a_run_that_reached_the_recursion_limit_or_came_near_it(rounds):
    failed = record(rounds(counts, 50), {"x": 0}, {"recursion_limit": 10}, raise_errors=False)
    assert type(failed.error).__name__ == "GraphRecursionError"
    assert [one.what for one in failed.lint()] == ["The run reached its recursion limit of 10: it took 10 supersteps."]
    (near,) = record(rounds(counts, 8), {"x": 0}, {"recursion_limit": 10}).lint()
    assert (near.code, near.nodes) == ("WB207", ("agent",))
    assert near.what == "The run came near its recursion limit of 10: it took 8 supersteps."
    assert not record(rounds(counts, 5), {"x": 0}, {"recursion_limit": 10}).lint()


def test_a_loop_that_minds_what_is_left_ends_by_itself(engine):
    class Minds(TypedDict):
        x: int
        left: engine.managed.RemainingSteps

    made = engine.graph.StateGraph(Minds).add_node("agent", counts).add_edge("__start__", "agent")
    app = made.add_conditional_edges("agent", lambda s: "__end__" if s["left"] < 3 else "agent").compile()
    rec = record(app, {"x": 0}, {"recursion_limit": 20})
    assert rec.status == "done"
    assert not rec.lint()


def test_a_straight_run_comes_near_no_limit(chain):
    def first(state):
        return {}

    def second(state):
        return {}

    assert not record(chain(first, second), {"x": 1}, {"recursion_limit": 4}).lint()


# -- where ------------------------------------------------------------------------------------------------------------


def test_a_comment_in_the_node_silences_a_rule(engine, chain, answered, saver):
    def pays(state):
        charge("teapot")  # noqa: WB202
        return {"log": [engine.types.interrupt("ok?")]}

    assert not answered(chain(pays, saver=saver), "yes").lint()


# -- the other engine --------------------------------------------------------------------------------------------------


def test_what_langgraph_does_not_tell_the_rules_about_is_said(engine, chain, saver):
    """A changed input and questions in another order: found in our runs; of LangGraph's, `missing` names the rules."""
    orders = iter(["ab", "ba"])

    def asks(state):
        state["xs"].append(7)
        for question in next(orders):
            engine.types.interrupt(question)

    app = chain(asks, saver=saver)
    rec = record(app, {"xs": []}, thread="t")
    rec += record(app, engine.types.Command(resume="first"), thread="t")
    assert {"WB201", "WB203"} & set(rec.lint().codes) == ({"WB201", "WB203"} if engine.ours else set())
    assert any("WB201 and WB203 are silent" in sentence for sentence in rec.missing) is not engine.ours
