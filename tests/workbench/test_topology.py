import itertools
import operator
from typing import Annotated, Literal, TypedDict

import pytest

from workbench import topology
from workbench.topology import END, START, Edge, Join


class State(TypedDict, total=False):
    x: Annotated[list, operator.add]
    y: int


def node(state: State) -> dict:
    return {}


async def slow(state: State) -> dict:
    return {}


def builder(engine, *names, **special):
    graph = engine.graph.StateGraph(State)
    for name in names:
        graph.add_node(name, special.get(name, node))
    graph.add_edge(START, names[0])
    return graph


def edges_of(graph, source):
    return [edge for edge in topology.of(graph).edges if edge.source == source]


def test_two_answers_for_one_target_are_both_kept(engine):
    graph = builder(engine, "grade", "publish", "rewrite")
    answers = {"good": "publish", "fair": "publish", "poor": "rewrite"}
    graph.add_conditional_edges("grade", lambda s: "good", answers)
    assert [(edge.target, edge.labels) for edge in edges_of(graph.compile(), "grade")] == [
        ("publish", ("good", "fair")),
        ("rewrite", ("poor",)),
    ]


def test_an_answer_that_is_the_targets_name_needs_no_label(engine):
    graph = builder(engine, "a", "b")
    graph.add_conditional_edges("a", lambda s: "b", ["b", END])
    assert [edge.labels for edge in edges_of(graph.compile(), "a")] == [(), ()]


def test_a_router_that_declares_nothing_may_reach_every_node_and_the_end(engine):
    graph = builder(engine, "fetch", "clean", "reduce")
    graph.add_edge("fetch", "clean")
    graph.add_edge("clean", "reduce")
    graph.add_conditional_edges("reduce", lambda s: "fetch")
    found = edges_of(graph.compile(), "reduce")
    assert [edge.target for edge in found] == ["fetch", "clean", "reduce", END]
    assert all(edge.open and edge.kind == "conditional" for edge in found)


def test_a_command_annotation_gives_its_targets(engine):
    def desk(state: State) -> engine.types.Command[Literal["billing", "__end__"]]:
        return {}

    graph = builder(engine, "desk", "billing", desk=desk)
    graph.add_edge("billing", END)
    assert [(e.target, e.kind) for e in edges_of(graph.compile(), "desk")] == [("billing", "command"), (END, "command")]


def test_labels_of_destinations_are_kept(engine):
    graph = builder(engine, "desk")
    graph.add_node("billing", node, destinations={"desk": "not mine", END: "done"})
    assert [edge.labels for edge in edges_of(graph, "billing")] == [("not mine",), ("done",)]


def test_a_router_annotated_with_send_sends_to_the_node_that_it_names(engine):
    def fan(state: State) -> list[engine.types.Send]:
        return [Send("search", one) for one in state["x"]]

    Send = engine.types.Send
    graph = builder(engine, "plan", "search", "rank")
    graph.add_conditional_edges("plan", fan)
    assert edges_of(graph.compile(), "plan") == [Edge("plan", "search", "send", router="fan")]


def test_a_router_may_send_to_one_node_and_choose_another(engine):
    def feedback(state: State):
        if state["y"]:
            return "plan"
        return [Send("search", one) for one in state["x"]]

    Send = engine.types.Send
    graph = builder(engine, "plan", "search")
    graph.add_conditional_edges("plan", feedback, ["plan", "search"])
    assert [(e.target, e.kind) for e in edges_of(graph.compile(), "plan")] == [
        ("plan", "conditional"),
        ("search", "send"),
    ]


def test_a_router_with_a_path_map_gets_no_edge_to_the_end(engine):
    graph = builder(engine, "weigh", "trim", "pack")
    graph.add_conditional_edges("weigh", lambda s: "light", {"heavy": "trim", "light": "pack"})
    graph.add_edge("trim", "weigh")
    graph.add_edge("pack", END)
    assert topology.of(graph.compile()).pairs() == {
        (START, "weigh", False), ("weigh", "trim", True), ("weigh", "pack", True), ("trim", "weigh", False),
        ("pack", END, False),
    }  # fmt: skip


def test_a_deferred_node_keeps_its_edges(engine):
    def leap(state: State) -> engine.types.Command[Literal["merge"]]:
        return {}

    graph = builder(engine, "plan", "tell", plan=leap)
    graph.add_node("merge", node, defer=True)
    graph.add_edge("merge", "tell")
    assert topology.of(graph.compile()).pairs() == {
        (START, "plan", False), ("plan", "merge", True), ("merge", "tell", False), ("tell", END, False),
    }  # fmt: skip


def test_a_list_edge_is_a_join(engine):
    graph = builder(engine, "a", "b", "c")
    graph.add_edge(START, "b")
    graph.add_edge(["b", "a"], "c")
    assert topology.of(graph.compile()).joins == (Join("join:b+a:c", ("a", "b"), "c"),)


def test_a_node_without_a_way_out_ends_its_branch(engine):
    assert edges_of(builder(engine, "a").compile(), "a") == [Edge("a", END, implied=True)]


def test_a_node_that_goes_on_by_an_undeclared_command_is_not_said_to_end(engine):
    def jump(state: State):
        return Command(goto=state["y"])

    Command = engine.types.Command
    shape = topology.of(builder(engine, "a", a=jump).compile())
    assert shape.node("a").facts == ("goes on by Command",)
    assert [edge.target for edge in shape.edges] == ["a"]


def test_facts_are_told_in_words(engine):
    graph = engine.graph.StateGraph(State)
    types = engine.types
    policies = {"retry_policy": types.RetryPolicy(max_attempts=3), "cache_policy": types.CachePolicy(ttl=60)}
    graph.add_node("a", slow, timeout=20, defer=True, **policies)
    graph.add_edge(START, "a")
    found = topology.of(graph.compile(interrupt_before=["a"], interrupt_after="*")).node("a")
    assert found.facts == ("retry 3", "cache 60 s", "timeout 20 s")
    assert found.deferred
    assert found.pauses == ("before", "after")


def test_an_error_handler_is_reached_from_the_node_that_it_guards(engine):
    def sorry(state: State, error) -> dict:
        return {}

    graph = engine.graph.StateGraph(State)
    graph.add_node("a", node, error_handler=sorry)
    graph.add_edge(START, "a")
    shape = topology.of(graph.compile())
    handler = shape.node("__error_handler__a")
    assert (handler.kind, handler.facts) == ("handler", ("error handler sorry",))
    assert Edge("a", handler.id, "error", ("on error",)) in shape.edges


def test_a_default_handler_is_reached_from_every_node(engine):
    graph = builder(engine, "a", "b")
    graph.add_edge("a", "b")
    graph.set_node_defaults(error_handler=lambda state, error: {})
    errors = [edge.source for edge in topology.of(graph.compile()).edges if edge.kind == "error"]
    assert errors == ["a", "b"]


def test_a_node_that_calls_interrupt_asks_a_person(engine):
    def review(state: State):
        return {"y": interrupt("ok?")}

    interrupt = engine.types.interrupt
    shape = topology.of(builder(engine, "a", "b", a=review).compile())
    assert [shape.node(name).asks for name in ("a", "b")] == [True, False]


def test_an_uncompiled_builder_has_the_same_shape(engine):
    graph = builder(engine, "a", "b")
    graph.add_edge("a", "b")
    before = topology.of(graph)
    assert before._replace(name="") == topology.of(graph.compile())._replace(name="")


def test_a_subgraph_is_one_box_with_its_size_and_opens_to_its_nodes(engine):
    inner = builder(engine, "q", "r")
    inner.add_edge("q", "r")
    graph = builder(engine, "sub", "after", sub=inner.compile())
    graph.add_edge("sub", "after")
    app = graph.compile()
    assert topology.of(app).node("sub").facts == ("subgraph, 2 nodes",)
    opened = topology.of(app, xray=True)
    assert [node.id for node in opened.nodes] == [START, "sub:q", "sub:r", "after", END]
    assert {(START, "sub:q"), ("sub:q", "sub:r"), ("sub:r", "after")} <= set(opened.ways())
    assert [group.id for group in opened.groups] == ["sub"]


def test_xray_may_open_one_level_only(engine):
    innermost = builder(engine, "deep")
    inner = builder(engine, "q", q=innermost.compile())
    app = builder(engine, "sub", sub=inner.compile()).compile()
    assert [node.id for node in topology.of(app, xray=1).nodes if node.size] == ["sub:q"]
    assert [node.id for node in topology.of(app, xray=True).nodes if node.within] == ["sub:q:deep"]


def test_a_subgraph_with_several_ways_out_keeps_its_end(engine):
    inner = builder(engine, "q", "r")
    inner.add_conditional_edges("q", lambda s: "r", ["r", END])
    opened = topology.of(builder(engine, "sub", sub=inner.compile()).compile(), xray=True)
    assert "sub:__end__" in [node.id for node in opened.nodes]
    assert ("sub:__end__", END) in set(opened.ways())


def test_a_graph_of_bare_actors_is_drawn_too(engine):
    make, channels = engine.pregel.NodeBuilder, engine.channels
    first = make().subscribe_only("in").do(lambda x: x).write_to("out").build()
    app = engine.pregel.Pregel(
        nodes={"one": first},
        channels={"in": channels.LastValue(int), "out": channels.LastValue(int)},
        input_channels="in",
        output_channels="out",
    )
    assert (START, "one", False) in topology.of(app).pairs()


def test_any_runnable_that_draws_itself_is_drawn():
    from langchain_core.runnables import RunnableLambda

    shape = topology.of(RunnableLambda(lambda x: x) | RunnableLambda(lambda x: x))
    assert [node.id for node in shape.nodes] == ["LambdaInput", "Lambda", "Lambda 2", "LambdaOutput"]


def test_what_is_no_graph_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match="A int is no graph.*Pass what compile"):
        topology.of(5)


def line(length):
    names = [f"n{i}" for i in range(length)]
    nodes = tuple(topology.Node(name, name) for name in names)
    return topology.Topology("line", nodes, tuple(Edge(a, b) for a, b in itertools.pairwise(names)))


def test_focus_keeps_what_is_near_and_counts_what_is_cut_off():
    part = line(10).around(["n5"], 2)
    assert [node.id for node in part.nodes] == ["n3", "n4", "n5", "n6", "n7"]
    assert [node.more for node in part.nodes] == [1, 0, 0, 0, 1]


def test_focus_on_an_unknown_node_names_those_there_are():
    with pytest.raises(KeyError, match="line has no node 'x'. It has n0, n1"):
        line(3).around(["x"])


def test_depth_keeps_what_start_reaches():
    assert [node.id for node in line(10).until(2).nodes] == ["n0", "n1", "n2"]


def test_moves_that_nothing_declares_are_added_as_seen():
    shape = line(3).observed({("n0", "n1"): 5, ("n2", "n0"): 2, ("n0", "elsewhere"): 1})
    assert [edge for edge in shape.edges if edge.kind == "observed"] == [Edge("n2", "n0", "observed", ("seen 2",))]
