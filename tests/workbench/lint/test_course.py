"""The course's own graphs and runs have nothing amiss that a notebook does not break on purpose."""

import json
import linecache
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.engines import engine_of
from workbench import lint, record

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
MODULES = ("branch_desk", "course", "lending", "library", "suitcase", "tour")


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook's first cells define, until a name is there; run as by its kernel, with their source at hand."""
    monkeypatch.syspath_prepend(NOTEBOOKS)

    def run(file, until):
        cells = json.loads((NOTEBOOKS / file).read_text(encoding="utf-8"))["cells"]
        names: dict = {}
        for number, cell in enumerate(one for one in cells if one["cell_type"] == "code"):
            lines = ["\n" if line.startswith("%") else line for line in cell["source"]]
            monkeypatch.setitem(linecache.cache, f"<cell {number}>", (1, None, lines, f"<cell {number}>"))
            exec(compile("".join(lines), f"<cell {number}>", "exec"), names)
            if until in names:
                return names
        raise AssertionError(f"{file} makes no {until}")

    yield run
    for name in MODULES:
        sys.modules.pop(name, None)


def test_the_tours_graph_and_run_have_nothing_amiss(notebook):
    tour, engine = notebook("00_tour.ipynb", "graph"), engine_of("runtime")
    graph = tour["graph"]
    assert not lint(graph)
    assert not lint(graph.builder)
    rec = record(graph, tour["letter"], thread="teapot")
    rec += record(graph, engine.types.Command(resume=True), thread="teapot")
    assert rec.status == "done"
    assert not rec.lint()


def test_the_suitcase_lacks_a_checkpointer_where_the_notebook_gives_it_none_and_nothing_else(notebook, engine):
    pytest.importorskip("langgraph")
    names = notebook("10_your_langgraph_graph.ipynb", "graph")
    assert lint(names["graph"]).codes == ["WB108"]  # it stops at its question, and the notebook shows that
    graph = names["trip"](import_module(engine.name), engine.memory.InMemorySaver())
    assert not lint(graph)
    assert not lint(graph.builder)
    rec = record(graph, names["letter"], thread="bergen")
    rec += record(graph, engine.types.Command(resume="umbrella"), thread="bergen")
    assert rec.status == "done"
    assert not rec.lint()


def test_the_lending_desks_have_nothing_amiss(notebook, engine):
    module = import_module("lending") if engine.ours else pytest.importorskip("tests.notebooks.branch")
    desk = module.desk(engine.memory.InMemorySaver())
    assert not lint(desk)
    assert not lint(desk.builder)
    reader = "Ada" if engine.ours else module.reader_class()("Ada", 7)
    rec = record(desk, {"book": "atlas", "reader": reader}, thread="atlas")
    assert rec.status == "interrupted"
    assert not rec.lint()
