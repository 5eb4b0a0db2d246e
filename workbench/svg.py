"""The one module that runs Graphviz: DOT in, a finished picture out.

`layout` finds the layout program, runs it and keeps the results by source text. `picture` makes one SVG of what came:
every node and edge says what it is in a title and in data attributes, ids that would clash on a page are gone, and
there is no script. `lay` puts a superstep on it: only outlines, tints and signs change, so nothing moves from one
superstep to the next.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from workbench import html, spread
from workbench.dot import Mark, Sketch
from workbench.signs import LOOKS, PALETTE, SHOWN, Answer, Sample, Status

NS: Final = "http://www.w3.org/2000/svg"
VARIABLE: Final = "WORKBENCH_DOT"
"""The environment variable that names the layout program."""

TIMEOUT: Final = 60.0
Corner = Literal["left", "right", "over"]
"""Where a node's sign stands: on its upper left or right corner, or so high on the left one that it clears the name."""

_SHAPES = ("path", "polygon", "ellipse", "polyline")
_PAD = 10.0
_LIFT = 3.0
"""How far a label above its line is raised: layout programs set it down on the line."""


class LayoutError(RuntimeError):
    """A drawing could not be laid out: the program is missing, refused the text, or took too long."""


def program() -> str | None:
    """The layout program: `WORKBENCH_DOT`, else `dot` on the path, else `graphviz-pure` beside the interpreter."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise LayoutError(f"{VARIABLE} names {named}, but there is no such program. Correct it, or unset it.")
        return found
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = Path(sysconfig.get_path("scripts"), f"graphviz-pure{suffix}")
    return shutil.which("dot") or (str(beside) if beside.exists() else shutil.which("graphviz-pure"))


def layout(source: str, form: str = "svg", timeout: float = TIMEOUT) -> bytes:
    """What the layout program makes of a DOT text, as SVG, PNG or PDF; the last results are kept by their text."""
    found = program()
    if found is None:
        raise LayoutError(
            "No Graphviz was found, so nothing can be laid out. Install it with pip install 'graphviz-pure>=0.2.2' "
            f"or as your system's package graphviz, or set {VARIABLE} to the program dot."
        )
    return _run(source, form, found, timeout)


@lru_cache(maxsize=128)
def _run(source: str, form: str, found: str, timeout: float) -> bytes:
    try:
        done = subprocess.run(
            [found, f"-T{form}"], input=source.encode(), capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise LayoutError(
            f"The layout took over {timeout:g} s and was stopped. Draw a part of the graph with focus= or depth=."
        ) from None
    except OSError as error:
        raise LayoutError(f"{found} could not be started: {error}. Set {VARIABLE} to a Graphviz that runs.") from error
    if done.returncode or not done.stdout:
        said = " ".join(done.stderr.decode(errors="replace").split())[:300]
        other = " Save it as .svg or .png, or install the system's graphviz." if form not in ("svg", "png") else ""
        raise LayoutError(f"{Path(found).name} could not make {form.upper()} of the drawing: {said}.{other}")
    return done.stdout


def picture(sketch: Sketch, title: str) -> ET.Element:
    """The SVG of a sketch, one unit for one pixel, without paper: every node and edge says what it is."""
    root = _parsed(layout(sketch.source))
    in_order = _joins_in_order(sketch, root)
    if in_order != sketch.source:
        root = _parsed(layout(in_order))
    for side in ("width", "height"):
        root.set(side, root.get(side, "").removesuffix("pt"))
    root.attrib |= {"class": "wb-graph", "role": "group", "aria-label": html.clean(title)}
    top = _child(root, "g")
    if top is None:
        raise LayoutError("The layout program gave an empty SVG.")
    _name(top, title)
    for child in list(top):  # the page is the paper
        if _tag(child) == "polygon" and child.get("stroke") in ("transparent", "none"):
            top.remove(child)
    for group in list(top):
        mark = sketch.marks.get(group.get("id", ""))
        if mark is not None:
            _describe(group, mark)
    spread.apart(groups(top, "edge"), _movable(root), sketch.across)
    bars = {name: box(group) for name, group in nodes(root).items() if group.get("data-kind") == "barrier"}
    spread.land(groups(top, "edge"), bars, sketch.across)
    for group in groups(top, "edge") if sketch.across else ():
        for label in group.iter(f"{{{NS}}}text"):
            label.set("y", f"{float(label.get('y', 0)) - _LIFT:.2f}")
    _raise_titles(top)
    if sketch.level:
        _set_level(root, top, sketch.level)
    for element in root.iter():
        element.attrib.pop("id", None)
        if _tag(element) == "text":
            element.set("font-family", SHOWN)
    return root


def lay(
    root: ET.Element,
    answers: Mapping[str, Answer],
    lit: Collection[str | tuple[str, str]] = (),
    corner: Corner = "left",
) -> ET.Element:
    """The picture with a superstep laid on it, in place: statuses on nodes, blue on the edges that carried a trigger.

    `lit` holds (source, target) of edges, and kinds of edges (`"wakes"`) that are lit all together.
    """
    for group in groups(root, "edge"):
        if (group.get("data-source", ""), group.get("data-target", "")) in lit or group.get("data-kind") in lit:
            _light(group)
    for group in (*groups(root, "cluster"), *groups(root, "node")):
        answer = answers.get(group.get("data-node", ""))
        if answer is not None:
            _answer(group, answer, corner)
    return root


def ring(root: ET.Element, node: str) -> None:
    """A blue ring around one node: you are here."""
    group = nodes(root).get(node)
    if group is not None:
        left, top, right, bottom = box(group)
        size = {"width": f"{right - left + 10:.1f}", "height": f"{bottom - top + 10:.1f}", "rx": "14", "fill": "none"}
        place = {"x": f"{left - 5:.1f}", "y": f"{top - 5:.1f}", "stroke": PALETTE["blue"], "stroke-width": "2"}
        _add(group, "rect", {"class": "wb-ring", **place, **size})


def standalone(root: ET.Element, samples: Iterable[Sample], statuses: Mapping[Status, str]) -> ET.Element:
    """The picture as a file of its own, in place: paper, styles, and the key of its signs under it."""
    x, y, width, height = _box_of(root)
    width, height = width + 2 * _PAD, height + 2 * _PAD
    place = [x - _PAD, y - _PAD]
    below = _key(samples, statuses, max(width - 2 * _PAD, 300))
    if below is not None:
        group, wide, high = below
        group.set("transform", f"translate({place[0] + _PAD:.1f} {place[1] + height - _PAD + 12:.1f})")
        root.append(group)
        width, height = max(width, wide + 2 * _PAD), height + high + 12
    root.set("class", "wb wb-graph")
    root.set("viewBox", f"{place[0]:.2f} {place[1]:.2f} {width:.2f} {height:.2f}")
    root.set("width", f"{width:.2f}")
    root.set("height", f"{height:.2f}")
    sheet = ET.Element(f"{{{NS}}}style")
    sheet.text = html.sheet("tokens") + html.sheet("graph")
    size = {"x": f"{place[0]:.2f}", "y": f"{place[1]:.2f}", "width": f"{width:.2f}", "height": f"{height:.2f}"}
    paper = ET.Element(f"{{{NS}}}rect", {**size, "fill": PALETTE["paper"], "class": "wb-paper"})
    root.insert(0, sheet)
    root.insert(1, paper)
    return root


def write(root: ET.Element) -> str:
    """The SVG as text."""
    ET.register_namespace("", NS)
    return ET.tostring(root, encoding="unicode")


def nodes(root: ET.Element) -> dict[str, ET.Element]:
    """The groups of a picture's nodes, by node."""
    return {group.get("data-node", ""): group for group in groups(root, "node")}


def groups(root: ET.Element, kind: str) -> list[ET.Element]:
    """The groups of a picture of one kind, by their class: `node`, `edge`, `cluster`, `lit`."""
    return [group for group in root.iter(f"{{{NS}}}g") if kind in group.get("class", "").split()]


def box(group: ET.Element) -> tuple[float, float, float, float]:
    """The corners of a node's outline: left, top, right, bottom."""
    xs: list[float] = []
    ys: list[float] = []
    for shape in _shapes(group):
        numbers = [float(one) for one in re.findall(r"-?\d+\.?\d*", shape.get("points") or shape.get("d") or "")]
        xs += numbers[0::2]
        ys += numbers[1::2]
        if _tag(shape) == "ellipse":
            cx, cy, rx, ry = (float(shape.get(key, 0)) for key in ("cx", "cy", "rx", "ry"))
            xs += [cx - rx, cx + rx]
            ys += [cy - ry, cy + ry]
    return min(xs), min(ys), max(xs), max(ys)


def badge(group: ET.Element, answer: Answer, x: float, y: float) -> None:
    """A status sign of 18 px centred on a point; with a count it is a pill that grows to the left."""
    look = LOOKS[answer.status]
    count = "" if answer.tasks is None else str(answer.tasks)
    wide = 21 + 7 * len(count) if count else 18
    ink = PALETTE["paper" if look.filled else look.colour]
    sign = _add(group, "g", {"class": "wb-badge", "transform": f"translate({x + 9 - wide:.1f} {y - 9:.1f})"})
    ground = PALETTE[f"{look.colour}-ink" if look.filled else "paper"]
    ring = PALETTE["paper" if look.filled else look.colour]
    disc = {"width": str(wide), "height": "18", "rx": "9", "fill": ground, "stroke": ring, "stroke-width": "1.5"}
    if not look.filled:
        disc["stroke-dasharray"] = "3 2" if answer.status == "next" else "1.5 2"
    _add(sign, "rect", disc)
    line = {"stroke": ink, "stroke-width": "1.9", "stroke-linecap": "round", "stroke-linejoin": "round"}
    inside = ink if answer.status == "running" else "none"
    _add(sign, "path", {"d": look.path, "transform": "translate(1 1)", "fill": inside, **line})
    if count:
        style = {"x": "17", "y": "13.2", "font-size": "12", "font-weight": "bold", "fill": ink, "font-family": SHOWN}
        _add(sign, "text", style).text = count


def _raise_titles(top: ET.Element) -> None:
    """Sets the names of opened subgraphs above the edges that cross them, and beside them where there is room."""
    clusters = groups(top, "cluster")
    courses = spread.courses(groups(top, "edge")) if clusters else []
    for cluster in clusters:
        words = [one for one in cluster if _tag(one) == "text"]
        if words:
            right = box(cluster)[2] - 8
            raised = _add(top, "g", {"class": "cluster-title"})
            for one in words:
                cluster.remove(one)
                raised.append(one)
            by = spread.beside([_bounds(one) for one in words], right, courses)
            for one in words:
                one.set("x", f"{right if by is None else float(one.get('x', 0)) + by:.2f}")
                one.set("text-anchor", "end" if by is None else "start")


def _bounds(words: ET.Element) -> tuple[float, float, float, float]:
    """Where a line of text stands that begins at its left, nearly: the letters' widths are not known here."""
    left, line, size = (float(words.get(key, 0)) for key in ("x", "y", "font-size"))
    return left, line - 0.75 * size, left + 0.58 * size * len(words.text or ""), line + 0.22 * size


def _set_level(root: ET.Element, top: ET.Element, names: Sequence[str]) -> None:
    """Sets the tops of some nodes to the height of the first one's, with what is fastened to them."""
    every = nodes(root)
    moved = {name: (box(every[name]), box(every[names[0]])[1] - box(every[name])[1]) for name in names}
    spread.follow(groups(top, "edge"), [(outline, by) for outline, by in moved.values()])
    for name, (_, by) in moved.items():
        every[name].set("transform", f"translate(0 {by:.2f})")
    high = min(outline[1] + by for outline, by in moved.values())
    low = max(outline[3] + by for outline, by in moved.values())
    others = [box(group) for name, group in every.items() if name and name not in moved]
    high, low = min(high, *(one[1] for one in others), low), max(low, *(one[3] for one in others), high)
    x, _, width, _ = _box_of(root)
    down = float(re.findall(r"translate\([-\d.]+[ ,]([-\d.]+)\)", top.get("transform", ""))[0])
    root.set("viewBox", f"{x:.2f} {high + down - _PAD:.2f} {width:.2f} {low - high + 2 * _PAD:.2f}")
    root.set("height", f"{low - high + 2 * _PAD:.2f}")


def _parsed(picture: bytes) -> ET.Element:
    return ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>|<!--.*?-->", "", picture.decode("utf-8"), flags=re.S))


def _joins_in_order(sketch: Sketch, root: ET.Element) -> str:
    """The DOT text with the members of each join landing on its bar in the order in which they stand in the picture.

    An edge's line holds no line end but its own, and its id stands last but for the weight: no name can look like one.
    """
    where: dict[str, dict[str, float]] = {}
    for group in groups(root, "edge"):
        mark = sketch.marks.get(group.get("id", ""))
        path = _child(group, "path")
        if mark is not None and mark.kind == "join" and path is not None:
            x, y = (float(one) for one in re.findall(r"-?\d+\.?\d*", path.get("d", ""))[:2])
            where.setdefault(mark.ends[1], {})[group.get("id", "")] = y if sketch.across else x
    source = sketch.source
    for members in where.values():
        for place, id in enumerate(sorted(members, key=members.__getitem__)):
            ported = rf"^(\t\w+ -> j\d+):p\d+(?= \[arrowhead=none class=join id={id} )"
            source = re.sub(ported, rf"\g<1>:p{place}", source, flags=re.M)
    return source


_FIXED = ("actor", "barrier", "channels", "checkpoint")


def _movable(root: ET.Element) -> dict[str, tuple[float, float, float, float]]:
    """The outlines of the nodes at which an edge may end anywhere."""
    every = nodes(root).items()
    return {name: box(group) for name, group in every if name and group.get("data-kind") not in _FIXED}


def _describe(group: ET.Element, mark: Mark) -> None:
    _name(group, mark.title)
    group.set("data-kind", mark.kind)
    if mark.role == "edge":
        group.set("data-source", html.clean(mark.ends[0]))
        group.set("data-target", html.clean(mark.ends[1]))
        group.attrib |= {"role": "img", "aria-label": html.clean(mark.title)}
        return
    if mark.role == "label":
        return
    group.set("data-node", html.clean(mark.name))
    if mark.role == "node" and mark.kind not in ("channels", "checkpoint"):
        _centre(group)
    button = mark.role == "node"
    group.attrib |= {"role": "button" if button else "group", "aria-label": html.clean(mark.title)}
    if button:
        group.set("tabindex", "0")


def _centre(group: ET.Element) -> None:
    """Sets every line of a node's label on its middle: where characters are wide, the layout's own place is wrong."""
    left, _, right, _ = box(group)
    for words in group.iter(f"{{{NS}}}text"):
        words.set("text-anchor", "middle")
        words.set("x", f"{(left + right) / 2:.2f}")


def _name(group: ET.Element, words: str) -> None:
    title = _child(group, "title")
    if title is None:
        title = ET.Element(f"{{{NS}}}title")
        group.insert(0, title)
    title.text = html.clean(words)


def _light(group: ET.Element) -> None:
    group.set("class", f"{group.get('class')} lit")
    double = group.get("data-kind") == "send"
    for shape in _shapes(group):
        if shape.get("stroke") == PALETTE["paper"]:  # the gap of a double line
            continue
        shape.set("stroke", PALETTE["blue"])
        shape.set("stroke-width", "1" if _tag(shape) != "path" else "1.75" if double else "2.5")
        if shape.get("fill") not in (None, "none"):
            shape.set("fill", PALETTE["blue"])
    for words in group.iter(f"{{{NS}}}text"):
        words.set("fill", PALETTE["blue-ink"])


def _answer(group: ET.Element, answer: Answer, corner: Corner) -> None:
    look = LOOKS[answer.status]
    many = f", {answer.tasks} tasks" if answer.tasks else ""
    said = f"{group.get('aria-label')}; {look.words}{many}{f'; {answer.fact}' if answer.fact else ''}"
    _name(group, said)
    group.set("aria-label", html.clean(said))
    group.set("class", f"{group.get('class')} {answer.status}")
    group.set("data-status", answer.status)
    outline = _shapes(group)[0]
    outline.set("stroke", PALETTE[look.colour])
    outline.set("stroke-width", str(look.line))
    if look.dash:
        outline.set("stroke-dasharray", look.dash)
    if look.filled and "cluster" not in str(group.get("class")).split():
        outline.set("fill", PALETTE[f"{look.colour}-tint"])
    left, top, right, _ = box(group)
    badge(group, answer, right - 3 if corner == "right" else left + 3, top - 4 if corner == "over" else top + 3)


def _key(
    samples: Iterable[Sample], statuses: Mapping[Status, str], limit: float
) -> tuple[ET.Element, float, float] | None:
    """The key as rows of signs with their words, and how wide and high it is."""
    items = [(one.width, one.strokes, one.words) for one in samples]
    items += [(18, _round(one), words) for one, words in statuses.items()]
    if not items:
        return None
    group = ET.Element(f"{{{NS}}}g", {"class": "wb-key"})
    x = y = wide = 0.0
    for size, strokes, words in items:
        needed = size + 8 + 6.1 * len(words)
        if x and x + needed > limit:
            x, y = 0.0, y + 20
        piece = ET.fromstring(f'<g xmlns="{NS}">{strokes}</g>')
        piece.set("transform", f"translate({x:.1f} {y:.1f})")
        style = {"x": f"{size + 8}", "y": "10", "font-size": "12", "fill": PALETTE["ink2"], "font-family": SHOWN}
        _add(piece, "text", style).text = words
        group.append(piece)
        wide, x = max(wide, x + needed), x + needed + 20
    return group, wide, y + 20


def _round(status: Status) -> str:
    holder = ET.Element(f"{{{NS}}}g")
    badge(holder, Answer(status), 9, 6)
    return ET.tostring(holder, encoding="unicode")


def _box_of(root: ET.Element) -> tuple[float, float, float, float]:
    x, y, width, height = (float(one) for one in root.get("viewBox", "0 0 0 0").split())
    return x, y, width, height


def _shapes(group: ET.Element) -> list[ET.Element]:
    """Graphviz' own strokes of a group, without the sign that was laid on it."""
    laid = {id(one) for sign in groups(group, "wb-badge") for one in sign.iter()}
    return [one for one in group.iter() if id(one) not in laid and _tag(one) in _SHAPES]


def _child(group: ET.Element, tag: str) -> ET.Element | None:
    return next((one for one in group if _tag(one) == tag), None)


def _add(group: ET.Element, tag: str, attributes: dict[str, str]) -> ET.Element:
    return ET.SubElement(group, f"{{{NS}}}{tag}", attributes)


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
