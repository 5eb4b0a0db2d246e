"""Sentences that are shown twice, as plain text and as HTML, from one source: so the two say the same.

A line is a row of pieces. A bare text is prose; a `Code` is a name from the program, a `Mark` a channel's version, an
`Icon` a status sign, which has no place in plain text. Everything is escaped on its way into HTML.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from workbench import html, text
from workbench.html import Html
from workbench.signs import Status


class Code(NamedTuple):
    """A name from the program: a channel, a call."""

    words: str


class Mark(NamedTuple):
    """A channel's version, or how it went from one to another; `ticked` where that is the point."""

    words: str
    ticked: bool = False


class Icon(NamedTuple):
    """A status sign."""

    status: Status


Line = tuple[str | Code | Mark | Icon, ...]


def plain(line: Line) -> str:
    """The line as text."""
    return "".join(piece if isinstance(piece, str) else getattr(piece, "words", "") for piece in line)


def rich(line: Line) -> Html:
    """The line as HTML."""
    return html.join(_piece(piece) for piece in line)


def _piece(piece: str | Code | Mark | Icon) -> Html:
    match piece:
        case Code(words):
            return html.code(words)
        case Mark(words, ticked):
            return html.version(words, ticked)
        case Icon(status):
            return html.sign(status)
        case _:
            return html.escape(piece)


class Told(html.Shown):
    """The base of values that show themselves as a head line and lines under it, in text and in HTML alike."""

    __slots__ = ()

    def head(self) -> Line:
        """The first line: the answer in one sentence."""
        raise NotImplementedError

    def lines(self) -> Iterable[Line]:
        """What the answer rests on."""
        return ()

    def __str__(self) -> str:
        return "\n".join([plain(self.head()), *(f"  {plain(line)}" for line in self.lines())])

    def fragment(self) -> Html:
        """The answer as HTML, to set into something larger."""
        under = [html.tag("li", rich(line)) for line in self.lines()]
        return html.tag(
            "div",
            html.tag("p", html.tag("strong", rich(self.head()))),
            html.tag("ul", *under, class_="wb-items") if under else "",
        )


def version(number: int | None) -> str:
    """A version as it is shown: `v3`, or `none`."""
    return "none" if number is None else f"v{number}"


def place(ns: str) -> str:
    """A namespace in a sentence, without the ids of its tasks: `desk`, `desk, inner`; empty at the top."""
    names = [part.partition(":")[0] for part in ns.split("|") if part and not part.isdecimal()]
    return ", ".join(names)


def asked(value: Any) -> str:
    """What an interrupt asks, on one line in a sentence: the words of its question where it has some."""
    return quoted(text.question(value) or value)


def quoted(value: Any, limit: int = text.LIMIT) -> str:
    """Any value on one line in a sentence; a text in quotation marks."""
    return f"“{text.value(value, limit)}”" if isinstance(value, str) else text.value(value, limit)
