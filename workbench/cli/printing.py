"""What a command found, on a terminal or as JSON. What comes from users is text, never markup and never an escape."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic_core
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from workbench import text


@dataclass
class Result:
    """What a command answers: what to show, the same as data, and the exit status."""

    shown: list[RenderableType] = field(default_factory=list)
    data: Any = None
    status: int = 0


def show(result: Result, *, as_json: bool) -> None:
    """Write the result to standard output."""
    if as_json:
        sys.stdout.write(_json(result.data) + "\n")
        return
    console = Console(highlight=False)
    with console.capture() as drawn:
        console.print(Group(*result.shown), crop=False)
    sys.stdout.write("".join(f"{row.rstrip()}\n" for row in drawn.get().splitlines()))


def _json(data: Any) -> str:
    whole = pydantic_core.to_json(data, indent=2, fallback=text.value, serialize_unknown=True, inf_nan_mode="constants")
    return whole.decode()


def line(words: str, style: str = "") -> Text:
    """A line of text."""
    return Text(plain(words), style=style)


def wrote(file: str) -> Text:
    """That a file was written, on one line however long its path is, so that it can be copied."""
    return Text(f"Wrote {plain(file)}", no_wrap=True, overflow="ignore")


def plain(words: str) -> str:
    """The text without control characters; line ends and tabs stay."""
    return "".join(one if one.isprintable() or one in "\n\t" else repr(one)[1:-1] for one in words)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Iterable[str] = ()) -> Table:
    """Columns under their heads, folded where the terminal is narrow; those in `right` stand flush right."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text("" if one is None else plain(text.value(one, 2000))) for one in row))
    return made


def values(found: Mapping[str, Any]) -> Table:
    """A state: a row for each channel."""
    return table(["channel", "value"], [[name, text.value(one, 200)] for name, one in found.items()])


def under(head: str, *lines: str) -> RenderableType:
    """A bold line, and lines set in under it."""
    return Group(line(head, "bold"), *(Padding(line(one), (0, 0, 0, 2)) for one in lines if one))
