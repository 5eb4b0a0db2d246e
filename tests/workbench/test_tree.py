import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest

from workbench import svg
from workbench.tree import Checkpoint, branches_of, tree

SVG = "{http://www.w3.org/2000/svg}"


def thread():
    return [
        Checkpoint("01", None, -1, "input", ("__start__",)),
        Checkpoint("02", "01", 0, next=("agent",)),
        Checkpoint("03", "02", 1, next=("tools",)),
        Checkpoint("04", "03", 2, next=("review",), current=True, waits=("review",)),
        Checkpoint("05", "02", 1, "update as agent", ("tools",), label="order.total"),
        Checkpoint("06", "05", 2),
    ]


def words(root):
    return " ".join("".join(one.itertext()) for one in root.iter(f"{SVG}text")).replace("\xa0", " ")


def test_a_later_child_begins_a_fork():
    found = branches_of(thread())
    assert [(one.name, [two.id for two in one.checkpoints]) for one in found] == [
        ("main", ["01", "02", "03", "04"]),
        ("fork 1", ["05", "06"]),
    ]
    assert found[1].parent.id == "02"


def test_a_named_branch_keeps_its_name():
    found = branches_of([Checkpoint("1", None, 0), Checkpoint("2", "1", 1, branch="try again")])
    assert [one.name for one in found] == ["main", "try again"]


def test_the_order_of_the_list_does_not_matter():
    assert branches_of(thread()[::-1]) == branches_of(thread())


def test_each_card_says_step_what_made_it_and_what_comes_next():
    shown = words(tree(thread()).element())
    for part in (
        "\N{MINUS SIGN}1",
        "input",
        "next START",
        "update as agent",
        "order.total",
        "main: waits at review",
        "fork 1: ended",
    ):
        assert part in shown


def test_columns_are_steps_and_rows_are_branches():
    cards = {name: svg.box(g) for name, g in svg.nodes(tree(thread()).element()).items() if name}
    middle = {name: (left + right) / 2 for name, (left, _, right, _) in cards.items()}
    assert abs(middle["03"] - middle["05"]) < 2
    assert cards["05"][1] > cards["03"][3]
    assert middle["01"] < middle["02"] < middle["03"] < middle["04"]


def test_the_current_one_has_a_ring_and_the_key_says_so():
    made = tree(thread())
    assert made.element().find(f".//{SVG}rect[@class='wb-ring']") is not None
    assert "you are here" in words(ET.fromstring(made.svg))
    assert "waits" in words(ET.fromstring(made.svg))


def test_a_fork_leaves_by_a_ring():
    root = tree(thread()).element()
    forks = [g for g in root.iter(f"{SVG}g") if g.get("data-kind") == "fork"]
    assert [g.get("data-source") for g in forks] == ["02"]
    assert forks[0].find(f"{SVG}ellipse") is not None


def test_quiet_stretches_of_a_long_thread_are_folded():
    line = [Checkpoint(f"{i:04}", f"{i - 1:04}" if i else None, i, next=("a",)) for i in range(100)]
    made = tree([*line, Checkpoint("2000", "0050", 51)])
    assert len(svg.nodes(made.element())) < 15
    assert "48 checkpoints" in words(made.element())
    assert len(svg.nodes(tree(line, fold=1000).element())) >= 100


def test_text_tells_every_branch_and_checkpoint():
    assert repr(tree(thread(), "thread order-1042")).splitlines() == [
        "thread order-1042, 6 checkpoints",
        "  main: waits at review",
        "    \N{MINUS SIGN}1 input, next START",
        "    0 loop, next agent",
        "    1 loop, next tools",
        "    2 loop, waits at review, you are here",
        "  fork 1 (from 0, order.total): ended",
        "    1 update as agent, next tools",
        "    2 loop, ended",
    ]


def test_many_tasks_of_one_node_are_counted():
    assert Checkpoint("1", None, 0, next=("search", "search", "outline")).stands == "next search \u00d72 and outline"


def test_the_tree_of_a_recording_is_that_of_its_thread(saver):
    from typing import TypedDict

    from runtime.graph import StateGraph
    from workbench import record

    graph = StateGraph(TypedDict("State", {"x": int}))
    graph.add_node("agent", lambda state: {"x": 1})
    graph.add_edge("__start__", "agent")
    rec = record(graph.compile(checkpointer=saver), {"x": 0}, thread="t1")
    assert repr(rec.tree()).splitlines() == [
        "thread t1, 3 checkpoints",
        "  main: ended",
        "    \N{MINUS SIGN}1 input, next START",
        "    0 loop, next agent",
        "    1 loop, ended, you are here",
    ]


def test_any_object_with_the_same_attributes_is_a_checkpoint():
    one = SimpleNamespace(id="1", parent_id=None, step=0, source="loop", next=("a",), current=True)
    assert "0 loop, next a, you are here" in repr(tree([one]))


def test_a_thread_without_checkpoints_draws_nothing_and_says_so():
    assert repr(tree([])) == "checkpoints, 0 checkpoints"
    assert svg.nodes(tree([]).element()) == {}


@pytest.mark.parametrize("name", ["<script>", 'a"b', "A:B|C", "节点", "🙂", "x" * 300, "a\nb", "\x00"])
def test_hostile_text_draws_and_does_nothing(name):
    made = tree([Checkpoint("1", None, 0, name, (name,)), Checkpoint("2", "1", 1, name, label=name, branch=name)])
    root = ET.fromstring(made.svg)
    assert not [one for one in root.iter() if one.tag.endswith(("script", "}a"))]
