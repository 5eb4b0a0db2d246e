"""Every notebook as it lies in the folder: short, run from top to bottom, and readable where no kernel runs."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))
LIVE = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return nbformat.read(request.param, as_version=4)  # type: ignore[no-untyped-call]  # nbformat says no types


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in code(notebook) for output in cell.outputs]


def test_it_has_at_most_25_cells_and_begins_with_prose(notebook: Any) -> None:
    assert len(notebook.cells) <= 25
    assert notebook.cells[0].cell_type == "markdown"


def test_its_code_fits_a_projector(notebook: Any) -> None:
    lines = [line for cell in code(notebook) for line in cell.source.splitlines()]
    assert [line for line in lines if len(line) > 88] == []


def test_it_was_run_from_top_to_bottom(notebook: Any) -> None:
    assert [cell.execution_count for cell in code(notebook)] == [*range(1, len(code(notebook)) + 1)]
    assert [output for output in outputs(notebook) if output.output_type in ("error", "stream")] == []


def test_a_picture_and_a_text_stand_for_each_widget(notebook: Any) -> None:
    assert "widgets" not in notebook.metadata
    assert [output for output in outputs(notebook) if LIVE in output.get("data", {})] == []


def test_a_reader_who_strips_html_still_sees_every_picture(notebook: Any) -> None:
    shown = [output.data for output in outputs(notebook) if "data" in output]
    assert [data["text/plain"] for data in shown if "<svg" in data.get("text/html", "")] == []
    assert [data for data in shown if "image/svg+xml" in data and "image/png" not in data] == []
    assert [data for data in shown if "image/png" in data]


def test_every_output_has_a_text(notebook: Any) -> None:
    shown = [output.data for output in outputs(notebook) if "data" in output]
    assert [data for data in shown if not data.get("text/plain", "").strip()] == []


def test_nothing_in_it_depends_on_whose_machine_it_ran_on(notebook: Any) -> None:
    assert notebook.metadata.kernelspec.name == "python3"
    assert not any("execution" in cell.metadata for cell in notebook.cells)
    whole = str(notebook)
    assert not any(f"{folder}/" in whole for folder in (Path.home(), Path(__file__).parents[2], "/tmp"))


def test_no_output_runs_a_script_or_asks_a_network(notebook: Any) -> None:
    shown = "".join(str(output.get("data", "")) for output in outputs(notebook)).lower()
    for hot in ("<script", "javascript:", "https://", "@import", "<iframe"):
        assert hot not in shown
