import pandas as pd
import pytest

from tests.workbench.events_of import literature
from workbench import report
from workbench.recording import Recording


def test_a_frame_is_a_table_with_missing_values_named():
    frame = Recording(literature().events).triggers
    table = report.table(frame)
    assert table.count("<tr>") == len(frame) + 1
    assert "&lt;NA&gt;" in table
    assert "<code>branch:to:rank</code>" in table


def test_a_long_frame_is_cut_and_says_so():
    assert "The first 200 of 300 rows." in report.table(pd.DataFrame({"a": range(300)}))


def test_an_empty_recording_has_a_report():
    assert "No run yet" in report.page(Recording())


@pytest.mark.browser
def test_the_arrow_keys_go_from_superstep_to_superstep(chromium, tmp_path):
    from playwright.sync_api import sync_playwright

    path = Recording(literature().events).report(tmp_path / "run.html")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(path.as_uri())
        assert page.locator(".pane:visible h2").all_inner_texts() == ["Superstep 5"]
        page.locator("#step4").focus()
        page.keyboard.press("ArrowLeft")
        assert page.locator(".pane:visible h2").all_inner_texts() == ["Superstep 4"]
        page.locator("label[for=step1]").click()
        assert page.locator(".pane:visible h2").all_inner_texts() == ["Superstep 2"]
        browser.close()
