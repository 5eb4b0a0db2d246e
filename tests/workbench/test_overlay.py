from typing import TypedDict

import pytest

from workbench import overlay, record
from workbench.topology import Edge


class Visit(TypedDict, total=False):
    n: int


def desk(engine):
    """A desk that sends everyone somewhere by a command, and says nowhere where to."""
    Command = engine.types.Command

    def turn(state):
        to = ("billing", "repairs")[state["n"] % 2] if state["n"] < 3 else "done"
        return Command(goto=to, update={"n": state["n"] + 1})

    builder = engine.graph.StateGraph(Visit)
    builder.add_node("desk", turn)
    for name in ("billing", "repairs"):
        builder.add_node(name, lambda state: Command(goto="desk"))
    builder.add_node("done", lambda state: {})
    builder.add_edge("__start__", "desk")
    builder.add_edge("done", "__end__")
    return builder.compile(name="desk")


@pytest.fixture
def rec(engine):
    return record(desk(engine), {"n": 0})


def seen(shape):
    return [(edge.source, edge.target, edge.labels) for edge in shape.edges if edge.kind == "observed"]


def test_moves_that_a_run_made_are_counted(rec):
    assert overlay.moves(rec.index) == {
        ("__start__", "desk"): 1,
        ("desk", "billing"): 2,
        ("desk", "repairs"): 1,
        ("billing", "desk"): 2,
        ("repairs", "desk"): 1,
        ("desk", "done"): 1,
    }


def test_what_nothing_declares_is_drawn_as_seen(rec):
    assert seen(rec.drawing().shape) == [
        ("desk", "billing", ("seen 2",)),
        ("desk", "repairs", ("seen 1",)),
        ("desk", "done", ("seen 1",)),
        ("billing", "desk", ("seen 2",)),
        ("repairs", "desk", ("seen 1",)),
    ]


def test_a_node_that_was_seen_to_move_on_does_not_end_there(rec):
    assert [edge for edge in rec.drawing().shape.edges if edge.target == "__end__"] == [Edge("done", "__end__")]


def test_every_picture_of_the_run_shows_what_was_seen(rec):
    for html in (rec.summary().fragment(), rec.strip().fragment(), rec.step(1).fragment(), rec.animation().svg):
        assert "desk to billing, seen in a run, not declared: seen 2" in html


def test_sends_are_moves(engine):
    Send = engine.types.Send
    builder = engine.graph.StateGraph(Visit)
    builder.add_node("ask", lambda state: {})
    builder.add_node("call", lambda state: {})
    builder.add_edge("__start__", "ask")
    builder.add_conditional_edges("ask", lambda state: [Send("call", {"n": i}) for i in range(3)], ["call"])
    assert overlay.moves(record(builder.compile(), {"n": 0}).index)["ask", "call"] == 3


def test_counts_and_times_stand_on_edges_and_nodes_when_asked(rec):
    plain, counted = rec.drawing(), rec.drawing(counts=True)
    assert next(edge.labels for edge in counted.shape.edges if edge.source == "__start__") == ("1 ×",)  # noqa: RUF001
    assert counted.shape.node("desk").took.startswith("4 ×, ")  # noqa: RUF001
    assert plain.shape.node("desk").took == ""


def test_the_drawing_tells_how_each_node_ended(rec):
    assert {name: one.status for name, one in rec.drawing().answers.items()} == dict.fromkeys(
        ("desk", "billing", "repairs", "done"), "ran"
    )
