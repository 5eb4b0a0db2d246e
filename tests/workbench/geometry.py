"""What a picture looks like, measured: where its words, outlines and lines are, and which of them meet."""

import itertools
import math
import re
import xml.etree.ElementTree as ET
from typing import Any, NamedTuple

from workbench import svg, text

SVG = "{http://www.w3.org/2000/svg}"
_WIDTHS = {"ijl.,:;'|!": 0.24, "tfrI()[]/- ": 0.31, "mMWw%@": 0.83, "vyzxkscJ": 0.5}


class Box(NamedTuple):
    """A rectangle, and what stands in it."""

    left: float
    top: float
    right: float
    bottom: float
    name: str = ""

    def meets(self, other: "Box", by: float = 0) -> bool:
        """True where the two have more in common than a strip of `by` pixels."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > by and min(self.bottom, other.bottom) - max(self.top, other.top) > by

    def holds(self, x: float, y: float, by: float = 0) -> bool:
        """True where the point lies inside, more than `by` pixels from the border."""
        return self.left + by < x < self.right - by and self.top + by < y < self.bottom - by


class Line(NamedTuple):
    """An edge as it is drawn: a polyline from its source to its target, and where the two are touched."""

    source: str
    target: str
    points: tuple[tuple[float, float], ...]
    tips: tuple[tuple[float, float], ...]


def groups(root: ET.Element, kind: str) -> list[ET.Element]:
    """The groups of one kind: `node`, `edge`, `cluster`, `cluster-title`."""
    return [g for g in root.iter(f"{SVG}g") if kind in g.get("class", "").split()]


def outlines(root: ET.Element) -> list[Box]:
    """Where the nodes stand."""
    return [Box(*svg.box(g), str(g.get("data-node"))) for g in groups(root, "node")]


def words(group: ET.Element) -> list[Box]:
    """Where the texts of a group stand, a box for each."""
    found = []
    for one in group.iter(f"{SVG}text"):
        said = "".join(one.itertext())
        size = float(one.get("font-size", "12"))
        wide = size * sum(map(_ems, said.strip("\xa0 ")))
        before = size * 0.28 * (len(said) - len(said.lstrip("\xa0 ")))
        x, y = float(one.get("x", 0)), float(one.get("y", 0))
        left = {"middle": x - wide / 2, "end": x - wide}.get(str(one.get("text-anchor")), x + before)
        found.append(Box(left, y - 0.75 * size, left + wide, y + 0.2 * size, said.strip("\xa0 ")))
    return found


def _ems(letter: str) -> float:
    """How wide Arial sets a letter, within a tenth."""
    if text.wide(letter):
        return 1.0
    return next((width for letters, width in _WIDTHS.items() if letter in letters), 0.7 if letter.isupper() else 0.56)


def lines(root: ET.Element) -> list[Line]:
    """How the edges run."""
    found = []
    for group in groups(root, "edge"):
        points = [point for path in group.findall(f"{SVG}path")[:1] for point in _bezier(str(path.get("d")))]
        heads = [_corners(head) for head in group if head.tag in (f"{SVG}polygon", f"{SVG}polyline", f"{SVG}ellipse")]
        ends = str(group.get("data-source")), str(group.get("data-target"))
        found.append(Line(*ends, tuple(points), tuple(_tip(points, end, heads) for end in (0, -1) if points)))
    return found


def _tip(points: list[Any], end: int, heads: list[Any]) -> Any:
    near = [point for head in heads if math.dist(head[0], points[end]) < 16 for point in head]
    return max([points[end], *near], key=lambda point: math.dist(point, points[len(points) // 2]))


def _corners(head: ET.Element) -> list[Any]:
    if head.get("points") is None:
        x, y, r = (float(str(head.get(key))) for key in ("cx", "cy", "rx"))
        return [(x, y), (x - r, y), (x + r, y), (x, y - r), (x, y + r)]
    numbers = [float(one) for one in re.findall(r"-?\d+\.?\d*", str(head.get("points")))]
    return list(zip(numbers[0::2], numbers[1::2], strict=True))


def canvas(root: ET.Element) -> Box:
    """The part of the plane that is shown, in the coordinates of what is drawn."""
    x, y, width, height = (float(one) for one in root.get("viewBox", "").split())
    moved = re.search(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", root.find(f"{SVG}g").get("transform", ""))
    dx, dy = (float(one) for one in moved.groups())
    return Box(x - dx, y - dy, x - dx + width, y - dy + height)


def _bezier(d: str, steps: int = 12) -> list[tuple[float, float]]:
    numbers = [float(one) for one in re.findall(r"-?\d+\.?\d*", d)]
    points = list(zip(numbers[0::2], numbers[1::2], strict=True))
    found = [points[0]]
    for i in range(1, len(points) - 2, 3):
        a, (b, c, e) = found[-1], points[i : i + 3]
        for t in (k / steps for k in range(1, steps + 1)):
            weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            found.append(tuple(sum(w * p[axis] for w, p in zip(weights, (a, b, c, e), strict=True)) for axis in (0, 1)))
    return found


def faults(drawing: Any) -> list[str]:
    """Everything that a reader would stumble over, in words; nothing for a good picture."""
    root = drawing.element()
    nodes, edges = outlines(root), lines(root)
    labels = [box for g in groups(root, "edge") for box in words(g)]
    titles = [box for g in groups(root, "cluster-title") for box in words(g)]
    inside = [(node, box) for g, node in zip(groups(root, "node"), nodes, strict=True) for box in words(g)]
    found = [f"{a.name} and {b.name} stand on each other" for a, b in itertools.combinations(nodes, 2) if a.meets(b)]
    texts = [*labels, *titles]
    found += [f"labels {a.name!r} and {b.name!r} overlap" for a, b in itertools.combinations(texts, 2) if a.meets(b, 1)]
    found += [f"label {a.name!r} lies on {b.name}" for a in texts for b in nodes if a.meets(b, 1)]
    found += [
        f"{line.source} → {line.target} runs through label {box.name!r}"
        for box in texts
        for line in edges
        if any(box.holds(x, y, 1) for x, y in line.points)
    ]
    found += [
        f"{line.source} → {line.target} runs through {node.name}"
        for node in nodes
        for line in edges
        if node.name not in (line.source, line.target) and any(node.holds(x, y, 1) for x, y in line.points)
    ]
    found += [
        f"{box.name!r} is wider than its node {node.name}"
        for node, box in inside
        if box.left < node.left or box.right > node.right
    ]
    found += [
        f"{line.source} → {line.target} ends under the sign of {node.name}"
        for node in nodes
        for line in edges
        if drawing.corner == "left"
        and not node.name.startswith("join:")
        and any(math.dist(tip, (node.left + 3, node.top + 3)) < 9 for tip in line.tips)
    ]
    whole = canvas(root)
    found += [f"{box.name!r} is cut off" for box in (*nodes, *texts) if not _within(box, whole)]
    found += [
        f"{one.source} → {one.target} is cut off" for one in edges for x, y in one.points if not whole.holds(x, y)
    ]
    return [*dict.fromkeys(found), *_together(edges)]


def _within(box: Box, whole: Box) -> bool:
    return whole.holds(box.left, box.top) and whole.holds(box.right, box.bottom)


def _together(edges: list[Line], apart: float = 6) -> list[str]:
    """Pairs of edges that begin or end in one point, or run side by side as one line for a while."""
    found = []
    tips = [(line, tip) for line in edges for tip in line.tips]
    for (one, a), (other, b) in itertools.combinations(tips, 2):
        bar = one.target if one.target.startswith("join:") else None  # on a barrier a line goes on below where it came
        if one is not other and bar != other.source and math.dist(a, b) < apart:
            found.append(f"{one.source} → {one.target} and {other.source} → {other.target} meet in one point")
    return found
