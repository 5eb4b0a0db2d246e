"""The truth beneath a graph: its actors and channels, who writes which channel, and whom that wakes.

`of(graph)` reads the channels, triggers and writers of a compiled graph of either engine. Which keys a node's function
returns is not known before a run; such an actor `may_write` the state, all of it, and nothing narrower is claimed.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from workbench import actors, dot, topology
from workbench.dot import Mark, Sketch, Writer
from workbench.signs import PALETTE, Sign
from workbench.topology import START, Topology

_KINDS = {
    "LastValue": "last value",
    "LastValueAfterFinish": "last value, after all others",
    "AnyValue": "any value",
    "UntrackedValue": "untracked",
    "EphemeralValue": "ephemeral",
    "Topic": "topic",
    "NamedBarrierValue": "barrier",
    "NamedBarrierValueAfterFinish": "barrier, after all others",
    "BinaryOperatorAggregate": "reducer",
    "DeltaChannel": "reducer",
}
_TASKS = "__pregel_tasks"


class Channel(NamedTuple):
    """A channel: its kind, how it joins writes, what it holds, and the members that a barrier waits for."""

    name: str
    kind: str
    reducer: str = ""
    holds: str = ""
    waits: tuple[str, ...] = ()
    state: bool = False

    @property
    def facts(self) -> str:
        """The channel in words: `last value`, `list, add`, `barrier of 2`."""
        if self.reducer:
            return f"{self.holds}, {self.reducer}" if self.holds else f"reducer {self.reducer}"
        return f"{self.kind} of {len(self.waits)}" if self.waits else self.kind


class Actor(NamedTuple):
    """A node as an actor: the channels that wake it, those it reads, and those it writes."""

    name: str
    wakes: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    may_write: bool = False


class ChannelMap(NamedTuple):
    """A graph's actors and channels."""

    name: str
    actors: tuple[Actor, ...]
    channels: tuple[Channel, ...]

    def writers(self, channel: str) -> list[str]:
        """Who is known to write a channel."""
        return [actor.name for actor in self.actors if channel in actor.writes]

    def woken(self, channel: str) -> list[str]:
        """Whom a channel wakes when it changes."""
        return [actor.name for actor in self.actors if channel in actor.wakes]

    def readers(self, channel: str) -> list[str]:
        """Who reads a channel without being woken by it."""
        return [actor.name for actor in self.actors if channel in actor.reads and channel not in actor.wakes]


def of(graph: Any) -> ChannelMap:
    """The actors and channels of a compiled graph, or of one that was kept in a file."""
    told = getattr(graph, "channel_map", None)
    if isinstance(told, ChannelMap):
        return told
    known, nodes = getattr(graph, "channels", None), getattr(graph, "nodes", None)
    if not isinstance(known, Mapping) or not isinstance(nodes, Mapping) or not hasattr(graph, "input_channels"):
        raise TypeError(
            f"A {type(graph).__name__} has no channels to draw. Compile it first, or leave out channels=True."
        )
    builder = topology.builder_of(graph)
    state = set(getattr(builder, "channels", None) or ()) & set(known)
    channels = tuple(_channel(name, one, name in state) for name, one in known.items())
    shape = topology.of(graph) if builder is not None else Topology("", ())
    declared = _declared(shape, known)
    sent = {edge.target for edge in shape.edges if edge.kind == "send"} if _TASKS in known else set()
    every = []
    for name, node in nodes.items():
        writes, unclear = actors.writes(node)
        mine = dict.fromkeys((*declared.get(name, ()), *writes))
        kept = tuple(one for one in known if one in mine)
        wakes = (*actors.texts(node, "triggers"), *((_TASKS,) if name in sent else ()))
        every.append(Actor(name, tuple(dict.fromkeys(wakes)), actors.texts(node, "channels"), kept, unclear))
    name = getattr(graph, "name", None)
    return ChannelMap(name if isinstance(name, str) else type(graph).__name__, tuple(every), channels)


def kind(called: str) -> str:
    """A channel's class in words: `last value` for `LastValue`; a class that is not known by its own name."""
    return _KINDS.get(called, called)


def _channel(name: str, channel: Any, state: bool) -> Channel:
    operator = getattr(channel, "operator", None) or getattr(channel, "reducer", None)
    reducer = _called(operator) if operator is not None else ""
    holds = _type(getattr(channel, "typ", None))
    waits = getattr(channel, "names", None)
    called = kind(type(channel).__name__)
    members = tuple(sorted(map(str, waits))) if isinstance(waits, set | frozenset | list | tuple) else ()
    return Channel(name, called, reducer, holds, members, state)


def _type(given: Any) -> str:
    """A type as one says it: `list` for `list[int]`, and for `Annotated[list, add]`."""
    while get_origin(given) is not None:
        given = get_args(given)[0] if get_origin(given) is Annotated else get_origin(given)
    name = getattr(given, "__name__", "")
    return name if isinstance(name, str) else ""


def _called(operator: Any) -> str:
    name = getattr(operator, "__name__", type(operator).__name__)
    return "a lambda" if name == "<lambda>" else str(name).lstrip("_") or "a function"


def _declared(shape: Topology, known: Mapping[str, Any]) -> dict[str, list[str]]:
    """The waking channels that a builder's edges and joins are known to write."""
    writes: dict[str, list[str]] = {}
    for edge in shape.edges:
        channel = _TASKS if edge.kind == "send" else f"branch:to:{edge.target}"
        if edge.kind != "error" and channel in known:
            writes.setdefault(edge.source, []).append(channel)
    for join in shape.joins:
        for source in join.sources:
            if join.id in known:
                writes.setdefault(source, []).append(join.id)
    return writes


def signs(found: ChannelMap) -> tuple[Sign, ...]:
    """The signs in the view, for its key."""
    reads = any(set(actor.reads) - set(actor.wakes) for actor in found.actors)
    may_write = any(actor.may_write for actor in found.actors) and any(one.state for one in found.channels)
    return ("wakes", "writes", *(("may-write",) if may_write else ()), *(("reads",) if reads else ()))


def sketch(found: ChannelMap) -> Sketch:
    """Channels on the left wake and are read, actors stand between, channels on the right are written."""
    made = Writer("LR")
    made.graph.attr("graph", ranksep="0.8", nodesep="0.3")
    state = [one for one in found.channels if one.state]
    rows = [*state, *(one for one in found.channels if not one.state)]
    ports = {one.name: f"c{i}" for i, one in enumerate(rows)}
    for side, title in (("before", "channels: wake and are read"), ("after", "channels: are written")):
        made.ids[side] = side
        mark = Mark("node", side, "channels", f"{title}: {', '.join(one.name for one in rows)}")
        made.node(made.graph, side, mark, shape="plain", style="", label=_table(rows, ports, title, side == "before"))
    if rows:  # the same channel at the same height on both sides
        port = ports[rows[0].name]
        made.graph.edge(f"before:{port}:e", f"after:{port}:w", style="invis", weight="400")
    ids = [_actor(made, actor) for actor in found.actors]
    with made.graph.subgraph() as column:
        column.attr(rank="same")
        for one, other in pairwise(ids):
            column.edge(one, other, style="invis")
    for actor in found.actors:
        _arrows(made, actor, ports, {one.name for one in state})
    return made.sketch()


def _actor(made: Writer, actor: Actor) -> str:
    name = "START" if actor.name == START else actor.name
    key = f"actor {actor.name}"
    wakes = f"woken by {', '.join(actor.wakes)}" if actor.wakes else "never woken"
    mark = Mark("node", actor.name, "actor", f"{name}, actor; {wakes}")
    made.node(made.graph, key, mark, label=f"<{dot.escape(dot.wrap(name))}>")
    return made.ids[key]


def _table(rows: list[Channel], ports: Mapping[str, str], title: str, left: bool) -> str:
    side = "e" if left else "w"
    lines = [f'<TD ALIGN="LEFT" COLSPAN="2" SIDES="B" COLOR="{PALETTE["edge"]}">{dot.font(title)}</TD>']
    if any(one.state for one in rows):
        words = "all of the state" if left else "any of the state"
        lines.append(_row(("all", side), f"<I>{dot.font(words)}</I>", "", "wash"))
    for one in rows:
        lines.append(_row((ports[one.name], side), dot.escape(dot.wrap(one.name, 40), left=True), one.facts, "paper"))
    body = "".join(f"<TR>{line}</TR>" for line in lines)
    frame = f'BORDER="1" COLOR="{PALETTE["edge"]}" BGCOLOR="{PALETTE["paper"]}"'
    return f'<<TABLE {frame} CELLBORDER="1" CELLSPACING="0" CELLPADDING="5">{body}</TABLE>>'


def _row(port: tuple[str, str], name: str, facts: str, ground: str) -> str:
    name_port, facts_port = ("", f' PORT="{port[0]}"') if port[1] == "e" else (f' PORT="{port[0]}"', "")
    style = f'ALIGN="LEFT" SIDES="B" COLOR="{PALETTE["rule"]}" BGCOLOR="{PALETTE[ground]}"'
    return f"<TD {style}{name_port}>{name}</TD><TD {style}{facts_port}>{dot.font(facts) if facts else ''}</TD>"


def _arrows(made: Writer, actor: Actor, ports: Mapping[str, str], state: Iterable[str]) -> None:
    me = made.ids[f"actor {actor.name}"]
    whole = set(state)
    for channel in actor.wakes:
        if channel in ports:
            _arrow(made, f"before:{ports[channel]}:e", me, (channel, actor.name), "wakes")
    read = [one for one in actor.reads if one in ports and one not in actor.wakes]
    if whole and whole <= set(read):
        read = ["", *(one for one in read if one not in whole)]
    for channel in read:
        port = ports[channel] if channel else "all"
        _arrow(made, f"before:{port}:e", me, (channel or "the state", actor.name), "reads")
    for channel in actor.writes:
        _arrow(made, me, f"after:{ports[channel]}:w", (actor.name, channel), "writes")
    if actor.may_write and whole:
        _arrow(made, me, "after:all:w", (actor.name, "the state"), "may-write")


_LOOKS: Mapping[str, Mapping[str, str]] = {
    "wakes": {"penwidth": "1.75", "color": PALETTE["ink2"]},
    "reads": {"color": PALETTE["rule"], "arrowhead": "none"},
    "writes": {},
    "may-write": {"style": "dashed"},
}


def _arrow(made: Writer, source: str, target: str, ends: tuple[str, str], kind: str) -> None:
    words = {"wakes": "wakes", "reads": "is read by", "writes": "writes", "may-write": "may write any of"}[kind]
    mark = Mark("edge", " → ".join(ends), kind, f"{ends[0]} {words} {ends[1]}", ends)
    made.edge(source, target, mark, **_LOOKS[kind])
