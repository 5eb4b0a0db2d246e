"""Tasks as bars under their superstep, with the barriers between: who ran how long, who waited, and for whom.

`bars` holds the facts. The picture is drawn from them: bars in lanes, one lane for each node (and for each of its tasks
that ran side by side). The time between two runs of a thread, in which a person thought, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Final, NamedTuple

from workbench import html, overlay, text
from workbench.html import Html
from workbench.index import Index, Run, Superstep, Task
from workbench.signs import LOOKS, PALETTE, SHOWN, STATUSES, Status, icon, sample

_PLOT: Final = 860
_LANE: Final = 26
_BAR: Final = 20
_GAP: Final = 10
_TOP: Final = 34
_CHAR: Final = 6.6
_BARS: Final = 400
_LINES: Final = 60


class Bar(NamedTuple):
    """One task: its superstep and lane, when it began and how long it took, and how long it waited at the barrier.

    Times are seconds since the first run began, with the time between runs left out. `waited_for` counts the siblings
    that waited for this task; it is 0 for all but the last to come.
    """

    step: int
    node: str
    place: int
    status: Status
    start: float
    duration: float
    waits: float
    waited_for: int


class Barrier(NamedTuple):
    """A barrier that was passed: the superstep, when its plan was made, and when all had come."""

    step: int
    start: float
    at: float
    passed: bool


class Timeline(html.Shown):
    """The tasks of a recording over time."""

    def __init__(self, index: Index) -> None:
        self.bars: tuple[Bar, ...]
        self.barriers: tuple[Barrier, ...]
        bars: list[Bar] = []
        barriers: list[Barrier] = []
        offset = 0.0
        for run in index.roots:
            begins = _start(run)
            for superstep in run.supersteps:
                if superstep.visible and _timed(superstep):
                    bars += _bars(superstep, offset - begins)
                    barriers.append(_barrier(superstep, offset - begins))
            ends = [barrier.at for barrier in barriers] + [bar.start + bar.duration for bar in bars]
            offset = max([offset, *ends])
        self.bars, self.barriers = tuple(bars), tuple(barriers)
        ran = any(superstep.visible for run in index.roots for superstep in run.supersteps)
        self._empty = "It is not known when the tasks ran." if ran else "No task ran."

    def _end(self) -> Timeline:
        """The newest part of a long timeline: more bars than these nobody can tell apart."""
        if len(self.bars) <= _BARS:
            return self
        begins = next(bar.start for bar in self.bars[-_BARS:])
        part = copy(self)
        part.bars = tuple(bar._replace(start=bar.start - begins) for bar in self.bars[-_BARS:])
        part.barriers = tuple(
            one._replace(start=max(0.0, one.start - begins), at=one.at - begins)
            for one in self.barriers
            if one.at > begins
        )
        return part

    @property
    def length(self) -> float:
        """Seconds from the first plan to the last barrier or the end of the last bar."""
        return max([0.0, *(bar.start + bar.duration for bar in self.bars), *(one.at for one in self.barriers)])

    @property
    def lanes(self) -> list[tuple[str, int]]:
        """The lanes in the order in which they are first used: a node, and the place among its tasks of a superstep."""
        return list(dict.fromkeys((bar.node, bar.place) for bar in self.bars))

    def __str__(self) -> str:
        part = self._end()
        rows = [(bar.step, self._label(bar.node, bar.place), bar.status) for bar in part.bars[-_LINES:]]
        table = text.table(["superstep", "task", "status"], rows, right=["superstep"]) if rows else self._empty
        more = len(self.bars) - len(rows)
        return f"{table}\nThe last {len(rows)} of {len(self.bars):,} tasks." if more else table

    @property
    def svg(self) -> Html:
        """The picture alone."""
        return Html("".join(_draw(self._end())))

    def fragment(self) -> Html:
        """The picture with its key, to set into something larger."""
        if not self.bars:
            return html.tag("p", self._empty, class_="quiet")
        met = {bar.status for bar in self.bars}
        line = sample("barrier", "barrier: everyone waits, then all writes apply")
        key = html.key([line], [status for status in STATUSES if status in met])
        more = f"The last {_BARS} of {len(self.bars):,} tasks." if len(self.bars) > _BARS else ""
        return html.join([html.tag("div", self.svg, class_="drawing"), key, html.tag("p", more, class_="small quiet")])

    def _label(self, node: str, place: int) -> str:
        return f"{node} {place}" if any(bar.node == node and bar.place for bar in self.bars) else node


# -- facts ------------------------------------------------------------------------------------------------------------


def _timed(superstep: Superstep) -> bool:
    """False where no times are known: of a thread that ran long ago only the barriers have some."""
    ends = [task.finished.at for task in superstep.visible if task.finished is not None]
    return None not in (superstep.planned.at if superstep.planned is not None else 0.0, *ends)


def _start(run: Run) -> float:
    planned = [one.planned.at for one in run.supersteps if one.planned is not None and one.visible]
    first = planned[0] if planned else None
    return first if first is not None else run.started.at if run.started is not None else 0.0


def _bars(superstep: Superstep, shift: float) -> Iterator[Bar]:
    tasks = superstep.visible
    begins = superstep.planned.at if superstep.planned is not None else 0.0
    ends = {task.id: task.finished.at for task in tasks if task.finished is not None}
    last = max(ends, key=lambda id: ends[id], default=None) if len(tasks) > 1 else None
    places: dict[str, int] = {}
    for task in tasks:
        place = places[task.node] = places.get(task.node, -1) + 1
        start = task.began if task.began is not None else begins
        end = _end(task, start)
        waits = superstep.updated.at - end if superstep.updated is not None else 0.0
        others = sum(ends[id] < end for id in ends) if task.id == last else 0
        yield Bar(
            superstep.step, task.node, place, overlay.sign_of(task), start + shift, max(0.0, end - start),
            max(0.0, waits), others,
        )  # fmt: skip


def _end(task: Task, start: float) -> float:
    if task.finished is None:
        return start
    if task.status == "cached":
        return start + task.finished.duration
    return max(start, task.finished.at)


def _barrier(superstep: Superstep, shift: float) -> Barrier:
    begins = superstep.planned.at if superstep.planned is not None else -shift
    if superstep.updated is not None:
        return Barrier(superstep.step, begins + shift, superstep.updated.at + shift, True)
    ends = [task.finished.at for task in superstep.visible if task.finished is not None]
    return Barrier(superstep.step, begins + shift, max(ends, default=begins) + shift, False)


# -- picture ----------------------------------------------------------------------------------------------------------


class _Scale(NamedTuple):
    """Where things stand: the left edge of the plot, seconds to pixels, and each lane's top."""

    left: float
    per_second: float
    tops: dict[tuple[str, int], float]
    bottom: float

    def x(self, seconds: float) -> float:
        return self.left + seconds * self.per_second


def _draw(timeline: Timeline) -> Iterator[str]:
    scale = _scale(timeline)
    width, height = scale.left + _PLOT + 24, scale.bottom + 28
    title = html.escape(f"Timeline of {text.count(len(timeline.bars), 'task')}")
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wb-graph" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{title}" font-family="{SHOWN}" font-size="12">'
        f"<title>{title}</title>"
    )
    yield from _axis(timeline, scale)
    for bar in timeline.bars:
        yield from _bar(timeline, bar, scale)
    yield from _barriers(timeline.barriers, scale)
    yield from _names(timeline, scale)
    yield "</svg>"


def _scale(timeline: Timeline) -> _Scale:
    first: dict[tuple[str, int], int] = {}
    for place, bar in enumerate(timeline.bars):
        first.setdefault((bar.node, bar.place), place)
    top, tops, step = float(_TOP + 8), {}, None
    for lane in timeline.lanes:
        born = timeline.bars[first[lane]].step
        top += _GAP if step is not None and born != step else 0
        tops[lane], step = top, born
        top += _LANE
    names = [timeline._label(*lane) for lane in timeline.lanes]
    left = min(400.0, max(text.width(name) for name in [*names, "superstep"]) * _CHAR + 44)
    return _Scale(left, _PLOT / (timeline.length or 1.0), tops, top + 4)


def _axis(timeline: Timeline, scale: _Scale) -> Iterator[str]:
    for tick, words in _ticks(timeline.length):
        x = scale.x(tick)
        yield f'<path d="M{x:.1f} {_TOP}V{scale.bottom:.1f}" stroke="{PALETTE["rule"]}" stroke-width="1"/>'
        yield _write(x, scale.bottom + 18, words, "ink2", anchor="middle")


def _ticks(length: float) -> Iterator[tuple[float, str]]:
    if length <= 0:
        yield 0.0, "0 s"
        return
    rough = length / 6
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    small = length < 0.1
    for place in range(int(length / step + 1e-9) + 1):
        at = place * step
        yield at, f"{at * 1000:g} ms" if small else f"{round(at, 6):g} s"


def _bar(timeline: Timeline, bar: Bar, scale: _Scale) -> Iterator[str]:
    look = LOOKS[bar.status]
    x, top = scale.x(bar.start), scale.tops[bar.node, bar.place] + (_LANE - _BAR) / 2
    wide = max(3.0, bar.duration * scale.per_second)
    name = timeline._label(bar.node, bar.place)
    facts = [f"{name}, superstep {bar.step}: {look.words}", text.seconds(bar.duration)]
    facts += [f"waits {text.seconds(bar.waits)} at the barrier"] if bar.waits > 0 else []
    facts += [f"{_others(bar.waited_for)} waited for this one"] if bar.waited_for else []
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    fill = PALETTE[f"{look.colour}-tint"] if look.filled else "none"
    yield f"<g><title>{html.escape(', '.join(facts))}</title>"
    yield (
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{_BAR}" fill="{fill}" '
        f'stroke="{PALETTE[look.colour]}" stroke-width="{min(look.line, 1.75)}"{dash}/>'
    )
    ink = f"{look.colour}-ink" if look.filled else "ink2"
    words = "waits for you" if bar.status == "interrupted" else text.seconds(bar.duration)
    used = 0.0
    if len(words) * _CHAR + 12 < wide:
        yield _write(x + 8, top + 14, words, ink)
        used = len(words) * _CHAR + 28
    said = f"{_others(bar.waited_for)} waited for this one"
    if bar.waited_for and used + len(said) * _CHAR * 1.1 + 8 < wide:
        yield _write(x + max(used, 8), top + 14, said, ink, bold=True)
    yield "</g>"
    yield from _waiting(x + wide, bar.waits * scale.per_second, top, text.seconds(bar.waits))


def _others(many: int) -> str:
    return "1 other" if many == 1 else f"{many} others"


def _waiting(x: float, wide: float, top: float, time: str) -> Iterator[str]:
    """The dotted line of a task that waits at the barrier, with the time where it fits."""
    if wide < 6:
        return
    words, middle = f"waits {time}", top + _BAR / 2
    room = len(words) * _CHAR + 12
    dots = f'stroke="{PALETTE["edge"]}" stroke-width="1.5" stroke-dasharray="1.5 4"'
    if room + 20 > wide:
        yield f'<path d="M{x:.1f} {middle:.1f}H{x + wide - 3:.1f}" {dots}/>'
        return
    a, b = x + (wide - room) / 2, x + (wide + room) / 2
    yield f'<path d="M{x:.1f} {middle:.1f}H{a:.1f}M{b:.1f} {middle:.1f}H{x + wide - 3:.1f}" {dots}/>'
    yield _write((a + b) / 2, middle + 4, words, "ink2", anchor="middle")


def _barriers(barriers: Sequence[Barrier], scale: _Scale) -> Iterator[str]:
    free = -math.inf
    for one in barriers:
        left, right = scale.x(one.start), scale.x(one.at)
        if one.passed:
            yield (
                f'<path d="M{right:.1f} {_TOP - 6}V{scale.bottom:.1f}" stroke="{PALETTE["ink"]}" stroke-width="5">'
                f"<title>barrier of superstep {one.step}</title></path>"
            )
        middle, room = (left + right) / 2, len(str(one.step)) * 8 + 6
        if middle - room / 2 > free:
            yield _write(middle, _TOP - 14, str(one.step), "ink", anchor="middle", bold=True, size=13)
            free = middle + room / 2


def _names(timeline: Timeline, scale: _Scale) -> Iterator[str]:
    newest = {(bar.node, bar.place): bar.status for bar in timeline.bars}
    yield _write(scale.left - 16, _TOP - 14, "superstep", "ink2", anchor="end")
    for lane, top in scale.tops.items():
        yield f'<g transform="translate({scale.left - 28:.1f} {top + 5:.1f})">{icon(newest[lane])}</g>'
        name = text.shorten(timeline._label(*lane), 34)
        yield _write(scale.left - 36, top + 17, name, "ink", anchor="end", size=13)


def _write(
    x: float, y: float, words: str, colour: str, *, anchor: str = "start", bold: bool = False, size: int = 12
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{PALETTE[colour]}" font-size="{size}" text-anchor="{anchor}"{weight}>'
        f"{html.escape(words)}</text>"
    )
