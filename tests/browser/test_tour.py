"""The tour in a real JupyterLab: everything shows, and what is clicked or typed in a widget reaches the kernel.

The copies that are clicked in hold no cell that would do the same in code, so that only the widgets can have done it.
Their last cell tells the kernel's state: it runs with the others before anything is clicked, and again afterwards.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab import ROOT, Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

TELL = """\
print("waits" if session.pending else "ended", session.values["order"]["state"], session.values["refunded"])
print([branch.tip.stands for branch in session.branches])
"""
HOSTILE = """<img src=x onerror="window.bad=1"></textarea><script>window.bad=2</script>"""
CLICKED = ("load", "graph", "record", "resume-card", "fork-form")


@pytest.fixture
def notebook(lab: Lab, page: Page, request: pytest.FixtureRequest) -> Notebook:
    """The tour's cells up to the widgets, run, with the Resume card's and the Fork form's both on the page."""
    name = re.sub(r"\W+", "_", request.node.name)
    found = Notebook(page, lab, lab.tour(name, CLICKED, TELL))
    found.run_all()
    expect(found.output("extra")).to_have_text("waits in two pieces 0.0\n['waits at approve']\n")
    return found


def tells(notebook: Notebook, words: str) -> None:
    """The kernel's state, as the last cell prints it."""
    notebook.again("extra")
    expect(notebook.output("extra")).to_have_text(words)


def button(notebook: Notebook, cell: str, name: str) -> Locator:
    return notebook.output(cell).get_by_role("button", name=name, exact=True)


def field(notebook: Notebook, channel: str, label: str) -> Locator:
    """A field of the Fork form, by what stands over it."""
    block = notebook.output("fork-form").locator(f"[data-wb-channel={channel}] .wb-control")
    return block.filter(has=notebook.page.get_by_text(label, exact=True)).locator("input")


def title(notebook: Notebook, cell: str) -> Locator:
    return notebook.output(cell).get_by_role("heading", level=2)


def test_clicks_answer_and_fork(notebook: Notebook) -> None:
    button(notebook, "resume-card", "Yes").click()
    expect(title(notebook, "resume-card")).to_have_text("Ended after 6 supersteps")
    tells(notebook, "ended in two pieces 84.0\n['ended']\n")

    form = notebook.output("fork-form")
    field(notebook, "order", "state (text)").fill("whole")
    expect(form.get_by_role("row", name="order.state")).to_contain_text("whole")
    button(notebook, "fork-form", "Fork and run on").click()
    expect(title(notebook, "resume-card")).to_have_text("An answer is needed")
    tells(notebook, "waits whole 0.0\n['ended', 'waits at approve']\n")

    button(notebook, "resume-card", "No").click()
    expect(title(notebook, "resume-card")).to_have_text("Ended after 5 supersteps")
    tells(notebook, "ended whole 0.0\n['ended', 'ended']\n")


def test_what_a_person_types_stays_text(notebook: Notebook) -> None:
    field(notebook, "order", "state (text)").fill(HOSTILE)
    expect(notebook.output("fork-form").get_by_role("row", name="order.state")).to_contain_text(HOSTILE)
    button(notebook, "fork-form", "Fork and run on").click()
    expect(title(notebook, "fork-form")).to_contain_text("of fork 1")
    expect(notebook.output("resume-card").locator("section")).to_contain_text(HOSTILE)
    tells(notebook, f"waits {HOSTILE} 0.0\n['waits at approve', 'waits at approve']\n")
    assert notebook.page.evaluate("window.bad") is None


def test_keys_alone_answer_and_fork(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    notebook.cell("resume-card").locator(".cm-content").click()
    keyboard.press("Escape")
    notebook.walk_to(button(notebook, "resume-card", "Yes"))
    keyboard.press("Enter")
    expect(title(notebook, "resume-card")).to_have_text("Ended after 6 supersteps")

    form = notebook.output("fork-form")
    notebook.walk_to(field(notebook, "order", "state (text)"))
    keyboard.press("Control+A")
    keyboard.type("whole")
    expect(form.get_by_role("row", name="order.state")).to_contain_text("whole")
    notebook.walk_to(button(notebook, "fork-form", "Fork and run on"))
    keyboard.press("Space")
    expect(title(notebook, "resume-card")).to_have_text("An answer is needed")
    notebook.walk_to(button(notebook, "resume-card", "No"), "Shift+Tab")
    keyboard.press("Enter")
    expect(title(notebook, "resume-card")).to_have_text("Ended after 5 supersteps")
    tells(notebook, "ended whole 0.0\n['ended', 'ended']\n")


def test_every_cell_of_the_tour_shows_what_it_should(lab: Lab, page: Page, screenshots: Path) -> None:
    notebook = Notebook(page, lab, lab.tour("whole"))
    notebook.run_all()
    expect(page.locator(".jp-Notebook [data-mime-type='application/vnd.jupyter.stderr']")).to_have_count(0)
    for cell in ("graph", "record", "strip", "resume-code", "compare"):
        expect(notebook.output(cell).locator("svg.wb-graph").first).to_be_visible()
    for cell, words in (("resume-card", "Ended after 5 supersteps"), ("fork-form", "Fork teapot at checkpoint 3")):
        expect(title(notebook, cell)).to_contain_text(words)
    if "WORKBENCH_SCREENSHOTS" in os.environ:
        keep_pictures(notebook, screenshots)


def keep_pictures(notebook: Notebook, folder: Path) -> None:
    """The whole notebook at two widths, light and dark, for someone to look at."""
    page = notebook.page
    page.keyboard.press("Control+B")  # the file browser goes
    for width in (1280, 700):
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            page.set_viewport_size({"width": width, "height": 900})
            notebook.theme(theme)
            panel = page.locator(".jp-Notebook .jp-WindowedPanel-outer")
            panel.evaluate("it => it.scrollTop = 0")
            last = page.locator(".jp-Notebook .jp-Cell").last.bounding_box()
            assert last is not None
            page.set_viewport_size({"width": width, "height": int(last["y"] + last["height"]) + 60})
            page.screenshot(path=folder / f"tour-{width}-{theme.split()[-1].lower()}.png")


@pytest.fixture(scope="module")
def exported(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tour as `make tour` writes it, in a shop whose order says something hostile."""
    folder = tmp_path_factory.mktemp("exported")
    shutil.copytree(ROOT / "notebooks", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    props = (folder / "tour.py").read_text("utf-8")
    assert '"in two pieces"' in props
    (folder / "tour.py").write_text(props.replace('"in two pieces"', repr(HOSTILE)), "utf-8")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute"]
    command += ["--ExecutePreprocessor.store_widget_state=False", "--output", "tour.html", "00_tour.ipynb"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=180)
    return folder / "tour.html"


@pytest.fixture
def offline(browser: Browser, exported: Path) -> Iterator[Page]:
    """The exported page, opened from disk without a network."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(exported.as_uri(), wait_until="load")
    yield page
    context.close()


def test_the_exported_page_shows_every_picture_without_a_network(offline: Page, screenshots: Path) -> None:
    pictures = offline.locator("svg.wb-graph")
    assert pictures.count() >= 8  # the graph, the recording, the strip's four, the timeline, the tree
    for number in range(pictures.count()):
        expect(pictures.nth(number)).to_be_visible()
    for words in ("An answer is needed", "Fork teapot at checkpoint 3", "main → fork 1: 4 differences."):
        expect(offline.get_by_text(words)).to_be_visible()
    for picture in offline.locator(".wb img").all():
        raise AssertionError(f"{picture} would have to be fetched")
    offline.screenshot(path=screenshots / "exported.png", full_page=True)


def test_hostile_text_in_the_exported_page_stays_text(offline: Page) -> None:
    expect(offline.get_by_text(HOSTILE, exact=True).first).to_be_visible()
    assert offline.evaluate("window.bad") is None
