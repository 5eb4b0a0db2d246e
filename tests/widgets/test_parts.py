"""What widgets are drawn of, as HTML, as a tree, and as a picture."""

from __future__ import annotations

from html.parser import HTMLParser

from widgets.fields import Field
from widgets.parts import button, field_control, radio, still, tree
from workbench.html import Html, tag


def test_drawn_html_becomes_elements_and_texts() -> None:
    drawn = tag("p", "a < b", Html("<br>"), tag("svg", viewBox="0 0 1 1"), class_="x")
    assert tree(drawn) == [["p", {"class": "x"}, "a < b", ["br", {}], ["svg", {"viewBox": "0 0 1 1"}]]]


def test_hostile_texts_stay_texts(hostile: str) -> None:
    drawn = tag("div", hostile, title=hostile, data_wb_with=hostile)
    assert tree(drawn) == [["div", {"title": hostile, "data-wb-with": hostile}, hostile]]


def test_a_hostile_button_sends_what_it_was_given(hostile: str) -> None:
    ((_, attributes, words),) = tree(button(hostile, "choose", {"id": hostile}))
    assert words == hostile
    assert __import__("json").loads(attributes["data-wb-with"]) == {"id": hostile}


def test_a_hostile_value_stands_whole_in_its_control(hostile: str) -> None:
    ((name, attributes, *inside),) = tree(field_control(Field((), "text", "text", hostile), "0", "x"))
    assert (inside if name == "textarea" else [attributes["value"]]) == [hostile]


class Pressable(HTMLParser):
    """Collects what can be pressed, typed in or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("button", "script", "a", "form", "iframe") or any(name.startswith("on") for name in given):
            self.found.append(tag)
        if tag in ("input", "select", "textarea") and "disabled" not in given:
            self.found.append(tag)


def test_a_picture_has_nothing_to_press(hostile: str) -> None:
    drawn = tag(
        "div",
        button(hostile, "x", {"a": 1}, kind="primary"),
        field_control(Field((), "choice", "one of 1", "0", choices=(hostile,)), "0", "c"),
        field_control(Field((), "json", "JSON", hostile), "1", "j"),
        radio(hostile, "r", "1", True, "switch", {}),
    )
    picture = still(drawn)
    looker = Pressable()
    looker.feed(picture)
    assert looker.found == []
    assert "data-wb" not in picture
