"""Graphs that other pictures got wrong, by public reports, and what our picture shows, whoever compiled the graph."""

import itertools
from typing import Literal, TypedDict

from workbench import draw, svg

CHOSEN = ("conditional", "command", "send")


class State(TypedDict, total=False):
    n: int


def builder_of(engine, *names):
    builder = engine.graph.StateGraph(State)
    for name in names:
        builder.add_node(name, lambda state: {"n": 1})
    return builder


def drawn(graph):
    """Every edge of the picture: source, target, and whether a choice decides it."""
    edges = svg.groups(draw(graph).element(), "edge")
    return {(one.get("data-source"), one.get("data-target"), one.get("data-kind") in CHOSEN) for one in edges}


def words(graph):
    root = draw(graph).element()
    return [str(one.text).strip("\xa0 ") for one in root.iter(f"{{{svg.NS}}}text")]


def test_a_path_map_gives_its_edges_and_none_to_the_end(engine):
    builder = builder_of(engine, "weigh", "trim", "pack")
    builder.add_edge("__start__", "weigh")
    builder.add_conditional_edges("weigh", lambda state: "light", {"heavy": "trim", "light": "pack"})
    builder.add_edge("trim", "weigh")
    builder.add_edge("pack", "__end__")
    assert drawn(builder.compile()) == {
        ("__start__", "weigh", False),
        ("weigh", "trim", True),
        ("weigh", "pack", True),
        ("trim", "weigh", False),
        ("pack", "__end__", False),
    }


def test_both_answers_that_lead_to_one_node_can_be_read(engine):
    builder = builder_of(engine, "grade", "publish", "rewrite")
    builder.add_edge("__start__", "grade")
    answers = {"good": "publish", "fair": "publish", "poor": "rewrite"}
    builder.add_conditional_edges("grade", lambda state: "good", answers)
    assert set(answers) <= set(words(builder.compile()))


def test_a_router_without_hints_reaches_every_node_and_the_end(engine):
    builder = builder_of(engine, "fetch", "clean", "reduce")
    for source, target in itertools.pairwise(("__start__", "fetch", "clean", "reduce")):
        builder.add_edge(source, target)
    builder.add_conditional_edges("reduce", lambda state: "__end__" if state["n"] > 6 else "fetch")
    leaving = {(target, chosen) for source, target, chosen in drawn(builder.compile()) if source == "reduce"}
    assert leaving == {("fetch", True), ("clean", True), ("reduce", True), ("__end__", True)}


def test_command_annotations_and_destinations_are_drawn_with_their_labels(engine):
    Command = engine.types.Command

    def desk(state: State) -> Command[Literal["billing", "repairs"]]:
        return Command(goto="billing")

    builder = builder_of(engine, "repairs")
    builder.add_node("desk", desk)
    destinations = {"desk": "not mine", "__end__": "done"}
    builder.add_node("billing", lambda state: Command(goto="__end__"), destinations=destinations)
    builder.add_edge("__start__", "desk")
    builder.add_edge("repairs", "__end__")
    graph = builder.compile()
    assert drawn(graph) == {
        ("__start__", "desk", False),
        ("desk", "billing", True),
        ("desk", "repairs", True),
        ("billing", "desk", True),
        ("billing", "__end__", True),
        ("repairs", "__end__", False),
    }
    assert {"not mine", "done"} <= set(words(graph))


def test_a_deferred_node_keeps_its_edges_and_grows_none(engine):
    Command = engine.types.Command

    def plan(state: State) -> Command[Literal["b1", "c1", "c2"]]:
        return Command(goto=["b1", "c1"])

    def b1(state: State) -> Command[Literal["merge"]]:
        return Command(goto="merge")

    builder = builder_of(engine, "c1", "c2", "tell")
    builder.add_node("plan", plan)
    builder.add_node("b1", b1)
    builder.add_node("merge", lambda state: {}, defer=True)
    for source, target in (
        ("__start__", "plan"),
        ("c1", "c2"),
        ("c2", "merge"),
        ("merge", "tell"),
        ("tell", "__end__"),
    ):
        builder.add_edge(source, target)
    graph = builder.compile()
    assert drawn(graph) == {
        ("__start__", "plan", False),
        *(("plan", target, True) for target in ("b1", "c1", "c2")),
        ("b1", "merge", True),
        ("c1", "c2", False),
        ("c2", "merge", False),
        ("merge", "tell", False),
        ("tell", "__end__", False),
    }
    assert "deferred" in words(graph)


def test_brackets_braces_and_parentheses_in_names_are_read_as_they_are(engine):
    names = ["parse [json]", "route {a, b}", "call f(x)"]
    builder = builder_of(engine, *names)
    for source, target in itertools.pairwise(("__start__", *names, "__end__")):
        builder.add_edge(source, target)
    graph = builder.compile()
    assert [name for name in names if name not in words(graph)] == []
    assert set(names) <= set(svg.nodes(draw(graph).element()))
