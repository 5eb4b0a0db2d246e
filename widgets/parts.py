"""The pieces that every widget is drawn of, as HTML, and HTML as the tree that a front end builds. Pure.

A widget is drawn once, in Python, as `Html`: every text in it is escaped. `tree` makes plain lists of it for the front
end, which builds elements one by one and sets texts as texts, so nothing that a user wrote can become a tag or run.
`still` makes the picture for where no front end runs: the same, with nothing to press.

What a control does is written on it:

| attribute | says |
|---|---|
| `data-wb-do` | the intent that a press sends; `data-wb-with` is JSON that goes along |
| `data-wb-form` | the controls in here go along with an intent that is sent from in here |
| `data-wb-live` | the intent that a change of a control in here sends |
| `data-wb-default`, `data-wb-esc` | the button that Enter in a field, and Esc, press |
| `data-wb-key` | what an element is, so that a new drawing finds it again and keeps what was typed |
| `data-wb-rev` | a new one makes a control show its value anew, whatever was typed |
| `data-wb-list`, `data-wb-item` | a group in which the arrow keys move |
| `data-wb-focus` | a new one takes the focus; `data-wb-home` takes it when what had it is gone |
| `data-wb-since` | counts the seconds since it appeared |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any, Final

from widgets.fields import Field
from workbench import html
from workbench.html import Html, join, tag

__all__ = ["button", "control", "fault", "field_control", "minus", "still", "tree", "values_table"]

Node = str | list[Any]
"""A text, or an element as `[tag, {attribute: value}, child, …]`."""

VOID: Final = frozenset({"br", "hr", "input"})


def button(
    words: str,
    do: str,
    given: Mapping[str, Any] | None = None,
    *,
    kind: str | None = None,
    disabled: bool = False,
    **attributes: Any,
) -> Html:
    """A button that sends the intent `do` with what is `given`. `kind` is "primary" or "text"."""
    return tag(
        "button",
        words,
        type="button",
        class_=kind,
        data_wb_do=do,
        data_wb_with=json.dumps(given) if given else None,
        aria_disabled="true" if disabled else None,
        **attributes,
    )


def control(
    label: str, shown: Html, note: str = "", wrong: str = "", id: str | None = None, *, reserved: bool = False
) -> Html:
    """A control under its label, with a quiet note or what is wrong below it; `reserved` keeps a line for the note."""
    kind = "small quiet wb-note" if reserved else "small quiet"
    below = fault(wrong, id) if wrong else tag("div", note, class_=kind) if note or reserved else Html("")
    return tag("div", tag("label", label, for_=id), shown, below, class_="wb-control")


def fault(words: str, id: str | None = None) -> Html:
    """What is wrong with a control, as its reader hears it."""
    return tag("div", words, class_="reason", id=f"{id}-fault" if id else None)


def field_control(
    one: Field, name: str, id: str, *, value: str | None = None, wrong: bool = False, rev: str = "", label: str = ""
) -> Html:
    """The control of a field: an input, a text area, a select, or the value alone where it cannot be edited."""
    shown = one.initial if value is None else value
    common = {
        "id": id,
        "name_": name,
        "data_wb_key": id,
        "data_wb_rev": rev or None,
        "aria_label": label or None,
        "aria_invalid": "true" if wrong else None,
        "aria_describedby": f"{id}-fault" if wrong else None,
    }
    bad = " wrong" if wrong else ""
    if one.kind == "fixed":
        return tag("div", one.initial, class_="field wb-fixed", id=id)
    if one.kind == "choice":
        blank = [] if one.initial and not one.optional else [("", "" if one.optional else "Choose one")]
        options = [*blank, *((str(i), words) for i, words in enumerate(one.option_words))]
        return select(options, shown, class_=f"field{bad}", **common)
    mono = " mono" if one.kind in ("json", "date", "datetime") else ""
    if one.kind in ("json", "lines") or "\n" in shown or len(shown) > 80:
        rows = min(max(shown.count("\n") + 1, 3 if one.kind != "text" else 2), 12)
        return tag("textarea", shown, class_=f"field{mono}{bad}", rows=rows, spellcheck="false", **common)
    mode = {"integer": "numeric", "number": "decimal"}.get(one.kind)
    return _input(class_=f"field{mono}{bad}", type="text", value=shown, inputmode=mode, autocomplete="off", **common)


def select(options: list[tuple[str, str]], chosen: str, **attributes: Any) -> Html:
    """A list to choose from: pairs of value and words."""
    inside = (
        tag("option", words, value=value, selected="selected" if value == chosen else None) for value, words in options
    )
    return tag("select", *inside, **attributes)


def radio(words: str, name: str, value: str, checked: bool, do: str, given: Mapping[str, Any]) -> Html:
    """One of several; choosing it sends an intent."""
    dot = _input(
        type="radio",
        name_=name,
        value=value,
        checked="checked" if checked else None,
        data_wb_do=do,
        data_wb_with=json.dumps(given),
        data_wb_key=f"{name}-{value}",
        data_wb_rev=str(checked),
    )
    return tag("label", dot, " ", words, class_="wb-radio")


def values_table(values: Any, label: str = "channel") -> Html:
    """A state's values, a row for each channel."""
    held = values if isinstance(values, Mapping) else {"state": values}
    rows = [[str(name), html.value(one)] for name, one in held.items()]
    return html.table((label, "value"), rows, mono=(label,), wide=True)


def minus(step: int) -> str:
    """A step's number, with a minus sign for people."""
    return str(step).replace("-", "−")  # noqa: RUF001 - as the docstring says


def _input(**attributes: Any) -> Html:
    whole = tag("input", **attributes)
    return Html(whole.removesuffix("</input>"))


# -- html as a tree ---------------------------------------------------------------------------------------------------

_CASED: Final = {"viewbox": "viewBox"}


class _Builder(HTMLParser):
    """Reads our own HTML, which is well formed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.top: list[Any] = ["", {}]
        self.open = [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node: list[Any] = [tag, {_CASED.get(name, name): value or "" for name, value in attrs}]
        self.open[-1].append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].append([tag, {_CASED.get(name, name): value or "" for name, value in attrs}])

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].append(data)


def tree(drawn: Html) -> list[Node]:
    """Drawn HTML as elements and texts."""
    builder = _Builder()
    builder.feed(drawn)
    builder.close()
    return builder.top[2:]


def still(drawn: Html) -> Html:
    """The picture of a drawn widget for where no front end runs: nothing in it can be pressed or typed in."""
    return join(_still(node) for node in tree(drawn))


def _still(node: Node) -> Html:
    if isinstance(node, str):
        return html.escape(node)
    name, given = node[0], node[1]
    kept = {
        key: one for key, one in given.items() if not key.startswith(("data-wb-", "aria-live", "id", "for", "name"))
    }
    if name == "button":
        kind = f"btn wb-off {kept.get('class', '')}".replace("primary", "").strip()
        return tag("span", *_inside(node), class_=kind, aria_current=kept.get("aria-current"))
    if name in ("input", "textarea", "select"):
        kept["disabled"] = ""
        return (
            Html(_open(name, kept)) if name in VOID else join([_open(name, kept), *_inside(node), Html(f"</{name}>")])
        )
    return _open(name, kept) if name in VOID else join([_open(name, kept), *_inside(node), Html(f"</{name}>")])


def _inside(node: list[Any]) -> Iterator[Html]:
    return (_still(child) for child in node[2:])


def _open(name: str, attributes: Mapping[str, str]) -> Html:
    given = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{given}>")
