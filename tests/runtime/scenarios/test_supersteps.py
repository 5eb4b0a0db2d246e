"""Joins, Sends, deferred nodes, limits, streams and state: what a superstep does, seen from outside."""

import asyncio
import dataclasses
import operator
import threading
import time
from typing import Annotated, TypedDict

import pydantic
import pytest

from runtime.config import get_stream_writer
from runtime.errors import GraphRecursionError, InvalidUpdateError
from runtime.events import observe
from runtime.graph import END, START, StateGraph
from runtime.pregel.state import check
from runtime.types import Command, Overwrite, RetryPolicy, Send
from tests.runtime.scenarios.build import Log, builder, says, thread


class Finished:
    """Calls a function for each task that has finished."""

    def __init__(self, task_finished):
        self.task_finished = task_finished


@pytest.mark.parametrize(("edges", "runs_of_c"), [([(["a", "b2"], "c")], 1), ([("a", "c"), ("b2", "c")], 2)])
def test_a_list_edge_waits_for_all_and_single_edges_run_at_each_arrival(colour, edges, runs_of_c):
    nodes = {name: says(name) for name in ("a", "b", "b2", "c")}
    app = builder(nodes, [(START, "a"), (START, "b"), ("b", "b2"), *edges, ("c", END)]).compile()
    assert colour.invoke(app, {"log": []})["log"].count("c") == runs_of_c


def test_a_deferred_node_runs_once_after_all_that_could_still_run(colour):
    graph = builder({name: says(name) for name in ("a", "b", "b2", "b3", "c")}, [(START, "a"), ("a", "b"), ("a", "c")])
    graph.add_node("last", says("last"), defer=True)
    graph.add_edge("b", "b2").add_edge("b3", "last").add_edge("c", "last")
    graph.add_conditional_edges("b2", lambda s: "b3", ["b3", "last"])
    assert colour.invoke(graph.compile(), {"log": []})["log"] == ["a", "b", "c", "b2", "b3", "last"]


def test_sends_run_in_one_superstep_and_their_writes_keep_the_order_of_the_queue(colour):
    def work(state):
        time.sleep(0.01 * (3 - state["i"]))
        return {"log": [state["i"]]}

    graph = builder({"work": work}, [])
    graph.add_conditional_edges(START, lambda s: [Send("work", {"i": i}) for i in range(4)], ["work"])
    assert colour.invoke(graph.compile(), {"log": []})["log"] == [0, 1, 2, 3]


def test_going_on_after_a_failed_send_runs_that_one_alone(colour, saver):
    runs = dict.fromkeys(range(4), 0)

    def work(state):
        runs[state["i"]] += 1
        if state["i"] == 2 and runs[2] == 1:
            time.sleep(0.1)
            raise ValueError("no quota")
        return {"log": [state["i"]]}

    graph = builder({"work": work}, [])
    graph.add_conditional_edges(START, lambda s: [Send("work", {"i": i}) for i in range(4)], ["work"])
    app = graph.compile(checkpointer=saver)
    with pytest.raises(ValueError, match="no quota"):
        colour.invoke(app, {"log": []}, thread())
    assert colour.invoke(app, None, thread())["log"] == [0, 1, 2, 3]
    assert runs == {0: 1, 1: 1, 2: 2, 3: 1}


def test_the_recursion_limit_counts_each_run_for_itself_and_allows_one_less(colour, saver):
    app = builder({n: says(n) for n in "abc"}, [(START, "a"), ("a", "b"), ("b", "c")]).compile(checkpointer=saver)
    for _ in range(3):
        colour.invoke(app, {"log": []}, {**thread(), "recursion_limit": 4})
    with pytest.raises(GraphRecursionError, match="(?s)limit of 2.*c.*GRAPH_RECURSION_LIMIT"):
        colour.invoke(app, {"log": []}, {**thread("v"), "recursion_limit": 2})
    assert colour.invoke(app, {"log": []}, {**thread("v"), "recursion_limit": 4})["log"] == ["a", "b", "a", "b", "c"]


def test_a_retried_node_leaves_nothing_of_its_failed_attempts(colour):
    runs = {"flaky": 0, "steady": 0}

    def flaky(state):
        runs["flaky"] += 1
        if runs["flaky"] < 3:
            raise ConnectionError("try later")
        return {"log": ["flaky"]}

    def steady(state):
        runs["steady"] += 1
        return {"log": ["steady"]}

    graph = builder({"steady": steady}, [(START, "steady"), (START, "flaky")])
    graph.add_node("flaky", flaky, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    assert colour.invoke(graph.compile(), {"log": []})["log"] == ["flaky", "steady"]
    assert runs == {"flaky": 3, "steady": 1}


def test_what_a_node_did_not_return_is_not_part_of_the_state(colour, saver):
    class Items(TypedDict):
        items: list
        n: int

    def careless(state):
        state["items"].append("x")
        state["items"][0]["deep"] = True
        return {"n": 1}

    app = builder({"a": careless}, [(START, "a")], Items).compile(checkpointer=saver)
    mine = [{"deep": False}]
    assert colour.invoke(app, {"items": mine, "n": 0}, thread())["items"] == [{"deep": False}]
    assert mine == [{"deep": False}]
    assert colour.get_state(app, thread()).values["items"] == [{"deep": False}]


def test_a_router_that_changes_its_state_in_place_changes_nothing(colour):
    def careless(state):
        state["log"].append("router")
        return END

    graph = builder({"a": says("a")}, [(START, "a")])
    graph.add_conditional_edges("a", careless)
    assert colour.invoke(graph.compile(), {"log": []})["log"] == ["a"]


def test_a_declared_default_is_what_a_reducer_starts_from(colour):
    @dataclasses.dataclass
    class Sum:
        n: Annotated[int, operator.add] = 10
        other: str = "o"

    class Seeded(pydantic.BaseModel):
        log: Annotated[list, operator.add] = pydantic.Field(default_factory=lambda: ["seed"])
        other: str = "o"

    total = builder({"a": lambda s: {"n": 5}}, [(START, "a")], Sum).compile()
    assert colour.invoke(total, {"other": "x"})["n"] == 15
    assert colour.invoke(total, {"n": 100})["n"] == 105
    seeded = builder({"a": says("a")}, [(START, "a")], Seeded).compile()
    assert colour.invoke(seeded, {"other": "x"})["log"] == ["seed", "a"]


def test_two_writes_to_a_plain_key_fail_and_say_who_wrote(colour):
    class Plain(TypedDict):
        x: int

    nodes = {"a": lambda s: {"x": 1}, "b": lambda s: {"x": 2}}
    app = builder(nodes, [(START, "a"), (START, "b")], Plain).compile()
    with pytest.raises(InvalidUpdateError, match="(?s)^At key 'x', superstep 1.*'a', 'b'.*reducer"):
        colour.invoke(app, {"x": 0})


def test_an_overwrite_replaces_what_was_added_up(colour):
    app = builder({"a": lambda s: {"log": Overwrite(["new"])}, "b": says("b")}, [(START, "a"), (START, "b")]).compile()
    assert colour.invoke(app, {"log": ["old"]})["log"] == ["new"]


def test_a_command_moves_and_static_edges_fire_as_well(colour):
    nodes = {"a": lambda s: Command(update={"log": ["a"]}, goto="c"), "b": says("b"), "c": says("c")}
    app = builder(nodes, [(START, "a"), ("a", "b")]).compile()
    assert colour.invoke(app, {"log": []})["log"] == ["a", "b", "c"]


def test_streams_have_the_shape_that_was_asked_for(colour):
    class N(TypedDict):
        n: int

    def inc(state):
        get_stream_writer()("hi")
        return {"n": state["n"] + 1}

    child = builder({"inc": inc}, [(START, "inc")], N).compile()
    app = builder({"call": lambda s: child.invoke({"n": s["n"]})}, [(START, "call")], N).compile()
    assert colour.stream(app, {"n": 1}, stream_mode="updates") == [{"call": {"n": 2}}]
    assert colour.stream(app, {"n": 1}, stream_mode=["updates"]) == [("updates", {"call": {"n": 2}})]
    triples = colour.stream(app, {"n": 1}, stream_mode=["custom", "updates"], subgraphs=True)
    assert [([part.split(":")[0] for part in ns], mode, item) for ns, mode, item in triples] == [
        (["call"], "custom", "hi"),
        (["call"], "updates", {"inc": {"n": 2}}),
        ([], "updates", {"call": {"n": 2}}),
    ]


def test_what_several_modes_tell_of_one_event_comes_in_turn(colour):
    app = builder({name: says(name) for name in "ab"}, [(START, "a"), (START, "b")]).compile()
    chunks = colour.stream(app, {"log": []}, stream_mode=["tasks", "debug"])
    assert [mode for mode, _ in chunks[:4]] == ["tasks", "debug", "tasks", "debug"]


def test_a_node_that_leaves_its_graph_by_a_command_to_the_parent_has_no_end_in_the_stream(colour):
    child = builder(
        {"leaves": lambda state: Command(graph=Command.PARENT, update={"log": ["out"]})}, [(START, "leaves")]
    )
    app = builder({"child": child.compile()}, [(START, "child")]).compile()
    chunks = [chunk for _, chunk in colour.stream(app, {"log": []}, stream_mode="tasks", subgraphs=True)]
    assert [chunk["name"] for chunk in chunks if "result" in chunk] == ["child"]


def test_a_task_that_a_siblings_failure_cut_off_has_no_end_in_the_stream(saver):
    begun = asyncio.Event()

    async def fails(state):
        await begun.wait()
        raise ValueError("no")

    async def waits(state):
        begun.set()
        await asyncio.sleep(30)

    app = builder({"fails": fails, "waits": waits}, [(START, "fails"), (START, "waits")]).compile(checkpointer=saver)
    ends = []

    async def scenario():
        async for chunk in app.astream({"log": []}, thread(), stream_mode="tasks"):
            ends.extend([chunk["name"]] if "result" in chunk else [])

    with pytest.raises(ValueError, match="no"):
        asyncio.run(scenario())
    assert ends == ["fails"]


def test_a_task_is_told_finished_as_it_ends_and_its_writes_are_still_applied_by_path(colour):
    told = threading.Event()

    def slow(state):
        assert told.wait(10)
        return {"log": ["slow"]}

    app = builder({"a": slow, "b": says("quick")}, [(START, "a"), (START, "b")]).compile()
    order = []
    with observe(Finished(lambda event: (order.append(event.node), told.set() if event.node == "b" else None))):
        assert colour.invoke(app, {"log": []})["log"] == ["slow", "quick"]
    assert order == ["__start__", "b", "a"]


def test_custom_items_reach_the_reader_while_the_node_still_runs():
    events = []

    def node(state):
        get_stream_writer()("before")
        time.sleep(0.05)
        events.append("node ends")
        return {"log": ["x"]}

    app = builder({"a": node}, [(START, "a")]).compile()
    for item in app.stream({"log": []}, stream_mode="custom"):
        events.append(item)
    assert events == ["before", "node ends"]


def test_the_invariants_of_the_state_hold_after_every_superstep(monkeypatch, colour, saver):
    from runtime.pregel import state

    advance = state.State.advance

    def checked(self, step):
        advance(self, step)
        check(self)

    monkeypatch.setattr(state.State, "advance", checked)
    graph = StateGraph(Log)
    for name in ("a", "b", "join"):
        graph.add_node(name, says(name))
    graph.add_node("last", says("last"), defer=True)
    graph.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "join").add_edge("join", "last")
    graph.add_conditional_edges("a", lambda s: [Send("b", {"log": []}), "last"], ["b", "last"])
    assert colour.invoke(graph.compile(checkpointer=saver), {"log": []}, thread())["log"]
