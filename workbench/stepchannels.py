"""One superstep beneath the nodes: channels before, tasks, their writes at the barrier, channels after.

Three moments stand left to right. Plan: the channels with their versions, blue those that are newer than what their
nodes have seen. Execute: a node for each task, and its writes, numbered in the order applied, waiting at the barrier,
which is a thick line. Update: the channels again, blue those that have a new version. Channels that the superstep
leaves alone are folded into one line that names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any, Final, NamedTuple

from runtime.events import Change
from workbench import channels as channel_map
from workbench import dot, overlay, text
from workbench.dot import Mark, Writer
from workbench.drawing import Drawing
from workbench.index import Index, Superstep, Task, count_of
from workbench.moment import Moment
from workbench.outline import name
from workbench.prose import version
from workbench.signs import LOOKS, PALETTE, Answer, Sign, Status

_SIDES: Final = ("before", "writes", "after")
_TASKS: Final = 12
_WRITES: Final = 24
_CHANNELS: Final = 40
_VALUE: Final = 40


class _Row(NamedTuple):
    """A channel before or after the barrier: what stands beside its name, its version, and whether it is the point."""

    channel: str
    note: str
    mark: str
    point: bool


class _Write(NamedTuple):
    """A write as it waits at the barrier: who wrote, which channel, and what; `place` in the order applied."""

    actor: str
    channel: str
    words: str
    place: int | None


class View:
    """What there is to show of one superstep: tasks as actors, channels before and after, and the writes between."""

    def __init__(self, index: Index, superstep: Superstep, graph: Any = None) -> None:
        self.superstep = superstep
        self.moment = Moment(superstep.run, superstep)
        self.facts = _facts(graph, superstep)
        tasks = [task for task in superstep.tasks.values() if not task.hidden]
        self.tasks, self.groups = tasks, _groups(tasks)
        self.changes = {change.channel: change for change in superstep.changes()}
        self.triggers = {
            trigger.channel: (count_of(trigger.version), count_of(trigger.seen))
            for task in tasks
            if task.planned is not None
            for trigger in task.planned.triggers
        }
        self.reads = {
            (channel, self.groups[task.id])
            for task in tasks
            if task.planned is not None
            for channel, _ in task.planned.reads
            if channel not in self.triggers
        }
        self.writes, self.more = self._written()
        met = {*self.triggers, *self.changes, *(read for read, _ in self.reads), *(one.channel for one in self.writes)}
        every = list(dict.fromkeys([*self.facts, *self.moment.versions, *self.changes, *self.triggers]))
        every.sort(key=lambda one: one.startswith("__"))  # the engine's own come last
        self.rows = [one for one in every if one in met][:_CHANNELS]
        self.folded = [one for one in every if one not in self.rows]

    def before(self) -> list[_Row]:
        """The channels as the plan finds them."""
        found = []
        for channel in self.rows:
            now = self.moment.versions.get(channel)
            words, point = "empty" if now is None else version(count_of(now)), channel in self.triggers
            if point:
                newer, seen = self.triggers[channel]
                words = f"{version(newer)} > seen {version(seen)}" if seen is not None else f"{words}, never seen"
            found.append(_Row(channel, self.facts.get(channel, ""), words, point))
        return found

    def after(self) -> list[_Row]:
        """The channels as the update leaves them."""
        found = []
        for channel in self.rows:
            change = self.changes.get(channel)
            if change is None:
                now = self.moment.versions.get(channel)
                mark = "empty" if now is None else version(count_of(now))
                found.append(_Row(channel, self.facts.get(channel, ""), mark, False))
            else:
                mark = f"{version(count_of(change.version_before))} → {version(count_of(change.version))}"
                found.append(_Row(channel, holds(self.superstep, change), mark, True))
        return found

    def _written(self) -> tuple[list[_Write], int]:
        """The writes in the order applied; where no barrier was passed, those that wait at it, without numbers."""
        updated = self.superstep.updated
        if updated is not None:
            every = [(one.task_id, one.channel, one.value) for one in updated.writes]
        else:
            done = [task for task in self.tasks if task.finished is not None]
            every = [(one.id, *write) for one in done if one.finished is not None for write in one.finished.writes]
        found = [
            _Write(self.groups[id], channel, _handed(channel, value), place if updated is not None else None)
            for place, (id, channel, value) in enumerate(every, 1)
            if id in self.groups
        ]
        return found[:_WRITES], max(0, len(found) - _WRITES)

    def actors(self) -> list[str]:
        """The actors, in the order of their first writes."""
        return list(dict.fromkeys([*(one.actor for one in self.writes), *self.groups.values()]))

    def answers(self) -> dict[str, Answer]:
        """A status for each actor."""
        members: dict[str, list[Task]] = {}
        for task in self.tasks:
            members.setdefault(self.groups[task.id], []).append(task)
        return {actor: next(iter(overlay.statuses(group).values())) for actor, group in members.items()}


def holds(superstep: Superstep, change: Change) -> str:
    """What the channel holds after the barrier: `3 items`, `wakes rank next`, `1 of 2 has come`, `emptied`."""
    kind = channel_map.kind(change.kind)
    if kind.startswith("barrier") and change.writers:
        come, of = len(_come(superstep, change.channel)), _members(superstep, change.channel)
        return f"{come}{f' of {of}' if of else ''} {'has' if come == 1 else 'have'} come"
    if change.available and change.channel.startswith("branch:to:"):
        return f"wakes {name(change.channel.removeprefix('branch:to:'))} next"
    return _short(text.summary(change.value)) if change.available else "emptied"


def _members(superstep: Superstep, channel: str) -> int:
    """For how many a barrier waits: by its graph, else by its name; 0 where neither tells."""
    known = getattr(superstep.run.graph, "channels", None)
    names = getattr(known.get(channel), "names", None) if isinstance(known, Mapping) else None
    if names is not None:
        return len(names)
    return len(channel.removeprefix("join:").rpartition(":")[0].split("+")) if channel.startswith("join:") else 0


def _come(superstep: Superstep, channel: str) -> set[str]:
    """The members of a barrier that have written it since it was emptied last."""
    come: set[str] = set()
    for one in [*Moment(superstep.run, superstep).passed, superstep]:
        change = next((change for change in one.changes() if change.channel == channel), None)
        if change is not None and not change.writers:
            come.clear()
        if one.updated is not None:
            come |= {str(write.value) for write in one.updated.writes if write.channel == channel}
    return come


def draw(index: Index, superstep: Superstep, graph: Any = None) -> Drawing:
    """The picture of one superstep's channels, tasks and writes."""
    view = View(index, superstep, graph)
    made = Writer("LR")
    made.graph.attr("graph", ranksep="0.75", nodesep="0.3")
    ports = {channel: f"c{place}" for place, channel in enumerate(view.rows)}
    head = "1 Plan: which channels are newer than their nodes have seen?"
    _table(made, "before", head, view.before(), ports, "e", _fold(view))
    ids = [_actor(made, actor) for actor in view.actors()]
    _writes(made, view)
    passed = superstep.updated is not None
    newest = {mark.mark.rpartition(" ")[2] for mark in view.after() if mark.point}
    ended = f"3 Update: one new version for all, {newest.pop()}" if len(newest) == 1 else "3 Update: in order"
    _table(made, "after", ended if passed else "3 Update: not yet", view.after(), ports, "w", [])
    for one, other in pairwise(["before", *ids[:1], "writes", "after"]):
        made.graph.edge(one, other, style="invis")
    with made.graph.subgraph() as column:
        column.attr(rank="same")
        for one, other in pairwise(ids):
            column.edge(one, other, style="invis")
    _arrows(made, view, ports)
    title = (
        f"superstep {superstep.step}: {text.count(len(view.tasks), 'task')}, {text.count(len(view.writes), 'write')}"
    )
    said: Mapping[Status, str] = {status: look.words for status, look in LOOKS.items()}
    lit = frozenset({"trigger", "updates"}) if view.triggers or view.changes else frozenset[str]()
    signs: tuple[Sign, ...] = ("reads",) if view.reads else ()
    return Drawing(
        made.sketch(level=_SIDES), title, _outline(title, view), signs, answers=view.answers(), lit=lit, said=said
    )


def _facts(graph: Any, superstep: Superstep) -> dict[str, str]:
    """Each channel in words, as the graph declares it, else by the kind that the run tells."""
    try:
        return {one.name: one.facts for one in channel_map.of(graph).channels}
    except TypeError:
        return {one: channel_map.kind(kind) for one, kind in superstep.run.kinds.items()}


def _groups(tasks: Sequence[Task]) -> dict[str, str]:
    """The actor that stands for each task: one for each while there are few, else one for all tasks of a node."""
    many: dict[str, int] = {}
    for task in tasks:
        many[task.node] = many.get(task.node, 0) + 1
    met: dict[str, int] = {}
    found = {}
    for task in tasks:
        place = met[task.node] = met.get(task.node, -1) + 1
        alone = many[task.node] == 1 or len(tasks) > _TASKS
        found[task.id] = task.node if alone else f"{task.node} {place}"
    return found


def _handed(channel: str, value: Any) -> str:
    if value is None or channel.startswith("branch:to:"):
        return ""
    target = getattr(value, "node", None)
    if channel == "__pregel_tasks" and isinstance(target, str):
        return f"+ Send to {_short(target)}"
    return f"= {_short(text.summary(value))}"


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _VALUE else f"{line[:_VALUE].rstrip()}…"


def _fold(view: View) -> list[str]:
    if not view.folded:
        return []
    said = ", ".join(view.folded[:_TASKS]) + (" …" if len(view.folded) > _TASKS else "")
    return [f"{text.count(len(view.folded), 'channel')} not touched: {said}"]


def _actor(made: Writer, actor: str) -> str:
    mark = Mark("node", actor, "actor", f"{actor}, task")
    made.node(made.graph, f"actor {actor}", mark, label=dot.plain(dot.wrap(actor)))
    return made.ids[f"actor {actor}"]


def _table(
    made: Writer, key: str, title: str, rows: Iterable[_Row], ports: Mapping[str, str], side: str, foot: list[str]
) -> None:
    head, _, rest = title.partition(":")
    told = f"<B>{dot.escape(head)}</B> {dot.font(rest)}" if rest else f"<B>{dot.escape(head)}</B>"
    lines = [f'<TD ALIGN="LEFT" COLSPAN="3" SIDES="B" COLOR="{PALETTE["edge"]}">{told}</TD>']
    for row in rows:
        ground = f' BGCOLOR="{PALETTE["blue-tint" if row.point else "paper"]}"'
        style = f'SIDES="B" COLOR="{PALETTE["rule"]}"{ground}'
        mark = dot.font(row.mark, "blue-ink") if row.point else dot.font(row.mark)
        west, east = (f' PORT="{ports[row.channel]}"' if side == one else "" for one in ("w", "e"))
        lines.append(
            f'<TD ALIGN="LEFT" {style}{west}>{dot.escape(dot.wrap(row.channel, 40), left=True)}</TD>'
            f'<TD ALIGN="LEFT" {style}>{dot.font(dot.wrap(row.note, 30), left=True)}</TD>'
            f'<TD ALIGN="RIGHT" {style}{east}>{f"<B>{mark}</B>" if row.point else mark}</TD>'
        )
    for words in foot:
        said = dot.font("\n".join(wrap(words, 56, break_on_hyphens=False)), left=True)
        lines.append(f'<TD ALIGN="LEFT" COLSPAN="3" SIDES="T">{said}</TD>')
    body = "".join(f"<TR>{line}</TR>" for line in lines)
    frame = f'BORDER="1" COLOR="{PALETTE["edge"]}" BGCOLOR="{PALETTE["paper"]}" CELLBORDER="1" CELLSPACING="0"'
    made.ids[key] = key
    itself = Mark("node", key, "channels", title)
    made.node(
        made.graph, key, itself, shape="plain", style="", label=f'<<TABLE {frame} CELLPADDING="5">{body}</TABLE>>'
    )


def _writes(made: Writer, view: View) -> None:
    """The writes in their order, and the barrier on their right as a thick line."""
    rows = []
    for place, one in enumerate(view.writes):
        number = dot.font(str(one.place)) if one.place is not None else ""
        words = dot.font(f"{dot.wrap(one.channel, 40)} {one.words}".rstrip(), "ink", left=True)
        rows.append(f'<TD PORT="w{place}" ALIGN="RIGHT">{number}</TD><TD ALIGN="LEFT">{words}</TD>')
    if view.more:
        rows.append(f'<TD></TD><TD ALIGN="LEFT">{dot.font(f"{view.more} more")}</TD>')
    rows = rows or [f'<TD></TD><TD ALIGN="LEFT">{dot.font("no writes")}</TD>']
    passed = view.superstep.updated is not None
    said = "The writes wait at the barrier." if not passed else "All at once."
    head = f'<TD ALIGN="LEFT" COLSPAN="2"><B>2 Execute</B>{dot.font(f"  {said}")}</TD>'
    line = PALETTE["ink" if passed else "rule"]
    bar = f'<TD PORT="bar" ROWSPAN="{len(rows) + 1}" WIDTH="5" CELLPADDING="0" BGCOLOR="{line}"></TD>'
    body = "".join(f"<TR>{row}</TR>" for row in [f"{head}{bar}", *rows])
    ground = f'BGCOLOR="{PALETTE["paper"]}"'
    label = f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4" {ground}>{body}</TABLE>>'
    made.ids["writes"] = "writes"
    mark = Mark("node", "writes", "channels", f"{text.count(len(view.writes) + view.more, 'write')} at the barrier")
    made.node(made.graph, "writes", mark, shape="plain", style="", label=label)


def _arrows(made: Writer, view: View, ports: Mapping[str, str]) -> None:
    woken = dict.fromkeys(
        (trigger.channel, view.groups[task.id])
        for task in view.tasks
        if task.planned is not None
        for trigger in task.planned.triggers
    )
    for channel, actor in [*woken, *sorted(view.reads)]:
        if channel in ports:
            kind = "trigger" if (channel, actor) in woken else "reads"
            words = f"{channel} {'woke' if kind == 'trigger' else 'is read by'} {actor}"
            mark = Mark("edge", f"{channel} → {actor}", kind, words, (channel, actor))
            quiet = {} if kind == "trigger" else {"color": PALETTE["rule"], "arrowhead": "none"}
            made.edge(f"before:{ports[channel]}:e", made.ids[f"actor {actor}"], mark, **quiet)
    for place, one in enumerate(view.writes):
        words = f"{one.actor} writes {one.channel}"
        mark = Mark("edge", f"{one.actor} → {one.channel}", "writes", words, (one.actor, one.channel))
        made.edge(made.ids[f"actor {one.actor}"], f"writes:w{place}:w", mark)
    changed = [channel for channel in view.rows if channel in view.changes]
    for channel in changed:
        mark = Mark("edge", f"barrier → {channel}", "updates", f"{channel} has a new version", ("barrier", channel))
        made.edge("writes:bar:e", f"after:{ports[channel]}:w", mark)


def _outline(title: str, view: View) -> str:
    """The same in text: each channel with its version before and after, then the writes."""
    sides = zip(view.before(), view.after(), strict=True)
    rows = [[a.channel, a.note, a.mark, b.mark if b.point else "", b.note if b.point else ""] for a, b in sides]
    wrote = [[str(one.place or ""), one.actor, one.channel, one.words.removeprefix("= ")] for one in view.writes]
    channels = text.table(["channel", "kind", "before", "after", "now"], rows)
    return "\n".join([title, channels, "", text.table(["write", "task", "channel", "value"], wrote), *_fold(view)])
