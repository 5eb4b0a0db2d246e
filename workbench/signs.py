"""The signs of every picture: colours, line styles, the seven status signs, and the words beside them.

A colour is named by its token. DOT and SVG carry the light hex of a token as an attribute, so that a picture reads
where no style sheet is applied; `static/workbench.css` maps the same hexes to variables, which makes the dark look.
No colour is ever the only sign: each status has its own drawn sign, line width and dash as well.
"""

from typing import Final, Literal, NamedTuple, get_args

Status = Literal["ran", "running", "failed", "interrupted", "cached", "cancelled", "next"]
"""What a task's node shows in a superstep."""

EdgeSign = Literal["plain", "conditional", "command", "send", "error", "observed", "barrier", "trigger"]
NodeSign = Literal["pause-before", "pause-after", "deferred"]
ChannelSign = Literal["wakes", "reads", "writes", "may-write"]
TreeSign = Literal["current", "fork"]
Sign = EdgeSign | NodeSign | ChannelSign | TreeSign
"""What stands in the key under a drawing."""

STATUSES: Final[tuple[Status, ...]] = get_args(Status)

# Never pure black or white: Graphviz may print those as names, and then no style sheet finds them.
PALETTE: Final[dict[str, str]] = {
    "paper": "#fdfdfd",
    "wash": "#f3f5f7",
    "rule": "#d5d9de",
    "edge": "#7a828c",
    "ink2": "#59616b",
    "ink": "#1f2328",
    "blue": "#0072b2",
    "blue-ink": "#00588a",
    "blue-tint": "#e3f0f8",
    "green": "#008a65",
    "green-ink": "#00654a",
    "green-tint": "#e2f3ed",
    "orange": "#b97700",
    "orange-ink": "#794f00",
    "orange-tint": "#fcf0d9",
    "red": "#d55e00",
    "red-ink": "#a64700",
    "red-tint": "#fce9de",
    "purple": "#b0578a",
    "purple-ink": "#8a3d69",
    "purple-tint": "#f8eaf2",
}

FONT: Final = "Arial"
"""The font that DOT names: the layout program knows its widths. A list of names would be measured in another font."""

SHOWN: Final = "Arial,Helvetica,'Liberation Sans',sans-serif"
"""The fonts that SVG names: all as wide as what was measured."""


class Look(NamedTuple):
    """How a status is drawn."""

    colour: str
    line: float
    dash: str | None
    filled: bool
    path: str
    words: str


# The paths are drawn on a grid of 16 by 16, so that no font decides how a status looks.
LOOKS: Final[dict[Status, Look]] = {
    "ran": Look("green", 1.75, None, True, "M4 8.4l2.8 2.8L12 5.2", "ran"),
    "running": Look("blue", 2.5, None, True, "M6.2 4.6l5 3.4-5 3.4z", "running"),
    "failed": Look("red", 2.5, None, True, "M4.8 4.8l6.4 6.4M11.2 4.8l-6.4 6.4", "failed"),
    "interrupted": Look("orange", 2.5, None, True, "M6 4.6v6.8M10 4.6v6.8", "interrupted"),
    "cached": Look("purple", 1.75, "7 3 1.5 3", True, "M11.9 8.6a4 4 0 1 1-1-3.4M11.4 2.6v2.9h-2.9", "cached"),
    "cancelled": Look("edge", 1.25, "1.5 3", False, "M4.6 11.4l6.8-6.8", "cancelled"),
    "next": Look("blue", 1.75, "5 3", False, "M6.2 4.6l5 3.4-5 3.4z", "next"),
}

EDGE_WORDS: Final[dict[str, str]] = {
    "plain": "always",
    "conditional": "a router chooses",
    "command": "the node chooses (Command)",
    "send": "Send, many tasks",
    "error": "after the last retry fails",
    "observed": "seen in a run, not declared",
    "trigger": "carried the trigger",
    "wakes": "wakes",
    "writes": "writes",
    "may-write": "may write any of",
    "current": "you are here",
    "fork": "forks here, with the change",
}


class Answer(NamedTuple):
    """A status laid on one node: which, for how many tasks, and a fact to read in its tool tip."""

    status: Status
    tasks: int | None = None
    fact: str = ""


def answer(given: "Answer | tuple[Status, int | None] | Status") -> Answer:
    """A status as a value, from its word, from a pair of word and count, or from itself."""
    if isinstance(given, Answer):
        found = given
    elif isinstance(given, str):
        found = Answer(given)
    else:
        found = Answer(*given)
    if found.status not in LOOKS:
        raise ValueError(f"{found.status!r} is no status of a node. Use one of {', '.join(STATUSES)}.")
    return found


class Sample(NamedTuple):
    """A small picture for the key: SVG strokes with light hexes, in a box `width` by 12, and the words beside it."""

    width: int
    strokes: str
    words: str


_RULES: Final[dict[str, tuple[str, int, str]]] = {
    "barrier": ("ink", 5, "barrier: waits for all"),
    "pause-before": ("orange", 3, "pauses here (interrupt_before)"),
    "pause-after": ("orange", 3, "pauses here (interrupt_after)"),
    "deferred": ("ink", 2, "deferred: waits for all others"),
    "reads": ("rule", 2, "is only read"),
}


def sample(sign: Sign, words: str | None = None) -> Sample:
    """How an edge or a rule looks, for the key under a drawing."""
    if sign in _RULES:
        colour, thick, said = _RULES[sign]
        return Sample(30, _stroke("M1 6H29", colour, thick), words or said)
    return Sample(44, _ARROWS[sign], words or EDGE_WORDS[sign])


def _stroke(path: str, colour: str, thick: float, fill: str = "none", dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    inside = PALETTE.get(fill, "none")
    return f'<path d="{path}" fill="{inside}" stroke="{PALETTE[colour]}" stroke-width="{thick}"{dashed}/>'


def _head(colour: str = "edge", fill: str | None = None) -> str:
    return _stroke("M35 3l7 3-7 3z", colour, 1, fill or colour)


_ARROWS: Final[dict[str, str]] = {
    "plain": _stroke("M1 6H35", "edge", 1.25) + _head(),
    "conditional": _stroke("M9 6H35", "edge", 1.25, dash="5 3")
    + _stroke("M1 6l4-3 4 3-4 3z", "edge", 1, "paper")
    + _head(),
    "command": _stroke("M8 6H35", "edge", 1.25, dash="5 3")
    + _stroke("M1.5 6a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", "edge", 1, "paper")
    + _head(),
    "send": _stroke("M1 4.5H29M1 7.5H29", "edge", 1.25) + _stroke("M28 3l7 3-7 3z", "edge", 1, "edge") + _head(),
    "error": _stroke("M1 6H35", "red", 1.25) + _head("red", "paper"),
    "observed": _stroke("M1 6H40", "edge", 1.25, dash="1.5 3") + _stroke("M36 2.5l6 3.5-6 3.5", "edge", 1.25),
    "wakes": _stroke("M1 6H35", "ink2", 1.75) + _head("ink2"),
    "writes": _stroke("M1 6H35", "edge", 1.25) + _head(),
    "may-write": _stroke("M1 6H35", "edge", 1.25, dash="5 3") + _head(),
    "current": _stroke("M6 1h26a5 5 0 0 1 0 10h-26a5 5 0 0 1 0-10z", "blue", 2),
    "fork": _stroke("M8 6H43", "edge", 1.25) + _stroke("M1.5 6a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", "edge", 1, "paper"),
    "trigger": _stroke("M1 6H35", "blue", 2.5) + _stroke("M34 2l8 4-8 4z", "blue", 1, "blue"),
}


def icon(status: Status, size: int = 16, label: str | None = None) -> str:
    """A status sign as a small SVG: a picture with a name where it stands alone, hidden where `label` is empty."""
    look = LOOKS[status]
    name = look.words if label is None else label
    ink = PALETTE["paper" if look.filled else look.colour]
    disc = PALETTE[f"{look.colour}-ink"] if look.filled else "none"
    ring = disc if look.filled else PALETTE[look.colour]
    dash = "" if look.filled else f' stroke-dasharray="{"3 2" if status == "next" else "1.5 2"}"'
    inside = ink if status == "running" else "none"
    seen = f'role="img" aria-label="{name}"' if name else 'aria-hidden="true"'
    return (
        f'<svg class="wb-sign" width="{size}" height="{size}" viewBox="0 0 16 16" {seen}>'
        f'<circle cx="8" cy="8" r="7.2" fill="{disc}" stroke="{ring}" stroke-width="1.4"{dash}/>'
        f'<path d="{look.path}" fill="{inside}" stroke="{ink}" stroke-width="1.9" stroke-linecap="round" '
        'stroke-linejoin="round"/></svg>'
    )
