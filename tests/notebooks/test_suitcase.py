"""The notebook on LangGraph graphs: its questions and its exercise know right from wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytest.importorskip("langgraph")
FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def cells() -> Iterator[dict[str, Any]]:
    """The names of the notebook after its first run."""
    names: dict[str, Any] = {"display": lambda _: None}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        notebook = nbformat.read(FOLDER / "10_your_langgraph_graph.ipynb", as_version=4)  # type: ignore[no-untyped-call]  # nbformat says no types
        for cell in notebook.cells:
            if cell.cell_type == "code" and cell.id in ("load", "graph", "run", "compare"):
                lines = [line for line in cell.source.splitlines() if not line.startswith("%")]
                exec(compile("\n".join(lines), cell.id, "exec", dont_inherit=True), names)
        names["props"] = import_module("suitcase")
        yield names
        for name in ("course", "suitcase"):
            sys.modules.pop(name, None)


def test_the_right_answers_are_right_and_the_tempting_ones_are_not(cells: dict[str, Any]) -> None:
    for question in (cells["props"].more_ways, cells["props"].waker):
        right = question.right(cells["rec"])
        assert question.check(right, cells["rec"]).passed
        for tempts in question.tempting:
            verdict = question.check(tempts(cells["rec"]), cells["rec"])
            assert not verdict.passed
            assert verdict.evidence


def test_both_engines_fill_the_frames_alike(cells: dict[str, Any]) -> None:
    table = cells["props"].alike(cells["rec"], cells["ours"])
    assert (table["LangGraph"] == table["the same"]).all()
    assert (table["runtime"] == table["the same"]).all()


def test_the_exercise_wants_all_three_parts(cells: dict[str, Any]) -> None:
    explained, rec = cells["props"].explained, cells["rec"]
    assert explained(rec, 2, "weather", "branch:to:weather", "agent").passed
    assert "ran weather" in str(explained(rec, 2, "pack", "branch:to:weather", "agent"))
    assert "did not wake" in str(explained(rec, 2, "weather", "messages", "agent"))
    assert "was written by agent" in str(explained(rec, 2, "weather", "branch:to:weather", "weather"))
