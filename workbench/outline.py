"""A graph told in text: what a drawing's `text/plain` and its title say, the same on every run."""

from collections.abc import Iterable

from workbench import text
from workbench.channels import ChannelMap
from workbench.topology import Edge, Topology

_ARROWS = {"plain": "→", "conditional": "⇢", "command": "⇢", "send": "⇉", "error": "on error →", "observed": "seen →"}


def title(shape: Topology) -> str:
    """The drawing in one phrase: `order refund, 5 nodes`."""
    part = f"{shape.size} of {shape.total} nodes" if shape.total > shape.size else text.count(shape.size, "node")
    return f"{shape.name}, {part}"


def graph(shape: Topology) -> str:
    """Each node on a line with its facts and where it leads: `agent (retry 3) ⇢ tools [look up], END [answer]`."""
    lines = [title(shape)]
    for node in shape.nodes:
        ways = [edge for edge in shape.edges if edge.source == node.id]
        if node.kind == "end":
            continue
        marks = [*node.facts, *(f"pauses {side}" for side in node.pauses)]
        marks += ["asks a person"] if node.asks else []
        marks += ["deferred"] if node.deferred else []
        facts = f" ({', '.join(marks)})" if marks else ""
        lines.append(" ".join([f"  {name(node.id)}{facts}", *_ways(ways)]).rstrip())
    for join in shape.joins:
        sources = " + ".join(map(name, join.sources))
        lines.append(f"  {sources} → {name(join.target)} (waits for all {len(join.sources)})")
    return "\n".join(lines)


def name(id: str) -> str:
    """A node as one speaks of it: START and END for the engine's own two."""
    head, _, last = id.rpartition(":")
    known = {"__start__": "START", "__end__": "END"}.get(last, last)
    return f"{head}:{known}" if head else known


def channels_title(found: ChannelMap) -> str:
    """The channel view in one phrase."""
    return f"{found.name}, {text.count(len(found.actors), 'actor')} and {text.count(len(found.channels), 'channel')}"


def channels(found: ChannelMap) -> str:
    """The channels as a table: kind, who writes, whom they wake, who only reads them."""
    rows = []
    for one in found.channels:
        sides = (found.writers(one.name), found.woken(one.name), found.readers(one.name))
        rows.append([one.name, one.facts, *map(_names, sides)])
    return f"{channels_title(found)}\n{text.table(['channel', 'kind', 'written by', 'wakes', 'read by'], rows)}"


def _names(actors: Iterable[str]) -> str:
    return ", ".join(map(name, actors))


def _ways(edges: list[Edge]) -> list[str]:
    said: dict[str, list[str]] = {}
    for edge in edges:
        answers = f" [{', '.join(edge.labels)}]" if edge.labels and edge.kind != "error" else ""
        said.setdefault(_ARROWS[edge.kind], []).append(f"{name(edge.target)}{answers}")
    parts = [f"{arrow} {', '.join(targets)}" for arrow, targets in said.items()]
    return ["; ".join(parts)] if parts else []
