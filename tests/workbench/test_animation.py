import re
import xml.etree.ElementTree as ET

import pytest

from tests.workbench import events_of
from workbench import record, svg
from workbench.animation import SECONDS, Animation
from workbench.index import Index
from workbench.recording import Recording

SVG = "{http://www.w3.org/2000/svg}"


def graph(engine, *names):
    """A line of nodes, the last of which asks where there are more than two."""
    builder = engine.graph.StateGraph(dict[str, int])
    for name in names:
        builder.add_node(name, lambda state: {"n": 1})
    for source, target in zip(("__start__", *names), (*names, "__end__"), strict=True):
        builder.add_edge(source, target)
    return builder.compile(name="line")


def frames(animation):
    root = ET.fromstring(animation.svg)
    return [one for one in root.iter(f"{SVG}g") if "wb-frame" in one.get("class", "").split()]


def said(group):
    return [str(one.text) for one in group.iter(f"{SVG}text")]


def statuses(frame):
    return [one.get("data-status") for one in frame.iter(f"{SVG}g") if one.get("data-status")]


def test_each_superstep_is_planned_executed_and_updated(engine):
    shown = frames(record(graph(engine, "a", "b"), {"n": 0}).animation())
    assert [statuses(one) for one in shown] == [["next"], ["running"], ["ran"]] * 2
    assert [one for frame in shown for one in said(frame) if one.startswith("Superstep")] == [
        *["Superstep 1"] * 3,
        *["Superstep 2"] * 3,
    ]


def test_what_was_written_shows_after_the_barrier_and_not_before(engine):
    shown = frames(record(graph(engine, "a", "b"), {"n": 0}).animation())
    rises = [[one for one in said(frame) if "→" in one] for frame in shown]
    assert [bool(one) for one in rises] == [False, False, True] * 2
    assert "none → v3" in rises[2]


def test_the_plan_lights_the_edge_that_carried_the_trigger_and_tells_what_was_seen(engine):
    plan, execute, _, *_ = frames(record(graph(engine, "a"), {"n": 0}).animation())
    assert (len(svg.groups(plan, "lit")), len(svg.groups(execute, "lit"))) == (1, 0)
    assert "v2, never seen" in said(plan)
    assert "v2, never seen" not in said(execute)


def test_without_motion_the_last_frame_stands_alone(engine):
    shown = frames(record(graph(engine, "a", "b"), {"n": 0}).animation())
    assert [one.get("visibility") for one in shown] == ["hidden"] * 5 + [None]
    assert said(shown[-1])[-1] == "Ended after 2 supersteps"


def test_one_frame_follows_the_other_without_a_gap(engine):
    sheet = "".join(ET.fromstring(record(graph(engine, "a", "b"), {"n": 0}).animation().svg).itertext())
    spans = re.findall(r"([\d.]+)%\{visibility:visible\}(?:([\d.]+)%\{visibility:hidden\})?", sheet)
    begins = [float(begin) for begin, _ in spans if begin != "0"]
    ends = [float(end) for _, end in spans if end]
    assert begins == [0.0, *ends]
    assert sheet.count(f"{2 * sum(SECONDS.values()):.1f}s step-end infinite") == 6
    assert "@media (prefers-reduced-motion: no-preference)" in sheet


def test_nothing_moves_from_frame_to_frame():
    shown = frames(events_animation())
    places = {}
    for frame in shown:
        for one in frame.iter(f"{SVG}text"):
            if one.text in ("plan", "execute", "update", *events_of.LITERATURE):
                places.setdefault((one.text, one.get("x")), set()).add(one.get("y"))
    moments = [word for word, _ in places if word in ("execute", "update")]
    assert moments == ["execute", "update"]
    assert all(len(found) == 1 for (word, _), found in places.items() if word != "plan")


def test_a_run_that_waits_says_so_and_passes_no_barrier():
    last = frames(events_animation())[-1]
    assert statuses(last) == ["interrupted"]
    assert said(last)[-1] == "Waits at check: “Publish?”"
    assert not [one for one in said(last) if "→" in one]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", 'a"b', "节点", "🙂", "a]]>b", "x" * 90])
def test_hostile_names_play_and_do_nothing(engine, name):
    animation = record(graph(engine, name, "b"), {"n": 0}).animation()
    root = ET.fromstring(animation.svg)
    assert not [one for one in root.iter() if one.tag.endswith(("script", "foreignObject"))]
    whole = "".join("".join(one.itertext()) for one in root.iter(f"{SVG}text")).replace(" ", "")
    assert name.replace(" ", "") in whole
    assert name in root.get("aria-label")


def test_the_picture_is_saved_and_shown_and_has_its_words(engine, tmp_path):
    animation = record(graph(engine, "a"), {"n": 0}).animation()
    assert animation.save(tmp_path / "run.svg").read_text("utf-8") == animation.svg
    bundle = animation._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/svg+xml", "text/plain"}
    assert bundle["text/plain"].startswith("Ended after 1 superstep\n")
    with pytest.raises(ValueError, match="cannot be saved as 'run.gif'"):
        animation.save(tmp_path / "run.gif")


def test_two_animations_on_one_page_do_not_play_each_other(engine):
    one, other = (record(graph(engine, *names), {"n": 0}).animation().svg for names in ("ab", "abc"))
    names = [set(re.findall(r"@keyframes (\S+?)\{", sheet)) - {"wb-breathe", "wb-flow"} for sheet in (one, other)]
    assert not names[0] & names[1]


def test_a_recording_without_its_graph_says_what_is_missing():
    with pytest.raises(ValueError, match=r"does not know its graph. Record the run, or give the graph"):
        Recording(events_of.literature().events).animation()
    with pytest.raises(ValueError, match="no superstep of this recording ran a task"):
        Animation(Index([]), "running", None, events_graph())


def events_animation():
    story = events_of.literature()
    return Animation(Index(story.events), "interrupted", None, events_graph())


def events_graph():
    from workbench.topology import Edge, Join, Node, Topology

    names = ("plan", "search", "outline", "rank", "write", "check")
    edges = (
        Edge("__start__", "plan"),
        Edge("plan", "search", "send"),
        Edge("plan", "outline"),
        Edge("search", "rank"),
        Edge("write", "check"),
        Edge("check", "plan", "conditional"),
        Edge("check", "__end__", "conditional"),
    )
    nodes = (
        Node("__start__", "__start__", "start"),
        *(Node(one, one) for one in names),
        Node("__end__", "__end__", "end"),
    )
    return Topology("lit", nodes, edges, (Join("join:rank+outline:write", ("rank", "outline"), "write"),))
