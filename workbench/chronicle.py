"""A run that another engine made, told as events: from what its saver was handed, and what its stream said.

Our runtime tells events itself. LangGraph tells less, in other words, and in no fixed order between its saver and its
stream. What belongs together is told together:

    a task      from the stream (its input, when it began) and from the writes that the saver was handed when it ended
    a barrier   from the checkpoint: the versions that rose are the changes, the versions seen are who ran

Writes, and what streams, may come later than the checkpoint that they led to; so a superstep is told when all of it
has come, and at the latest when the run has ended.

What stays true:

1. An event of a superstep is told after the barrier before it.
2. Nothing is made up: what was not told is None, or not there.
3. Values are frozen when they come, for a node may change them in place before the superstep is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from runtime.events import (
    Change,
    CheckpointSaved,
    Event,
    Interrupted,
    Planned,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
    TaskStreamed,
    Trigger,
    Write,
)
from runtime.pregel.task import SPECIAL
from workbench.freeze import Freezer
from workbench.identity import Place, Superstep, called, sent
from workbench.ledger import TASKS, UNTRACKED, Ledger, differ, seen_in
from workbench.work import PULL, PUSHED, Came, Saved, Work, node_of

NULL: Final = "00000000-0000-0000-0000-000000000000"
INPUT: Final = "__input__"

Tell = Callable[[Event], object]
Named = str | Sequence[str]


class Early(NamedTuple):
    """What a task wrote, when that has come before the checkpoint on which it ran."""

    task_id: str
    writes: list[tuple[str, Any]]
    place: str
    at: float | None


class Chronicle:
    """The events of one run of one graph, told as far as they are sure.

    `breakpoints` are the nodes before which, and after which, the run was asked to stop. `streams` says whether a
    stream tells of its tasks, too, and is to be waited for.
    """

    def __init__(
        self,
        tell: Tell,
        graph: Any,
        run: str,
        *,
        freeze: Callable[[Any], Any] | None = None,
        breakpoints: tuple[Named, Named] = ((), ()),
        streams: bool = True,
    ) -> None:
        self.run, self.ns, self.graph = run, "", graph
        self.thread: str | None = None
        self.step = -1
        self.limit: int | None = None
        self._tell, self._freeze = tell, freeze or Freezer()
        self._breakpoints, self._streams = breakpoints, streams
        self._ledger = Ledger(graph)
        self._came: dict[int, Came] = {}
        self._steps: dict[str, int] = {}
        self._early: dict[str, list[Early]] = {}
        self._checkpoint_id: str | None = None
        self._input: Any = None
        self._commanded = True
        self._latest = -2
        self._running: dict[str, tuple[int, str]] = {}
        self._before: list[Work] = []
        self._start: Callable[[], object] | None = None

    # -- what comes ---------------------------------------------------------------------------------------------------

    def began(self, input: Any, found: Any, *, kind: str, thread: str | None, ns: str, at: float) -> None:
        """The run begins, or goes on from the checkpoint tuple that was found; None where there is none."""
        self.ns, self.thread, self._input = ns, thread, self._freeze(input)
        if found is not None:
            self._found(found)
        # What a command writes is applied before the plan: nothing is told until it has come.
        self._commanded = kind != "command" or not (getattr(input, "goto", None) or getattr(input, "update", None))
        self._start = lambda: self._tell(self._started(kind, at))
        left = [(name, value) for id, name, value in getattr(found, "pending_writes", None) or () if id == NULL]
        if self._commanded and any(name not in SPECIAL for name, _ in left):  # of a command that came to no barrier
            self._commanded = False
            self._command([(name, self._freeze(value)) for name, value in left], at)

    def _started(self, kind: str, at: float) -> RunStarted:
        ledger = self._ledger
        return RunStarted(
            self.run, self.ns, self.step, at, self.graph, self.thread, self._checkpoint_id, _any(kind), self._input,
            dict(ledger.kinds), dict(ledger.versions), dict(ledger.values),
            {node: dict(seen) for node, seen in ledger.seen.items()}, self.limit,
        )  # fmt: skip

    def remembered(self, history: Mapping[str, Any]) -> None:
        """The saver was asked for the writes to channels whose value the checkpoint found does not hold."""
        for name, writes in history.items():
            self._ledger.remember(name, self._freeze(writes))

    def planned(self, step: int, task: Mapping[str, Any], at: float) -> None:
        """The stream said that a task begins."""
        work = self._at(step).work(task["id"])
        work.node, work.listens, work.began = task["name"], tuple(task["triggers"]), at
        work.input, work.streamed = self._freeze(task["input"]), True
        if work.listens and work.listens != PUSHED:
            work.place = work.place or f"{PULL}{work.node}"
        self._latest = max(self._latest, step)
        self._running[work.id] = (step, task["name"])
        self._advance()

    def ended(self, step: int, result: Mapping[str, Any], at: float) -> None:
        """The stream said that a task has ended."""
        work = self._at(step).work(result["id"])
        self._running.pop(work.id, None)
        work.closed, work.result = True, self._freeze(result["result"])
        work.ended = at if work.ended is None else work.ended
        self._advance()

    def placed(self, checkpoint_id: str, place: Place) -> None:
        """Found by its id: which task this is, on that checkpoint. What it was given follows from the channels."""
        work = self._at(self._steps[checkpoint_id] + 1).work(place.id)
        work.node, work.place, work.listens = place.node, place.place, place.listens

    def wrote(
        self, checkpoint_id: str | None, task_id: str, writes: Iterable[Any], place: str, at: float | None
    ) -> None:
        """The saver was handed what a task wrote on that checkpoint, which may come after it, from another thread."""
        kept = [(channel, self._freeze(value)) for channel, value in writes]
        if task_id == NULL:
            self._command(kept, at)
        elif checkpoint_id is None or checkpoint_id in self._steps:
            self._wrote(self._steps.get(checkpoint_id or "", self.step - 1) + 1, Early(task_id, kept, place, at))
        else:
            self._early.setdefault(checkpoint_id, []).append(Early(task_id, kept, place, at))

    def _wrote(self, step: int, came: Early) -> None:
        work = self._at(step).work(came.task_id)
        work.writes, work.ended, work.stored = came.writes, came.at, False
        work.place = work.place or came.place
        work.node = work.node or node_of(work.place, self._ledger.sent())
        self._advance()

    def saved(
        self, checkpoint: Mapping[str, Any], metadata: Mapping[str, Any], parent_id: str | None, at: float
    ) -> None:
        """The saver was handed a checkpoint."""
        if checkpoint["id"] in self._steps:
            return
        step = self._steps[checkpoint["id"]] = metadata.get("step", self.step)
        if metadata.get("source") == "fork":  # what a command wrote is in it
            self._commanded = True
        held = {**checkpoint, "channel_values": self._frozen(checkpoint)}
        self._at(step).saved = Saved(held, metadata, parent_id, at)
        self._advance()
        for came in self._early.pop(checkpoint["id"], ()):
            self._wrote(step + 1, came)

    def streamed(self, mode: str, value: Any, at: float, task_id: str | None = None) -> None:
        """A task gave something to the stream: which, is known where it is told, and where one runs alone."""
        alone = next(iter(self._running)) if len(self._running) == 1 else None
        id = task_id if task_id in self._running else alone
        step, node = self._running.get(id or "", (self._latest, None))
        self._tell(TaskStreamed(self.run, self.ns, step, at, _any(id), _any(node), mode, self._freeze(value)))

    def over(self, status: str, error: BaseException | None, at: float) -> None:
        """The run has ended: tell what is left, and how it ended. One that is "done" may have stopped to ask."""
        self._advance()
        for came in [came for many in self._early.values() for came in many]:  # on checkpoints that were never saved
            self._wrote(self.step, came)
        for step in sorted(self._came):
            self.step = max(step, self.step)
            self._advance(whole=True)
            if step in self._came and step != max(self._came):
                self._pass(self._came[step])
        left = self._came.pop(self.step, Came())
        self._close(left, status, at)
        stop = self._stop(left, at) if status in ("done", "interrupted") else None
        if stop is not None:
            self._tell(stop)
            status = "interrupted"
        output = self._ledger.output() if status in ("done", "interrupted") else None
        self._tell(RunFinished(self.run, self.ns, self.step, at, _any(status), output, error))

    # -- supersteps ---------------------------------------------------------------------------------------------------

    def _advance(self, whole: bool = False) -> None:
        """Tell what is sure: of the superstep that is due, and, when its barrier is known, of those after it."""
        self._open()
        while self._commanded or whole:
            due = self._came.get(self.step)
            if due is None:
                return
            if self._streams or due.saved is not None or whole:
                self._begin(due)
            if due.saved is None or not (whole or self._complete(due, due.saved)):
                return
            self._barrier(due, due.saved)

    def _open(self) -> None:
        """Tell that the run has started, now that all is known that it starts from."""
        if self._start is not None:
            start, self._start = self._start, None
            start()

    def _complete(self, due: Came, saved: Saved) -> bool:
        """True when all has come that led to the checkpoint: every task's writes, and what the stream says of it."""
        works = due.works.values()
        if saved.source != "loop":
            return True
        if any(work.writes is None for work in works) or not self._ran(saved) <= {work.node for work in works}:
            return False
        told = not self._streams or self._latest > self.step
        return told or all(work.hidden or work.stored or work.closed for work in works)

    def _ran(self, saved: Saved) -> set[str]:
        """The nodes that a channel had woken, as the versions seen tell."""
        before = self._ledger.seen
        return {
            node
            for node, versions in seen_in(saved.checkpoint).items()
            if node not in (INPUT, "__interrupt__")
            and any(differ(version, before.get(node, {}).get(name)) for name, version in versions.items())
        }

    def _begin(self, due: Came) -> None:
        """Tell the plan, and which tasks have begun, as far as it has come."""
        fresh = due.fresh
        if not fresh:
            return
        due.told.update(work.id for work in fresh)
        times = [time for work in fresh for time in (work.began, work.ended) if time is not None]
        at = _any(min(times, default=None))
        self._tell(SuperstepPlanned(self.run, self.ns, self.step, at, tuple(map(self._plan, fresh))))
        for work in fresh:
            if work.began is not None and not work.stored:
                self._tell(TaskStarted(self.run, self.ns, self.step, work.began, work.id, work.node or "", 1))

    def _plan(self, work: Work) -> Planned:
        ledger, node = self._ledger, work.node or ""
        work.placed = bool(work.place)
        if work.pulled:
            listens = ledger.listens(node) or work.listens
            triggers, reads = ledger.woken(node, listens), ledger.reads(node)
        else:
            listens, reads = PUSHED, ()
            sent = ledger.sent() and not work.called
            triggers = (Trigger(TASKS, ledger.versions.get(TASKS), None),) if sent else ()
        if not work.streamed:
            work.input = ledger.given(node) if work.pulled else ledger.argument(work.path)
        return Planned(
            work.id, node, work.path, "pull" if work.pulled else "push", work.input, triggers, reads, work.hidden,
            listens,
        )  # fmt: skip

    def _ended(self, due: Came) -> list[Work]:
        """Its tasks in the order in which their writes are applied.

        Of what an earlier run has made the saver kept the id only: their paths are found by it.
        """
        for work in due.works.values():
            if work.writes is None and work.result:  # nothing of it was for the saver
                work.writes = list(work.result.items())
        at, sends = Superstep(self._checkpoint_id or "", self.ns, self.step), self._ledger.sent()
        for work in due.ordered:
            if work.stored and not work.place and work.node is not None:
                places = [one for one in sent(at, sends) if one.id == work.id]
                others = [Place(one.id, one.node, one.place) for one in due.ordered if one.place and one.node]
                places += called(at, work.node, others, work.id)
                work.place = places[0].place if places else ""
        return due.ordered

    def _barrier(self, due: Came, saved: Saved) -> None:
        """Tell how the tasks ended, what their writes made of the channels, and the checkpoint."""
        for work in self._ended(due) if saved.source == "loop" else ():
            work.tell(name for name, kind in self._ledger.kinds.items() if kind == UNTRACKED)
            self._finish(work)
        writes = self._writes(due) if saved.source == "loop" else ()
        if saved.source == "input":
            writes = tuple(self._given(saved))
        changes = tuple(self._changes(saved, writes))
        self._ledger.versions = dict(saved.checkpoint.get("channel_versions") or {})
        self._ledger.seen = seen_in(saved.checkpoint)
        place = (self.run, self.ns, self.step, saved.at)
        if changes or saved.source in ("loop", "input"):
            fresh = frozenset(one.channel for one in changes if one.available and one.version != one.version_before)
            self._tell(SuperstepUpdated(*place, _any(saved.source), writes, changes, {}, fresh))
        self._checkpoint_id = saved.checkpoint["id"]
        if self.thread is not None:
            id, ahead = saved.checkpoint["id"], self._ledger.next()
            self._tell(CheckpointSaved(*place, self.thread, id, saved.parent_id, _any(saved.source), ahead))
        self._passed(due)

    def _pass(self, due: Came) -> None:
        """Tell of a superstep that left no checkpoint: what its tasks gave is all that is known."""
        self._begin(due)
        for work in self._ended(due):
            self._finish(work)
        at = _any(max((work.ended for work in due.works.values() if work.ended is not None), default=None))
        self._tell(SuperstepUpdated(self.run, self.ns, self.step, at, "loop", self._writes(due), ()))
        self._passed(due)

    def _passed(self, due: Came) -> None:
        self._before = due.ordered
        del self._came[self.step]
        self.step += 1

    def _finish(self, work: Work, status: str | None = None) -> None:
        """Tell how a task ended; at a barrier, the status follows from what is known of it."""
        if work.node is None:
            return
        if not work.placed and work.place:  # where it comes from is told with its writes
            self._tell(SuperstepPlanned(self.run, self.ns, self.step, _any(work.began), (self._plan(work),)))
        if status is None:
            cached = work.stored or (self._streams and work.streamed and not work.closed)
            status = "cached" if cached else "failed" if work.error is not None else "ok"
        at = work.ended if work.ended is not None else work.began
        took = 0.0 if status == "cached" else work.took
        self._tell(
            TaskFinished(
                self.run, self.ns, self.step, _any(at), work.id, work.node, _any(status), _any(None), _any(took),
                work.outcome, work.error, work.questions, work.answers, work.path, work.hidden,
            )
        )  # fmt: skip

    def _close(self, left: Came, status: str, at: float) -> None:
        """Tell how the tasks of a superstep ended whose barrier was not passed."""
        for work in self._ended(left):
            if work.id not in left.told:
                continue
            if work.questions:
                self._finish(work, "interrupted")
            elif work.error is not None:
                self._finish(work, "cancelled" if type(work.error).__name__ == "CancelledError" else "failed")
            elif work.finished:
                self._finish(work)
            else:
                work.ended = at if work.ended is None else work.ended
                self._finish(work, "interrupted" if status in ("done", "interrupted") else "cancelled")

    def _stop(self, left: Came, at: float) -> RunInterrupted | None:
        """Where a run that ended without an error stands, if it has not come to its end."""
        place = (self.run, self.ns, self.step, at)
        works = [work for work in left.ordered if work.id in left.told and not work.finished]
        asked = tuple(Interrupted(work.id, work.node or "", one) for work in works for one in work.questions)
        if asked:
            return RunInterrupted(*place, "asked", tuple(one.node for one in asked), asked)
        if works:
            return RunInterrupted(*place, "inside", tuple(work.node or "" for work in works), ())
        waiting = self._ledger.next()
        if not waiting:
            return None
        before, after = self._breakpoints
        ran = tuple(work.node or "" for work in self._before if not work.hidden and _among(work.node, after))
        if ran:
            return RunInterrupted(*place, "after", ran, ())
        return RunInterrupted(*place, "before", tuple(one for one in waiting if _among(one, before)) or waiting, ())

    # -- channels -----------------------------------------------------------------------------------------------------

    def _found(self, found: Any) -> None:
        """Stand at a checkpoint that is there already, with what its tasks have written."""
        checkpoint = found.checkpoint
        self._checkpoint_id = checkpoint["id"]
        self._steps[checkpoint["id"]] = (found.metadata or {}).get("step", -2)
        self.step = self._steps[checkpoint["id"]] + 1
        self._ledger.load(checkpoint, self._frozen(checkpoint))
        works: dict[str, Work] = {}
        for task_id, channel, value in found.pending_writes or ():
            work = works.setdefault(task_id, Work(task_id, writes=[], stored=True))
            work.writes = [*(work.writes or ()), (channel, self._freeze(value))]
        kept = {id: work for id, work in works.items() if work.finished and id != NULL}  # the others run again
        if kept:
            self._came[self.step] = Came(kept)

    def _frozen(self, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._freeze(value) for name, value in (checkpoint.get("channel_values") or {}).items()}

    def _writes(self, due: Came) -> tuple[Write, ...]:
        kinds = self._ledger.kinds
        return tuple(
            Write(work.id, work.node or "", channel, value)
            for work in due.ordered
            for channel, value in work.outcome
            if not kinds or channel in kinds
        )

    def _given(self, saved: Saved) -> Iterator[Write]:
        """The input, as it was written to the channels that take it."""
        named = getattr(self.graph, "input_channels", "__start__")
        alone = isinstance(named, str)
        given = {named: self._input} if alone else self._input if isinstance(self._input, Mapping) else {}
        raised = self._ledger.raised(saved.checkpoint)
        for name in [named] if alone else named:
            if name in raised:
                held = saved.checkpoint["channel_values"].get(name)
                yield Write(NULL, INPUT, name, held if given.get(name) is None else given[name])

    def _changes(self, saved: Saved, writes: Sequence[Write]) -> Iterator[Change]:
        """The channels that the barrier touched: first those that were written, in order, then the others."""
        ledger, versions = self._ledger, saved.checkpoint.get("channel_versions") or {}
        written: dict[str, list[Write]] = {}
        for write in writes:
            written.setdefault(write.channel, []).append(write)
        raised = ledger.raised(saved.checkpoint)
        for name in dict.fromkeys([*written, *raised]):
            mine = written.get(name, [])
            before, now = ledger.versions.get(name), versions.get(name)
            if name in raised:
                ledger.take(name, saved.checkpoint["channel_values"], [write.value for write in mine])
            yield self._change(name, before, now if name in raised else before, [write.node for write in mine])

    def _change(self, name: str, before: Any, now: Any, writers: Sequence[str]) -> Change:
        ledger = self._ledger
        value, held = ledger.values.get(name), name in ledger.values
        return Change(name, ledger.kinds.get(name, ""), before, now, held, value, tuple(writers))

    def _command(self, writes: Sequence[tuple[str, Any]], at: float | None) -> None:
        """What a command wrote is applied at once, before the plan. The next checkpoint shows which version it got."""
        ledger, written = self._ledger, dict[str, list[Any]]()
        for channel, value in writes:
            if channel not in SPECIAL and channel in ledger.kinds:
                written.setdefault(channel, []).append(value)
        if not written or self._commanded:
            return
        self._open()
        version, changes = ledger.next_version(), []
        for name, values in written.items():
            ledger.fold(name, values)
            changes.append(self._change(name, ledger.versions.get(name), version, [INPUT] * len(values)))
        ledger.versions.update(dict.fromkeys(written, version))
        told = tuple(Write(NULL, INPUT, name, value) for name, values in written.items() for value in values)
        self._tell(SuperstepUpdated(self.run, self.ns, self.step, _any(at), "resume", told, tuple(changes)))
        self._commanded = True
        self._advance()

    def _at(self, step: int) -> Came:
        return self._came.setdefault(step, Came())


def _any(value: Any) -> Any:
    """A value for a field of an event that other engines leave open, or fill with words of their own."""
    return value


def _among(node: str | None, named: Named) -> bool:
    return named == "*" or node in named
