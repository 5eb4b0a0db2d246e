"""What happens in a run, as immutable facts, and the way to watch them.

Streams, recordings, drawings and widgets are views of these ten events, and of nothing else. In the order of a run:

    RunStarted
      SuperstepUpdated   (source "input" or "resume": what the caller brings is applied before anything runs)
      CheckpointSaved    (or CheckpointRestored, where the run goes on from one that the saver has)
      SuperstepPlanned   plan:    which tasks a newer version has woken, and what each was given
      TaskStarted        execute: once for each attempt
      TaskStreamed                a custom item, a message, a token
      TaskFinished
      SuperstepUpdated   update:  what the writes made of the channels; everything before it has not seen them
      CheckpointSaved
      …
      RunInterrupted     (when somebody must answer, or at a breakpoint)
    RunFinished          always, whatever happened

Each event starts with `run` (the run's id), `ns` (the namespace, "" at the top; a nested graph's is
"node:task_id|…"), `step` (the superstep) and `at` (seconds since the epoch). Values in events are the live ones: who
keeps them longer than the call must freeze them, for a node may change an object in place.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from runtime.rows import Later
    from runtime.types import Interrupt

__all__ = (
    "Change",
    "CheckpointRestored",
    "CheckpointSaved",
    "Event",
    "Interrupted",
    "Planned",
    "RunFinished",
    "RunInterrupted",
    "RunStarted",
    "SuperstepPlanned",
    "SuperstepUpdated",
    "TaskFinished",
    "TaskStarted",
    "TaskStreamed",
    "Trigger",
    "Write",
    "observe",
)

logger = logging.getLogger(__name__)

Version = Any
"""A channel's version: an int, or a text that sorts. Only the order matters; None stands for "never written"."""

TaskStatus = Literal["ok", "cached", "failed", "interrupted", "cancelled"]
RunStatus = Literal["done", "interrupted", "failed", "out_of_steps", "drained", "cancelled"]


class Trigger(NamedTuple):
    """A channel that woke a task: its version, and the version that the node had last seen (None: never)."""

    channel: str
    version: Version
    seen: Version


class Planned(NamedTuple):
    """A task of the superstep that was planned, and what it is given.

    `kind` is "pull" (woken by a channel) or "push" (a Send, or a call from a task). `triggers` are those that fired;
    `reads` are the channels it was given, with their versions (a push is given its own argument and reads none).
    `all_triggers` are the channels that the node listens to; `metadata` and `tags` are those of the task's config.
    """

    task_id: str
    node: str
    path: tuple[Any, ...]
    kind: Literal["pull", "push"]
    input: Any
    triggers: tuple[Trigger, ...]
    reads: tuple[tuple[str, Version], ...]
    hidden: bool
    all_triggers: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = MappingProxyType({})
    tags: tuple[str, ...] = ()


class Write(NamedTuple):
    """One write, in the order in which it was applied at the barrier."""

    task_id: str
    node: str
    channel: str
    value: Any


class Change(NamedTuple):
    """A channel which the barrier touched. `version_before` equals `version` where the writes changed nothing.

    `available` is False for a channel that is empty now; then `value` is None. `writers` are the nodes in the order
    applied.
    """

    channel: str
    kind: str
    version_before: Version
    version: Version
    available: bool
    value: Any
    writers: tuple[str, ...]


class Interrupted(NamedTuple):
    """A question, and the task that asks it."""

    task_id: str
    node: str
    interrupt: Interrupt


class RunStarted(NamedTuple):
    """A run begins, or goes on, from the checkpoint named (None: from nothing).

    `versions` and `values` are the channels' as they are found; `seen` is what each node had seen. `kind` is "input",
    "command", "resume" (no input) or "replay". `limit` is the recursion limit, where it is known.
    """

    run: str
    ns: str
    step: int
    at: float
    graph: Any
    thread_id: str | None
    checkpoint_id: str | None
    kind: Literal["input", "command", "resume", "replay"]
    input: Any
    channels: Mapping[str, str]
    versions: Mapping[str, Version]
    values: Mapping[str, Any]
    seen: Mapping[str, Mapping[str, Version]]
    limit: int | None = None


class SuperstepPlanned(NamedTuple):
    """The tasks of a superstep, before any of them runs."""

    run: str
    ns: str
    step: int
    at: float
    tasks: tuple[Planned, ...]


class TaskStarted(NamedTuple):
    """An attempt at a task begins; `attempt` counts from 1."""

    run: str
    ns: str
    step: int
    at: float
    task_id: str
    node: str
    attempt: int


class TaskStreamed(NamedTuple):
    """A task gave something to a live stream: `mode` is "custom", "messages" or "tools"."""

    run: str
    ns: str
    step: int
    at: float
    task_id: str
    node: str
    mode: str
    value: Any


class TaskFinished(NamedTuple):
    """A task has ended. Its writes wait at the barrier, for those of its siblings.

    `status` "cached" says that the writes were taken from an earlier run or from the cache. `questions` are what its
    code asked in the last attempt, in order, and `answers` those that they got; a question that stopped the task is
    last and has none. `duration` is in seconds. `values` is the state that the task ran on. `hidden` says that streams
    do not show the end: of a task of the machine's own, or of a call that an earlier run has shown.
    """

    run: str
    ns: str
    step: int
    at: float
    task_id: str
    node: str
    status: TaskStatus
    attempts: int
    duration: float
    writes: tuple[tuple[str, Any], ...]
    error: BaseException | None
    interrupts: tuple[Interrupt, ...]
    answers: tuple[Any, ...]
    path: tuple[Any, ...] = ()
    hidden: bool = False
    values: Mapping[str, Any] = MappingProxyType({})
    questions: tuple[Any, ...] = ()


class SuperstepUpdated(NamedTuple):
    """The barrier was passed: the writes in the order applied, and each channel that they touched.

    With source "input" the caller's input was applied, with "resume" what a command brought (often nothing): no task
    has run for these. "partial" comes when a run stops to ask: what the finished siblings wrote is shown, though the
    barrier was not passed and no checkpoint holds it. `values` are all values after it; `updated` names the channels
    that changed and hold a value.
    """

    run: str
    ns: str
    step: int
    at: float
    source: Literal["input", "loop", "resume", "partial"]
    writes: tuple[Write, ...]
    changes: tuple[Change, ...]
    values: Mapping[str, Any] = MappingProxyType({})
    updated: frozenset[str] = frozenset()


class CheckpointSaved(NamedTuple):
    """A checkpoint was handed to the saver. `snapshot` is its `StateSnapshot`, in a run that streams checkpoints."""

    run: str
    ns: str
    step: int
    at: float
    thread_id: str
    checkpoint_id: str
    parent_id: str | None
    source: Literal["input", "loop", "update", "fork"]
    next: tuple[str, ...]
    snapshot: Any = None


class CheckpointRestored(NamedTuple):
    """The run goes on from a checkpoint that the saver has: the fields are those of `CheckpointSaved`.

    `snapshot` tells of the writes that were stored beside it, too.
    """

    run: str
    ns: str
    step: int
    at: float
    thread_id: str
    checkpoint_id: str
    parent_id: str | None
    source: Literal["input", "loop", "update", "fork"]
    next: tuple[str, ...]
    snapshot: Any = None


class RunInterrupted(NamedTuple):
    """The run stops: at questions, at a breakpoint ("before", "after"), or at one of a nested graph ("inside").

    `nodes` are those where it stands.
    """

    run: str
    ns: str
    step: int
    at: float
    when: Literal["asked", "before", "after", "inside"]
    nodes: tuple[str, ...]
    interrupts: tuple[Interrupted, ...]


class RunFinished(NamedTuple):
    """The run has ended, one way or another."""

    run: str
    ns: str
    step: int
    at: float
    status: RunStatus
    output: Any
    error: BaseException | None


Event = (
    RunStarted
    | SuperstepPlanned
    | TaskStarted
    | TaskStreamed
    | TaskFinished
    | SuperstepUpdated
    | CheckpointSaved
    | CheckpointRestored
    | RunInterrupted
    | RunFinished
)

KINDS: tuple[type[Any], ...] = (
    RunStarted, SuperstepPlanned, TaskStarted, TaskStreamed, TaskFinished, SuperstepUpdated, CheckpointSaved,
    CheckpointRestored, RunInterrupted, RunFinished,
)  # fmt: skip


class Watch:
    """An observer's methods by event. One that raises is logged and dropped; it never harms the run."""

    __slots__ = ("broken", "calls", "later", "observer")

    def __init__(self, observer: object) -> None:
        self.observer = observer
        self.broken = False
        self.later: Callable[[Any], object] | None = getattr(observer, "later", None)
        """What takes a `runtime.rows.Later` in place of the events that it would make."""
        self.calls: dict[type[Any], Callable[[Any], object]] = {}
        for kind in KINDS:
            method = getattr(observer, _method_name(kind), None) or getattr(observer, "event", None)
            if callable(method):
                self.calls[kind] = method
        if not self.calls:
            names = ", ".join(_method_name(kind) for kind in KINDS)
            raise TypeError(
                f"{type(observer).__name__} observes nothing. Give it a method named event, or any of: {names}."
            )

    def __call__(self, event: Event) -> None:
        call = self.calls.get(type(event))
        if call is not None and not self.broken:
            self._call(call, event)

    def tell_later(self, later: Later) -> None:
        """Tell of events that are made when somebody looks at them."""
        if self.later is None:
            for event in later.events:
                self(event)
        elif not self.broken:
            self._call(self.later, later)

    def _call(self, call: Callable[[Any], object], told: Any) -> None:
        try:
            call(told)
        except Exception:
            self.broken = True
            logger.exception(
                "Observer %s raised on %s and is no longer called.", type(self.observer).__name__, type(told).__name__
            )


def _method_name(kind: type[Any]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


_here: ContextVar[tuple[Watch, ...]] = ContextVar("runtime_observers", default=())
_everywhere: list[Watch] = []


@contextmanager
def observe(observer: object, *, everywhere: bool = False) -> Iterator[None]:
    """Call the observer's methods for each event of the runs that start inside the `with` block.

    A method is named like its event, `task_finished(event)`; a method `event(event)` gets those that have none of
    their own, and a method `later` the events of each superstep in the cheap form of `runtime.rows`.

    Runs started by nodes, and in threads or asyncio tasks that copy the context, are seen too; with `everywhere` those
    of any thread. Calls are made in the thread where the event happens.

    Raises TypeError when the observer has no such method.
    """
    watch = Watch(observer)
    if everywhere:
        _everywhere.append(watch)
        try:
            yield
        finally:
            _everywhere.remove(watch)
    else:
        token = _here.set((*_here.get(), watch))
        try:
            yield
        finally:
            _here.reset(token)


def observers() -> tuple[Watch, ...]:
    """Who watches a run that starts here and now."""
    here = _here.get()
    return (*here, *_everywhere) if _everywhere else here
