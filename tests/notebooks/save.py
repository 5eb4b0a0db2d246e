"""Runs notebooks and saves them with their outputs, as the course keeps them.

    python tests/notebooks/save.py notebooks/00_tour.ipynb

In place of each widget stands its picture and its text, so that the page reads where no kernel runs: a saved view of a
widget would be an error message there. Times of execution and the state of widgets are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

LIVE = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def executed(path: Path) -> Any:
    """The notebook, run from top to bottom in its own folder. A cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # nbformat says no types
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        store_widget_state=False,
        timeout=120,
    )
    return client.execute()


def still(notebook: Any) -> Any:
    """The notebook without what only a kernel can show."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(LIVE, None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = KERNEL
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


if __name__ == "__main__":
    for name in sys.argv[1:]:
        nbformat.write(still(executed(Path(name))), name)  # type: ignore[no-untyped-call]  # as above
