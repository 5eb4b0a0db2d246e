"""`draw(graph)` and the `Drawing` it gives: a picture that shows itself, tells its source, and saves itself.

A drawing is a value. What is expensive, the layout, is made when it is first shown and kept by its source text, so that
a superstep laid on a drawing costs no second layout and moves nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

from workbench import actors, dot, flow, html, outline, svg, topology
from workbench import channels as channel_map
from workbench.dot import Direction, Sketch
from workbench.html import Html
from workbench.signs import LOOKS, STATUSES, Answer, EdgeSign, Sign, Status, answer, sample
from workbench.topology import Topology

LIMIT = 300
"""How many nodes are drawn without being asked for: more than that is hard to read."""

_FAN = 8

Given = Answer | tuple[Status, int | None] | Status
Theme = Literal["light", "dark"]


class TooLarge(ValueError):
    """The graph has more nodes than can be read; draw a part of it."""


@dataclass(frozen=True)
class Drawing:
    """A picture of a graph. It shows itself in a notebook; `save` writes it, `lay` puts a superstep on it."""

    sketch: Sketch
    title: str
    words: str
    signs: tuple[Sign, ...] = ()
    shape: Topology | None = None
    direction: Direction = "TB"
    theme: Theme | None = None
    refusal: str = ""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    lit: frozenset[str | tuple[str, str]] = frozenset()
    current: str | None = None
    corner: svg.Corner = "left"
    said: Mapping[Status, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The DOT text."""
        return self.sketch.source

    @property
    def svg(self) -> str:
        """A whole SVG file, with its own paper, styles and key; light or dark as its reader's system is."""
        root = self.element()
        if self.theme:
            root.set("data-wb-theme", self.theme)
        return svg.write(svg.standalone(root, [sample(one) for one in self._shown()], self._statuses()))

    @property
    def html(self) -> Html:
        """The picture with its key, as a fragment that takes the colours of the page around it."""
        return html.fragment(self.inline(), self.key(), theme=self.theme)

    def inline(self) -> Html:
        """The bare picture to set into a fragment of one's own; it scrolls where it is too wide."""
        return html.tag("div", Html(svg.write(self.element())), class_="drawing")

    def key(self) -> Html:
        """The key of the signs that are in the picture, to stand under it."""
        return html.key([sample(one) for one in self._shown()], self._statuses())

    def element(self) -> ET.Element:
        """The picture as an element tree, statuses laid on; each call gives a new one."""
        if self.refusal:
            raise TooLarge(self.refusal)
        root = svg.picture(self.sketch, self._title())
        svg.lay(root, self.answers, self.lit, self.corner)
        if self.current is not None:
            svg.ring(root, self.current)
        return root

    def lay(self, status: Mapping[str, Given], lit: Iterable[str | tuple[str, str]] = ()) -> "Drawing":
        """The same layout with a superstep on it: a status for each node, and the (source, target) that carried it.

        A status is a word (`"ran"`), a word with a number of tasks (`("ran", 3)`), or an `Answer`.
        """
        answers = {name: answer(given) for name, given in status.items()}
        return replace(self, answers=answers, lit=frozenset(lit))

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the picture; the name's ending says how: .svg, .png, .pdf or .dot."""
        file = Path(path)
        form = file.suffix.lower()
        if self.refusal:
            raise TooLarge(self.refusal)
        if form == ".svg":
            file.write_text(self.svg, encoding="utf-8")
        elif form == ".dot":
            file.write_text(self._printed(), encoding="utf-8")
        elif form in (".png", ".pdf"):
            file.write_bytes(svg.layout(self._printed(), form[1:]))
        else:
            raise ValueError(f"A drawing cannot be saved as {file.name!r}. End it in .svg, .png, .pdf or .dot.")
        return file

    def _printed(self) -> str:
        """The DOT text for formats that take no overlay: on white paper, with the statuses in words."""
        if self.shape is None or not self.answers:
            return self.source.replace("bgcolor=transparent", 'bgcolor="#ffffff"')
        made = dot.sketch(self.shape, self.direction, self.answers)
        return made.source.replace("bgcolor=transparent", 'bgcolor="#ffffff"')

    def _shown(self) -> tuple[Sign, ...]:
        return (*self.signs, *(("trigger",) if self.lit else ()))

    def _statuses(self) -> dict[Status, str]:
        """The statuses in the picture, each with its word in the key."""
        met = {one.status for one in self.answers.values()}
        return {one: self.said.get(one, LOOKS[one].words) for one in STATUSES if one in met}

    def _title(self) -> str:
        told = [] if self.said else [f"{name} {one.status}" for name, one in self.answers.items()]
        return "; ".join([self.title, *([", ".join(told)] if told else [])])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        try:
            return {"text/html": self.html, "image/svg+xml": self.svg, "text/plain": self.words}
        except (TooLarge, svg.LayoutError) as error:
            told = html.join([html.tag("p", str(error)), html.tag("pre", self.words)])
            whole = f"{error}\n\n{self.words}"
            return {"text/html": html.fragment(told, theme=self.theme), "text/plain": whole}

    def __repr__(self) -> str:
        return self.words


def draw(
    graph: Any,
    *,
    xray: bool | int = False,
    channels: bool | None = None,
    direction: Direction | None = None,
    status: Mapping[str, Given] | None = None,
    lit: Iterable[str | tuple[str, str]] = (),
    focus: str | Iterable[str] | None = None,
    depth: int | None = None,
    theme: Theme | None = None,
    limit: int = LIMIT,
) -> Drawing:
    """The picture of a compiled graph or a builder, of either engine.

    `xray` opens subgraphs (True, or how deep); `channels` shows actors and channels instead of nodes and edges, as a
    graph of bare actors does unless told otherwise;
    `status` and `lit` lay a superstep on it. `focus` keeps a node (or several) and what lies within `depth` edges of
    it; `depth` alone keeps what START can reach in so many. A graph of more than `limit` nodes says how to see a part.
    Without a `direction` the flow goes down (TB), or to the right (LR) where a wide fan of nodes would pass a page.
    """
    direction = _direction(direction) if direction is not None else None
    if actors.are_bare(graph) if channels is None else channels:
        made = _channels(graph, theme)
    else:
        made = of_shape(_part(topology.of(graph, xray), focus, depth), direction=direction, theme=theme, limit=limit)
    return made.lay(status or {}, lit) if status or lit else made


def of_shape(
    shape: Topology,
    *,
    direction: Direction | None = None,
    theme: Theme | None = None,
    limit: int = LIMIT,
    tight: bool = False,
) -> Drawing:
    """The picture of a shape that is known already; a `tight` one stands beside others, so it tells only the names."""
    direction = direction or ("LR" if flow.fan(shape.ways()) > _FAN else "TB")
    if shape.size > limit:
        sketch, refusal = Sketch("", {}), _refusal(shape, limit)
    else:
        sketch, refusal = dot.sketch(shape, direction, tight=tight), ""
    return Drawing(
        sketch,
        outline.title(shape),
        outline.graph(shape),
        _signs(shape),
        shape,
        direction,
        theme,
        refusal,
        corner="over" if tight else "left",
    )


def _channels(graph: Any, theme: Theme | None) -> Drawing:
    found = channel_map.of(graph)
    title, words = outline.channels_title(found), outline.channels(found)
    return Drawing(channel_map.sketch(found), title, words, channel_map.signs(found), theme=theme)


def _part(shape: Topology, focus: str | Iterable[str] | None, depth: int | None) -> Topology:
    if focus is not None:
        return shape.around([focus] if isinstance(focus, str) else focus, 1 if depth is None else depth)
    return shape if depth is None else shape.until(depth)


def _refusal(shape: Topology, limit: int) -> str:
    near = next((node.name for node in shape.nodes if node.kind not in ("start", "end")), "name")
    return (
        f"{shape.name} has {shape.size:,} nodes, and more than {limit} are hard to read. Draw a part with "
        f"draw(graph, focus={near!r}, depth=2) or draw(graph, depth=3), or all of it with limit={shape.size}."
    )


def _direction(given: str) -> Direction:
    for known in ("TB", "LR", "BT", "RL"):
        if given.upper() == known:
            return known
    raise ValueError(f"{given!r} is no direction of a drawing. Use TB, LR, BT or RL.")


def _signs(shape: Topology) -> tuple[Sign, ...]:
    """The signs that are in the picture, in the order of the key."""
    kinds: Collection[str] = {edge.kind for edge in shape.edges} | ({"barrier"} if shape.joins else set())
    lines: tuple[EdgeSign, ...] = ("plain", "conditional", "command", "send", "error", "barrier", "observed")
    nodes = (*shape.nodes, *shape.groups)
    rules: list[Sign] = []
    if any("before" in node.pauses for node in nodes):
        rules.append("pause-before")
    if any("after" in node.pauses for node in nodes):
        rules.append("pause-after")
    if any(node.deferred for node in nodes):
        rules.append("deferred")
    return (*(one for one in lines if one in kinds), *rules)
