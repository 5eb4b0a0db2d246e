"""A recording as one HTML file: no kernel, no network, no script.

The supersteps are a row of boxes, one of which is chosen. Each box is a radio button, so that the arrow keys go from
box to box, and style rules show what belongs to the chosen one. All of it lies in one place and takes the room of the
largest, so that nothing below moves; on paper, and in a page without styles, every superstep is there.
"""

from __future__ import annotations

import copy
import inspect
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from workbench import html, overlay, progress, svg, text, topology
from workbench.animation import changed
from workbench.comparison import Comparison
from workbench.drawing import TooLarge, of_shape
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
    head = html.tag("p", _made_of(recording), class_="quiet")
    story = [html.tag("div", plain(line)) for line in recording.story().lines()]
    sections = [
        html.tag("section", head, summary.fragment(advice=False)),
        _section("What happened", html.tag("div", *story, class_="wb-list")),
        _section("Supersteps", _player(recording)),
        _section("Time", recording.timeline().fragment()),
        *_tree(recording),
        _section("Frames", *_frames(recording)),
    ]
    if recording.missing:
        sections.append(_section("What is missing", *(html.tag("p", sentence) for sentence in recording.missing)))
    body = html.tag("main", *sections, class_="wb-report")
    return html.page(f"{summary.verdict} - run report", body, sheets=["controls", "recording"])


def _made_of(recording: Recording) -> str:
    """Which graph ran, and when; the times of a report are those of Greenwich."""
    name = getattr(recording.graph, "name", None)
    began = next((run.started.at for run in recording.index.roots if run.started is not None), None)
    when = None if began is None else f"{datetime.fromtimestamp(began, UTC):%-d %b %Y %H:%M:%S} UTC"
    return ", ".join(["Run report", *(str(part) for part in (name, when) if part)])


def _section(name: str, *content: str) -> Html:
    return html.tag("section", html.tag("h2", name), *content)


# -- the supersteps ---------------------------------------------------------------------------------------------------


def _player(recording: Recording) -> Html:
    every = shown(recording.index)
    steps = every[-_STEPS:]
    if not steps:
        return html.tag("p", "No task ran.", class_="quiet")
    boxes = [_box(place, superstep) for place, superstep in enumerate(steps)]
    told = progress.shown(steps, "Report")
    panes = [_pane(recording, superstep, place, len(steps)) for place, superstep in enumerate(told)]
    more = f"The last {_STEPS} of {len(every):,} supersteps. " if len(every) > _STEPS else ""
    keys = html.tag("p", f"{more}Choose a superstep, or go on with the arrow keys.", class_="small quiet")
    boxed = html.tag("div", *boxes, class_="boxes", role="radiogroup", aria_label="superstep")
    shown_at = html.tag(
        "div", _picture(recording, steps), html.tag("div", *panes, class_="panes grow"), class_="wb-pair"
    )
    return html.join([_rules(len(steps)), keys, html.tag("div", boxed, shown_at, class_="wb-player")])


def _picture(recording: Recording, steps: Sequence[Superstep]) -> Html:
    """The drawing, once, and for each superstep what differs in it: signs, and the edges that carried what woke."""
    if recording.graph is None:
        return Html("")
    try:
        root = of_shape(topology.of(overlay.shape(recording.index, recording.graph))).element()
    except (LayoutError, TooLarge, TypeError) as error:
        return html.tag("p", str(error), class_="small quiet drawing")
    bare, top = copy.deepcopy(root), root.find(f"{{{svg.NS}}}g")
    place = top.get("transform", "") if top is not None else ""
    for number, superstep in enumerate(steps):
        facts = {"class": "wb-frame", "id": f"drawn{number}", "visibility": "hidden", "aria-hidden": "true"}
        frame = ET.SubElement(root, f"{{{svg.NS}}}g", {**facts, "transform": place})
        answers, lit = overlay.statuses(superstep.tasks.values()), overlay.lit(recording.index, superstep)
        frame.extend(changed(svg.lay(copy.deepcopy(bare), answers, lit)))
    return html.tag("div", Html(svg.write(root)), class_="drawing")


def _rules(many: int) -> Html:
    """Which pane and which signs a chosen box shows. On paper, and without such rules, all panes are there."""
    chosen = [(f".wb-player:has(#step{place}:checked)", place) for place in range(many)]
    panes = ",".join(f"{box} #pane{place}" for box, place in chosen)
    signs = ",".join(f"{box} #drawn{place}" for box, place in chosen)
    return Html(
        "<style>@supports selector(:has(a)){"
        f"{signs}{{visibility:visible}}"
        "@media screen{.wb-player .panes{display:grid}"
        f".wb-player .pane{{grid-area:1/1;visibility:hidden}}{panes}{{visibility:visible}}}}}}</style>"
    )


def _box(place: int, superstep: Superstep) -> Html:
    tasks, status = tasks_in_words(superstep.visible), overlay.sign_of_step(superstep)
    says = html.escape(f"superstep {superstep.step}: {tasks}, {superstep.status}")
    radio = Html(f'<input type="radio" name="step" id="step{place}" aria-label="{says}"{"" if place else " checked"}>')
    head = html.tag("div", html.tag("strong", str(superstep.step)), " ", html.sign(status))
    passed = "passed" if superstep.updated is not None else None
    return html.tag("label", radio, head, html.tag("div", tasks, class_="small"), class_=passed)


def _turns(place: int, many: int) -> Html:
    """The way to the boxes beside this one for a mouse; keys have the arrows, so nothing here takes the focus."""
    return html.tag(
        "div",
        *(
            html.tag("label", words, class_="btn", for_=f"step{to}")
            if 0 <= to < many
            else html.tag("span", words, class_="btn off")
            for to, words in ((place - 1, "Previous"), (place + 1, "Next"))
        ),
        class_="row",
        aria_hidden="true",
    )


def _pane(recording: Recording, superstep: Superstep, place: int, many: int) -> Html:
    told = StepView(recording.index, superstep, recording.graph).told()
    whole = html.tag("div", _turns(place, many), told, *_channels(superstep), class_="stack")
    return html.tag("div", whole, class_="pane", id=f"pane{place}")


def _channels(superstep: Superstep) -> Iterator[Html]:
    """What the superstep changed of the state, and the state's channels after it: version and value."""
    moment = Moment(superstep.run, superstep)
    if superstep.updated is None:
        return
    versions, values = dict(moment.versions), moment.state()
    moment.take(superstep)
    found = Comparison(values, moment.state(), ("before", "after"))
    yield html.tag("h3", f"What superstep {superstep.step} changed")
    yield found.sides()
    rows = []
    for name in filter(is_state, dict.fromkeys([*superstep.run.kinds, *moment.versions])):
        old, new = version(count_of(versions.get(name))), version(count_of(moment.versions.get(name)))
        rose = versions.get(name) != moment.versions.get(name)
        held = html.value(moment.values[name]) if name in moment.values else html.tag("span", "empty", class_="quiet")
        rows.append([name, html.version(f"{old} → {new}" if rose else new, rose), held])
    yield html.tag("h3", f"Channels after superstep {superstep.step}")
    yield html.table(["channel", "version", "value"], rows, mono=["channel"], wide=True)


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
        words = html.tag("p", inspect.getdoc(getattr(type(recording), name)) or "", class_="small quiet")
        yield html.tag("details", head, words, html.tag("div", table(frame), class_="pane") if len(frame) else "")


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
    if isinstance(thing, np.generic):
        thing = thing.item()
    if isinstance(thing, float):
        return f"{thing:.4g}"
    return html.value(thing) if not isinstance(thing, str) else thing
