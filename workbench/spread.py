"""Edges that a layout program lets meet a node in one point, set apart.

A layout program aims every edge at the middle of its node, so that two which come from one direction end in the same
point, one head on the other. `apart` moves the ends along the side on which they lie, as little as need be and in the
order in which they come, so that nothing crosses that did not before. Nodes stay where they are.
"""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Box = tuple[float, float, float, float]
Point = tuple[float, float]

GAP = 11.0
"""How far two ends stand apart, in pixels, where their side has the room."""

_CORNER = 7.0
_SIGN = 14.0
"""How much of a side the status sign on the upper left corner covers."""
_NEAR = 4.0
_REACH = 50.0
_STEPS = 16
_NUMBER = re.compile(r"-?\d+\.?\d*")


class _Edge:
    """The strokes of an edge: paths from end to end, and the heads at each of them."""

    def __init__(self, group: ET.Element) -> None:
        strokes = [one for one in group if _tag(one) in ("path", "polygon", "polyline", "ellipse")]
        self.paths = [one for one in strokes if _tag(one) == "path"]
        self.heads: tuple[list[ET.Element], list[ET.Element]] = ([], [])
        self.points = _points(self.paths[0]) if self.paths else []
        for one in strokes:
            if _tag(one) != "path" and self.points:
                x, y = _middle(_points(one))
                first, last = (abs(x - u) + abs(y - v) for u, v in (self.points[0], self.points[-1]))
                self.heads[last < first].append(one)

    def tip(self, end: Literal[0, 1]) -> Point:
        """Where the edge touches its node: the end of its path, or of the head beyond it."""
        inner = self.points[-2 if end else 1]
        reached = [self.points[-1 if end else 0], *(point for head in self.heads[end] for point in _points(head))]
        return max(reached, key=lambda point: (point[0] - inner[0]) ** 2 + (point[1] - inner[1]) ** 2)

    def slope(self, end: Literal[0, 1], side: int) -> float:
        """From which direction the edge comes, as an angle that grows along the side."""
        (x, y), (u, v) = self.tip(end), _middle(self.points)
        along, away = (v - y, u - x) if side in (0, 2) else (u - x, v - y)
        return math.atan2(along, -away if side in (0, 1) else away)

    def move(self, end: Literal[0, 1], dx: float, dy: float) -> None:
        """Moves one end with its head; the line keeps its direction there, and follows the less the further away."""
        for path in self.paths:
            points = _points(path)
            way = 0.0
            order = [*range(len(points))][:: -1 if end else 1]
            for i, before in zip(order, (order[0], *order), strict=False):
                x, y = points[i]
                way += math.dist(self.points[i], self.points[before])
                part = 1.0 if i in order[:2] else max(1 - way / _REACH, 0.0)
                points[i] = x + part * dx, y + part * dy
            first, *rest = (f"{x:.2f},{y:.2f}" for x, y in points)
            path.set("d", f"M{first}C{' '.join(rest)}")
        self.points = _points(self.paths[0])
        for head in self.heads[end]:
            if _tag(head) == "ellipse":
                head.set("cx", f"{float(head.get('cx', 0)) + dx:.2f}")
                head.set("cy", f"{float(head.get('cy', 0)) + dy:.2f}")
            else:
                head.set("points", " ".join(f"{x + dx:.2f},{y + dy:.2f}" for x, y in _points(head)))

    def land(self, place: Point, before: Point) -> None:
        """Sets the last end, which has no head, on a place, coming from the one before."""
        for path in self.paths:
            first, *rest = (f"{x:.2f},{y:.2f}" for x, y in [*_points(path)[:-2], before, place])
            path.set("d", f"M{first}C{' '.join(rest)}")


class _End(NamedTuple):
    """One end of an edge on a side of a node: its place along the side, and the angle at which the edge comes."""

    at: float
    slope: float
    edge: _Edge
    end: Literal[0, 1]


def apart(edges: Sequence[ET.Element], boxes: Mapping[str, Box], across: bool = False) -> None:
    """Sets the ends of edges apart, in place. `boxes` holds the outlines of the nodes at which ends may be moved.

    An end in a corner belongs to the side that faces the flow, which goes up and down, or `across`.
    """
    met: dict[tuple[str, int], list[_End]] = {}
    for group in edges:
        names = [group.get("data-source", ""), group.get("data-target", "")]
        edge = _Edge(group)
        if len(edge.points) < 4:
            continue
        if "back" in group.get("class", "").split():
            names.reverse()
        ends: tuple[tuple[Literal[0, 1], str], ...] = ((0, names[0]), (1, names[1]))
        for end, name in ends:
            if name in boxes:
                side = _side(edge.tip(end), boxes[name], across, 0.0 if names[0] == names[1] else _NEAR)
                axis = 1 if side in (0, 2) else 0
                found = _End(edge.tip(end)[axis], edge.slope(end, side), edge, end)
                met.setdefault((name, side), []).append(found)
    for (name, side), found_there in met.items():
        _along(found_there, boxes[name], side)


def courses(edges: Sequence[ET.Element]) -> list[Point]:
    """Points on all the edges, near enough to each other that no text passes between two of them."""
    return [point for edge in map(_Edge, edges) for point in _sampled(edge.points)]


def beside(lines: Sequence[Box], right: float, met: Sequence[Point]) -> float | None:
    """How far to move the lines of a title to the right so that they stand clear of the edges, as little as need be.

    None means to end them all at `right`. Where no place is clear, it is the one that the fewest points lie in.
    """
    room = max(right - max(line[2] for line in lines), 0)
    tries = [4.0 * step for step in range(int(room / 4) + 1)]

    def crossed(by: float | None) -> int:
        moved = [right - line[2] if by is None else by for line in lines]
        return sum(
            line[0] + one - 3 < x < line[2] + one + 3 and line[1] - 1 < y < line[3] + 1
            for line, one in zip(lines, moved, strict=True)
            for x, y in met
        )

    return min((*tries, None), key=crossed)


def _sampled(points: Sequence[Point]) -> list[Point]:
    """Points on a line of Bézier curves, evenly within each."""
    curves = [points[i : i + 4] for i in range(0, len(points) - 3, 3)]
    return [_between(curve, step / _STEPS) for curve in curves for step in range(_STEPS + 1)]


def _between(points: Sequence[Point], t: float) -> Point:
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = points
    a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    return a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy


def land(edges: Sequence[ET.Element], bars: Mapping[str, Box], across: bool = False) -> None:
    """Sets the ends that came to a barrier at its tip onto the side that faces their source, in place."""
    flow, along = (0, 1) if across else (1, 0)
    for group in edges:
        bar, edge = bars.get(group.get("data-target", "")), _Edge(group)
        if bar is None or not edge.points:
            continue
        low, high = bar[along], bar[along + 2]
        tip, start = edge.tip(1), edge.points[0]
        if low + 1 < tip[along] < high - 1:
            continue
        side, away = (bar[flow], -_REACH / 2) if start[flow] < bar[flow] else (bar[flow + 2], _REACH / 2)
        place = min(max(tip[along], low + 2 * GAP), high - 2 * GAP)
        if across:
            edge.land((side, place), (side + away, place))
        else:
            edge.land((place, side), (place, side + away))


def follow(edges: Sequence[ET.Element], moved: Sequence[tuple[Box, float]]) -> None:
    """Moves the ends that touch an outline up or down with it, in place."""
    for edge in map(_Edge, edges):
        ends: tuple[Literal[0, 1], Literal[0, 1]] = (0, 1)
        for end in ends if edge.points else ():
            x, y = edge.tip(end)
            for (left, top, right, bottom), by in moved:
                if left - 4 <= x <= right + 4 and top - 4 <= y <= bottom + 4:
                    edge.move(end, 0, by)
                    break


def _along(ends: list[_End], box: Box, side: int) -> None:
    upright = side in (0, 2)
    low, high = (box[1], box[3]) if upright else (box[0], box[2])
    size = high - low
    low += min(_SIGN if side in (0, 1) else _CORNER, 0.42 * size)
    high -= min(_CORNER, 0.2 * size)
    ends.sort(key=lambda one: (round(one.at / 4), one.slope))
    for one, place in zip(ends, places([one.at for one in ends], low, high), strict=True):
        if abs(place - one.at) > 0.5:
            along, onto = place - one.at, box[side] - one.edge.tip(one.end)[0 if upright else 1]
            onto = onto if abs(onto) > 3 else 0.0  # it stood on this side already
            one.edge.move(one.end, *((onto, along) if upright else (along, onto)))


def places(wished: Sequence[float], low: float, high: float) -> list[float]:
    """Places in the order of the wished ones, near them, a gap apart, and between `low` and `high`."""
    gap = min(GAP, (high - low) / (len(wished) - 1)) if len(wished) > 1 else 0.0
    # Without their gaps the places must only not fall: runs of those that do are set to their mean.
    runs: list[tuple[float, int]] = []
    for number, wish in enumerate(wished):
        mean, count = wish - gap * number, 1
        while runs and runs[-1][0] > mean:
            before, many = runs.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        runs.append((mean, count))
    even = [mean for mean, count in runs for _ in range(count)]
    top = high - gap * (len(wished) - 1)
    return [min(max(mean, low), top) + gap * number for number, mean in enumerate(even)]


def _side(point: Point, box: Box, across: bool, near: float) -> int:
    """The side on which a point lies: 0 left, 1 top, 2 right, 3 bottom; one that faces the flow even if `near` off."""
    x, y = point
    away = [abs(x - box[0]), abs(y - box[1]), abs(x - box[2]), abs(y - box[3])]
    for side in (1, 3) if across else (0, 2):
        away[side] += near
    return min(range(4), key=away.__getitem__)


def _points(shape: ET.Element) -> list[Point]:
    if _tag(shape) == "ellipse":
        cx, cy, rx, ry = (float(shape.get(key, 0)) for key in ("cx", "cy", "rx", "ry"))
        return [(cx - rx, cy), (cx + rx, cy), (cx, cy - ry), (cx, cy + ry)]
    numbers = [float(one) for one in _NUMBER.findall(shape.get("points") or shape.get("d") or "")]
    return list(zip(numbers[0::2], numbers[1::2], strict=True))


def _middle(points: Sequence[Point]) -> Point:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
