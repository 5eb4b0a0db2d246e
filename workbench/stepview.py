"""One superstep, and all of them side by side: the drawing, what was planned, what ran, what the barrier made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from workbench import explain, html, overlay, stepchannels, text
from workbench.drawing import Drawing, draw
from workbench.frames import tasks_in_words
from workbench.html import Html
from workbench.index import Index, Superstep, Task, count_of
from workbench.moment import Moment
from workbench.prose import plain, rich, version
from workbench.signs import sample
from workbench.summary import inline, shown

_COLUMNS: Final = 24


class StepView(html.Shown):
    """One superstep: its drawing, and its three moments. `channels()` is its channel view."""

    _sheets = ("recording",)

    def __init__(self, index: Index, superstep: Superstep, graph: Any = None) -> None:
        self.index = index
        self.graph = graph
        self.superstep = superstep

    @property
    def step(self) -> int:
        """The superstep's number."""
        return self.superstep.step

    @property
    def drawing(self) -> Drawing:
        """The graph's drawing with this superstep on it."""
        return draw(overlay.shape(self.index, self.graph)).lay(
            overlay.statuses(self.superstep.tasks.values()), overlay.lit(self.index, self.superstep)
        )

    def channels(self) -> Drawing:
        """The channels before and after this superstep, its tasks, and their writes at the barrier between."""
        return stepchannels.draw(self.index, self.superstep, self.graph)

    def __str__(self) -> str:
        plan = [f"  {line}" for line in planned(self.index, self.superstep)]
        ran = [f"  {task.node}: {_word(task)}" for task in self.superstep.visible]
        update = [f"  {name} {mark}" for name, mark in updated(self.superstep)]
        ended = update or ["  no update: the barrier was not passed"]
        return "\n".join([f"Superstep {self.step}", "Plan", *plan, "Execute", *ran, "Update", *ended])

    def fragment(self) -> Html:
        """The superstep as HTML, to set into something larger."""
        superstep = self.superstep
        answers, lit = overlay.statuses(superstep.tasks.values()), overlay.lit(self.index, superstep)
        picture = inline(overlay.shape(self.index, self.graph), answers, lit)
        return html.tag("div", picture, html.tag("div", self.told(), class_="grow stack"), class_="wb-pair")

    def told(self) -> Html:
        """What stands beside the drawing: the number, and the three moments."""
        return html.join([html.tag("h2", f"Superstep {self.step}"), moments(self.index, self.superstep)])


class Strip(html.Shown):
    """The whole run: a column for each superstep, one layout for all, and the versions after each."""

    _sheets = ("recording",)

    def __init__(self, index: Index, graph: Any = None) -> None:
        self.index = index
        self.graph = graph
        every = shown(index)
        self.left_out = max(0, len(every) - _COLUMNS)
        half = _COLUMNS // 2
        self.supersteps = [*every[:half], *every[-half:]] if self.left_out else every

    def versions(self) -> dict[str, list[str]]:
        """For each channel that a superstep touched, its version after each superstep, `v3 → v4` where it rose."""
        rows: dict[str, list[str]] = {}
        for place, superstep in enumerate(self.supersteps):
            for change in superstep.changes():
                row = rows.setdefault(change.channel, [""] * len(self.supersteps))
                before, now = version(count_of(change.version_before)), version(count_of(change.version))
                row[place] = f"{before} → {now}"
        return rows

    def __str__(self) -> str:
        heads = ["superstep", *(str(superstep.step) for superstep in self.supersteps)]
        ran = ["ran", *(tasks_in_words(superstep.visible) for superstep in self.supersteps)]
        status = ["status", *(superstep.status for superstep in self.supersteps)]
        rows = [[name, *marks] for name, marks in self.versions().items()]
        return "\n".join([text.table(heads, [ran, status, *rows]), *self._gap()])

    def _gap(self) -> list[str]:
        return [f"{text.count(self.left_out, 'superstep')} in the middle left out."] if self.left_out else []

    def fragment(self) -> Html:
        """The strip as HTML, to set into something larger."""
        every = f"repeat({len(self.supersteps)}, minmax(max-content, 1fr))"
        columns = f"grid-template-columns: fit-content(260px) {every}"
        strip = html.tag("div", *self._cells(), class_="wb-strip", style=columns)
        return html.join([strip, *(html.tag("p", words, class_="small quiet") for words in self._gap())])

    def _cells(self) -> Iterator[Html]:
        ends = [_cell_class(superstep) for superstep in self.supersteps]
        yield html.tag("div", "superstep", class_="name small quiet")
        for superstep, end in zip(self.supersteps, ends, strict=True):
            time = text.seconds(superstep.duration) if superstep.status == "ok" else _ended(superstep)
            number = html.tag("span", str(superstep.step), class_="number")
            yield html.tag("div", number, " ", html.tag("span", time, class_="small quiet"), class_=end)
        yield html.tag("div", self._key(), class_="name small quiet")
        shape = overlay.shape(self.index, self.graph)
        for superstep, end in zip(self.supersteps, ends, strict=True):
            lit = overlay.lit(self.index, superstep)
            answers = overlay.statuses(superstep.tasks.values())
            yield html.tag("div", inline(shape, answers, lit, tight=True), class_=end)
        yield html.tag("div", "channel, after the step", class_="name small quiet")
        yield from (html.tag("div", class_=end) for end in ends)
        start = Moment(self.supersteps[0].run, self.supersteps[0]).versions if self.supersteps else {}
        for row, (name, marks) in enumerate(self.versions().items()):
            breakable = html.tag("code", html.join(re.findall(r"[^:+_]*[:+_]*", name), "<wbr>"))
            yield html.tag("div", breakable, class_="name")
            last = version(count_of(start[name])) if name in start else "·"
            for mark, end in zip(marks, ends, strict=True):
                shown_mark = html.version(mark, True) if mark else html.tag("span", last, class_="v")
                last = mark.rpartition(" ")[2] if mark else last
                waits = html.tag("span", "no update yet", class_="quiet") if row == 0 else ""
                yield html.tag("div", shown_mark if "passed" in end or mark else waits, class_=f"{end} cell")

    def _key(self) -> Html:
        signs = list(dict.fromkeys(overlay.sign_of(task) for one in self.supersteps for task in one.visible))
        return html.key([sample("trigger")], signs)


def _word(task: Task) -> str:
    return task.status or ("runs" if task.started is not None else "next")


def _ended(superstep: Superstep) -> str:
    return {"interrupted": "waits", "running": "runs"}.get(superstep.status, superstep.status)


def _cell_class(superstep: Superstep) -> str:
    return "passed" if superstep.updated is not None else "open"


def planned(index: Index, superstep: Superstep) -> list[str]:
    """What woke each node of a superstep, one line for each."""
    return [plain(line) for line in _plan(index, superstep)]


def _plan(index: Index, superstep: Superstep) -> Iterator[Any]:
    for node in dict.fromkeys(task.node for task in superstep.visible):
        answer = explain.why_here(index, node, superstep)
        many = len(answer.statuses)
        for line in answer.lines():
            yield (f"{node}{f', {many} times' if many > 1 else ''}: ", *line)


def updated(superstep: Superstep) -> list[tuple[str, str]]:
    """The channels that the barrier gave a new version, and how it moved."""
    return [
        (change.channel, f"{version(count_of(change.version_before))} → {version(count_of(change.version))}")
        for change in superstep.changes()
    ]


def moments(index: Index, superstep: Superstep) -> Html:
    """Plan, execute and update side by side; the barrier is the line before the third."""
    plan = [html.tag("div", rich(line)) for line in _plan(index, superstep)]
    ran = [
        html.tag("div", html.sign(overlay.sign_of(task), f"{task.node} {_time(task)}".rstrip()))
        for task in superstep.visible
    ]
    update = []
    for change in superstep.changes():
        mark = f"{version(count_of(change.version_before))} → {version(count_of(change.version))}"
        holds = stepchannels.holds(superstep, change)
        update.append(html.tag("div", html.code(change.channel), " ", html.version(mark, True)))
        update.append(html.tag("div", holds, class_="small quiet"))
    if superstep.updated is None:
        update = [html.tag("div", "no update yet", class_="quiet")]
    columns = (("1 Plan", plan), ("2 Execute", ran), ("3 Update", update))
    return html.tag(
        "div",
        *(html.tag("div", html.tag("div", name, class_="moment"), *lines) for name, lines in columns),
        class_="moments",
    )


def _time(task: Task) -> str:
    return text.seconds(task.finished.duration) if task.finished is not None and task.status != "cached" else ""
