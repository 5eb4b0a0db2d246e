"""Drawings: which nodes and edges a graph shows, and that mermaid can read every name."""

import operator
import re
from typing import Annotated, Literal

import pytest
from typing_extensions import TypedDict

from runtime.channels import LastValue, Topic
from runtime.graph import END, START, StateGraph
from runtime.pregel import NodeBuilder, Pregel
from runtime.types import Command


class State(TypedDict, total=False):
    a: int


def node(state):
    return {}


def route(state):
    return END


def graph(*names, edges=(), deferred=(), **conditional):
    """A builder with these nodes, an edge from START to the first, and for each keyword a router after that node."""
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, node, defer=name in deferred)
    for start, end in [(START, names[0]), *edges]:
        builder.add_edge(start, end)
    for source, path_map in conditional.items():
        builder.add_conditional_edges(source, route, path_map)
    return builder


def lines(builder_or_graph, **options):
    """Each edge as `a -> b`, or `a ~> b` where something decides, with its label."""
    drawn = getattr(builder_or_graph, "compile", lambda: builder_or_graph)().get_graph(**options)
    return [
        f"{e.source} {'~' if e.conditional else '-'}> {e.target}{f' ({e.data})' if e.data else ''}" for e in drawn.edges
    ]


TABLE = [
    (graph("x"), ["__start__ -> x", "x -> __end__"]),
    (graph("x", "y", edges=[("x", "y")]), ["__start__ -> x", "x -> y", "y -> __end__"]),
    (graph("x", "y", edges=[("x", "y"), ("x", END)]), ["__start__ -> x", "x -> __end__", "x -> y", "y -> __end__"]),
    (graph("x", "y", "z", edges=[(["x", "y"], "z"), ("x", "y")]), "x -> y, x -> z, y -> z, z -> __end__"),
    (graph("x", "y", x=["y", END]), ["__start__ -> x", "x ~> __end__", "x ~> y", "y -> __end__"]),
    (graph("x", "y", x={"go": "y", "y": "y"}), ["__start__ -> x", "x ~> y (go, y)", "y -> __end__"]),
    (
        graph("x", "y", x={True: "y", "end": END}),
        ["__start__ -> x", "x ~> __end__ (end)", "x ~> y (True)", "y -> __end__"],
    ),
    (graph("x", "y", x=None), ["__start__ -> x", "x ~> __end__", "x ~> x", "x ~> y", "y -> __end__"]),
    (graph("x", "y", x={"go": "y"}, edges=[("x", "y")]), ["__start__ -> x", "x -> y (go)", "y -> __end__"]),
    (graph("x", "lost", edges=[("lost", "x")]), ["__start__ -> x", "lost -> x", "x -> __end__"]),
    (graph("x", "lost"), ["__start__ -> x", "x -> __end__"]),
    (graph("x", "lost", edges=[("lost", END)]), ["__start__ -> x", "lost -> __end__", "x -> __end__"]),
    (graph("x", edges=[("x", "x")]), ["__start__ -> x", "x -> x", "x ~> __end__"]),
    (graph("x", "y", edges=[("x", "y"), ("y", "x")]), ["__start__ -> x", "x -> y", "y -> x", "y ~> __end__"]),
    (graph("x", "y", "z", edges=[("x", "z"), ("x", "y")]), "x -> y, x -> z, y -> __end__, z -> __end__"),
]


@pytest.mark.parametrize(("builder", "expected"), TABLE)
def test_the_edges_of_a_drawing(builder, expected):
    if isinstance(expected, str):
        expected = ["__start__ -> x", *expected.split(", ")]
    assert lines(builder) == expected


def test_two_routers_to_one_node_show_all_their_answers():
    builder = graph("x", "y", x={"go": "y"})
    builder.add_conditional_edges("x", node, {"run": "y"})
    assert "x ~> y (go, run)" in lines(builder)


def test_a_routers_annotation_is_drawn_even_where_it_is_no_map():
    def several(state) -> list[Literal["y", "z"]]:
        return ["y"]

    builder = graph("x", "y", "z", "w").add_conditional_edges("x", several)
    assert [line for line in lines(builder) if line.startswith("x")] == ["x ~> y", "x ~> z"]


def test_the_destinations_of_commands_are_drawn():
    def moves(state) -> Command[Literal["x", "__end__"]]:
        return Command()

    builder = graph("x", "y").add_node("told", node, destinations={"y": "why"}).add_node(moves)
    builder.add_edge("x", "told").add_edge("y", "moves")
    assert {"told ~> y (why)", "moves ~> x", "moves ~> __end__"} <= set(lines(builder))


def test_a_deferred_node_is_drawn_after_what_it_waits_for():
    builder = graph("x", "y", "z", "late", edges=[("x", "late"), ("x", "y"), ("y", "z")], deferred=["late"])
    assert lines(builder) == ["__start__ -> x", "x -> late", "x -> y", "y -> z", "z ~> late", "late -> __end__"]


def test_error_handlers_are_nodes_without_edges_and_no_destination_of_routers():
    builder = graph("x").add_node("y", node, error_handler=node).add_conditional_edges("x", route)
    drawn = builder.compile().get_graph()
    assert list(drawn.nodes) == ["__start__", "x", "__error_handler__y", "y", "__end__"]
    assert not any("handler" in line for line in lines(builder))


def test_metadata_tells_defer_and_breakpoints():
    builder = graph("x", edges=[("x", "late")]).add_node("late", node, defer=True, metadata={"k": 1})
    drawn = builder.compile(interrupt_before=["late"], interrupt_after=["x", "late"]).get_graph()
    assert [node.metadata for node in drawn.nodes.values()] == [
        None,
        {"__interrupt": "after"},
        {"k": 1, "defer": True, "__interrupt": "before,after"},
        None,
    ]


def test_a_node_carries_its_runnable():
    compiled = graph("x").compile()
    drawn = compiled.get_graph()
    assert drawn.nodes["x"].data is compiled.nodes["x"].bound
    assert drawn.to_json()["nodes"][0]["data"]["name"] == "__start__"


def test_a_graph_of_channels_is_drawn_from_writer_to_reader():
    one = NodeBuilder().subscribe_only("in").do(node).write_to("mid")
    two = NodeBuilder().subscribe_to("mid").do(node).write_to("out")
    channels = {"in": LastValue(int), "mid": Topic(int), "out": LastValue(int)}
    pregel = Pregel(nodes={"one": one, "two": two}, channels=channels, input_channels="in", output_channels="out")
    assert list(pregel.get_graph().nodes) == ["one", "two", "__start__", "__end__"]
    assert lines(pregel) == ["__start__ -> one", "one -> two", "two -> __end__"]


# -- xray -------------------------------------------------------------------------------------------------------------


def around(inner, **conditional):
    builder = StateGraph(State).add_node("p", node).add_node("child", inner).add_node("q", node)
    builder.add_edge(START, "p").add_edge("p", "child")
    for source, path_map in conditional.items():
        builder.add_conditional_edges(source, route, path_map)
    return builder if conditional else builder.add_edge("child", "q")


CHAIN = graph("a", "b", edges=[("a", "b")]).compile()
FORK = (
    StateGraph(State).add_node("a", node).add_node("b", node).add_conditional_edges(START, route, ["a", "b"]).compile()
)


def test_an_inner_graph_takes_the_place_of_its_node():
    drawn = around(CHAIN).compile().get_graph(xray=True)
    assert list(drawn.nodes) == ["__start__", "p", "q", "__end__", "child:a", "child:b"]
    assert lines(around(CHAIN), xray=True) == [
        "__start__ -> p",
        "child:b -> q",
        "p -> child:a",
        "q -> __end__",
        "child:a -> child:b",
    ]


def test_the_ends_of_an_inner_graph_stay_where_ways_part():
    assert {"p -> child:__start__", "child:__start__ ~> child:b", "child:__end__ -> q"} <= set(
        lines(around(FORK), xray=True)
    )


def test_a_router_after_an_inner_graph_starts_at_its_end():
    assert "child:b ~> p (back)" in lines(around(CHAIN, child={"back": "p", "q": "q"}), xray=True)


def test_a_number_opens_so_many_levels():
    twice = around(around(CHAIN).compile()).compile()
    assert "child:child" in twice.get_graph(xray=1).nodes
    assert "child:child:a" in twice.get_graph(xray=2).nodes
    assert "child" in twice.get_graph().nodes


def test_lost_nodes_of_an_inner_graph_do_not_keep_its_ends():
    inner = graph("a", "lost").compile()
    assert "p -> child:a" in lines(around(inner), xray=True)


# -- mermaid ----------------------------------------------------------------------------------------------------------


def mermaid(builder, **options):
    return builder.compile().get_graph(**options).draw_mermaid(with_styles=True)


@pytest.mark.parametrize(
    "name", ["parse [json]", "route {a, b}", "call f(x)", 'say "x"', "a <b> & c;", "#1", "-x-", "`x`"]
)
def test_a_name_with_mermaids_own_signs_is_escaped(name):
    line = next(line for line in mermaid(graph(name)).splitlines() if re.match(r"\t\S*\(", line) and "__" not in line)
    label = line.partition("(")[2].rpartition(")")[0]
    assert not re.search(r"[\[\](){}|\"<>`;#]", re.sub(r"#\d+;", "", label))
    assert re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label) == name


def test_a_label_with_arrows_is_escaped():
    text = mermaid(graph("x", "y", x={"a-b --> [c]": "y"}))
    assert "x -. &nbsp;a-b #45;#45;#62; #91;c#93;&nbsp; .-> y;" in text


def test_plain_names_and_labels_are_left_as_they_are():
    text = mermaid(graph("node_1", "größe x", node_1={"it's so, no?": "größe x"}))
    assert "(größe x)" in text
    assert "&nbsp;it's so, no?&nbsp;" in text


def test_a_node_named_after_a_keyword_gets_another_id():
    text = mermaid(graph("end", "class", edges=[("end", "class")]))
    assert {"\tend_1(end)", "\tclass_1(class)", "\tend_1 --> class_1;"} <= set(text.splitlines())


def test_two_boxes_of_one_name_are_told_apart():
    text = mermaid(around(around(CHAIN).compile()), xray=True)
    assert {"\tsubgraph child", "\tsubgraph child_2"} <= set(text.splitlines())


def test_a_box_is_no_node_elsewhere():
    inner = StateGraph(State).add_node("q", CHAIN).add_node("z", node).add_edge(START, "q").add_edge("q", "z").compile()
    assert "\tsubgraph q_2" in mermaid(around(inner), xray=True).splitlines()


def test_the_state_of_a_graph_does_not_matter_to_its_drawing():
    bare = StateGraph(Annotated[list, operator.add]).add_node("x", node).add_edge(START, "x")
    assert lines(bare) == ["__start__ -> x", "x -> __end__"]
