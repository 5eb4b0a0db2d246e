import operator
from typing import Annotated, TypedDict

import pandas as pd
import pytest

from tests.workbench.events_of import literature
from workbench import record, report
from workbench.recording import Recording

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'


class Log(TypedDict):
    log: Annotated[list[str], operator.add]
    mood: str


@pytest.fixture
def rec(built):
    """Three supersteps, one after the other, on either engine."""
    said = {name: lambda state, name=name: {"log": [f"{name} was here"]} for name in "abc"}
    edges = (("__start__", "a"), ("a", "b"), ("b", "c"))
    return record(built(*edges, state=Log, **said).compile(name="three"), {"log": [], "mood": "calm"})


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens the report of a recording in a page that has no network. Gives the page and what it asked for."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def show(recording, width=1280):
            page = browser.new_context(offline=True, viewport={"width": width, "height": 900}).new_page()
            asked = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(recording.report(tmp_path / "run.html").as_uri())
            return page, asked

        yield show
        browser.close()


def test_a_frame_is_a_table_with_missing_values_named():
    frame = Recording(literature().events).triggers
    table = report.table(frame)
    assert table.count("<tr>") == len(frame) + 1
    assert "&lt;NA&gt;" in table
    assert "<code>branch:to:rank</code>" in table


def test_numbers_of_a_frame_are_plain():
    assert '<td class="num"><span>-1</span></td>' in report.table(pd.DataFrame({"step": [-1]}, dtype="Int64"))


def test_a_long_frame_is_cut_and_says_so():
    assert "The first 200 of 300 rows." in report.table(pd.DataFrame({"a": range(300)}))


def test_an_empty_recording_has_a_report():
    assert "No run yet" in report.page(Recording())


def test_a_report_says_which_graph_ran_and_when():
    assert "Run report, 14 Nov 2023 22:13:20 UTC" in report.page(Recording(literature().events))


def test_the_drawing_is_in_it_once_and_each_superstep_adds_what_differs(rec):
    page = report.page(rec)
    assert page.count('data-node="a"') == 2  # in the summary, and under the boxes
    assert page.count('class="wb-frame"') == 3


@pytest.mark.browser
def test_a_report_needs_no_network_and_no_script(opened, rec):
    page, asked = opened(rec)
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == 1
    assert page.locator("script").count() == 0
    headings = page.locator("section > h2").all_inner_texts()
    assert headings[:4] == ["What happened", "Supersteps", "Time", "Frames"]
    assert page.locator("details > summary").all_inner_texts()[2] == f"triggers: {len(rec.triggers)} rows"
    page.locator("details > summary").nth(2).press("Enter")
    assert page.locator("details[open] table code:visible").first.inner_text()


@pytest.mark.browser
def test_each_superstep_shows_its_drawing_and_what_it_changed(opened, rec):
    page, _ = opened(rec)
    pane = page.locator(".pane:visible")
    assert pane.locator("h2").inner_text() == "Superstep 1"
    assert page.locator(".wb-frame:visible .node.ran > text").all_text_contents() == ["a"]
    page.get_by_text("Next", exact=True).locator("visible=true").click()
    assert page.locator(".wb-frame:visible .node.ran > text").all_text_contents() == ["b"]
    assert pane.locator("h3").first.inner_text() == "What superstep 2 changed"
    assert pane.locator("td .new").all_inner_texts() == ["b was here"]
    assert pane.get_by_text("1 unchanged: mood").count() == 1


@pytest.mark.browser
def test_the_arrow_keys_go_from_superstep_to_superstep(opened):
    page, _ = opened(Recording(literature().events))
    assert page.locator(".pane:visible h2").all_inner_texts() == ["Superstep 1"]
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.locator(".pane:visible h2").all_inner_texts() == ["Superstep 2"]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".pane:visible h2").all_inner_texts() == ["Superstep 5"]
    page.locator(".boxes > label").nth(1).click()
    assert page.locator(".pane:visible h2").all_inner_texts() == ["Superstep 2"]


@pytest.mark.browser
def test_nothing_moves_from_superstep_to_superstep(opened, rec):
    page, _ = opened(rec)
    there = [page.locator(".boxes"), page.locator(".wb-player svg.wb-graph"), page.get_by_text("Time", exact=True)]
    before = [one.bounding_box() for one in there]
    page.locator("#step0").press("ArrowRight")
    assert [one.bounding_box() for one in there] == before


@pytest.mark.browser
def test_the_chosen_superstep_is_in_view_on_a_narrow_page(opened):
    page, _ = opened(Recording(literature().events), width=400)
    page.locator("#step0").press("ArrowLeft")
    box = page.locator(".boxes > label").nth(4).bounding_box()
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 400
    assert page.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.browser
def test_what_users_write_is_text(opened, built, saver):
    graph = built(("__start__", HOSTILE), state=Log, **{HOSTILE: lambda state: {"log": [HOSTILE]}})
    rec = record(graph.compile(checkpointer=saver, name=HOSTILE), {"log": [], "mood": HOSTILE}, thread=HOSTILE)
    page, asked = opened(rec)
    assert page.locator("script, img, [onerror]").count() == 0
    assert page.title() == "Ended after 1 superstep - run report"
    assert len(asked) == 1
    assert page.locator(".pane:visible .new").inner_text() == HOSTILE


@pytest.mark.browser
def test_a_long_name_stays_in_its_box(opened, built):
    name = "x" * 60
    graph = built(("__start__", name), (name, "b"), state=Log, **{name: lambda state: {}, "b": lambda state: {}})
    page, _ = opened(record(graph.compile(), {"log": [], "mood": "calm"}))
    sizes = "box => [box.scrollWidth, box.clientWidth]"
    assert all(inner <= outer for inner, outer in [box.evaluate(sizes) for box in page.locator(".boxes > label").all()])
    label = page.locator("svg text", has_text="xxx").last.bounding_box()
    assert label["x"] >= page.locator(".wb-report").bounding_box()["x"]
