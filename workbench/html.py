"""Values, tables and signs as HTML: fragments for a notebook's cell, and whole pages.

`Html` is text that is safe already; every other text is escaped where it goes in, so nothing from a user's graph, state
or database can become a tag. There is no script anywhere. A fragment carries its style sheet, so that it looks the same
in a saved notebook where no kernel runs.
"""

import html
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from importlib.resources import files
from typing import Any, ClassVar

from workbench import signs, text

_WHOLE = 20_000
_ROWS = 20
_DEPTH = 3
_WORD = 24


class Html(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


def escape(thing: Any) -> Html:
    """Any text as HTML, safe between tags and inside a quoted attribute; `Html` stays as it is."""
    if isinstance(thing, Html):
        return thing
    return Html(html.escape(clean(str(thing)), quote=True))


def clean(words: str) -> str:
    """The text without the characters that XML forbids; each is shown as U+FFFD."""
    return "".join(one if _lawful(one) else "\ufffd" for one in words)


def join(pieces: Iterable[str], between: str = "") -> Html:
    """Pieces one after the other; those that are no `Html` are escaped."""
    return Html(between.join(escape(piece) for piece in pieces))


def tag(name: str, *content: str, **attributes: Any) -> Html:
    """An element: `tag("td", "a < b", class_="num")`. Content and attribute values are escaped."""
    given = {key.rstrip("_").replace("_", "-"): one for key, one in attributes.items() if one is not None}
    words = "".join(f' {key}="{escape(one)}"' for key, one in given.items())
    return Html(f"<{name}{words}>{join(content)}</{name}>")


@lru_cache
def style(*sheets: str) -> Html:
    """The style sheet as one element: tokens, drawings and common parts, and the further `sheets` (`"controls"`)."""
    names = ("tokens", "base", "graph", *sheets)
    return Html(f"<style>{''.join(sheet(name) for name in names)}</style>")


@lru_cache
def sheet(name: str) -> str:
    """The text of one of our style sheets, without its comments."""
    words = files("workbench").joinpath("static", f"{name}.css").read_text(encoding="utf-8")
    while (start := words.find("/*")) >= 0:
        words = words[:start] + words[words.index("*/", start) + 2 :]
    return "\n".join(line.strip() for line in words.splitlines() if line.strip())


def fragment(*content: str, sheets: Sequence[str] = (), theme: str | None = None, label: str | None = None) -> Html:
    """Content for a notebook's cell, with the styles it needs. `theme` is "light", "dark", or the host's."""
    return tag("div", style(*sheets), *content, class_="wb", data_wb_theme=theme, aria_label=label)


class Shown:
    """What a cell shows as HTML, or by its own text where there is none. `_sheets` are the styles that it needs."""

    __slots__ = ()
    _sheets: ClassVar[Sequence[str]] = ()

    def fragment(self) -> Html:
        """It as HTML, to set into something larger."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": fragment(self.fragment(), sheets=self._sheets), "text/plain": str(self)}


def page(title: str, *content: str, sheets: Sequence[str] = (), theme: str | None = None) -> Html:
    """A whole HTML file that needs no network, no kernel and no script."""
    body = fragment(*content, sheets=sheets, theme=theme)
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # a tag that slipped through would do nothing
    )
    return Html(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        "<style>body{margin:0;background:#fdfdfd}.wb{min-height:100vh;padding:16px}"
        "@media(prefers-color-scheme:dark){body{background:#1b1d20}}</style>"
        f"</head><body>{body}</body></html>\n"
    )


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Iterable[int | str] = (),
    mono: Iterable[int | str] = (),
    wide: bool = False,
    caption: str = "",
) -> Html:
    """Columns under their heads. Those in `right` (by name or place) stand flush right, those in `mono` are names."""
    heads = [str(column) for column in columns]
    flush = {i for i, head in enumerate(heads) if i in right or head in right}
    names = {i for i, head in enumerate(heads) if i in mono or head in mono}
    kind = ["num" if i in flush else None for i in range(len(heads))]
    top = join(tag("th", head, class_=kind[i], scope="col") for i, head in enumerate(heads))
    body = join(
        tag("tr", *(tag("td", _cell(one, i in names), class_=kind[i]) for i, one in enumerate(row))) for row in rows
    )
    whole = tag("table", tag("thead", tag("tr", top)), tag("tbody", body), class_=f"wb-table{' wide' if wide else ''}")
    return join([whole, tag("p", caption, class_="small quiet")]) if caption else whole


def sign(status: signs.Status, words: str | None = None) -> Html:
    """The round sign of a status, with words beside it where they are given."""
    if words is None:
        return Html(signs.icon(status))
    return tag("span", Html(signs.icon(status, label="")), " ", words)


def key(samples: Iterable[signs.Sample] = (), statuses: Iterable[signs.Status] = ()) -> Html:
    """The key under a drawing: each line style and each status sign with its words.

    `statuses` may be a mapping that gives a status other words.
    """
    words = dict(statuses) if isinstance(statuses, Mapping) else {}
    lines = [
        tag("span", Html(f'<svg width="{one.width}" height="12" aria-hidden="true">{one.strokes}</svg>'), one.words)
        for one in samples
    ]
    rounds = [tag("span", Html(signs.icon(one, label="")), words.get(one, signs.LOOKS[one].words)) for one in statuses]
    return tag("div", *lines, *rounds, class_="key") if lines or rounds else Html("")


def version(words: str, ticked: bool = False) -> Html:
    """A channel's version: quiet, or blue and bold where it changed."""
    return tag("span", words, class_="v tick" if ticked else "v")


def code(words: Any) -> Html:
    """A name or a line of code in the fixed-width font."""
    return tag("code", str(words), class_=_long(str(words)))


def value(thing: Any, depth: int = _DEPTH) -> Html:
    """Any value so that a person can read it: text, number, message, list, mapping, model, table.

    Long text shows its first 80 characters and its length, and opens to the whole; a long list says how many more.
    """
    if thing is None or isinstance(thing, bool | int | float):
        return tag("span", str(thing), class_="quiet" if thing is None else None)
    if isinstance(thing, str):
        return _words(thing)
    said = text.message(thing)
    if said is not None:
        return _message(said)
    found = text.parts(thing)
    if found is not None:
        return join([tag("div", found.kind, class_="small quiet"), _fields(found.fields, depth)])
    if isinstance(thing, Mapping):
        return _fields(thing, depth)
    if isinstance(thing, list | tuple | Set):
        return _items(list(thing), depth)
    return _words(text.value(thing, _WHOLE))


def _lawful(one: str) -> bool:
    return one in "\t\n\r" or " " <= one <= "\ud7ff" or "\ue000" <= one <= "\ufffd" or one >= "\U00010000"


def _cell(thing: Any, name: bool) -> Html:
    if thing is None:
        return Html("")
    if name:
        return thing if isinstance(thing, Html) else code(thing)
    if isinstance(thing, str) and len(thing) <= text.LIMIT and not _long(thing):
        return escape(thing)
    return value(thing)


def _long(words: str) -> str | None:
    """The class of a text that may break inside a word, lest one long word make its column too wide for the rest."""
    return "long" if any(len(word) > _WORD for word in words.split()) else None


def _words(words: str) -> Html:
    if isinstance(words, Html):
        return words
    if len(words) <= text.LIMIT and "\n" not in words.strip():
        return tag("span", words, class_=_long(words))
    head = " ".join(words[: text.LIMIT * 2].split())[: text.LIMIT]
    size = f"… {text.count(len(words), 'character')}"
    whole = words if len(words) <= _WHOLE else f"{words[:_WHOLE]}\n… the first {_WHOLE:,} of {len(words):,} characters"
    summary = tag("summary", head, tag("span", size, class_="quiet"))
    return tag("details", summary, tag("pre", whole), class_="more")


def _message(said: text.Message) -> Html:
    calls = join((tag("div", "calls ", code(call)) for call in said.calls), "")
    words = _words(said.words) if said.words else ""
    return tag("div", tag("span", said.role, class_="role"), " ", words, calls)


def _fields(fields: Mapping[Any, Any], depth: int) -> Html:
    if not fields:
        return tag("span", "empty", class_="quiet")
    if depth <= 0:
        return tag("span", text.count(len(fields), "key"), class_="quiet")
    shown = list(fields.items())[:_ROWS]
    rows = [tag("tr", tag("td", code(name)), tag("td", value(one, depth - 1))) for name, one in shown]
    whole = tag("table", tag("tbody", *rows), class_="wb-table")
    return join([whole, _rest(len(fields))])


def _items(things: list[Any], depth: int) -> Html:
    if not things:
        return tag("span", "empty", class_="quiet")
    every = [text.message(one) for one in things[:_ROWS]]
    if all(every):
        whole = tag("div", *(_message(one) for one in every if one), class_="wb-messages")
    elif all(one is None or isinstance(one, bool | int | float) for one in things):
        whole = tag("span", ", ".join(str(one) for one in things[:_ROWS]))
    elif depth <= 0:
        return tag("span", text.count(len(things), "item"), class_="quiet")
    else:
        whole = tag("ol", *(tag("li", value(one, depth - 1)) for one in things[:_ROWS]), class_="wb-items", start="0")
    return join([whole, _rest(len(things))])


def _rest(size: int) -> Html:
    return tag("div", f"and {size - _ROWS:,} more", class_="small quiet") if size > _ROWS else Html("")
