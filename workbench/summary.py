"""How a run ended, at a glance: a verdict, the drawing with what ran, and the supersteps as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from workbench import html, overlay, text, topology
from workbench.drawing import TooLarge, of_shape
from workbench.frames import tasks_in_words
from workbench.html import Html
from workbench.index import Index, Run, Superstep, Task, is_state
from workbench.prose import asked
from workbench.signs import Answer, Status
from workbench.svg import LayoutError

_ROWS: Final = 24
_SIGNS: Final[dict[str, Status]] = {
    "done": "ran",
    "interrupted": "interrupted",
    "failed": "failed",
    "out_of_steps": "failed",
    "drained": "next",
    "cancelled": "cancelled",
    "running": "running",
}


class Summary(html.Shown):
    """What a recording shows of itself: the same facts as text and as HTML."""

    _sheets = ("recording",)

    def __init__(self, index: Index, status: str, error: BaseException | None, thread: str | None, graph: Any) -> None:
        self.index = index
        self.status = status
        self.error = error
        self.thread = thread
        self.graph = graph

    @property
    def supersteps(self) -> list[Superstep]:
        """The supersteps at the top that ran a task which is not hidden, in the order of the run."""
        return shown(self.index)

    @property
    def sign(self) -> Status:
        """The status sign of the whole."""
        return _SIGNS[self.status] if self.index.runs else "next"

    @property
    def verdict(self) -> str:
        """How it ended, in one sentence."""
        if not self.index.runs:
            return f"Failed: {type(self.error).__name__}" if self.error is not None else "No run yet"
        return verdict(self.index, self.status, self.error)

    @property
    def counts(self) -> str:
        """How many supersteps and tasks it took."""
        return ", ".join(self._counts())

    def _counts(self) -> list[str]:
        tasks = [task for superstep in self.supersteps for task in superstep.visible if task.ran]
        cached = sum(task.status == "cached" for task in tasks)
        inner = sum(not task.hidden for run in self.index.runs if run.ns for task in _tasks(run))
        said = [
            text.count(passed(self.supersteps), "superstep"),
            f"{text.count(len(tasks), 'task')}{f' ({cached} cached)' if cached else ''}",
        ]
        return [*said, f"{text.count(inner, 'task')} in nested graphs"] if inner else said

    @property
    def advice(self) -> tuple[str, str, str]:
        """What to type next: three calls."""
        names = [task.node for superstep in self.supersteps for task in superstep.visible if task.ran]
        return f'rec.why("{names[-1] if names else "node"}")', "rec.timeline()", 'rec.report("run.html")'

    def __str__(self) -> str:
        if not self.index.runs:
            return self.verdict
        rows = [(row.step, row.tasks, row.updated, row.status) for row in self._rows()]
        table = text.table(["step", "tasks", "updated", "status"], rows, right=["step"])
        why, timeline, report = self.advice
        return f"{self.verdict}\n{self.counts}\n\n{table}\n\nGo on with {why}, {timeline} or {report}."

    def fragment(self, advice: bool = True) -> Html:
        """The summary as HTML, to set into something larger."""
        head = [html.tag("div", html.sign(self.sign), html.tag("h2", self._whole_verdict()), class_="wb-verdict")]
        if not self.index.runs:
            return html.join(head)
        thread = [f"thread {self.thread}"] if self.thread is not None else []
        facts = [*self._counts(), text.seconds(elapsed(self.index)), *thread]
        head.append(html.tag("p", ", ".join(fact for fact in facts if fact), class_="quiet"))
        shown_rows = list(self._rows())
        places = 2 if max((row.seconds or 0 for row in shown_rows), default=0) >= 0.1 else 4
        rows = [
            (row.step, row.tasks, row.updated, "" if row.seconds is None else f"{row.seconds:.{places}f}", row.sign)
            for row in shown_rows
        ]
        table = html.table(
            ["step", "tasks", "updated", "seconds", "status"], rows, right=["step", "seconds"], wide=True
        )
        why, timeline, report = map(html.code, self.advice)
        go = html.tag("p", "Go on with ", why, ", ", timeline, " or ", report, ".", class_="wb-go")
        answers = overlay.lately(task for one in self.supersteps for task in one.tasks.values())
        picture = inline(overlay.shape(self.index, self.graph), answers)
        side = html.tag("div", table, go if advice else "", class_="grow")
        return html.join([*head, html.tag("div", picture, side, class_="wb-pair")])

    def _whole_verdict(self) -> str:
        """With the error's message, which text leaves out: it may differ from run to run."""
        message = str(self.error) if self.error is not None and self.sign == "failed" else ""
        return f"{self.verdict}: {text.shorten(message.splitlines()[0], 200)}" if message.strip() else self.verdict

    def _rows(self) -> Iterator[Row]:
        every = self.supersteps
        if len(every) <= _ROWS:
            yield from map(row_of, every)
            return
        half = _ROWS // 2
        yield from map(row_of, every[:half])
        yield Row("…", f"{text.count(len(every) - 2 * half, 'superstep')} more", "", None, "", "")
        yield from map(row_of, every[-half:])


class Row(NamedTuple):
    """A superstep in the table."""

    step: int | str
    tasks: str
    updated: str
    seconds: float | None
    status: str
    sign: Html | str


def row_of(superstep: Superstep) -> Row:
    """A superstep as the table shows it: channels that only wake are left out."""
    updated = sorted(change.channel for change in superstep.changes() if change.available and is_state(change.channel))
    return Row(
        superstep.step,
        tasks_in_words(superstep.visible),
        ", ".join(updated),
        superstep.duration,
        superstep.status,
        html.sign(overlay.sign_of_step(superstep), superstep.status),
    )


def shown(index: Index) -> list[Superstep]:
    """The supersteps at the top that ran a task which is not hidden, in the order of the run."""
    return [superstep for run in index.roots for superstep in run.supersteps if superstep.visible]


def passed(supersteps: Sequence[Superstep]) -> int:
    """How many supersteps a run took: one that was resumed counts once."""
    done = sum(superstep.status == "ok" for superstep in supersteps)
    return done + (1 if supersteps and supersteps[-1].status != "ok" else 0)


def elapsed(index: Index) -> float | None:
    """The seconds that all runs at the top took together."""
    spans = [run.finished.at - run.started.at for run in index.roots if run.started and run.finished]
    return sum(spans) if spans else None


def _tasks(run: Run) -> Iterator[Task]:
    for superstep in run.supersteps:
        yield from (task for task in superstep.tasks.values() if task.ran)


def verdict(index: Index, status: str, error: BaseException | None) -> str:
    """How the last run ended, in one sentence that is the same on every run."""
    run = index.roots[-1]
    steps = text.count(passed(shown(index)), "superstep")
    match status:
        case "done":
            return f"Ended after {steps}"
        case "interrupted":
            return _waits(run)
        case "failed":
            nodes = [task.node for task in _tasks(run) if task.status == "failed"]
            at = f" at {text.listing(dict.fromkeys(nodes))}" if nodes else ""
            return f"Failed{at}: {type(error).__name__}"
        case "out_of_steps":
            return f"Stopped after {steps}: the recursion limit was reached"
        case "drained":
            return f"Stopped after {steps}, as asked; the thread can go on"
        case "cancelled":
            return f"Cancelled after {steps}"
        case _:
            return _runs(run)


def _waits(run: Run) -> str:
    stop = run.stop
    if stop is None:
        return "Waits"
    if stop.when != "asked":
        return f"Stopped {stop.when} {text.listing(dict.fromkeys(stop.nodes))}"
    where = text.listing(dict.fromkeys(one.node for one in stop.interrupts))
    if len(stop.interrupts) != 1:
        return f"Waits at {where}: {text.count(len(stop.interrupts), 'question')}"
    return f"Waits at {where}: {asked(stop.interrupts[0].interrupt.value)}"


def _runs(run: Run) -> str:
    tasks = run.supersteps[-1].visible if run.supersteps else []
    if not tasks:
        return "Runs"
    done = sum(task.finished is not None for task in tasks)
    return f"Runs {tasks_in_words(tasks)}, {done} of {len(tasks)} done"


def inline(
    graph: Any, answers: dict[str, Answer], lit: frozenset[tuple[str, str]] = frozenset(), tight: bool = False
) -> Html:
    """The graph's drawing with statuses on it, without key; a sentence where it cannot be drawn."""
    if graph is None:
        return Html("")
    try:
        return of_shape(topology.of(graph), tight=tight).lay(answers, lit).inline()
    except (LayoutError, TooLarge, TypeError) as error:
        return html.tag("p", str(error), class_="small quiet drawing")
