"""A recording as one HTML file: no kernel, no network, no script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from workbench import html, text
from workbench.frames import COLUMNS
from workbench.html import Html
from workbench.prose import plain
from workbench.stepview import StepView
from workbench.summary import shown

if TYPE_CHECKING:
    from workbench.recording import Recording

_ROWS: Final = 200
_STEPS: Final = 60
_NUMBERS: Final = ("Int64", "float64")
_NAMES: Final = ("channel", "updated", "task_id", "checkpoint_id", "parent_id", "interrupt_id", "path")


def write(recording: Recording, path: Path) -> Path:
    """Write the report there; gives the path."""
    path.write_text(page(recording), encoding="utf-8")
    return path


def page(recording: Recording) -> Html:
    """The whole page."""
    summary = recording.summary()
    story = [html.tag("div", plain(line)) for line in recording.story().lines()]
    sections = [
        html.tag("section", summary.fragment(advice=False)),
        _section("What happened", html.tag("div", *story, class_="wb-list")),
        _section("Supersteps", *_steps(recording)),
        _section("Time", recording.timeline().fragment()),
        _section("Frames", *_frames(recording)),
    ]
    if recording.missing:
        sections.append(_section("What is missing", *(html.tag("p", sentence) for sentence in recording.missing)))
    body = html.tag("main", *sections, class_="wb-report")
    return html.page(f"{summary.verdict} - run report", body, sheets=["recording"])


def _section(name: str, *content: str) -> Html:
    return html.tag("section", html.tag("h2", name), *content)


def _steps(recording: Recording) -> Iterator[Html]:
    """Each superstep, folded, the last one open."""
    numbers = list(dict.fromkeys(superstep.step for superstep in shown(recording.index)))
    for number in numbers[-_STEPS:]:
        view = StepView(recording.index, number, recording.graph)
        nodes = text.listing(dict.fromkeys(task.node for task in view.superstep.visible))
        given: dict[str, Any] = {"open": "open"} if number == numbers[-1] else {}
        yield html.tag("details", html.tag("summary", f"Superstep {number}: {nodes}"), view.fragment(), **given)
    if len(numbers) > _STEPS:
        yield html.tag("p", f"The last {_STEPS} of {len(numbers):,} supersteps.", class_="small quiet")


def _frames(recording: Recording) -> Iterator[Html]:
    for name in COLUMNS:
        frame: pd.DataFrame = getattr(recording, name)
        head = html.tag("summary", f"{name}: {text.count(len(frame), 'row')}")
        yield html.tag("details", head, table(frame) if len(frame) else "")


def table(frame: pd.DataFrame, rows: int = _ROWS) -> Html:
    """A frame as a table: numbers flush right, names in the fixed-width font, missing as <NA>."""
    right = [name for name in frame.columns if str(frame[name].dtype) in _NUMBERS]
    mono = [name for name in frame.columns if name in _NAMES]
    body = ([_cell(one) for one in row] for row in frame.head(rows).itertuples(index=False, name=None))
    more = f"The first {rows} of {text.count(len(frame), 'row')}." if len(frame) > rows else ""
    return html.table([str(name) for name in frame.columns], body, right=right, mono=mono, wide=True, caption=more)


def _cell(thing: Any) -> Any:
    if thing is pd.NA or thing is pd.NaT or (isinstance(thing, float) and thing != thing):
        return html.tag("span", "<NA>", class_="quiet")
    if isinstance(thing, pd.Timestamp):
        return thing.strftime("%H:%M:%S.%f")[:-3]
    if isinstance(thing, float):
        return f"{thing:.3f}"
    return html.value(thing) if not isinstance(thing, str) else thing
