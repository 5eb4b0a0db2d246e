import itertools
import re
import xml.etree.ElementTree as ET
from operator import add
from typing import Annotated, TypedDict

import pytest

from tests.engines import engine_of
from tests.workbench import events_of
from tests.workbench.geometry import Box
from workbench import record, svg
from workbench.recording import Recording

SVG = "{http://www.w3.org/2000/svg}"


class Meal(TypedDict, total=False):
    bill: int
    dishes: Annotated[list, add]


def meal(engine):
    builder = engine.graph.StateGraph(Meal)
    for name in ("bread", "cheese", "bill"):
        builder.add_node(name, lambda state, name=name: {"bill": 42} if name == "bill" else {"dishes": [name]})
    builder.add_edge("__start__", "bread")
    builder.add_edge("__start__", "cheese")
    builder.add_edge(["bread", "cheese"], "bill")
    return builder.compile()


def table(words, head):
    """The rows under one of the two heads of the picture's text."""
    below = words.partition(f"\n{head} ")[2].splitlines()[2:]
    rows = itertools.takewhile(lambda row: row.strip() and "not touched" not in row, below)
    return [tuple(re.split(r"\s{2,}", row.strip())) for row in rows]


def literature(step):
    return Recording(events_of.literature().events).step(step).channels()


def test_a_channel_is_shown_before_and_after_the_barrier(engine):
    shown = table(record(meal(engine), {"bill": 0}).step(1).channels().words, "channel")
    assert ("dishes", "list, add", "empty", "none → v3", "2 items") in shown
    assert ("branch:to:bread", "ephemeral", "v2, never seen", "v2 → v3", "emptied") in shown
    assert ("join:bread+cheese:bill", "barrier of 2", "empty", "none → v3", "2 of 2 have come") in shown


def test_writes_stand_in_the_order_applied(engine):
    shown = table(record(meal(engine), {"bill": 0}).step(1).channels().words, "write")
    assert [(row[0], row[1], row[2]) for row in shown] == [
        ("1", "bread", "dishes"),
        ("2", "bread", "join:bread+cheese:bill"),
        ("3", "cheese", "dishes"),
        ("4", "cheese", "join:bread+cheese:bill"),
    ]


def test_a_barrier_tells_how_many_have_come():
    assert [row[4] for row in table(literature(2).words, "channel") if row[0].startswith("join:")] == [
        "1 of 2 has come"
    ]
    assert [row[4] for row in table(literature(3).words, "channel") if row[0].startswith("join:")] == [
        "2 of 2 have come"
    ]


def test_a_barrier_of_bare_actors_tells_how_many_have_come_too(engine):
    make, channels = engine.pregel.NodeBuilder, engine.channels
    one = make().subscribe_only("in").do(lambda x: "a").write_to("all")
    ends = {"input_channels": "in", "output_channels": "all"}
    known = {"in": channels.LastValue(int), "all": channels.NamedBarrierValue(str, {"a", "b"})}
    rec = record(engine.pregel.Pregel(nodes={"one": one}, channels=known, **ends), 1)
    assert [row[4] for row in table(rec.step(0).channels().words, "channel") if row[0] == "all"] == ["1 of 2 has come"]


def test_the_moments_tell_the_same_as_the_channels():
    html = Recording(events_of.literature().events).step(2).fragment()
    assert "1 of 2 has come" in html
    assert "wakes rank next" in html


def test_a_channel_that_will_wake_a_node_says_which():
    assert [row[4] for row in table(literature(2).words, "channel") if row[0] == "branch:to:rank"] == [
        "wakes rank next"
    ]


def test_each_task_of_a_node_stands_alone_while_they_are_few():
    assert [name for name in svg.nodes(literature(2).element()) if name.startswith("search")] == [
        "search 0",
        "search 1",
        "search 2",
    ]


def test_many_tasks_of_a_node_stand_as_one_with_their_number():
    run = events_of.Story({"__pregel_tasks": "Topic", "papers": "BinaryOperatorAggregate"})
    run.starts()
    run.input({"__pregel_tasks": 1})
    run.superstep(*(events_of.task("search", wakes="__pregel_tasks", writes=[("papers", [i])]) for i in range(30)))
    made = Recording(run.events).step(0).channels()
    assert made.answers["search"].tasks == 30
    assert "6 more" in "".join(made.element().itertext())


def test_a_superstep_that_waits_has_passed_no_barrier():
    waiting = literature(5)
    assert all(row[3:] == () for row in table(waiting.words, "channel"))
    said = "".join(waiting.element().itertext())
    assert "not yet" in said
    assert "The writes wait at the barrier." in said
    assert waiting.answers["check"].status == "interrupted"


def test_what_was_not_touched_is_folded_and_named():
    assert (
        "6 channels not touched: topic, queries, draft, branch:to:plan, branch:to:check, __start__"
        in literature(2).words
    )


@pytest.mark.parametrize("step", range(1, 6))
def test_the_three_moments_stand_level_and_apart(step):
    root = literature(step).element()
    boxes = {}
    for name, group in svg.nodes(root).items():
        down = float((re.findall(r"translate\(0 ([-\d.]+)\)", group.get("transform", "")) or ["0"])[0])
        left, top, right, bottom = svg.box(group)
        boxes[name] = Box(left, top + down, right, bottom + down, name)
    assert len({round(boxes[name].top) for name in ("before", "writes", "after")}) == 1
    assert boxes["before"].right < min(box.left for name, box in boxes.items() if name != "before")
    assert not [(a.name, b.name) for a, b in itertools.combinations(boxes.values(), 2) if a.meets(b)]


def test_every_arrow_ends_at_its_own_row():
    root = literature(2).element()  # outline is a node and a channel
    after = next(group for name, group in svg.nodes(root).items() if name == "after")
    left = svg.box(after)[0]
    heads = [group.find(f"{SVG}polygon") for group in svg.groups(root, "updates")]
    rights = [max(float(x) for x in re.findall(r"(-?[\d.]+),", head.get("points"))) for head in heads]
    assert len(heads) == 4
    assert all(abs(one - left) < 4 for one in rights)


def test_both_engines_give_one_picture():
    ours, theirs = (record(meal(engine_of(one)), {"bill": 0}).step(1).channels() for one in ("runtime", "langgraph"))
    assert ours.words == theirs.words
    assert ours.source == theirs.source


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", 'a"b', "节点", "a\\N", "&lt;"])
def test_hostile_names_and_values_do_nothing(engine, name):
    builder = engine.graph.StateGraph(dict)
    builder.add_node(name, lambda state: {"x": name})
    builder.add_edge("__start__", name)
    made = record(builder.compile(), {"x": name}).step(1).channels()
    assert not [one for one in ET.fromstring(made.svg).iter() if one.tag.endswith(("script", "foreignObject"))]
    assert name in svg.nodes(made.element())
