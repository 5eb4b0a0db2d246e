import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workbench import geometry
from workbench import draw, spread, svg
from workbench.drawing import TooLarge, of_shape
from workbench.signs import LOOKS, STATUSES, Answer
from workbench.topology import END, START, Edge, Join, Node, Topology

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    'a"b',
    "A:B|C",
    "节点",
    "🙂",
    "x" * 300,
    "a\nb",
    "a\\b",
    "&lt;",
    "\x00",
    "]]>",
    "",
]


def shape(*names, edges=None, joins=(), **more):
    nodes = (Node(START, START, "start"), *(Node(name, name, **more) for name in names), Node(END, END, "end"))
    ways = [START, *names, END]
    given = tuple(Edge(a, b) for a, b in itertools.pairwise(ways)) if edges is None else tuple(edges)
    return Topology("order refund", nodes, given, tuple(joins))


def groups(root, kind):
    return [g for g in root.iter(f"{SVG}g") if kind in g.get("class", "").split()]


def words(root):
    return " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


def hostile_shape():
    edges = [Edge(a, b, "conditional", (b, a)) for a, b in itertools.pairwise(HOSTILE)]
    first = shape(*HOSTILE, edges=edges, joins=[Join("j", tuple(HOSTILE[:3]), HOSTILE[4])])
    marked = tuple(node._replace(retry=3, handler=node.name) if i % 2 else node for i, node in enumerate(first.nodes))
    groups = tuple(Node(f"g{i}", name, "subgraph", size=1) for i, name in enumerate(HOSTILE[:4]))
    inner = tuple(Node(f"g{i}:{name}", name, within=f"g{i}") for i, name in enumerate(HOSTILE[:4]))
    return first._replace(name=HOSTILE[0], nodes=(*marked, *inner), groups=groups)


def test_hostile_names_draw_and_do_nothing():
    made = draw(hostile_shape()).lay({HOSTILE[1]: Answer("failed", 3, HOSTILE[0])})
    for whole in (ET.fromstring(made.svg), ET.fromstring(re.sub(r"<!.*?>", "", made.html))):
        tags = {one.tag.rpartition("}")[2] for one in whole.iter()}
        assert not tags & {"script", "foreignObject", "a", "image", "b", "iframe"}
        assert not [key for one in whole.iter() for key in one.attrib if key.lower().startswith("on")]
        assert not [one for one in whole.iter() for value in one.attrib.values() if "javascript:" in value.lower()]


def test_hostile_names_can_be_read():
    shown = words(draw(hostile_shape()).element())
    assert all(
        part in shown for part in ("<script>alert(1)</script", 'a"b', "A:B|C", "节点", "🙂", "a\\b", "&lt;", "]]>")
    )
    assert shown.count("x") >= 600


def test_every_name_is_whole_in_its_data_attribute():
    nodes = {g.get("data-node") for g in groups(draw(hostile_shape()).element(), "node")}
    assert set(HOSTILE) - {"\x00"} <= nodes


def test_a_long_name_is_wrapped_after_an_underscore_and_not_cut():
    root = draw(shape("book_hotel_sensitive_tools")).element()
    assert "book_hotel_ sensitive_tools" in words(root)


def test_a_wide_name_gets_the_width_it_needs():
    root = draw(shape("这是一个比较长的节点名")).element()
    left, _, right, _ = svg.box(svg.nodes(root)["这是一个比较长的节点名"])
    assert right - left >= 11 * 13


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_each_edge_of_a_hub_ends_at_a_place_of_its_own(direction):
    names = ["hub", *(f"n{i}" for i in range(9))]
    ways = [Edge("hub", name) for name in names[1:]] + [Edge(name, "hub") for name in names[1:]]
    assert geometry.faults(draw(shape(*names, edges=ways), direction=direction)) == []


@given(st.lists(st.floats(0, 200), min_size=1, max_size=12))
def test_ends_set_apart_keep_their_order_their_gap_and_their_side(wished):
    found = spread.places(sorted(wished), 0, 200)
    assert all(b - a >= spread.GAP - 1e-6 for a, b in itertools.pairwise(found))
    assert all(0 <= one <= 200 for one in found)


def test_ends_that_stand_apart_stay_where_they_are():
    assert spread.places([20, 60, 100], 0, 200) == [20, 60, 100]


def test_a_wide_fan_flows_to_the_right_unless_told_otherwise():
    names = ["hub", *(f"n{i}" for i in range(9))]
    wide = shape(*names, edges=[Edge("hub", name) for name in names[1:]])
    assert (draw(wide).direction, draw(wide, direction="TB").direction, draw(shape("a")).direction) == (
        "LR",
        "TB",
        "TB",
    )


def test_every_node_and_edge_says_what_it_is():
    root = draw(shape("agent", retry=3, asks=True)).element()
    titles = [g.find(f"{SVG}title").text for g in (*groups(root, "node"), *groups(root, "edge"))]
    assert titles == [
        "START",
        "agent, node; retry 3; asks a person",
        "END",
        "START to agent, always",
        "agent to END, always",
    ]
    node = svg.nodes(root)["agent"]
    assert (node.get("role"), node.get("tabindex"), node.get("aria-label")) == ("button", "0", titles[1])


def test_the_picture_has_a_title_for_a_screen_reader():
    made = draw(shape("agent")).lay({"agent": "interrupted"})
    assert made.element().get("aria-label") == "order refund, 1 node; agent interrupted"


def test_two_pictures_on_one_page_share_no_id():
    assert not [one for one in draw(shape("a", "b")).element().iter() if one.get("id")]


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_shows_a_sign_a_line_and_a_word(status):
    root = draw(shape("agent")).lay({"agent": (status, 3)}).element()
    node = svg.nodes(root)["agent"]
    outline = node.find(f"{SVG}path")
    assert outline.get("stroke-dasharray") == LOOKS[status].dash
    assert float(outline.get("stroke-width")) == LOOKS[status].line
    assert LOOKS[status].path in [path.get("d") for path in node.iter(f"{SVG}path")]
    assert node.find(f"{SVG}title").text.endswith(f"; {status}, 3 tasks")
    assert "3" in words(node).split()


def test_no_two_statuses_look_alike_in_grey():
    looks = [(look.path if look.filled else look.dash, look.line, look.dash, look.filled) for look in LOOKS.values()]
    assert len(set(looks)) == len(STATUSES)


def test_a_superstep_laid_on_a_drawing_moves_nothing():
    made = draw(shape("a", "b", "c"))
    places = [
        {name: svg.box(g) for name, g in svg.nodes(one.element()).items()} for one in (made, made.lay({"b": "ran"}))
    ]
    assert places[0] == places[1]


def test_a_superstep_laid_on_a_drawing_is_no_second_layout(monkeypatch):
    made = draw(shape("a", "only_here"))
    made.element()
    monkeypatch.setattr(svg.subprocess, "run", None)
    assert made.lay({"a": "next"}).element() is not None


def test_the_edge_that_carried_the_trigger_is_blue():
    root = draw(shape("a", "b")).lay({}, lit=[("a", "b")]).element()
    assert [g.get("data-source") for g in groups(root, "lit")] == ["a"]


def test_an_unknown_status_names_those_there_are():
    with pytest.raises(ValueError, match="'done' is no status of a node. Use one of ran, running"):
        draw(shape("a")).lay({"a": "done"})


def test_the_key_names_only_the_signs_that_are_there():
    plain = draw(shape("a"))
    assert plain.signs == ("plain",)
    more = shape("a", "b", edges=[Edge("a", "b", "send")], joins=[Join("j", ("a", "b"), END)], pauses=("before",))
    assert draw(more).signs == ("send", "barrier", "pause-before")
    assert "Send, many tasks" in words(ET.fromstring(draw(more).svg))


def test_the_picture_alone_brings_its_paper_and_its_dark_look():
    made = draw(shape("a")).svg
    assert 'class="wb-paper"' in made
    assert "prefers-color-scheme: dark" in made


def test_light_colours_stand_in_attributes_for_pages_without_styles():
    assert 'stroke="#7a828c"' in draw(shape("a")).svg


def test_a_theme_can_be_forced():
    assert 'data-wb-theme="dark"' in draw(shape("a"), theme="dark").svg
    assert '<div class="wb" data-wb-theme="dark">' in draw(shape("a"), theme="dark").html


@pytest.mark.parametrize(("name", "begins"), [("g.svg", b"<svg"), ("g.png", b"\x89PNG"), ("g.dot", b"digraph")])
def test_a_drawing_saves_itself_as_its_name_says(tmp_path, name, begins):
    file = draw(shape("a")).lay({"a": "ran"}).save(tmp_path / name)
    assert file.read_bytes().startswith(begins)


def test_a_picture_that_takes_no_overlay_says_the_status_in_words(tmp_path):
    file = draw(shape("a")).lay({"a": ("ran", 3)}).save(tmp_path / "g.dot")
    assert "ran, 3 tasks" in file.read_text()


def test_an_unknown_ending_names_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match=r"End it in .svg, .png, .pdf or .dot"):
        draw(shape("a")).save(tmp_path / "g.bmp")


def test_text_tells_the_whole_graph():
    edges = [Edge(START, "agent"), Edge("agent", "tools", "conditional", ("look up",)), Edge("tools", "agent")]
    made = draw(shape("agent", "tools", edges=edges, joins=[Join("j", ("agent", "tools"), END)], retry=3))
    assert repr(made).splitlines() == [
        "order refund, 2 nodes",
        "  START → agent",
        "  agent (retry 3) ⇢ tools [look up]",
        "  tools (retry 3) → agent",
        "  agent + tools → END (waits for all 2)",
    ]


def test_a_notebook_gets_html_svg_and_text():
    bundle = draw(shape("a"))._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/svg+xml", "text/plain"}


def test_a_graph_that_is_too_large_says_how_to_see_a_part():
    made = draw(shape(*(f"n{i}" for i in range(301))))
    shown = made._repr_mimebundle_()
    assert set(shown) == {"text/html", "text/plain"}
    assert shown["text/plain"].startswith(
        "order refund has 301 nodes, and more than 300 are hard to read. Draw a part with"
    )
    with pytest.raises(TooLarge, match="limit=301"):
        made.save("never.svg")


def test_a_part_of_a_large_graph_is_drawn():
    whole = shape(*(f"n{i}" for i in range(400)))
    made = draw(whole, focus="n200", depth=1)
    assert set(svg.nodes(made.element())) == {"n199", "n200", "n201"}
    assert made.title == "order refund, 3 of 400 nodes"
    assert "1 more edge" in words(made.element())


def test_the_flow_may_go_from_left_to_right():
    root = draw(shape("a", "b"), direction="LR").element()
    a, b = (svg.box(svg.nodes(root)[name]) for name in "ab")
    assert a[2] < b[0]


def test_an_unknown_direction_names_the_known_ones():
    with pytest.raises(ValueError, match="Use TB, LR, BT or RL"):
        draw(shape("a"), direction="UP")


def test_without_graphviz_the_text_is_shown_with_the_way_out(monkeypatch):
    monkeypatch.setattr(svg, "program", lambda: None)
    shown = draw(shape("agent"))._repr_mimebundle_()
    assert shown["text/plain"].startswith(
        "No Graphviz was found, so nothing can be laid out. Install it with pip install"
    )
    assert "agent → END" in shown["text/plain"]


def test_the_program_that_the_environment_names_is_used(monkeypatch):
    monkeypatch.setenv(svg.VARIABLE, "no-such-program")
    with pytest.raises(svg.LayoutError, match="WORKBENCH_DOT names no-such-program, but there is no such program"):
        svg.program()


def test_a_layout_that_fails_is_one_sentence():
    with pytest.raises(svg.LayoutError, match="could not make SVG of the drawing"):
        svg.layout("digraph {")


def test_a_layout_that_takes_too_long_is_stopped():
    with pytest.raises(svg.LayoutError, match="was stopped. Draw a part"):
        svg.layout(draw(shape(*(f"n{i}" for i in range(200)))).source, timeout=1e-6)


def test_a_loop_is_drawn_upward_where_it_returns():
    ways = [Edge(START, "b"), Edge("b", "a"), Edge("a", "b"), Edge("a", END)]
    root = draw(shape("a", "b", edges=ways)).element()
    tops = {name: svg.box(g)[1] for name, g in svg.nodes(root).items()}
    assert tops[START] < tops["b"] < tops["a"] < tops[END]


def test_members_of_a_join_land_beside_each_other():
    edges = [Edge(START, name) for name in "abc"]
    root = draw(shape("a", "b", "c", "d", edges=edges, joins=[Join("j", ("c", "a", "b"), "d")])).element()
    bar = svg.box(svg.nodes(root)["j"])
    tops = {svg.box(svg.nodes(root)[name])[3] for name in "abc"}
    assert bar[3] - bar[1] < 12
    assert max(tops) < bar[1]


def every_sign():
    """A shape with each kind of node and edge."""
    nodes = (
        Node(START, START, "start"),
        Node("agent", "agent", retry=3, cache=60.0, timeout=20.0, asks=True),
        Node("review", "review", pauses=("before", "after"), deferred=True),
        *(Node(name, name) for name in ("sub", "x", "y", "z")),
        Node("team", "team", "subgraph", size=6),
        Node("give_up", "give_up", "handler", handler="apologise"),
        Node("cleanup", "cleanup", deferred=True),
        Node(END, END, "end"),
    )
    plain = ((START, "agent"), ("sub", "team"), ("team", "cleanup"), ("cleanup", END), ("give_up", END))
    edges = (
        *(Edge(source, target) for source, target in plain),
        *(Edge("sub", name) for name in ("x", "y", "z")),
        Edge("agent", "review", "conditional", ("yes",)),
        Edge("agent", "agent", "conditional", ("retry",)),
        Edge("agent", "sub", "send"),
        Edge("agent", "give_up", "error", ("on error",)),
        Edge("review", "agent", "command", ("again",)),
        Edge("x", "agent", "observed", ("seen 2",)),
    )
    return Topology("signs", nodes, edges, (Join("join:x+y+z:cleanup", ("x", "y", "z"), "cleanup"),))


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_all_signs_together_leave_room_for_each_other(direction):
    assert geometry.faults(draw(every_sign(), direction=direction)) == []


@pytest.mark.parametrize(("direction", "side", "axis"), [("TB", 1, 1), ("LR", 0, 0)])
def test_members_of_a_join_come_to_it_with_the_flow_even_where_they_stand_aside(direction, side, axis):
    root = draw(every_sign(), direction=direction).element()
    border = svg.box(svg.nodes(root)["join:x+y+z:cleanup"])[side]
    ends = [line.points[-1][axis] for line in geometry.lines(root) if line.target.startswith("join:")]
    assert len(ends) == 3
    assert all(abs(end - border) < 2 for end in ends)


@pytest.mark.parametrize("members", list(itertools.permutations(("x", "y", "z"))))
def test_members_of_a_join_land_in_the_order_in_which_they_stand(members):
    given = every_sign()
    root = draw(given._replace(joins=(Join("join:x+y+z:cleanup", members, "cleanup"),))).element()
    coming = [line.points for line in geometry.lines(root) if line.target.startswith("join:")]
    assert sorted(coming, key=lambda points: points[0][0]) == sorted(coming, key=lambda points: points[-1][0])


def test_a_tight_drawing_tells_only_names_in_letters_as_large_and_takes_less_room():
    edges = [Edge("agent", "tool", "conditional", ("yes",)), Edge("tool", "agent"), Edge("agent", END)]
    wide, tight = (
        of_shape(shape("agent", "tool", edges=edges, asks=True), tight=one).element() for one in (False, True)
    )
    assert float(tight.get("width")) < float(wide.get("width"))
    assert ("asks a person" in words(wide), "yes" in words(wide)) == (True, True)
    assert ("asks a person" in words(tight), "yes" in words(tight)) == (False, False)
    assert {text.get("font-size") for text in tight.iter(f"{SVG}text")} <= {"13.00", "12.00"}
    assert "asks a person" in "".join(title.text for title in tight.iter(f"{SVG}title"))
