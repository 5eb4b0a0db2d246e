"""The checkpoints of a thread as a tree: a column is a step, a row is a branch, and time goes to the right.

`tree` draws plain values, so that a recording, a session and a saver's list can all be shown. The first child of a
checkpoint goes on with its branch; a later one begins a fork. Long stretches in which nothing forks are folded.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench import dot, text
from workbench.dot import Mark, Sketch, Writer
from workbench.drawing import Drawing
from workbench.outline import name
from workbench.signs import PALETTE, Answer, Sign

FOLD = 40
"""From how many checkpoints on the quiet stretches are folded."""

_KEEP = 2


class Checkpoint(NamedTuple):
    """A thread's state at a barrier: which step, what made it (`loop`, `update as tools`), and what runs next.

    `label` is the change with which a fork begins, `waits` the nodes that ask something here. `branch` may be left
    empty: then it follows from the parents.
    """

    id: str
    parent: str | None
    step: int
    source: str = "loop"
    next: tuple[str, ...] = ()
    current: bool = False
    label: str = ""
    waits: tuple[str, ...] = ()
    branch: str = ""

    @property
    def stands(self) -> str:
        """Where the run stands here: `next agent`, `waits at review`, `ended`."""
        if self.waits:
            return f"waits at {text.listing(map(name, self.waits))}"
        return self.following

    @property
    def following(self) -> str:
        """What runs next: `next search ×2 and outline`, `ended`."""  # noqa: RUF002 - the sign of many
        many = Counter(map(name, self.next))
        said = [f"{node} ×{times}" if times > 1 else node for node, times in many.items()]  # noqa: RUF001 - as above
        return f"next {text.listing(said)}" if said else "ended"


@dataclass(frozen=True)
class Branch:
    """A way through the tree: its name, its checkpoints in order, and the one that it left."""

    name: str
    checkpoints: tuple[Checkpoint, ...]
    parent: Checkpoint | None

    @property
    def tip(self) -> Checkpoint:
        """The branch's last checkpoint."""
        return self.checkpoints[-1]


def tree(checkpoints: Iterable[Any], title: str = "checkpoints", fold: int = FOLD) -> Drawing:
    """The picture of a thread's checkpoints: `Checkpoint` values, or whatever has the same attributes."""
    every = [read(one) for one in checkpoints]
    branches = branches_of(every)
    signs: list[Sign] = ["current"] if any(one.current for one in every) else []
    signs += ["fork"] if any(branch.parent for branch in branches) else []
    current = next((one.id for one in every if one.current), None)
    head = f"{title}, {text.count(len(every), 'checkpoint')}"
    return Drawing(
        sketch(branches, fold if len(every) >= fold else None),
        head,
        outline(head, branches),
        tuple(signs),
        answers=_answers(branches),
        current=current,
        corner="right",
        said={"ran": "ended", "interrupted": "waits"},
    )


def of(recording: Any) -> Drawing:
    """The tree of a recording's thread, of its own graph and not of those inside nodes."""
    frame = recording.checkpoints
    rows = frame[frame["ns"] == ""].to_dict("records")
    waiting = {str(one) for one in getattr(recording.interrupts, "node", ())}
    found: dict[str, Checkpoint] = {}
    for row in rows:
        following = tuple(one for one in str(row["next"] or "").split(", ") if one)
        parent = row["parent_id"] if isinstance(row["parent_id"], str) else None
        found[str(row["checkpoint_id"])] = Checkpoint(
            str(row["checkpoint_id"]), parent, int(row["step"]), str(row["source"]), following
        )
    if found:
        last = found[max(found)]
        asking = tuple(one for one in last.next if one in waiting) if recording.status == "interrupted" else ()
        found[last.id] = last._replace(current=True, waits=asking)
    return tree(found.values(), _thread(recording))


def _thread(recording: Any) -> str:
    thread = getattr(recording, "thread", None)
    return f"thread {thread}" if thread else "checkpoints"


def read(one: Any) -> Checkpoint:
    """A checkpoint from any object that tells its id, parent, step, source and next."""
    if isinstance(one, Checkpoint):
        return one
    parent = getattr(one, "parent", None) or getattr(one, "parent_id", None)
    return Checkpoint(
        str(one.id),
        None if parent is None else str(parent),
        int(one.step),
        str(getattr(one, "source", "loop")),
        tuple(map(str, one.next)),
        bool(getattr(one, "current", False)),
        str(getattr(one, "label", "") or ""),
        tuple(map(str, getattr(one, "waits", ()))),
        str(getattr(one, "branch", "") or ""),
    )


def branches_of(checkpoints: Sequence[Checkpoint]) -> list[Branch]:
    """The branches, as they began; ids are taken to grow with time."""
    known = {one.id: one for one in checkpoints}
    named: dict[str, str] = {}
    went_on: set[str] = set()
    members: dict[str, list[Checkpoint]] = {}
    for one in sorted(checkpoints, key=lambda one: one.id):
        follows = one.parent in named and one.parent not in went_on
        branch = one.branch or (named[str(one.parent)] if follows else f"fork {len(members)}" if members else "main")
        if follows and named[str(one.parent)] == branch:
            went_on.add(str(one.parent))
        named[one.id] = branch
        members.setdefault(branch, []).append(one)
    return [Branch(name, tuple(found), known.get(str(found[0].parent))) for name, found in members.items()]


def outline(title: str, branches: Sequence[Branch]) -> str:
    """The tree in text: each branch with where it left, where it stands, and its checkpoints on a line each."""
    lines = [title]
    for branch in branches:
        left = f" (from {_step(branch.parent.step)}{_with(branch)})" if branch.parent else ""
        lines.append(f"  {branch.name}{left}: {branch.tip.stands}")
        for one in branch.checkpoints:
            here = ", you are here" if one.current else ""
            lines.append(f"    {_step(one.step)} {one.source}, {one.stands}{here}")
    return "\n".join(lines)


def sketch(branches: Sequence[Branch], fold: int | None = None) -> Sketch:
    """The tree in DOT: cards in columns by their step, a ring where a branch leaves."""
    made = Writer("LR")
    made.graph.attr("graph", ordering="out", nodesep="0.34", ranksep="0.42")
    made.graph.attr("node", margin="0.09,0.06", width="0.6")
    columns: dict[int, list[str]] = {}
    keys: dict[str, str] = {}
    for number, branch in enumerate(branches):
        before = branch.parent
        for one in _shown(branch, branches, fold):
            key = one.id if isinstance(one, Checkpoint) else one[0].id
            first = one if isinstance(one, Checkpoint) else one[0]
            _card(made, one, f"b{number}")
            if before is not None:
                _line(made, keys[before.id], key, branch, first is branch.checkpoints[0])
            for member in (one,) if isinstance(one, Checkpoint) else one:
                keys[member.id] = key
            columns.setdefault(first.step, []).append(made.ids[key])
            before = first if isinstance(one, Checkpoint) else one[-1]
    for number, branch in enumerate(branches):
        _end(made, branch, keys[branch.tip.id], f"b{number}")
    for column in columns.values():
        with made.graph.subgraph() as same:
            same.attr(rank="same")
            for id in column:
                same.node(id)
    return made.sketch()


def _answers(branches: Sequence[Branch]) -> Mapping[str, Answer]:
    tips = [branch.tip for branch in branches]
    waiting = {one.id: Answer("interrupted") for branch in branches for one in branch.checkpoints if one.waits}
    return {**{tip.id: Answer("ran") for tip in tips if not tip.next}, **waiting}


def _shown(
    branch: Branch, branches: Sequence[Branch], fold: int | None
) -> Iterator[Checkpoint | tuple[Checkpoint, ...]]:
    """A branch's checkpoints, quiet stretches of them as one."""
    last = len(branch.checkpoints) - 1
    left = {other.parent.id for other in branches if other.parent}
    quiet: list[Checkpoint] = []
    for index, one in enumerate(branch.checkpoints):
        told = fold is None or one.current or one.waits or one.id in left
        if not told and _KEEP <= index <= last - _KEEP:
            quiet.append(one)
            continue
        yield from _folded(quiet)
        quiet = []
        yield one
    yield from _folded(quiet)


def _folded(quiet: list[Checkpoint]) -> Iterator[Checkpoint | tuple[Checkpoint, ...]]:
    if len(quiet) > _KEEP:
        yield tuple(quiet)
    else:
        yield from quiet


def _card(made: Writer, one: Checkpoint | tuple[Checkpoint, ...], group: str) -> None:
    if isinstance(one, Checkpoint):
        here = "; you are here" if one.current else ""
        mark = Mark("node", one.id, "checkpoint", f"step {_step(one.step)}, {one.source}, {one.stands}{here}")
        room = "" if one.next and not one.waits else "\u00a0" * 2  # a sign will sit in this corner
        second = dot.wrap(one.following.replace(" ×", "\u00a0×"), 24)  # noqa: RUF001 - the sign of many
        lines = [f"<B>{_step(one.step)}</B>  {dot.font(one.source + room)}", dot.font(second, "ink", left=True)]
        wide = max(dot.room(one.source) + 0.6, dot.room(second) + 0.3) if dot.is_wide(one.source + second) else 0.6
        cells = [f'<TD ALIGN="LEFT">{line}</TD>' for line in lines]
        made.node(made.graph, one.id, mark, label=dot.table(cells), group=group, width=f"{wide:.2f}")
        return
    steps = f"{_step(one[0].step)} to {_step(one[-1].step)}"
    mark = Mark("node", one[0].id, "checkpoint", f"steps {steps}: {text.count(len(one), 'checkpoint')}, folded")
    cells = [f"<TD>{dot.font(steps)}</TD>", f"<TD>{dot.font(text.count(len(one), 'checkpoint'))}</TD>"]
    made.node(made.graph, one[0].id, mark, label=dot.table(cells), group=group, style="rounded,dashed")


def _line(made: Writer, source: str, target: str, branch: Branch, begins: bool) -> None:
    mark = Mark("edge", f"{source} → {target}", "fork" if begins else "then", branch.name, (source, target))
    if begins:
        label = {"label": dot.plain(dot.label(branch.checkpoints[0].label))} if branch.checkpoints[0].label else {}
        ends = {"dir": "both", "arrowhead": "none", "arrowtail": "odot", "weight": "1"}
        made.edge(made.ids[source], made.ids[target], mark, **ends, **label)
    else:
        made.edge(made.ids[source], made.ids[target], mark, arrowhead="none", weight="9")


def _end(made: Writer, branch: Branch, tip: str, group: str) -> None:
    """The branch's name and where it stands, beyond its tip."""
    words = f"{branch.name}: {branch.tip.stands}"
    mark = Mark("label", branch.name, "branch", words)
    key = f"end of {branch.name}"
    style = {"shape": "plaintext", "style": "", "margin": "0.04,0.02", "group": group, "fontsize": "12"}
    made.node(made.graph, key, mark, label=dot.plain(dot.wrap(words, 40)), **style)
    line = Mark("edge", f"{tip} → {key}", "end", words, (tip, key))
    made.edge(made.ids[tip], made.ids[key], line, style="dotted", arrowhead="none", weight="9", color=PALETTE["edge"])


def _with(branch: Branch) -> str:
    label = branch.checkpoints[0].label
    return f", {label}" if label else ""


def _step(step: int) -> str:
    return f"\u2212{-step}" if step < 0 else str(step)
