"""A whole run as one SVG that runs by itself: plan, execute and update of each superstep, one after the other.

The drawing stands there once; a frame holds only what differs: statuses, lit edges, versions. CSS shows one frame after
the other, so no script and no kernel is needed. Where motion is unwelcome, and where there is no CSS, the last frame
stands still; while the pointer is on the picture it waits.
"""

from __future__ import annotations

import copy
import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from workbench import dot, html, overlay, svg, text, topology
from workbench import moment as barriers
from workbench.drawing import Theme, of_shape
from workbench.html import Html
from workbench.index import Index, Superstep, count_of, is_state
from workbench.prose import version
from workbench.signs import LOOKS, PALETTE, SHOWN, Answer, sample
from workbench.stepview import Strip
from workbench.summary import verdict

Moment = Literal["plan", "execute", "update"]

SECONDS: Final[Mapping[Moment, float]] = {"plan": 1.2, "execute": 1.2, "update": 1.6}
"""How long each moment is shown."""

_ROWS: Final = 16
_NAME: Final = 30
_BESIDE: Final = 720.0
_LINE: Final = 22.0


class _Frame(NamedTuple):
    """One moment of one superstep, and what stands beside each channel then: a mark, and whether it is the point."""

    superstep: Superstep
    moment: Moment
    marks: Mapping[str, tuple[str, bool]]


class Animation(html.Shown):
    """A run that plays by itself. `svg` is the file, `save` writes it; a cell shows it at once."""

    _sheets = ("recording",)

    def __init__(self, index: Index, status: str, error: BaseException | None, graph: Any) -> None:
        if graph is None:
            raise ValueError(
                "Nothing can be animated: this recording does not know its graph. Record the run, or give the graph to "
                "Recording.from_thread(graph, config)."
            )
        self.strip = Strip(index, graph)
        if not self.strip.supersteps:
            raise ValueError("Nothing can be animated: no superstep of this recording ran a task.")
        self.index = index
        self.ending = verdict(index, status, error)
        self.drawing = of_shape(topology.of(overlay.shape(index, graph)))

    @property
    def svg(self) -> str:
        """A whole SVG file, with its own paper, styles and key; light or dark as its reader's system is."""
        return self.themed(None)

    def themed(self, theme: Theme | None) -> str:
        """The same, always light or always dark."""
        root = self._element()
        if theme:
            root.set("data-wb-theme", theme)
        return svg.write(root)

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the picture to an .svg file, and gives its path."""
        file = Path(path)
        if file.suffix.lower() != ".svg":
            raise ValueError(f"An animation cannot be saved as {file.name!r}. End it in .svg.")
        file.write_text(self.svg, encoding="utf-8")
        return file

    def fragment(self) -> Html:
        """The picture as HTML, to set into something larger; it takes the colours of the page."""
        return html.tag("div", Html(self.svg), class_="drawing")

    def __str__(self) -> str:
        return f"{self.ending}\n{self.strip}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {**super()._repr_mimebundle_(include, exclude), "image/svg+xml": self.svg}

    # -- frames -------------------------------------------------------------------------------------------------------

    def frames(self) -> Iterator[_Frame]:
        """Three moments for each superstep, with the version of each channel that is known then."""
        first = self.strip.supersteps[0]
        start = barriers.Moment(first.run, first).versions
        known = {name: version(count_of(one)) for name, one in start.items() if is_state(name)}
        for superstep in self.strip.supersteps:
            quiet = {name: (mark, False) for name, mark in known.items()}
            yield _Frame(superstep, "plan", {**quiet, **_triggers(superstep)})
            yield _Frame(superstep, "execute", quiet)
            ticked: dict[str, tuple[str, bool]] = {}
            for change in superstep.changes():
                before, now = version(count_of(change.version_before)), version(count_of(change.version))
                ticked[change.channel], known[change.channel] = (f"{before} → {now}", True), now
            yield _Frame(superstep, "update", {**quiet, **ticked})

    def _element(self) -> ET.Element:
        root = svg.picture(self.drawing.sketch, self.drawing.title)
        base, top = copy.deepcopy(root), root.find(f"{{{svg.NS}}}g")
        assert top is not None
        frames = list(self.frames())
        channels = list(dict.fromkeys(name for frame in frames for name in frame.marks))
        panel = _Panel(channels[:_ROWS], len(channels) - _ROWS)
        x, y, width, height = (float(one) for one in root.get("viewBox", "0 0 0 0").split())
        beside = width <= _BESIDE
        place = (x + width + 20, y + 8) if beside else (x + 8, y + height + 12)
        groups = []
        for number, frame in enumerate(frames):
            last = number == len(frames) - 1
            group = ET.Element(f"{{{svg.NS}}}g", {"class": "wb-frame", "aria-hidden": "true"})
            drawn = ET.SubElement(group, f"{{{svg.NS}}}g", {"transform": top.get("transform", "")})
            drawn.extend(changed(svg.lay(copy.deepcopy(base), self._answers(frame), self._lit(frame))))
            told = ET.SubElement(group, f"{{{svg.NS}}}g", {"transform": f"translate({place[0]:.1f} {place[1]:.1f})"})
            panel.draw(told, frame, self.ending if last else "")
            groups.append(group)
        root.extend(groups)
        size = panel.size(self.ending)
        wide = width + 20 + size[0] if beside else max(width, size[0] + 8)
        high = max(height, size[1] + 8) if beside else height + 12 + size[1]
        root.set("viewBox", f"{x:.2f} {y:.2f} {wide:.2f} {high:.2f}")
        svg.standalone(root, [sample(one) for one in (*self.drawing.signs, "trigger")], _statuses(frames, self))
        root.attrib |= {"role": "img", "aria-label": html.clean(self._said())}
        mark = hashlib.sha256(f"{self.drawing.source}\n{self}".encode()).hexdigest()[:8]  # several may be on one page
        root.insert(1, _played(groups, [SECONDS[frame.moment] for frame in frames], mark))
        return root

    def _answers(self, frame: _Frame) -> dict[str, Answer]:
        found = overlay.statuses(frame.superstep.tasks.values())
        if frame.moment == "update":
            return found
        return {name: one._replace(status=_before(one, frame.moment)) for name, one in found.items()}

    def _lit(self, frame: _Frame) -> frozenset[tuple[str, str]]:
        return overlay.lit(self.index, frame.superstep) if frame.moment == "plan" else frozenset()

    def _said(self) -> str:
        """The run in one sentence, for a screen reader."""
        steps = [
            f"superstep {one.step}: {text.listing(dict.fromkeys(task.node for task in one.visible))}"
            for one in self.strip.supersteps
        ]
        return f"A run of {self.drawing.title}; {'; '.join(steps)}. {self.ending}"


def _before(answer: Answer, moment: Moment) -> Any:
    """What a node shows before its superstep is over: next, then running; from a cache it comes without running."""
    if moment == "plan":
        return "next"
    return answer.status if answer.status in ("cached", "next", "cancelled") else "running"


def _statuses(frames: list[_Frame], animation: Animation) -> dict[Any, str]:
    met = {one.status for frame in frames for one in animation._answers(frame).values()}
    return {status: look.words for status, look in LOOKS.items() if status in met}


def _triggers(superstep: Superstep) -> dict[str, tuple[str, bool]]:
    """The channels that woke its tasks: `v5 > seen v3`, `v3, never seen`."""
    found: dict[str, tuple[str, bool]] = {}
    for task in superstep.tasks.values():
        for trigger in task.planned.triggers if task.planned is not None and not task.hidden else ():
            now, seen = count_of(trigger.version), count_of(trigger.seen)
            words = f"{version(now)}, never seen" if seen is None else f"{version(now)} > seen {version(seen)}"
            found[trigger.channel] = (words if now is not None else "wakes", True)
    return found


def changed(root: ET.Element) -> list[ET.Element]:
    """The nodes with a status and the lit edges, as pictures only: the drawing beneath can be reached by keyboard."""
    groups = [*svg.groups(root, "lit"), *(one for one in svg.nodes(root).values() if one.get("data-status"))]
    for group in groups:
        for name in ("tabindex", "role", "aria-label", "data-node", "data-source", "data-target"):
            group.attrib.pop(name, None)
    return groups


def _played(groups: list[ET.Element], seconds: list[float], mark: str) -> ET.Element:
    """The style that shows one frame after the other, and begins again; without it only the last one is seen."""
    total, at, rules = sum(seconds), 0.0, []
    for number, (group, long) in enumerate(zip(groups, seconds, strict=True)):
        begins, ends = 100 * at / total, 100 * (at + long) / total
        name = f"wb-{mark}-{number}"
        group.set("class", f"wb-frame {name}")
        first = "visible" if number == 0 else "hidden"
        last = number == len(groups) - 1
        after = "" if last else f"{ends:.3f}%{{visibility:hidden}}"
        rules.append(f".{name}{{animation:{name} {total:.1f}s step-end infinite}}")
        rules.append(f"@keyframes {name}{{0%{{visibility:{first}}}{begins:.3f}%{{visibility:visible}}{after}}}")
        if not last:
            group.set("visibility", "hidden")
        at += long
    style = ET.Element(f"{{{svg.NS}}}style")
    rules.append("svg:hover>.wb-frame{animation-play-state:paused}")
    style.text = f"@media (prefers-reduced-motion: no-preference) {{{''.join(rules)}}}"
    return style


class _Panel:
    """What stands beside the drawing: the superstep, its three moments with the barrier, and the channels' versions."""

    def __init__(self, channels: list[str], more: int) -> None:
        self.rows = [(name, dot.wrap(name, _NAME).split("\n")) for name in channels]
        self.more = max(more, 0)
        longest = max((text.width(line) for _, lines in self.rows for line in lines), default=0)
        self.marks = max(120.0, 7.0 * longest + 20)

    def size(self, ending: str) -> tuple[float, float]:
        """How wide and high it is, with the line on how the run ended."""
        lines = sum(len(lines) for _, lines in self.rows) + (1 if self.more else 0)
        return self.marks + 130, 78 + _LINE * lines + 17 * len(_ended(ending)) + 12

    def draw(self, into: ET.Element, frame: _Frame, ending: str) -> None:
        """Writes one frame's words; what is not to come stays in its place, so that nothing moves."""
        open_end = frame.superstep.updated is None
        _write(into, 0, 14, f"Superstep {frame.superstep.step}", size=16, bold=True)
        for place, word in enumerate(SECONDS):
            here = word == frame.moment and not (open_end and word == "update")
            _write(into, 72.0 * place, 42, word, colour="blue-ink" if here else "ink2", bold=here)
            if here:
                _bar(into, 72.0 * place, 48, 50, 2, "blue")
        passed = frame.moment == "update" and not open_end
        _bar(into, 132, 28, 4, 26, "ink" if passed else "rule")
        y = 78.0
        for name, lines in self.rows:
            mark, point = frame.marks.get(name, ("·", False))
            if point:
                _bar(into, self.marks - 6, y - 14, 7.0 * len(mark) + 12, 19, "blue-tint", rx="3")
            _write(into, self.marks, y, mark, size=12, colour="blue-ink" if point else "ink2", bold=point)
            for line in lines:
                _write(into, 0, y, line)
                y += _LINE
        if self.more:
            _write(into, 0, y, f"{text.count(self.more, 'more channel')}", size=12, colour="ink2")
            y += _LINE
        for number, line in enumerate(_ended(ending)):
            _write(into, 0, y + 8 + 17 * number, line, bold=True)


def _ended(words: str) -> list[str]:
    return dot.wrap(text.shorten(words, 120), 34).split("\n") if words else []


def _write(
    into: ET.Element, x: float, y: float, words: str, *, size: int = 13, colour: str = "ink", bold: bool = False
) -> None:
    style = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": str(size), "fill": PALETTE[colour], "font-family": SHOWN}
    line = ET.SubElement(into, f"{{{svg.NS}}}text", {**style, **({"font-weight": "bold"} if bold else {})})
    line.text = html.clean(words)


def _bar(into: ET.Element, x: float, y: float, wide: float, high: float, colour: str, **more: str) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{wide:.1f}", "height": f"{high:.1f}"}
    ET.SubElement(into, f"{{{svg.NS}}}rect", {**place, "fill": PALETTE[colour], **more})
