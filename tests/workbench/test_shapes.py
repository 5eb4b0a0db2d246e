import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from tests.engines import engine_of
from tests.workbench import geometry
from tests.workbench.shapes import NAMES, build, load
from workbench import draw, topology
from workbench.drawing import of_shape

SVG = "{http://www.w3.org/2000/svg}"


def groups(drawing, kind):
    return [g for g in drawing.element().iter(f"{SVG}g") if kind in g.get("class", "").split()]


def said(drawing):
    return " ".join(words.text or "" for words in drawing.element().iter(f"{SVG}text")).replace("\xa0", " ")


@pytest.mark.parametrize("name", NAMES)
def test_a_published_graph_is_drawn_with_exactly_its_edges(engine, name):
    shape = load(name)
    wanted = {tuple(edge) for edge in shape["draw"]}
    loose = {(one["from"], one["from"], True) for one in shape["conditional"] if one["via"] == "none"}
    found = topology.of(build(engine, shape)).pairs()
    assert wanted <= found
    assert found - wanted <= loose


@pytest.mark.parametrize("name", NAMES)
def test_each_node_and_edge_is_in_the_picture_exactly_once(engine, name):
    graph = build(engine, load(name))
    for depth in (False, True):
        shape, drawing = topology.of(graph, depth), draw(graph, xray=depth)
        nodes = Counter(g.get("data-node") for g in groups(drawing, "node"))
        assert nodes == Counter([*(n.id for n in shape.nodes), *(j.id for j in shape.joins)])
        edges = Counter((g.get("data-source"), g.get("data-target")) for g in groups(drawing, "edge"))
        assert edges == Counter(shape.ways())
        assert [g.get("data-node") for g in groups(drawing, "cluster")] == [group.id for group in shape.groups]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_the_picture_lies_on_something_else_or_is_cut(name):
    graph = build(engine_of("runtime"), load(name))
    assert geometry.faults(draw(graph)) == []
    assert geometry.faults(draw(graph, direction="LR")) == []
    assert geometry.faults(draw(graph, xray=True)) == []
    assert geometry.faults(of_shape(topology.of(graph), tight=True)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_of_a_router_can_be_read(engine, name):
    shape = load(name)
    words = said(draw(build(engine, shape)))
    assert [answer for answers in shape["draw_labels"].values() for answer in answers if answer not in words] == []


@pytest.mark.parametrize("name", [name for name in NAMES if "xray_nodes" in load(name)])
def test_xray_shows_the_nodes_of_subgraphs(engine, name):
    shape = load(name)
    found = {
        node.id for node in topology.of(build(engine, shape), xray=True).nodes if node.kind not in ("start", "end")
    }
    assert found == set(shape["xray_nodes"])


@pytest.mark.parametrize("name", NAMES)
def test_both_engines_give_one_picture(name):
    ours, theirs = (draw(build(engine_of(one), load(name)), xray=True) for one in ("runtime", "langgraph"))
    assert ours.source == theirs.source


def test_every_shape_tells_its_source_and_licence():
    for name in NAMES:
        source = load(name)["source"]
        assert source["repo"]
        assert source["licence"]


def test_a_picture_is_lawful_xml_without_script(engine):
    root = ET.fromstring(draw(build(engine, load("deer-flow"))).svg)
    assert not [one for one in root.iter() if one.tag.endswith(("script", "foreignObject"))]
