"""A recording as one HTML file: no kernel, no network, no script.

The supersteps are a row of boxes, one of which is chosen; radio buttons under the labels do it, so that the arrow keys
go from box to box and a page without styles shows them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from workbench import html, overlay, text
from workbench.drawing import TooLarge
from workbench.frames import COLUMNS, tasks_in_words
from workbench.html import Html
from workbench.index import Superstep, count_of, is_state
from workbench.moment import Moment
from workbench.prose import plain, version
from workbench.stepview import StepView
from workbench.summary import shown
from workbench.svg import LayoutError

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
        _section("Supersteps", _player(recording)),
        _section("Time", recording.timeline().fragment()),
        *_tree(recording),
        _section("Frames", *_frames(recording)),
    ]
    if recording.missing:
        sections.append(_section("What is missing", *(html.tag("p", sentence) for sentence in recording.missing)))
    body = html.tag("main", *sections, class_="wb-report")
    return html.page(f"{summary.verdict} - run report", body, sheets=["recording"])


def _section(name: str, *content: str) -> Html:
    return html.tag("section", html.tag("h2", name), *content)


# -- the supersteps ---------------------------------------------------------------------------------------------------


def _player(recording: Recording) -> Html:
    every = shown(recording.index)
    steps = every[-_STEPS:]
    if not steps:
        return html.tag("p", "No task ran.", class_="quiet")
    last = len(steps) - 1
    radios = [_radio(place, place == last) for place in range(len(steps))]
    boxes = [
        html.tag("label", *_box(superstep), for_=f"step{place}", class_="passed" if superstep.updated else None)
        for place, superstep in enumerate(steps)
    ]
    panes = [
        html.tag("div", _pane(recording, superstep), class_="pane", id=f"pane{place}")
        for place, superstep in enumerate(steps)
    ]
    more = f"The last {_STEPS} of {len(every):,} supersteps. " if len(every) > _STEPS else ""
    keys = html.tag("p", f"{more}Choose a superstep, or go on with the arrow keys.", class_="small quiet")
    boxed = html.tag("div", *boxes, class_="boxes")
    return html.join([_rules(len(steps)), keys, html.tag("div", *radios, boxed, *panes, class_="wb-player")])


def _radio(place: int, chosen: bool) -> Html:
    checked = " checked" if chosen else ""
    return Html(f'<input type="radio" name="step" id="step{place}" aria-controls="pane{place}"{checked}>')


def _rules(many: int) -> Html:
    """Which box and which pane a chosen radio button shows."""
    shows = ",".join(f"#step{place}:checked~#pane{place}" for place in range(many))
    marks = ",".join(f"#step{place}:checked~.boxes [for=step{place}]" for place in range(many))
    focus = ",".join(f"#step{place}:focus-visible~.boxes [for=step{place}]" for place in range(many))
    return Html(
        f"<style>.wb .wb-player>.pane{{display:none}}{shows}{{display:block!important}}"
        f"{marks}{{background:var(--wb-blue-tint);box-shadow:inset 0 0 0 2px var(--wb-blue)}}"
        f"{focus}{{outline:2px solid var(--wb-blue);outline-offset:2px}}</style>"
    )


def _box(superstep: Superstep) -> tuple[Html, Html]:
    number = html.tag("strong", str(superstep.step))
    head = html.tag("div", number, " ", html.sign(overlay.sign_of_step(superstep)))
    return head, html.tag("div", tasks_in_words(superstep.visible), class_="small")


def _pane(recording: Recording, superstep: Superstep) -> Html:
    view = StepView(recording.index, superstep, recording.graph)
    return html.join([view.fragment(), _channels(superstep)])


def _channels(superstep: Superstep) -> Html:
    """The state's channels after the superstep: version, marked where it rose, and value."""
    moment = Moment(superstep.run, superstep)
    before = dict(moment.versions)
    if superstep.updated is None:
        return Html("")
    moment.take(superstep)
    rows = []
    for name in filter(is_state, dict.fromkeys([*superstep.run.kinds, *moment.versions])):
        old, new = version(count_of(before.get(name))), version(count_of(moment.versions.get(name)))
        rose = before.get(name) != moment.versions.get(name)
        held = html.value(moment.values[name]) if name in moment.values else html.tag("span", "empty", class_="quiet")
        rows.append([name, html.version(f"{old} → {new}" if rose else new, rose), held])
    heading = html.tag("h3", f"Channels after superstep {superstep.step}")
    return html.join([heading, html.table(["channel", "version", "value"], rows, mono=["channel"], wide=True)])


def _tree(recording: Recording) -> Iterator[Html]:
    if not any(superstep.saved is not None for superstep in recording.index.supersteps):
        return
    drawing = recording.tree()
    try:
        yield _section("Checkpoints", drawing.inline(), drawing.key())
    except (LayoutError, TooLarge) as error:
        yield _section("Checkpoints", html.tag("p", str(error), class_="quiet"), html.tag("pre", drawing.words))


# -- the frames -------------------------------------------------------------------------------------------------------


def _frames(recording: Recording) -> Iterator[Html]:
    for name in COLUMNS:
        frame: pd.DataFrame = getattr(recording, name)
        head = html.tag("summary", f"{name}: {text.count(len(frame), 'row')}")
        yield html.tag("details", head, table(frame) if len(frame) else "")


def table(frame: pd.DataFrame, rows: int = _ROWS) -> Html:
    """A frame as a table: numbers flush right, names in the fixed-width font, missing as <NA>."""
    right = [name for name in frame.columns if str(frame[name].dtype) in _NUMBERS]
    mono = [name for name in frame.columns if name in _NAMES]
    body = (_cells(row) for row in frame.head(rows).itertuples(index=False, name=None))
    more = f"The first {rows} of {text.count(len(frame), 'row')}." if len(frame) > rows else ""
    return html.table([str(name) for name in frame.columns], body, right=right, mono=mono, wide=True, caption=more)


def _cells(row: Sequence[Any]) -> list[Any]:
    return [_cell(one) for one in row]


def _cell(thing: Any) -> Any:
    if thing is pd.NA or thing is pd.NaT or (isinstance(thing, float) and thing != thing):
        return html.tag("span", "<NA>", class_="quiet")
    if isinstance(thing, pd.Timestamp):
        return thing.strftime("%H:%M:%S.%f")[:-3]
    if isinstance(thing, float):
        return f"{thing:.4g}"
    return html.value(thing) if not isinstance(thing, str) else thing
