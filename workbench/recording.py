"""A recording: the events of one run or of several, and everything that can be asked of them.

It is a value. Frames, answers and pictures are made of the events when they are asked for, and kept. What frames hand
out are the recording's own copies of the values: change a copy of them, not the values themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from runtime.events import Event, Interrupted, RunStarted
from runtime.rows import played
from workbench import (
    ancestry,
    explain,
    frames,
    heap,
    kept,
    moment,
    overlay,
    past,
    pictures,
    progress,
    report,
    story,
    tree,
)
from workbench.animation import Animation
from workbench.answers import Who, Why, WhyNot
from workbench.comparison import Comparison
from workbench.drawing import Drawing, draw
from workbench.frames import COLUMNS
from workbench.index import Index, Run, is_state
from workbench.lint import Findings, lint_run
from workbench.stepview import StepView, Strip
from workbench.summary import Summary
from workbench.timeline import Timeline

if TYPE_CHECKING:
    from workbench.dot import Direction
    from workbench.prose import Told

__all__ = ("NOTHING", "Recording")


class _Nothing:
    """The type of `NOTHING`, which stands for an output that was not given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final = _Nothing()


class Recording:
    """What happened in one run of a graph, or in several: `record`, `arecord` and `recording()` make it.

    Frames (`supersteps`, `tasks`, `triggers`, `reads`, `writes`, `channels`, `versions`, `values`, `checkpoints`,
    `interrupts`, `stream`) are plain pandas; `describe()` tells their columns. `why`, `why_not`, `who` and `diff`
    answer questions. `step`, `strip`, `animation`, `timeline`, `tree` and `story` show the run; `report` writes it to
    one page. `save` keeps it in a file, from which `Recording.load` makes it again. Recordings of one thread are
    joined with `+`.
    """

    def __init__(
        self,
        events: Sequence[Event] = (),
        *,
        output: Any = NOTHING,
        error: BaseException | None = None,
        missing: Sequence[str] = (),
        live: bool = False,
    ) -> None:
        self._events: Sequence[Event] = events if live else tuple(events)
        self._missing: Sequence[str] = missing if live else tuple(missing)
        self._output = output
        self._error = error
        self._live = live
        self._made: dict[str, Any] = {}
        self._length = -1

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event, in the order in which it came. Values are copies, made when the event came."""
        made: tuple[Event, ...] = self._make(
            "events", lambda: tuple(progress.shown(played(tuple(self._events)), "Events"))
        )
        return made

    @property
    def index(self) -> Index:
        """The events arranged by run, superstep and task."""
        found: Index = self._make("index", lambda: Index(progress.shown(self.events, "Arranging")))
        return found

    @property
    def missing(self) -> tuple[str, ...]:
        """What this recording cannot tell, as sentences; empty for a whole one."""
        return tuple(self._missing)

    @property
    def graph(self) -> Any:
        """The graph that ran last, at the top; None where it is not known."""
        return self._last.graph if self._last is not None else None

    @property
    def thread(self) -> str | None:
        """The thread of the last run, where there is a saver."""
        started = self._last.started if self._last is not None else None
        return started.thread_id if started is not None else None

    @property
    def status(self) -> str:
        """How the last run ended: done, interrupted, failed, out_of_steps, drained or cancelled; else running."""
        end = self._last.finished if self._last is not None else None
        return end.status if end is not None else "failed" if self._error is not None else "running"

    @property
    def output(self) -> Any:
        """What the last run gave back: the answer of `invoke`."""
        if not isinstance(self._output, _Nothing):
            return self._output
        end = self._last.finished if self._last is not None else None
        return end.output if end is not None else None

    @property
    def error(self) -> BaseException | None:
        """The error that ended the last run; None when there was none."""
        end = self._last.finished if self._last is not None else None
        return self._error or (end.error if end is not None else None)

    @property
    def interrupts_pending(self) -> tuple[Interrupted, ...]:
        """The questions that the last run stopped at: each with its task, its node, and the interrupt."""
        if self._last is None or self._last.stop is None or self.status != "interrupted":
            return ()
        return self._last.stop.interrupts

    @property
    def runs(self) -> tuple[Recording, ...]:
        """One recording for each run at the top, with the graphs that ran inside it."""
        events = self.events
        starts = [place for place, event in enumerate(events) if _begins_at_top(event)]
        if len(starts) < 2:
            return (self,)
        ends = [*starts[1:], len(events)]
        return tuple(Recording(events[a:b], missing=self.missing) for a, b in zip(starts, ends, strict=True))

    def __add__(self, other: Recording) -> Recording:
        if not isinstance(other, Recording):
            return NotImplemented
        return Recording.join(self, other)

    @classmethod
    def join(cls, *recordings: Recording) -> Recording:
        """One recording of several, in the order given: the runs of a thread, or of its branches.

        Output, error and status are those of the last one.
        """
        if not recordings:
            return cls()
        last = recordings[-1]
        events = [event for one in recordings for event in one.events]
        missing = [sentence for one in recordings for sentence in one.missing]
        return cls(events, output=last.output, error=last.error, missing=list(dict.fromkeys(missing)))

    @classmethod
    def from_thread(cls, graph_or_saver: Any, config: Any) -> Recording:
        """The recording of a thread that already ran, from its checkpoints; `config` may be the thread's name.

        Any saver will do, of either engine; with the graph, more is known. What checkpoints do not tell stands in
        `missing`. Raises LookupError where the saver has no such thread.
        """
        (graph, saver), place = past.saver_of(graph_or_saver), past.place_of(config)
        told = past.told(graph, place["configurable"]["thread_id"], progress.shown(saver.list(place), "Checkpoints"))
        return cls(told.events, missing=told.missing)

    @classmethod
    async def afrom_thread(cls, graph_or_saver: Any, config: Any) -> Recording:
        """Like `from_thread`, for savers that answer to async calls."""
        (graph, saver), place = past.saver_of(graph_or_saver), past.place_of(config)
        found = [one async for one in progress.shown(saver.alist(place), "Checkpoints")]
        told = past.told(graph, place["configurable"]["thread_id"], found)
        return cls(told.events, missing=told.missing)

    @classmethod
    def load(cls, path: str | PathLike[str], *, serde: Any = None) -> Recording:
        """The recording that `save` wrote there; what it lost on the way stands in `missing`.

        Reading runs no code from the file. `serde` makes the values again, as a saver's does; by default a
        `JsonPlusSerializer`, whose rules say which types come back as objects. ValueError for what is no recording.
        """
        found = kept.load(Path(path), serde)
        return cls(found.events, output=found.output, error=found.error, missing=found.missing)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the recording to one file, from which `Recording.load` makes it again; gives its path.

        All events and values are in it, and what is needed to draw and explain the graph, but none of its code.
        """
        return kept.save(kept.Contents(self.events, self.missing, self.output, self.error), Path(path))

    def closed(self, *, output: Any = NOTHING, error: BaseException | None = None) -> Recording:
        """This recording, which grows no longer. For whoever records."""
        self._events, self._missing, self._live = tuple(self._events), tuple(self._missing), False
        if not isinstance(output, _Nothing):
            self._output = output
        self._error = error or self._error
        return self

    # -- frames -------------------------------------------------------------------------------------------------------

    @property
    def supersteps(self) -> pd.DataFrame:
        """A row for each superstep."""
        return self._frame("supersteps")

    @property
    def tasks(self) -> pd.DataFrame:
        """A row for each task that began or ended; a task that was resumed has one for each time."""
        return self._frame("tasks")

    @property
    def triggers(self) -> pd.DataFrame:
        """A row for each task and a channel that woke it."""
        return self._frame("triggers")

    @property
    def reads(self) -> pd.DataFrame:
        """A row for each task and a channel that it was given."""
        return self._frame("reads")

    @property
    def writes(self) -> pd.DataFrame:
        """A row for each write, in the order applied. Writes that no barrier has applied are not among them."""
        return self._frame("writes")

    @property
    def channels(self) -> pd.DataFrame:
        """A row for each channel after each superstep."""
        return self._frame("channels")

    @property
    def versions(self) -> pd.DataFrame:
        """A row for each superstep, a column for each channel: its version after the superstep."""
        return self._frame("versions")

    @property
    def values(self) -> pd.DataFrame:
        """A row for each superstep, a column for each channel: its value after the superstep."""
        return self._frame("values")

    @property
    def checkpoints(self) -> pd.DataFrame:
        """A row for each checkpoint that was saved."""
        return self._frame("checkpoints")

    @property
    def interrupts(self) -> pd.DataFrame:
        """A row for each question, with its answer where it has come."""
        return self._frame("interrupts")

    @property
    def stream(self) -> pd.DataFrame:
        """A row for each token and custom item."""
        return self._frame("stream")

    def describe(self, frame: str | None = None) -> pd.DataFrame:
        """What stands in each column: of one frame, or of all."""
        if frame is not None and frame not in COLUMNS:
            raise KeyError(f"There is no frame {frame!r}. There are {', '.join(COLUMNS)}.")
        named = [frame] if frame is not None else list(COLUMNS)
        rows = [(name, column.name, column.dtype, column.words) for name in named for column in COLUMNS[name]]
        return pd.DataFrame(rows, columns=["frame", "column", "dtype", "meaning"], dtype="string")

    # -- answers ------------------------------------------------------------------------------------------------------

    def why(self, node: str, step: int | None = None, *, ns: str | None = None) -> Why:
        """Why the node ran in that superstep (without `step`: the last time): which channel woke it, and who wrote it.

        `ns` names the graph where nested ones have a node of that name, too. LookupError when it did not run then.
        """
        found = explain.why(self.index, node, step, ns)
        return replace(found, picture=lambda: pictures.of_why(self.index, found))

    def why_not(self, node: str, step: int | None = None, *, ns: str | None = None) -> WhyNot:
        """What the node waited for in that superstep, or, without `step`, when the recording ended."""
        found = explain.why_not(self.index, node, step, ns)
        return replace(found, picture=lambda: pictures.of_why_not(self.index, found))

    def who(self, channel: str, step: int | None = None, *, ns: str | None = None) -> Who:
        """The writes behind the channel's value after that superstep (without `step`: at the end), and their fold."""
        found = explain.who(self.index, channel, step, ns)
        return replace(found, picture=lambda: pictures.of_who(self.index, found))

    def diff(self, a: Any, b: Any = None) -> Comparison:
        """What differs between two states: a list of operations, shown side by side.

        A side is a superstep's number (the state after it), a recording (its last state), a checkpoint (its id, or a
        config that names it), a branch of a session (its last state), a snapshot, or a mapping. With one side only:
        what superstep `a` has changed, or how `a` differs from this recording's last state.
        """
        if b is not None:
            sides = self._side(a), self._side(b)
        elif isinstance(a, int) and not isinstance(a, bool):
            sides = (f"before superstep {a}", moment.before(self.index, a)), self._side(a)
        else:
            sides = self._side(self), self._side(a)
        (one, before), (other, after) = sides
        return Comparison(before, after, (one, other) if one != other else (f"{one} (first)", f"{other} (second)"))

    def _side(self, side: Any) -> tuple[str, Mapping[str, Any]]:
        match side:
            case int():
                return f"superstep {side}", moment.after(self.index, side)
            case Recording():
                return moment.last(side.index)
            case str():
                step, values = moment.at_checkpoint(self.index, side)
                return f"checkpoint of superstep {step}", values
            case {"configurable": {"checkpoint_id": str(id)}}:
                return self._side(id)
            case Mapping():
                return "values", {name: value for name, value in side.items() if is_state(str(name))}
        held = getattr(getattr(side, "tip", side), "values", None)
        if isinstance(held, Mapping):
            return str(getattr(side, "name", "snapshot")), held
        raise TypeError(
            f"A {type(side).__name__} is no state. Pass a superstep's number, a recording, a checkpoint's id or "
            "config, a branch, a snapshot or a mapping."
        )

    # -- pictures -----------------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """How the run ended, its drawing, and its supersteps as a table. A recording shows itself as this."""
        return Summary(self.index, self.status, self.error, self.thread, self.graph)

    def drawing(self, *, counts: bool = False, direction: Direction | None = None) -> Drawing:
        """The graph's drawing with what really happened: how each node ended, and, dotted, moves that nothing declares.

        With `counts`: how often each way was taken and each node ran, and how long the node took in all.
        """
        tasks = [task for run in self.index.roots for superstep in run.supersteps for task in superstep.tasks.values()]
        shape = overlay.shape(self.index, self.graph, counts)
        return draw(shape, direction=direction).lay(overlay.lately(task for task in tasks if task.ran))

    def step(self, n: int) -> StepView:
        """One superstep: the drawing with what ran laid on it, and plan, execute and update in words."""
        return StepView(self.index, moment.superstep_at(self.index, n), self.graph)

    def strip(self) -> Strip:
        """The whole run: a column for each superstep, with the drawing and the channels' versions after it."""
        return Strip(self.index, self.graph)

    def animation(self) -> Animation:
        """The whole run as one SVG that plays by itself: plan, execute and update of each superstep.

        ValueError where the recording does not know its graph, or nothing ran.
        """
        return Animation(self.index, self.status, self.error, self.graph)

    def timeline(self) -> Timeline:
        """Tasks as bars under their superstep, with the barriers, and who made others wait."""
        return Timeline(self.index)

    def tree(self) -> Drawing:
        """The checkpoints of the thread as a tree, forks as branches, the newest marked.

        What a fork was made by is looked up in the graph's history where it is not in the recording.
        """
        title = f"thread {self.thread}" if self.thread is not None else "checkpoints"
        return tree.tree(ancestry.checkpoints(self.index, self.thread, self.graph), title)

    def story(self) -> Told:
        """The run told in sentences."""
        return story.Story(self.index, self.status, self.error)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the run to one HTML file that needs no kernel and no network; gives its path."""
        return report.write(self, Path(path))

    def lint(self, *, noqa: Sequence[str] | str = ()) -> Findings:
        """What was amiss in the run, each with its reason and the way out. `noqa` names rules to leave out."""
        return lint_run(self, noqa=noqa)

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.summary()._repr_mimebundle_()

    # -- what is kept -------------------------------------------------------------------------------------------------

    @property
    def _last(self) -> Run | None:
        roots = self.index.roots
        return roots[-1] if roots else None

    def _make(self, name: str, make: Any) -> Any:
        """What was made of the events before, made anew where more have come."""
        if self._length != len(self._events):
            self._made.clear()
            self._length = len(self._events)
        if name not in self._made:
            with heap.at_rest():
                self._made[name] = make()
        return self._made[name]

    def _frame(self, name: str) -> pd.DataFrame:
        found: pd.DataFrame = self._make(name, lambda: frames.frame(name, self.index))
        return found.copy(deep=False)  # a new column is the caller's; pandas copies what is changed


def _begins_at_top(event: Event) -> bool:
    return isinstance(event, RunStarted) and not event.ns
