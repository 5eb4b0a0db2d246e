"""A graph's shape as DOT text: pure, and the same text for the same shape.

Every element gets a safe id (`n0`, `e3`), so that no name can break the syntax; names stand only in labels, escaped.
Colours are the light hexes of `signs.PALETTE`. What an id stands for is in the sketch's marks, which `svg` writes into
the picture as titles and data attributes.
"""

import html
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from workbench import flow, text
from workbench.html import clean
from workbench.signs import FONT, LOOKS, PALETTE, Answer
from workbench.topology import Edge, Join, Node, Topology

Direction = Literal["TB", "LR", "BT", "RL"]

_WRAP = 16
_LINE = 24
_FACTS = 34
_HUB = 4
_LARGE = 100
_EM = 13 / 72
_END = 26
_TIGHT_END = 14
_TERMINAL_END = 10
_SIDE = 2
_SIDE_END = 12
_SIGN_ROOM = 22

_HEAD: Mapping[str, Mapping[str, str]] = {
    "graph": {
        "bgcolor": "transparent",
        "pad": "0.14",
        "nodesep": "0.38",
        "ranksep": "0.5",
        "fontname": FONT,
        "fontsize": "13",
        "fontcolor": PALETTE["ink"],
        "compound": "true",
    },
    "node": {
        "shape": "box",
        "style": "rounded,filled",
        "fillcolor": PALETTE["paper"],
        "color": PALETTE["edge"],
        "fontcolor": PALETTE["ink"],
        "penwidth": "1.25",
        "margin": "0.16,0.09",
        "height": "0.42",
        "width": "0.95",
        "fontname": FONT,
        "fontsize": "13",
    },
    "edge": {
        "color": PALETTE["edge"],
        "fontcolor": PALETTE["ink2"],
        "penwidth": "1.25",
        "arrowsize": "0.7",
        "fontname": FONT,
        "fontsize": "12",
    },
}
_TIGHT: Mapping[str, Mapping[str, str]] = {
    "graph": {"pad": "0.1", "nodesep": "0.14", "ranksep": "0.38"},
    "node": {"margin": "0.07,0.05", "height": "0.36", "width": "0.6"},
    "end": {"width": "0.5", "margin": "0.07,0.04"},
}
_TERMINAL = {"fontsize": "12", "height": "0.3", "width": "0.7", "margin": "0.14,0.04", "color": PALETTE["ink2"]}
_EDGES: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "conditional": {"style": "dashed", "dir": "both", "arrowtail": "odiamond"},
    "command": {"style": "dashed", "dir": "both", "arrowtail": "odot"},
    "send": {"color": f"{PALETTE['edge']}:{PALETTE['paper']}:{PALETTE['edge']}", "arrowhead": "normalnormal"},
    "observed": {"style": "dotted", "arrowhead": "vee"},
    "error": {"color": PALETTE["red"], "fontcolor": PALETTE["red-ink"], "arrowhead": "onormal", "weight": "1"},
}
_WAYS = {
    "plain": "always",
    "conditional": "if a router chooses it",
    "command": "if the node chooses it by Command",
    "send": "by Send, one task for each",
    "observed": "seen in a run, not declared",
    "error": "after the last retry fails",
}


class Mark(NamedTuple):
    """What one element of a drawing stands for: its role, its name, and the words of its title."""

    role: Literal["node", "edge", "barrier", "group", "label"]
    name: str
    kind: str
    title: str
    ends: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


class Sketch(NamedTuple):
    """A DOT text, what its ids stand for, whether it flows from side to side, and the nodes whose tops are level."""

    source: str
    marks: Mapping[str, Mark]
    across: bool = False
    level: tuple[str, ...] = ()


def sketch(
    shape: Topology, direction: Direction = "TB", answers: Mapping[str, Answer] | None = None, tight: bool = False
) -> Sketch:
    """The drawing of a shape. With `answers`, statuses are written into the nodes, for formats that take no overlay.

    `tight` draws it to stand beside others of its kind: closer, and without facts and labels. Its text is as large.
    """
    made = Writer(direction, tight)
    if len(shape.nodes) > _LARGE:  # a good place soon, rather than the best one after minutes
        made.graph.attr("graph", nslimit="1", mclimit="0.1")
    for node in shape.nodes:
        made.ids[node.id] = f"n{len(made.ids)}"
    for number, join in enumerate(shape.joins):
        made.ids[join.id] = f"j{number}"
    ways = list(shape.ways())
    places = [*(node.id for node in shape.nodes), *(join.id for join in shape.joins)]
    back = flow.backward(places, ways)
    made.back = back - flow.by_itself(places, ways, back) if len(places) <= _LARGE else back
    made.aside = flow.aside(ways)
    made.side = _sides(ways, back)
    busy = Counter(end for way in ways for end in way)
    _group(made, made.graph, shape, "", busy, answers or {})
    handled = Counter(edge.target for edge in shape.edges if edge.kind == "error")
    for edge in shape.edges:
        _edge(made, edge._replace(labels=()) if handled[edge.target] > 1 and edge.kind == "error" else edge)
    for join in shape.joins:
        _join_edges(made, join)
    return made.sketch()


def _sides(ways: Iterable[flow.Way], back: Collection[flow.Way]) -> Mapping[str, int]:
    """How many edges meet each node on that of its two sides, up or down the flow, where more do."""
    met = Counter[tuple[str, bool]]()
    for way in ways:
        source, target = reversed(way) if way in back else way
        met.update(((source, True), (target, False)) if source != target else ())
    found = Counter[str]()
    for (node, _), edges in met.items():
        found[node] = max(found[node], edges)
    return found


class Writer:
    """Writes DOT through the `graphviz` package, and keeps what each id stands for."""

    def __init__(self, direction: Direction = "TB", tight: bool = False) -> None:
        import graphviz  # noqa: PLC0415 - `%load_ext workbench` must not wait for it

        self.direction = direction
        self.tight = tight
        self.ids: dict[str, str] = {}
        self.marks: dict[str, Mark] = {}
        self.edges = 0
        self.back: set[flow.Way] = set()
        self.aside: set[flow.Way] = set()
        self.side: Mapping[str, int] = {}
        self.graph = graphviz.Digraph("workbench")
        for part, attributes in _HEAD.items():
            self.graph.attr(part, **{**attributes, **(_TIGHT.get(part, {}) if tight else {})})
        self.graph.attr("graph", rankdir=direction)

    @property
    def across(self) -> bool:
        """True where the flow goes from side to side."""
        return self.direction in ("LR", "RL")

    def node(self, into: Any, key: str, mark: Mark, **attributes: str) -> None:
        """One node, with its id, its classes, and its mark."""
        id = self.ids.setdefault(key, f"n{len(self.ids)}")
        self.marks[id] = mark
        into.node(id, id=id, **{"class": " ".join(dict.fromkeys((mark.kind, *mark.classes)))}, **attributes)

    def edge(self, source: str, target: str, mark: Mark, **attributes: str) -> None:
        """One edge between two nodes that are there, or their ports (`n0:p1`); one that leads back is written so."""
        id = f"e{self.edges}"
        self.edges += 1
        self.marks[id] = mark
        if mark.ends in self.back:
            source, target, attributes = target, source, _turned(attributes)
            attributes["class"] = f"{mark.kind} back"
        elif mark.ends not in self.aside:
            attributes.setdefault("weight", "3")
        self.graph.edge(source, target, id=id, **{"class": mark.kind, **attributes})

    def sketch(self, level: tuple[str, ...] = ()) -> Sketch:
        """What has been written; the tops of the nodes in `level` will be set to one height."""
        return Sketch(self.graph.source, self.marks, self.across, level)


def _turned(attributes: Mapping[str, str]) -> dict[str, str]:
    """The attributes of an edge that is written from its target to its source and still shows its way."""
    ends = {"arrowhead": attributes.get("arrowtail", "none"), "arrowtail": attributes.get("arrowhead", "normal")}
    return {**attributes, **ends, "dir": "both"}


def escape(words: str, left: bool = False) -> str:
    """Any text inside an HTML-like label: what XML forbids is replaced, a line end is a line break."""
    lines = clean(words).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if left and len(lines) > 1:
        return "".join(f'{html.escape(line)}<BR ALIGN="LEFT"/>' for line in lines)
    return "<BR/>".join(html.escape(line) for line in lines)


def wrap(name: str, at: int = _WRAP) -> str:
    """A long name on lines: broken after `_` or a space near the middle, a very long one in lines of 24; never cut."""
    return "\n".join(_wrapped(line, at) for line in name.strip("\n").split("\n")) if name.strip() else "\u00a0"


def _wrapped(line: str, at: int) -> str:
    if text.width(line) <= at:
        return line
    if text.width(line) <= 2 * _LINE:
        cuts = [i + 1 for i, one in enumerate(line[:-1]) if one in "_ -:" and line[i + 1] not in "_ -:" and i > 1]
        middle = len(line) / 2
        best = min(cuts, key=lambda i: abs(i - middle) - (4 if line[:i].endswith("__") else 0), default=0)
        if best:
            return f"{line[:best].rstrip(' ')}\n{line[best:]}"
    return line if text.width(line) <= _LINE else "\n".join(_lines(line, max(at, _LINE)))


def _lines(words: str, limit: int) -> Iterable[str]:
    while text.width(words) > limit:
        room = 0
        while text.width(words[: room + 1]) <= limit:
            room += 1
        cut = max((i + 1 for i, one in enumerate(words[:room]) if one in "_ -:,"), default=0)
        cut = cut if cut > room // 2 else room
        yield words[:cut].rstrip(" ")
        words = words[cut:].lstrip(" ")
    yield words


def room(words: str) -> float:
    """How wide a text needs to be in inches: the layout program knows no widths of wide characters."""
    longest = max((sum(1.0 if text.wide(one) else 0.6 for one in line) for line in words.split("\n")), default=0)
    return round(longest * _EM, 2)


def is_wide(words: str) -> bool:
    """True if some character is wide, so that a width must be given."""
    return any(text.wide(one) for one in words)


def font(words: str, colour: str = "ink2", *, left: bool = False) -> str:
    """Escaped text of size 12 in a colour of ours, for an HTML-like label."""
    return f'<FONT POINT-SIZE="12" COLOR="{PALETTE[colour]}">{escape(words, left)}</FONT>'


def label(*words: str) -> str:
    """An edge's label, one line for each text, with air on both sides; more of it where characters are wide."""
    lines = [line for one in words for line in wrap(one, _LINE).split("\n")]
    return "\n".join(f"{_air(line)}{line}{_air(line)}" for line in lines)


def _air(line: str) -> str:
    """Blanks beside a label; some layout programs measure a wide character as narrower than it is."""
    return "\u00a0\u00a0" + " " * math.ceil(0.3 * sum(map(text.wide, line)))


def plain(words: str) -> str:
    """Any text as a plain label: DOT reads backslashes and entities in it, so both are escaped."""
    return html.escape(clean(words), quote=False).replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")


def table(cells: Iterable[str], padding: int = 1, colour: str = "") -> str:
    """An HTML-like label of one cell under the other."""
    ground = f' BGCOLOR="{PALETTE[colour]}"' if colour else ""
    rows = "".join(f"<TR>{cell}</TR>" for cell in cells)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}"{ground}>{rows}</TABLE>>'


def _group(
    made: Writer, into: Any, shape: Topology, within: str, busy: Mapping[str, int], answers: Mapping[str, Answer]
) -> None:
    """The nodes, barriers and opened subgraphs that stand directly in one subgraph, or at the top."""
    for node in shape.nodes:
        if node.within == within:
            _node(made, into, node, busy.get(node.id, 0), answers.get(node.id))
    place = {node.id: node.within for node in shape.nodes}
    for join in shape.joins:
        if place.get(join.target, "") == within:
            _barrier(made, into, join)
    for group in shape.groups:
        if group.within == within:
            with into.subgraph(name=f"cluster_{len(made.marks)}") as cluster:
                id = f"g{len(made.marks)}"
                made.marks[id] = Mark("group", group.id, "subgraph", _title(group))
                cluster.attr("graph", id=id, label=_head_of(group), **_CLUSTER)
                _group(made, cluster, shape, group.id, busy, answers)


_CLUSTER = {
    "class": "subgraph",
    "style": "rounded,filled",
    "color": PALETTE["rule"],
    "fillcolor": PALETTE["wash"],
    "penwidth": "1.25",
    "margin": "16",
    "labeljust": "l",
}


def _head_of(group: Node) -> str:
    words = [*(f"\u2016 pauses {side}" for side in group.pauses), *(["deferred"] if group.deferred else [])]
    facts = "\n".join((*group.facts, *words)).replace(", ", "\n")
    name = escape(wrap(group.name), left=True)
    return table([f'<TD ALIGN="LEFT"><B>{name}</B></TD>', f'<TD ALIGN="LEFT">{font(facts, left=True)}</TD>'])


def _node(made: Writer, into: Any, node: Node, edges: int, answer: Answer | None) -> None:
    mark = Mark("node", node.id, node.kind, _title(node), classes=_classes(node, edges))
    if node.kind in ("start", "end"):
        side = "height" if made.across else "width"
        least, each = (0.3, _TERMINAL_END) if made.across else (0.7, _TIGHT_END)
        wider = {side: f"{max(least, each * edges / 72):.2f}"} if edges > 2 else {}
        made.node(into, node.id, mark, **{**_terminal(node), **(_TIGHT["end"] if made.tight else {}), **wider})
        return
    wide = 0 if made.across or edges <= _HUB else (_TIGHT_END if made.tight else _END) * edges
    extra: dict[str, str] = {"label": _label(node, answer, max(_WRAP, wide // 7), made)}
    if wide:
        extra["width"] = f"{wide / 72:.2f}"
    elif made.across and made.side.get(node.id, 0) > _SIDE:
        extra["height"] = f"{(_SIGN_ROOM + _SIDE_END * made.side[node.id]) / 72:.2f}"
    if not made.tight and _rows(node, answer):
        extra["margin"] = "0.14,0.05"
    if node.kind == "handler":
        extra["color"] = PALETTE["red"]
    if node.kind == "subgraph":
        extra["peripheries"] = "2"
    if is_wide(node.name) and "width" not in extra:
        extra["width"] = f"{max(0.95, room(wrap(node.name)) + 0.3):.2f}"
    made.node(into, node.id, mark, **extra, **_answered(answer))


def _terminal(node: Node) -> dict[str, str]:
    filled = node.kind == "start"
    ink, paper = PALETTE["ink2"], PALETTE["paper"]
    own = {"fillcolor": ink if filled else paper, "fontcolor": paper if filled else ink, "label": "<START>"}
    return {**_TERMINAL, **own} if filled else {**_TERMINAL, **own, "label": "<END>", "peripheries": "2"}


def _classes(node: Node, edges: int) -> tuple[str, ...]:
    said = [f"pause-{side}" for side in node.pauses]
    said += ["asks"] if node.asks else []
    said += ["deferred"] if node.deferred else []
    return (*said, *(["hub"] if edges > _HUB else []))


def _title(node: Node) -> str:
    """The node's name, kind and facts in one line, for the tool tip and the screen reader."""
    if node.kind in ("start", "end"):
        return "START" if node.kind == "start" else "END"
    words = [
        *node.facts,
        *(f"pauses {side}" for side in node.pauses),
        *(["asks a person"] if node.asks else []),
        *(["deferred: waits for all others"] if node.deferred else []),
        *([f"tools: {', '.join(node.tools)}"] if node.tools else []),
    ]
    kind = "" if node.kind == "subgraph" or node.kind == "handler" else ", node"
    return f"{node.name}{kind}{''.join(f'; {word}' for word in words)}"


def _rows(node: Node, answer: Answer | None = None) -> list[str]:
    """The quiet lines under a name, as cells: facts, the question to a person, a status that must be written out."""
    lines = "\n".join(_lines(", ".join(node.facts), _FACTS)) if node.facts else ""
    cells = [f"<TD>{font(lines, 'red-ink' if node.kind == 'handler' else 'ink2')}</TD>"] if lines else []
    if node.asks:
        cells.append(f"<TD>{font('‖ asks a person', 'orange-ink')}</TD>")
    if answer is not None:
        look = LOOKS[answer.status]
        many = f", {answer.tasks} tasks" if answer.tasks else ""
        cells.append(f"<TD>{font(look.words + many, f'{look.colour}-ink' if look.colour != 'edge' else 'ink2')}</TD>")
    return cells


def _label(node: Node, answer: Answer | None, at: int, made: Writer) -> str:
    rows = [] if made.tight else _rows(node, answer)
    if not rows and not node.pauses and not node.deferred:
        return plain(wrap(node.name, at))
    body = [f"<TD>{escape(wrap(node.name, at))}</TD>", *rows]
    if node.deferred:
        body = [f"<TD>{font('deferred')}</TD>", _rule("ink", 2), *body]
    if "before" in node.pauses:
        body = [f"<TD>{font('‖ pauses before', 'orange-ink')}</TD>", _rule("orange", 3), *body]
    if "after" in node.pauses:
        body = [*body, _rule("orange", 3), f"<TD>{font('‖ pauses after', 'orange-ink')}</TD>"]
    return table(body, padding=2 if node.pauses or node.deferred else 1)


def _rule(colour: str, thick: int) -> str:
    return f'<TD HEIGHT="{thick}" CELLPADDING="0" BGCOLOR="{PALETTE[colour]}"></TD>'


def _answered(answer: Answer | None) -> dict[str, str]:
    if answer is None:
        return {}
    look = LOOKS[answer.status]
    style = "rounded,filled,dotted" if answer.status == "cancelled" else "rounded,filled"
    fill = PALETTE[f"{look.colour}-tint"] if look.filled else PALETTE["paper"]
    dashed = f"{style},dashed" if answer.status in ("next", "cached") else style
    return {"color": PALETTE[look.colour], "penwidth": str(look.line), "fillcolor": fill, "style": dashed}


def _edge(made: Writer, edge: Edge) -> None:
    source, target = _said(edge.source), _said(edge.target)
    how = "and the branch ends" if edge.implied else _WAYS[edge.kind]
    router = f" ({edge.router})" if edge.router and edge.router != "condition" else ""
    known = ", which declares no targets" if edge.open else ""
    answers = f": {', '.join(edge.labels)}" if edge.labels and edge.kind != "error" else ""
    title = f"{source} to {target}, {how}{router}{known}{answers}"
    mark = Mark("edge", f"{edge.source} → {edge.target}", edge.kind, title, (edge.source, edge.target))
    extra = {"label": plain(label(*edge.labels))} if edge.labels and not made.tight else {}
    made.edge(made.ids[edge.source], made.ids[edge.target], mark, **_EDGES[edge.kind], **extra)


def _said(id: str) -> str:
    name = id.rpartition(":")[2]
    return {"__start__": "START", "__end__": "END"}.get(name, id)


def _barrier(made: Writer, into: Any, join: Join) -> None:
    """A thick line with a port for each member, across the flow."""
    sizes = [max(66, min(150, int(room(wrap(_said(one))) * 72 + 44))) for one in join.sources]
    side = f'BGCOLOR="{PALETTE["ink"]}"'
    if made.across:
        cells = [f'<TD PORT="p{i}" WIDTH="5" HEIGHT="40" {side}></TD>' for i in range(len(sizes))]
    else:
        ports = "".join(f'<TD PORT="p{i}" WIDTH="{size}" HEIGHT="5" {side}></TD>' for i, size in enumerate(sizes))
        cells = [ports]
    title = f"barrier: {_said(join.target)} waits for {text.listing(map(_said, join.sources))}"
    mark = Mark("barrier", join.id, "barrier", title)
    made.node(into, join.id, mark, shape="plain", style="", label=table(cells, 0, "ink"))


def _join_edges(made: Writer, join: Join) -> None:
    """The members' edges, each to its own port. Without a side to land on, the layout orders them as their ports."""
    bar = made.ids[join.id]
    for i, source in enumerate(join.sources):
        title = f"{_said(source)} to the barrier before {_said(join.target)}"
        mark = Mark("edge", f"{source} → {join.id}", "join", title, (source, join.id))
        made.edge(made.ids[source], f"{bar}:p{i}", mark, arrowhead="none")
    words = "waits for both" if len(join.sources) == 2 else f"waits for all {len(join.sources)}"
    title = f"{_said(join.target)} {words}: {text.listing(map(_said, join.sources))}"
    mark = Mark("edge", f"{join.id} → {join.target}", "join", title, (join.id, join.target))
    middle = f"{bar}:p{len(join.sources) // 2}" if len(join.sources) % 2 else bar
    said = {} if made.tight else {"label": plain(label(words))}
    made.edge(middle, made.ids[join.target], mark, weight="4", **said)
