import operator
from typing import Annotated, TypedDict

import pytest

from workbench import channels, draw, record, svg


class State(TypedDict, total=False):
    papers: Annotated[list, operator.add]
    topic: str


def literature(engine):
    graph = engine.graph.StateGraph(State)
    for name in ("search", "outline", "write"):
        graph.add_node(name, lambda state: {})
        if name != "write":
            graph.add_edge("__start__", name)
    graph.add_edge(["search", "outline"], "write")
    return graph.compile(name="literature")


def test_each_channel_tells_its_kind_and_reducer(engine):
    found = {one.name: one.facts for one in channels.of(literature(engine)).channels}
    assert found["papers"] == "list, add"
    assert found["topic"] == "last value"
    assert found["branch:to:search"] == "ephemeral"
    assert found["join:search+outline:write"] == "barrier of 2"


def test_a_channel_wakes_its_node_and_is_written_by_those_before(engine):
    found = channels.of(literature(engine))
    assert found.woken("branch:to:search") == ["search"]
    assert found.writers("branch:to:search") == ["__start__"]
    assert sorted(found.writers("join:search+outline:write")) == ["outline", "search"]


def test_a_node_that_may_write_any_key_is_not_said_to_write_one(engine):
    found = channels.of(literature(engine))
    assert found.writers("topic") == []
    assert all(actor.may_write for actor in found.actors)


def test_state_is_read_without_waking(engine):
    assert channels.of(literature(engine)).readers("topic") == ["search", "outline", "write"]


def test_bare_actors_tell_what_they_write(engine):
    make, kinds = engine.pregel.NodeBuilder, engine.channels
    one = make().subscribe_only("in").do(lambda x: x).write_to("mid", extra=lambda x: 1).build()
    two = make().subscribe_to("mid").read_from("in").do(lambda x: x).write_to("out").build()
    names = {name: kinds.LastValue(int) for name in ("in", "mid", "extra", "out")}
    ends = {"input_channels": "in", "output_channels": "out"}
    found = channels.of(engine.pregel.Pregel(nodes={"one": one, "two": two}, channels=names, **ends))
    assert [(actor.wakes, actor.writes, actor.may_write) for actor in found.actors] == [
        (("in",), ("mid", "extra"), False),
        (("mid",), ("out",), False),
    ]
    assert found.readers("in") == ["two"]


def test_both_sides_and_all_actors_are_in_the_picture(engine):
    root = draw(literature(engine), channels=True).element()
    nodes = [g.get("data-node") for g in root.iter() if g.get("role") == "button"]
    assert nodes == ["before", "after", "__start__", "search", "outline", "write"]


def test_text_is_a_table_of_the_channels(engine):
    lines = repr(draw(literature(engine), channels=True)).splitlines()
    assert lines[0].startswith("literature, 4 actors and ")
    assert next(line for line in lines if line.startswith("branch:to:search")).split() == [
        "branch:to:search",
        "ephemeral",
        "START",
        "search",
    ]


def test_a_builder_has_no_channels_yet(engine):
    with pytest.raises(TypeError, match="has no channels to draw. Compile it first"):
        draw(engine.graph.StateGraph(State), channels=True)


def test_a_hostile_channel_name_draws(engine):
    actor = channels.Actor('a"b', ("<script>",), (), ("节点",))
    made = channels.sketch(
        channels.ChannelMap("x", (actor,), (channels.Channel("<script>", "a&b"), channels.Channel("节点", "")))
    )
    assert "<script>" not in made.source.replace("&lt;script&gt;", "")


def huts(engine):
    """Two actors that write into each other's letter box."""
    make, channels = engine.pregel.NodeBuilder, engine.channels
    nodes = {}
    for name, other in (("Valley", "Ridge"), ("Ridge", "Valley")):
        woken = make().subscribe_only(f"{name} mail").do(lambda mail: None)
        nodes[name] = woken.write_to(**{f"{other} mail": lambda out: []})
    boxes = {f"{name} mail": channels.Topic(float) for name in nodes}
    return engine.pregel.Pregel(nodes=nodes, channels=boxes, input_channels="Valley mail", output_channels="Ridge mail")


def test_bare_actors_are_drawn_with_their_channels_unless_told_otherwise(engine):
    graph = huts(engine)
    assert draw(graph).source == draw(graph, channels=True).source
    shown = svg.groups(draw(graph, channels=False).element(), "edge")
    assert [(one.get("data-source"), one.get("data-target")) for one in shown] == [
        ("__start__", "Valley"),
        ("Valley", "Ridge"),
        ("Ridge", "Valley"),
    ]


def test_the_run_of_bare_actors_shows_itself(engine):
    rec = record(huts(engine), [1.0])
    assert "Valley" in rec._repr_mimebundle_()["text/html"]
    assert rec.step(0).channels().answers["Valley"].status == "ran"


def test_the_queue_of_sends_wakes_whom_a_router_sends_to(engine):
    builder = engine.graph.StateGraph(State)
    builder.add_node("translate", lambda state: {})
    builder.add_conditional_edges("__start__", lambda state: [engine.types.Send("translate", {})], ["translate"])
    assert channels.of(builder.compile()).woken("__pregel_tasks") == ["translate"]


def test_a_function_made_a_graph_is_drawn_from_start_to_end(engine):
    @engine.func.entrypoint()
    def tea(cups):
        return cups

    assert draw(tea).words.splitlines()[1:] == ["  START → tea", "  tea → END"]
