"""A graph and one of its threads, with the verbs run, step, resume, fork, replay and go to.

All widgets stand on this, and it needs none of them. It uses a graph's public calls only (`stream`, `get_state`,
`get_state_history`, `update_state`), so it drives the graphs of this runtime and those that LangGraph compiled alike.

What stays true:

1. Every superstep that ran has its checkpoint: a step ends at a breakpoint after the barrier, a pause at the next one.
2. Nothing is ever removed. A fork or a replay begins a branch; the one it left stays.
3. What is refused is refused before the graph hears of it, and changes nothing.
4. One verb runs at a time. Another one in the meantime is refused with `Busy`; looking is always allowed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from widgets import engine, rehearsal
from widgets.answers import by_question
from widgets.errors import (
    EditRefused,
    NoCheckpointer,
    NothingToRun,
    RunFailed,
    SessionError,
    UnknownCheckpoint,
    WrongAnswer,
)
from widgets.history import Branch, Checkpoint, branches_of, checkpoint_of, lineage, named, supersteps
from widgets.rehearsal import Edit
from widgets.standing import Pending, asking, questions_of, settled, stands
from widgets.turns import Notice, Progress, turns_of
from workbench import text
from workbench.comparison import Comparison
from workbench.drawing import Drawing
from workbench.recorder import recording
from workbench.tree import tree

__all__ = ["Notice", "Pending", "Session"]


class Session:
    """A graph and one thread of it.

    `thread` is the thread's id, or a whole config for `invoke` that holds one; without it, a new thread begins.
    `context` goes to every run. Raises `NoCheckpointer` for a graph that keeps nothing.
    """

    def __init__(self, graph: Any, thread: str | Mapping[str, Any] | None = None, *, context: Any = None) -> None:
        _check(graph)
        given: Mapping[str, Any] = thread if isinstance(thread, Mapping) else {}
        place = dict(given.get("configurable", {}))
        for key in ("checkpoint_id", "checkpoint_ns", "checkpoint_map"):
            place.pop(key, None)
        if not isinstance(thread, Mapping):
            place["thread_id"] = thread or f"session-{uuid.uuid4().hex[:8]}"
        if not place.get("thread_id"):
            raise SessionError('The config names no thread. Give it as {"configurable": {"thread_id": "…"}}.')
        self.graph = graph
        self.thread = str(place["thread_id"])
        self.recording: Any = None
        self._config: dict[str, Any] = {**given, "configurable": place}
        self._context = context
        self._at: str | None = None
        self._turns = turns_of(graph.checkpointer, self.thread)

    @classmethod
    def of(cls, graph: Session | Any, thread: str | Mapping[str, Any] | None = None) -> Session:
        """The session itself, or a new one on the graph and the thread that are given."""
        if isinstance(graph, Session):
            return graph
        if thread is None:
            raise SessionError(f"Say which thread: give a Session, or {cls._known_threads(graph)}.")
        return cls(graph, thread)

    @staticmethod
    def _known_threads(graph: Any) -> str:
        """How to name one of the threads in a graph's checkpointer."""
        _check(graph)
        places = (saved.config["configurable"] for saved in graph.checkpointer.list(None, limit=200))
        names = list(dict.fromkeys(str(place["thread_id"]) for place in places))
        return f"the graph and one of {text.listing(map(repr, names[:5]), 'or')}" if names else "the graph and a thread"

    def __repr__(self) -> str:
        return f"Session(thread {self.thread!r}: {self.words})"

    # -- looking -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """The state snapshot of the checkpoint that `goto` chose, else the newest one's."""
        return self._look(self._at)

    @property
    def latest(self) -> Any:
        """The state snapshot of the newest checkpoint, wherever `goto` looks."""
        return self._look(None)

    @property
    def values(self) -> Any:
        """The channels' values in `state`."""
        return self.state.values

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The questions that wait for an answer now, wherever `goto` looks."""
        snapshot = self._look(None, subgraphs=True)
        step = (snapshot.metadata or {}).get("step", -1) + 1
        return tuple(questions_of(snapshot, step, ()))

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint of the thread, the oldest first."""
        found = [one for branch in self.branches for one in branch.checkpoints]
        return tuple(sorted(found, key=lambda checkpoint: checkpoint.id))

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The thread's branches: "main", and each fork as it began."""
        history = self.graph.get_state_history(self._place(None))
        return branches_of(one for snapshot in history if (one := checkpoint_of(snapshot)) is not None)

    @property
    def current(self) -> Checkpoint | None:
        """The newest checkpoint: where the thread goes on. `None` before the first run."""
        return next((branch.tip for branch in self.branches if branch.current), None)

    @property
    def at(self) -> str | None:
        """The id of the checkpoint that `goto` chose; `None` for the newest."""
        return self._at

    @property
    def busy(self) -> str | None:
        """What runs now, in words: "Running search, 2 of 3 done"; `None` when nothing does."""
        run = self._turns.run
        return run.words if run is not None else None

    @property
    def words(self) -> str:
        """Where the thread stands, in one sentence without its full stop."""
        return self.busy or self.stands

    @property
    def stands(self) -> str:
        """Where the thread stands by its newest checkpoint, whatever runs: "Ended after 5 supersteps"."""
        snapshot = self.latest
        over = snapshot.metadata is not None and not snapshot.next
        return stands(snapshot, self._ran(snapshot) if over else 0)

    def checkpoint(self, wanted: Checkpoint | str | int | Mapping[str, Any] | None = None) -> Checkpoint:
        """A checkpoint by itself, its id or the beginning of it, its config, or its step on the current branch.

        None is the newest one. Raises `UnknownCheckpoint`.
        """
        known = self.checkpoints
        found = _found(known, wanted)
        if len(found) == 1:
            return found[0]
        if not known:
            problem = "has no checkpoint yet. run(input) makes the first ones"
        elif found:
            problem = f"has {len(found)} checkpoints that {_shown(wanted)} could mean. Give more of the id"
        elif isinstance(wanted, int):
            steps = sorted({one.step for one in lineage(known, known[-1])})
            problem = f"has no step {wanted} on its current branch. It goes from {steps[0]} to {steps[-1]}"
        else:
            problem = f"has no checkpoint {_shown(wanted)}. session.checkpoints lists the {len(known)} there are"
        raise UnknownCheckpoint(
            f"Thread {self.thread!r} {problem}.", wanted=wanted, known=[one.id for one in known], thread=self.thread
        )

    def goto(self, checkpoint: Checkpoint | str | int | Mapping[str, Any] | None) -> Checkpoint:
        """Look at an earlier checkpoint: `state` shows it, and `run` and `step` go on from it, as a new branch.

        Nothing is written. None goes back to the newest one, as does the next run.
        """
        found = self.checkpoint(checkpoint)
        self._at = None if found.current else found.id
        self._turns.tell(Notice("moved", "goto", f"At checkpoint {found.step}"))
        return found

    def compare(self, a: Any, b: Any) -> Comparison:
        """What differs between the states of two checkpoints or branches, as operations that show themselves."""
        (before, one), (after, other) = self._side(a), self._side(b)
        return Comparison(engine.by_channel(one.values), engine.by_channel(other.values), (before, after))

    def tree(self) -> Drawing:
        """The picture of the thread's checkpoints, with its branches and where it stands."""
        return tree(self.checkpoints, f"thread {self.thread}")

    def observe(self, listener: Callable[[Notice], object]) -> Callable[[], None]:
        """Call `listener` with each `Notice` from now on. What comes back ends that."""
        return self._turns.observe(listener)

    # -- moving ------------------------------------------------------------------------------------------------------

    def run(self, input: Any = None) -> Any:
        """Run until the graph ends or asks; gives what `invoke` gives. Without input the thread goes on as it stands.

        Raises `RunFailed` when a node raises, `NothingToRun` when nothing is left to do.
        """
        with self._turns.taken("run"):
            return self._drive(input, self._at, ready=input is not None)

    def start(self, input: Any) -> Checkpoint | None:
        """Take the input and stop before the first superstep, with its tasks planned."""
        with self._turns.taken("start"):
            self._drive(input, self._at, ready=True, interrupt_before="*")
        return self.current

    def step(self, input: Any = None) -> Checkpoint | None:
        """Run one superstep, stop at the barrier, and give the checkpoint that it made."""
        with self._turns.taken("step"):
            self._drive(input, self._at, ready=input is not None, interrupt_after="*")
        return self.current

    def resume(self, answer: Any) -> Any:
        """Answer what waits, and run on: one answer for one question, or `{id: answer}` for any of several.

        Questions without an answer keep waiting. Raises `WrongAnswer`, before the graph hears of it, when nothing
        waits, when an id is unknown, when one answer meets several questions, or when a schema forbids it.
        """
        with self._turns.taken("resume"):
            answers = self._answers(answer)
            return self._drive(_command(self.graph, resume=answers), None, ready=True)

    def replay(self, checkpoint: Checkpoint | str | int | Mapping[str, Any]) -> Any:
        """Run again from a checkpoint, as a new branch: its tasks run anew and questions are asked again."""
        with self._turns.taken("replay"):
            return self._drive(None, self.checkpoint(checkpoint).id, ready=False)

    def fork(
        self,
        checkpoint: Checkpoint | str | int | Mapping[str, Any] | None,
        values: Any,
        as_node: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Edit:
        """Write values on top of a checkpoint, as if `as_node` had returned them; the thread then goes on from there.

        The `Edit` says what changes and which nodes run next. With `dry_run` that is all: it is tried on a copy in
        memory, and nothing reaches the graph's checkpointer. (The routers behind `as_node` are asked either way.)
        Raises `EditRefused`, with nothing written, when the graph cannot take it.
        """
        if dry_run:
            return self._rehearse(checkpoint, values, as_node)
        with self._turns.taken("fork"):
            edit = self._rehearse(checkpoint, values, as_node)
            written = self.graph.update_state(self._place(edit.base.id), values, as_node=edit.as_node)
            self._at = None
            made = self.checkpoint(written["configurable"]["checkpoint_id"])
            return replace(edit, checkpoint=made)

    def pause(self) -> bool:
        """Ask what runs now to stop at the next barrier, from any thread; `run()` goes on. False when nothing runs."""
        run = self._turns.run
        if run is not None:
            run.request_drain("paused by the user")
        return run is not None

    # -- within ------------------------------------------------------------------------------------------------------

    def _rehearse(self, checkpoint: Any, values: Any, as_node: str | None) -> Edit:
        base = self.checkpoint(checkpoint)
        try:
            return rehearsal.rehearse(self.graph, base, values, as_node)
        except EditRefused as error:
            error.thread = self.thread
            raise

    def _look(self, checkpoint_id: str | None, subgraphs: bool = False) -> Any:
        """The state there; a task that was answered and then failed asks nothing any more."""
        snapshot = self.graph.get_state(self._place(checkpoint_id), subgraphs=subgraphs)
        if not any(task.error and task.interrupts for task in snapshot.tasks):
            return snapshot
        saved = self.graph.checkpointer.get_tuple(snapshot.config)
        writes = saved.pending_writes or () if saved is not None else ()
        return settled(snapshot, {task_id for task_id, channel, value in writes if channel == "__resume__" and value})

    def _ran(self, snapshot: Any) -> int:
        """How many supersteps led to a snapshot."""
        known = self.checkpoints
        here = snapshot.config["configurable"]["checkpoint_id"]
        return next((supersteps(lineage(known, one)) for one in known if one.id == here), 0)

    def _place(self, checkpoint_id: str | None) -> dict[str, Any]:
        place = self._config["configurable"]
        if checkpoint_id is not None:
            place = {**place, "checkpoint_id": checkpoint_id, "checkpoint_ns": ""}
        return {**self._config, "configurable": place}

    def _side(self, wanted: Any) -> tuple[str, Checkpoint]:
        """One side of a comparison, and what it is called."""
        branches = self.branches
        for branch in branches:
            if wanted == branch.name or (isinstance(wanted, Branch) and wanted.name == branch.name):
                return branch.name, branch.tip
        found = self.checkpoint(wanted)
        return (f"{found.branch}, step {found.step}" if len(branches) > 1 else f"step {found.step}"), found

    def _drive(self, input: Any, checkpoint_id: str | None, *, ready: bool, **breakpoints: Any) -> Any:
        """One run, told to the listeners as it goes. `ready` says that there is something to run by what was given."""
        run = self._turns.run
        assert run is not None, "only a verb that has taken its turn drives"
        if not ready:
            self._check_next(checkpoint_id, run.verb)
        given = {**breakpoints, "context": self._context} if self._context is not None else breakpoints
        try:
            with recording(self.graph) as self.recording:
                return self._stream(run, input, self._place(checkpoint_id), given)
        except Exception as error:
            raise self._failure(error, run.verb, input) from error
        finally:
            self._at = None

    def _stream(self, run: Progress, input: Any, place: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
        output: Any = None
        try:
            for mode, chunk in self.graph.stream(
                input,
                place,
                stream_mode=["tasks", "values"],
                output_keys=self.graph.output_channels,
                control=run,
                **given,
            ):
                if mode == "values":
                    output = chunk
                else:
                    run.take(chunk)
                    self._turns.tell(Notice("progress", run.verb, run.words))
        except Exception as error:
            if type(error).__name__ != "GraphDrained":  # a stop that was asked for is no failure
                raise
        return output

    def _check_next(self, checkpoint_id: str | None, verb: str) -> None:
        snapshot = self._look(checkpoint_id)
        asked = asking(snapshot)
        if snapshot.metadata is None:
            problem = f"Thread {self.thread!r} has not begun. Give {verb}() an input."
        elif asked and checkpoint_id is None:
            problem = f"Thread {self.thread!r} waits for your answer at {text.listing(asked)}. Use resume(answer)."
        elif not snapshot.next:
            problem = f"Thread {self.thread!r} has ended; nothing runs next. Use run(input), or fork a checkpoint."
        else:
            return
        raise NothingToRun(problem, thread=self.thread)

    def _failure(self, error: Exception, verb: str, input: Any) -> SessionError:
        """The error of a run as a sentence that says where the thread stands now."""
        snapshot = self.latest
        step = (snapshot.metadata or {}).get("step", -1) + 1
        waiting = {one.id for task in snapshot.tasks for one in task.interrupts}
        resumed = getattr(input, "resume", None) if verb == "resume" else None
        if type(error).__name__ == "ValidationError" and resumed and waiting & resumed.keys():
            return WrongAnswer(
                f"The answer was refused: {_one_line(error)} The question still waits.",
                given=resumed,
                pending=sorted(waiting),
                thread=self.thread,
            )
        failed = [task.name for task in snapshot.tasks if task.error]
        node = failed[0] if failed else None
        where = f"at {named(node)}, superstep {step}" if node else f"after superstep {step - 1}"
        words = (
            f"Failed {where}: {type(error).__name__}: {_one_line(error)} "
            "Nothing is lost: earlier supersteps are kept, and run() tries this one again."
        )
        return RunFailed(words, error=error, node=node, step=step if node else None, thread=self.thread)

    def _answers(self, answer: Any) -> dict[str, Any]:
        pending = self.pending
        try:
            if pending:
                return by_question(answer, pending)
            words = self.stands
            raise WrongAnswer(
                f"Nothing waits for an answer on thread {self.thread!r}: {words[:1].lower()}{words[1:]}.", given=answer
            )
        except WrongAnswer as error:
            error.thread = self.thread
            raise


def _check(graph: Any) -> None:
    if not all(callable(getattr(graph, name, None)) for name in ("stream", "get_state", "get_state_history")):
        hint = " Compile it first: graph.compile(…)." if callable(getattr(graph, "compile", None)) else ""
        raise TypeError(f"A session needs a compiled graph, not {type(graph).__name__!r}.{hint}")
    if not callable(getattr(getattr(graph, "checkpointer", None), "get_tuple", None)):
        raise NoCheckpointer(
            "This graph has no checkpointer, so it keeps nothing to resume, fork or go back to. "
            "Compile it with one: graph.compile(checkpointer=InMemorySaver())."
        )


def _found(known: Sequence[Checkpoint], wanted: Any) -> list[Checkpoint]:
    if isinstance(wanted, Mapping):
        wanted = wanted.get("configurable", {}).get("checkpoint_id")
    if isinstance(wanted, Checkpoint):
        wanted = wanted.id
    if wanted is None:
        return list(known[-1:])
    if isinstance(wanted, bool):
        return []
    if isinstance(wanted, int):
        return [one for one in lineage(known, known[-1]) if one.step == wanted][-1:] if known else []
    exact = [one for one in known if one.id == wanted]
    return exact or [one for one in known if wanted and one.id.startswith(str(wanted))]


def _shown(wanted: Any) -> str:
    if isinstance(wanted, Checkpoint):
        wanted = wanted.id
    return repr(text.value(wanted))


def _command(graph: Any, **given: Any) -> Any:
    """A `Command` of the library that made the graph: each engine knows only its own."""
    return engine.word(graph, "types", "Command")(**given)


def _one_line(error: BaseException) -> str:
    said = " ".join(str(error).split()) or "no message"
    return text.shorten(said, 300).rstrip(".") + "."
