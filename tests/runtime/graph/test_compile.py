"""A compiled state graph: its channels and triggers, and what nodes and routers read and write."""

import dataclasses
import operator
from typing import Annotated, Any

import pydantic
import pytest
from typing_extensions import TypedDict

from runtime.channels import EphemeralValue, LastValueAfterFinish, NamedBarrierValue, NamedBarrierValueAfterFinish
from runtime.graph import END, START, StateGraph
from runtime.managed import RemainingSteps
from runtime.types import Command, Send


class State(TypedDict, total=False):
    a: int
    log: Annotated[list, operator.add]


class Narrow(TypedDict):
    a: int
    extra: str


@dataclasses.dataclass
class Data:
    a: int = 1
    log: Annotated[list, operator.add] = dataclasses.field(default_factory=list)


class Model(pydantic.BaseModel):
    a: int = 1
    log: Annotated[list, operator.add] = []


def node(state):
    return {}


def graph(*names: str, schema: Any = State, **settings: Any) -> StateGraph:
    builder = StateGraph(schema, **settings)
    for name in names:
        builder.add_node(name, node)
    return builder.add_edge(START, names[0])


def seen_by(schema: Any, input: Any, colour: Any, **settings: Any) -> Any:
    """What a node is given for this input."""
    seen = []

    def look(state):
        seen.append(state)

    colour.invoke(StateGraph(schema).add_node("look", look, **settings).add_edge(START, "look").compile(), input)
    return seen[0]


# -- shape ------------------------------------------------------------------------------------------------------------


def test_each_node_has_a_channel_that_wakes_it():
    compiled = graph("x", "y").add_edge("x", "y").compile()
    assert (compiled.nodes["x"].channels, compiled.nodes["x"].triggers) == (["a", "log"], ["branch:to:x"])
    assert compiled.channels["branch:to:x"] == EphemeralValue(Any, guard=False)
    assert [writer({}) for writer in compiled.nodes["x"].writers] == [[], (("branch:to:y", None),)]


def test_start_is_a_hidden_node_that_writes_the_input():
    start = graph("x", input_schema=Narrow).compile().nodes[START]
    assert (start.channels, start.triggers, start.hidden) == (START, [START], True)
    assert start.writers[0]({"a": 1, "log": [2], "extra": "e"}) == [("a", 1), ("extra", "e")]


def test_an_edge_from_several_nodes_is_a_barrier():
    compiled = graph("x", "y", "z").add_edge("x", "y").add_edge(["y", "x"], "z").compile()
    assert compiled.nodes["z"].triggers == ["branch:to:z", "join:y+x:z"]
    assert compiled.channels["join:y+x:z"] == NamedBarrierValue(str, {"x", "y"})
    assert compiled.nodes["y"].writers[-1](None) == (("join:y+x:z", "y"),)


def test_a_deferred_node_waits_in_its_channels():
    builder = graph("x").add_node("late", node, defer=True).add_edge("x", "late").add_edge(["x"], "late")
    channels = builder.compile().channels
    assert isinstance(channels["branch:to:late"], LastValueAfterFinish)
    assert isinstance(channels["join:x:late"], NamedBarrierValueAfterFinish)


def test_edges_to_the_end_write_nothing():
    builder = graph("x", "y").add_edge("x", END).add_edge(["x", "y"], END)
    assert len(builder.compile().nodes["x"].writers) == 1


def test_streams_show_every_key_and_output_those_of_its_schema():
    builder = graph("x", output_schema=Narrow)
    builder._add_schema(TypedDict("T", {"left": RemainingSteps, "secret": int}))
    compiled = builder.compile()
    assert compiled.output_channels == ["a", "extra"]
    assert compiled.stream_channels == ["a", "log", "extra", "secret"]
    assert (compiled.input_channels, compiled.stream_mode, compiled.name) == (START, "updates", "LangGraph")


def test_a_bare_state_is_one_channel():
    compiled = graph("x", schema=Annotated[list, operator.add]).compile()
    assert (compiled.output_channels, compiled.stream_channels, compiled.nodes["x"].channels) == ("__root__",) * 3


def test_the_builder_stays_within_reach():
    builder = graph("x")
    assert builder.compile().builder is builder


def test_writers_come_in_one_order_however_the_edges_were_added():
    names = ["d", "b", "c", "a"]
    builder = graph("x", *names)
    for name in names:
        builder.add_edge("x", name)
    woken = [writer(None)[0][0] for writer in builder.compile().nodes["x"].writers[1:]]
    assert woken == ["branch:to:a", "branch:to:b", "branch:to:c", "branch:to:d"]


# -- what nodes read --------------------------------------------------------------------------------------------------


def test_a_node_reads_the_keys_that_hold_a_value(colour):
    assert seen_by(State, {"a": 1}, colour) == {"a": 1, "log": []}
    assert seen_by(State, {"a": 1, "unknown": 2}, colour, input_schema=Narrow) == {"a": 1}


@pytest.mark.parametrize("schema", [Data, Model])
def test_a_model_is_made_of_what_there_is(colour, schema):
    assert seen_by(schema, {"log": ["x"]}, colour) == schema(a=1, log=["x"])
    assert seen_by(schema, schema(a=5), colour) == schema(a=5)


def test_a_plain_annotated_class_is_read_as_a_dict(colour):
    class Plain:
        a: int

    assert seen_by(Plain, {"a": 1}, colour) == {"a": 1}


def test_a_managed_value_is_read_and_not_written(colour):
    class Steps(TypedDict):
        a: int
        left: RemainingSteps

    assert seen_by(Steps, {"a": 1, "left": 99}, colour)["left"] > 99


def test_a_private_key_is_passed_on_between_nodes(colour):
    def second(state: Narrow):
        return {"log": [state["extra"]]}

    builder = StateGraph(State, output_schema=State).add_node("first", lambda s: {"extra": "hidden"}).add_node(second)
    compiled = builder.add_edge(START, "first").add_edge("first", "second").compile()
    assert colour.invoke(compiled, {"a": 1}) == {"a": 1, "log": ["hidden"]}


def test_a_default_is_what_a_reducer_starts_from(colour):
    seeded = dataclasses.make_dataclass("Seeded", [("n", Annotated[int, operator.add], 10)])
    compiled = StateGraph(seeded).add_node("n5", lambda s: {"n": 5}).add_edge(START, "n5").compile()
    assert colour.invoke(compiled, {}) == {"n": 15}
    assert colour.invoke(compiled, {"n": 100}) == {"n": 105}


# -- routers ----------------------------------------------------------------------------------------------------------


def asked(path, colour, schema=State, answer=None, **settings):
    """What a router is given after a node that answered so."""
    seen = []

    def look(state):
        seen.append(state)
        return END

    look.__annotations__ = dict(path)
    builder = StateGraph(schema).add_node("n", lambda s: answer, **settings).add_edge(START, "n")
    colour.invoke(builder.add_conditional_edges("n", look).compile(), {"a": 1})
    return seen[0]


def test_a_router_reads_the_state_with_its_nodes_own_writes(colour):
    assert asked({}, colour, answer={"a": 2, "log": ["x"]}) == {"a": 2, "log": ["x"]}


def test_a_router_reads_what_its_node_reads(colour):
    assert asked({}, colour, answer={"log": ["x"]}, input_schema=Narrow) == {"a": 1, "log": ["x"]}


def test_the_nodes_raw_answer_lies_under_what_a_router_reads(colour):
    assert asked({}, colour, answer={"a": 2, "unknown": 3}) == {"a": 2, "log": [], "unknown": 3}


def test_a_router_with_a_schema_of_its_own_reads_only_that(colour):
    assert asked({"state": Narrow}, colour, answer={"a": 2, "log": ["x"], "unknown": 3}) == {"a": 2}
    assert asked({"state": Data}, colour, answer={"a": 2, "unknown": 3}) == Data(a=2)


def test_a_router_over_a_model_state_reads_the_model(colour):
    assert asked({}, colour, Data, answer={"a": 2, "unknown": 3}) == Data(a=2)


def test_a_router_on_start_reads_the_whole_state(colour):
    seen = []

    def route(state):
        seen.append(state)
        return ["x", Send("x", {"a": 5})]

    builder = StateGraph(State, input_schema=TypedDict("I", {"a": int})).add_node("x", lambda s: {"log": [s["a"]]})
    compiled = builder.add_conditional_edges(START, route).compile()
    assert colour.invoke(compiled, {"a": 1}) == {"a": 1, "log": [1, 5]}
    assert seen == [{"a": 1, "log": []}]


# -- whole graphs -----------------------------------------------------------------------------------------------------


def test_static_edges_fire_beside_a_command(colour):
    builder = StateGraph(State).add_node("n", lambda s: Command(goto="x")).add_edge(START, "n").add_edge("n", "y")
    builder.add_node("x", lambda s: {"log": ["x"]}).add_node("y", lambda s: {"log": ["y"]})
    assert colour.invoke(builder.compile(), {}) == {"log": ["x", "y"]}


def test_a_list_of_updates_and_commands_is_applied_in_order(colour):
    answer = [{"log": [1]}, Command(update={"log": [2]}), {"log": [3]}]
    compiled = StateGraph(State).add_node("n", lambda s: answer).add_edge(START, "n").compile()
    assert colour.invoke(compiled, {}) == {"log": [1, 2, 3]}
    assert colour.stream(compiled, {}) == [{"n": [{"log": [1]}, {"log": [2]}, {"log": [3]}]}]


def test_a_bare_state_is_updated_by_whatever_is_answered(colour):
    builder = StateGraph(Annotated[list, operator.add]).add_node("n", lambda s: [*s, 2]).add_edge(START, "n")
    assert colour.invoke(builder.compile(), [1]) == [1, 1, 2]


def test_a_barrier_waits_for_all_and_opens_once(colour):
    builder = StateGraph(State)
    for name in "abcd":
        builder.add_node(name, lambda s, name=name: {"log": [name]})
    builder.add_edge(START, "a").add_edge("a", "b").add_edge(START, "c").add_edge(["b", "c"], "d")
    assert colour.invoke(builder.compile(), {}) == {"log": ["a", "c", "b", "d"]}
