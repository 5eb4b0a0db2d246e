"""A JupyterLab in a temporary folder, and a notebook in it as a person has it before them.

Nothing here sleeps: each step waits for what it needs to see. A widget is reached by its cell.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import nbformat
from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).parents[2]
PATIENCE = 60_000  # ms: the machine may be busy
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

Theme = Literal["JupyterLab Light", "JupyterLab Dark"]


class Lab:
    """A running JupyterLab: its folder, and the addresses of what lies there."""

    def __init__(self, folder: Path, port: int, token: str) -> None:
        self.folder = folder
        self.port = port
        self.token = token

    def url(self, name: str) -> str:
        """Where a notebook is opened, in a workspace of its own."""
        return f"http://127.0.0.1:{self.port}/lab/workspaces/{Path(name).stem}/tree/{name}?token={self.token}&reset"

    def answers(self) -> bool:
        """True once the server says how it is."""
        try:
            address = f"http://127.0.0.1:{self.port}/api/status?token={self.token}"
            return bool(urllib.request.urlopen(address, timeout=5).status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def tour(self, name: str, cells: Sequence[str] = (), extra: str = "") -> str:
        """A copy of the tour without its outputs: all of it, or the cells of these ids; `extra` is one more cell."""
        read = nbformat.read(ROOT / "notebooks" / "00_tour.ipynb", as_version=4)  # type: ignore[no-untyped-call]  # nbformat says no types
        read.cells = [cell for cell in read.cells if not cells or cell.id in cells]
        for cell in read.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        if extra:
            read.cells.append(nbformat.v4.new_code_cell(extra, id="extra"))  # type: ignore[no-untyped-call]  # as above
        nbformat.write(read, self.folder / f"{name}.ipynb")  # type: ignore[no-untyped-call]  # as above
        return f"{name}.ipynb"


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """Start a JupyterLab on a copy of the notebooks' folder, with all of its own files beside it; end it afterwards."""
    home, work = folder / "jupyter", folder / "notebooks"
    shutil.copytree(ROOT / "notebooks", work, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    quiet = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    lab = Lab(work, _free_port(), secrets.token_hex(16))
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={lab.port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={work}",
        f"--IdentityProvider.token={lab.token}",
        "--LabApp.extension_manager=readonly",
    ]
    environment = {**os.environ, **{key: str(home / name) for key, name in places.items()}, "PYTHONPATH": str(ROOT)}
    log = folder / "lab.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        _wait_for(lab, server, log)
        yield lab
    finally:
        _end(server)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _wait_for(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + PATIENCE / 1000
    while not lab.answers():
        if server.poll() is not None or time.monotonic() > ends:
            raise RuntimeError(f"JupyterLab did not start.\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.1)  # between two questions to a server that does not listen yet


def _end(server: subprocess.Popen[bytes]) -> None:
    """The server ends its kernels when it is asked to; what is left of its group after that is ended, too."""
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(15)
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait(5)


class Notebook:
    """A notebook that is open on a page, with its kernel ready."""

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page = page
        self.ids = [cell["id"] for cell in json.loads((lab.folder / name).read_text("utf-8"))["cells"]]
        page.goto(lab.url(name))
        self.ready()

    def ready(self) -> None:
        """Wait until the kernel has nothing to do. (The notebook's own sign says so before it is connected.)"""
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text("Python 3 (ipykernel) | Idle", timeout=PATIENCE)

    def menu(self, *names: str) -> None:
        """Choose from the menu bar."""
        self.page.locator(".lm-MenuBar-itemLabel", has_text=_exactly(names[0])).click()
        for name in names[1:]:
            self.page.locator(".lm-Menu-itemLabel", has_text=_exactly(name)).last.click()

    def run_all(self) -> None:
        """Run every cell, and wait until the last one is done."""
        self.menu("Run", "Run All Cells")
        last = self.page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt").last
        expect(last).to_have_text(re.compile(r"^\[\d+\]:$"), timeout=PATIENCE)
        self.ready()

    def cell(self, id: str) -> Locator:
        """The cell of that id."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(self.ids.index(id))

    def output(self, id: str) -> Locator:
        """What the cell shows."""
        return self.cell(id).locator(".jp-OutputArea-output")

    def again(self, id: str) -> None:
        """Run one cell again, as a person does."""
        before = self.cell(id).locator(".jp-InputPrompt").inner_text()
        self.cell(id).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        expect(self.cell(id).locator(".jp-InputPrompt")).not_to_have_text(before, timeout=PATIENCE)
        expect(self.cell(id).locator(".jp-InputPrompt")).to_have_text(re.compile(r"^\[\d+\]:$"), timeout=PATIENCE)

    def theme(self, name: Theme) -> None:
        """Change JupyterLab's theme."""
        self.menu("Settings", "Theme", name)
        light = str(name == "JupyterLab Light").lower()
        expect(self.page.locator("body")).to_have_attribute("data-jp-theme-light", light)
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)

    def walk_to(self, target: Locator, key: str = "Tab", most: int = 60) -> None:
        """Press a key until the target has the focus: so it can be reached without a mouse."""
        for _ in range(most):
            self.page.keyboard.press(key)
            if target.evaluate("it => it === document.activeElement"):
                return
        raise AssertionError(f"{most} times {key} did not lead to {target}.")


def _exactly(words: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(words)}$")
