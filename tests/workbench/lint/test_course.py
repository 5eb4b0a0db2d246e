"""The course's own graphs and runs have nothing amiss that a notebook does not break on purpose."""

import json
import linecache
from pathlib import Path

import pytest

from runtime.types import Command
from workbench import lint, record

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"


@pytest.fixture
def tour(monkeypatch):
    """What the tour's first cells define, as a notebook's kernel runs them: with their source at hand."""
    monkeypatch.syspath_prepend(NOTEBOOKS)
    cells = json.loads((NOTEBOOKS / "00_tour.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict = {}
    for number, cell in enumerate(one for one in cells if one["cell_type"] == "code"):
        lines = ["\n" if line.startswith("%") else line for line in cell["source"]]
        monkeypatch.setitem(linecache.cache, f"<cell {number}>", (1, None, lines, f"<cell {number}>"))
        exec(compile("".join(lines), f"<cell {number}>", "exec"), names)
        if "graph" in names:
            return names
    raise AssertionError("the tour makes no graph")


def test_the_tours_graph_has_nothing_amiss(tour):
    assert not lint(tour["graph"])
    assert not lint(tour["graph"].builder)


def test_the_tours_run_has_nothing_amiss(tour):
    graph = tour["graph"]
    rec = record(graph, tour["letter"], thread="teapot") + record(graph, Command(resume=True), thread="teapot")
    assert rec.status == "done"
    assert not rec.lint()
