"""The front end alone, in a chromium without JupyterLab: it builds what it is given, and sends what was pressed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from widgets.fields import Field
from widgets.parts import button, field_control, tree
from workbench.html import Html, join, tag

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><body><div id="here"></div><button id="out">outside</button><script type="module">
%s
const listeners = {};
window.state = {view: [], heard: 0, name: "test"};
window.sent = [];
window.passed = [];
window.model = {
  get: (name) => state[name], send: (message) => sent.push(message),
  on: (name, f) => (listeners[name] ??= []).push(f), off: (name, f) => { listeners[name] = [] },
};
window.give = (name, value) => { state[name] = value; for (const f of listeners["change:" + name] ?? []) f() };
document.body.addEventListener("keydown", (event) => passed.push(event.key));
window.clean = render({model, el: document.getElementById("here")});
</script>"""


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page with the front end on it. `errors` collects what it threw."""
    script = files("widgets").joinpath("static", "live.js").read_text(encoding="utf-8")
    found = browser.new_page()
    errors: list[str] = []
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.set_content(PAGE % script.replace("export default { render };", ""))
    found.wait_for_function("window.clean !== undefined")
    yield found
    assert errors == []
    found.close()


def give(page: Any, *drawn: Html) -> None:
    page.evaluate("view => give('view', view)", tree(join(drawn)))


def sent(page: Any) -> list[dict[str, Any]]:
    return json.loads(page.evaluate("JSON.stringify(sent)"))


def text_field(key: str, value: str = "", rev: str = "") -> Html:
    return field_control(Field((), "text", "text", value), key, key, rev=rev)


def test_hostile_texts_are_shown_and_do_nothing(page: Any, hostile: str) -> None:
    give(page, tag("p", hostile, title=hostile), text_field("a", hostile), button(hostile, "x", {"id": hostile}))
    assert page.locator("p").text_content() == hostile
    assert page.locator(".field").input_value() == hostile
    page.locator("button[data-wb-do]").click()
    assert sent(page)[0]["with"] == {"id": hostile}
    assert page.locator("script:not([type])").count() == 0


def test_what_is_unknown_is_not_built(page: Any) -> None:
    view = [
        ["script", {}, "window.bad = 1"],
        ["img", {"onerror": "window.bad = 1", "src": "x"}],
        ["b", {"onclick": "1"}],
    ]
    page.evaluate("view => give('view', view)", view)
    assert page.locator("#here script, #here img").count() == 0
    assert page.locator("#here b").get_attribute("onclick") is None
    assert page.evaluate("window.bad") is None


def test_what_was_typed_stays_when_all_else_is_drawn_anew(page: Any) -> None:
    give(page, text_field("a"), tag("p", "before"))
    page.locator(".field").fill("typed")
    give(page, tag("p", "new above"), text_field("a", "from Python"), tag("p", "after"))
    assert page.locator(".field").input_value() == "typed"
    assert page.evaluate("document.activeElement.className") == "field"
    give(page, text_field("a", "from Python", rev="2"))
    assert page.locator(".field").input_value() == "from Python"


def test_a_press_sends_what_stands_in_its_form(page: Any) -> None:
    form = tag("div", text_field("a"), text_field("b", "2"), button("Save", "save", {"id": 1}), data_wb_form="")
    give(page, form, tag("div", text_field("c", "3")))
    page.locator(".field").first.fill("1")
    page.get_by_role("button", name="Save").click()
    assert sent(page) == [{"n": 1, "do": "save", "with": {"id": 1}, "form": {"a": "1", "b": "2"}}]


def test_a_second_press_is_not_sent_before_the_first_was_heard(page: Any) -> None:
    give(page, button("Go", "go"))
    go = page.get_by_role("button", name="Go")
    go.click()
    go.click()
    assert len(sent(page)) == 1
    page.evaluate("give('heard', 1)")
    go.click()
    assert len(sent(page)) == 2


def test_a_press_that_nobody_hears_is_explained(page: Any) -> None:
    give(page, button("Go", "go"))
    page.get_by_role("button", name="Go").click()
    page.get_by_text("The kernel is busy. It will answer this click when it can.").wait_for()
    page.evaluate("give('heard', 1)")
    assert page.locator(".wb-patience").text_content() == ""


def test_a_disabled_button_keeps_the_focus_and_sends_nothing(page: Any) -> None:
    give(page, button("Go", "go"))
    page.get_by_role("button", name="Go").focus()
    give(page, button("Go", "go", disabled=True))
    page.keyboard.press("Enter")
    assert sent(page) == []
    assert page.evaluate("document.activeElement.textContent") == "Go"


def test_typing_is_sent_once_it_settles(page: Any) -> None:
    give(page, tag("div", tag("div", text_field("a"), data_wb_live="edit"), text_field("b", "2"), data_wb_form=""))
    page.evaluate(  # in one go: a busy machine takes its time between two real keys
        """for (const typed of ["a", "ab", "abc"]) {
          const field = document.querySelector(".field");
          field.value = typed;
          field.dispatchEvent(new Event("input", {bubbles: true}));
        }"""
    )
    page.wait_for_function("sent.length > 0")
    assert [(one["do"], one["form"]["a"]) for one in sent(page)] == [("edit", "abc")]


def test_enter_in_a_field_presses_the_default_and_esc_cancels(page: Any) -> None:
    give(
        page,
        tag(
            "div",
            text_field("a"),
            button("Save", "save", data_wb_default=""),
            button("Cancel", "close", data_wb_esc=""),
            data_wb_form="",
        ),
    )
    page.locator(".field").press("Enter")
    page.evaluate("give('heard', 1)")
    page.locator(".field").press("Escape")
    assert [one["do"] for one in sent(page)] == ["save", "close"]


def test_arrows_walk_a_list_and_keys_do_not_reach_the_notebook(page: Any) -> None:
    items = (button(name, "pick", {"id": name}, data_wb_item="", tabindex="-1") for name in "abc")
    give(page, tag("div", *items, data_wb_list=""))
    page.get_by_role("button", name="a").focus()
    for key, name in (("ArrowDown", "b"), ("End", "c"), ("ArrowDown", "c"), ("Home", "a"), ("d", "a")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent") == name
    assert page.evaluate("passed") == []
    page.keyboard.press("Enter")
    assert sent(page)[0]["with"] == {"id": "a"}


def test_the_focus_goes_where_it_is_sent_or_home_but_is_never_stolen(page: Any) -> None:
    home = tag("h2", "Now", tabindex="-1", data_wb_home="")
    give(page, home, button("Go", "go"))
    page.get_by_role("button", name="Go").focus()
    give(page, home)
    assert page.evaluate("document.activeElement.textContent") == "Now"
    give(page, home, button("Here", "x", data_wb_focus="1"))
    assert page.evaluate("document.activeElement.textContent") == "Here"
    page.locator("#out").focus()
    give(page, home, button("Here", "x", data_wb_focus="2"))
    assert page.evaluate("document.activeElement.id") == "out"


def test_two_views_do_not_share_names_and_leave_nothing_behind(page: Any) -> None:
    give(page, tag("label", "a", for_="a"), text_field("a"))
    first = page.locator(".field").get_attribute("id")
    assert page.locator("label").get_attribute("for") == first
    assert first != "a"
    page.evaluate("clean()")
    page.evaluate("give('view', [])")
    assert page.locator(".field").count() == 1
