"""Runs notebooks and saves them with their outputs, as the course keeps them.

    python -m tests.notebooks.save notebooks/00_tour.ipynb

A saved notebook is read where no kernel runs, and often where HTML is stripped of its styles and drawings: on a code
host, or in a JupyterLab that does not trust it. So whatever holds a drawing, each widget among it, is kept as a
photograph, with its text beside it. A widget's live view is left out, for it would be an error message there.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import sync_playwright

from tests.conftest import find_browser

LIVE = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
WIDTH = 940


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


def still(notebook: Any, photograph: Callable[[str], bytes]) -> Any:
    """The notebook without what only a kernel, or a trusting reader, can show."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            _settle(output, photograph)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = KERNEL
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def _settle(output: Any, photograph: Callable[[str], bytes]) -> None:
    data = output.get("data", {})
    data.pop(LIVE, None)
    fragment = data.get("text/html", "")
    if "<svg" not in fragment:
        return
    del data["text/html"]
    data["image/png"] = base64.encodebytes(photograph(fragment)).decode("ascii")
    output.metadata["image/png"] = {"alt": data["text/plain"]}


@contextmanager
def camera() -> Iterator[Callable[[str], bytes]]:
    """What makes a PNG of a fragment, on light paper, as wide as a notebook's cell or as the fragment needs."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])

        def photograph(fragment: str) -> bytes:
            page = browser.new_page(viewport={"width": WIDTH, "height": 16}, color_scheme="light")
            page.set_content(f'<body style="margin:8px;background:#fdfdfd">{fragment}')
            wide = "Math.max(...[...document.querySelectorAll('*')].map(it => it.scrollWidth))"
            page.set_viewport_size({"width": max(WIDTH, page.evaluate(wide) + 16), "height": 16})
            taken = page.screenshot(full_page=True)
            page.close()
            return taken

        yield photograph
        browser.close()


if __name__ == "__main__":
    with camera() as photograph:
        for name in sys.argv[1:]:
            nbformat.write(still(executed(Path(name)), photograph), name)  # type: ignore[no-untyped-call]  # as above
