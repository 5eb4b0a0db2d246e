"""The closed sets that the loop and its drivers speak in: effects asked for, messages that come back.

A routine is a generator that yields effects and events. A driver answers each effect with what it asks for, and hands
each event to whoever watches. The typed helpers at the end are the only place that touches an untyped reply.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from runtime.checkpoint.base.id import sort_after
from runtime.events import Event
from runtime.rows import Later

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.base import Runnable

    from runtime.checkpoint.base import CheckpointMetadata, CheckpointTuple, FrozenCheckpoint, Shelf, Written
    from runtime.pregel.progress import Progress
    from runtime.pregel.task import Task

T = TypeVar("T")

# -- effects of the loop ----------------------------------------------------------------------------------------------


class Start(NamedTuple):
    """Run these tasks; each is answered by a `Finished` in the inbox.

    `alone` says that there is one, and nothing else runs: its `Finished` may be the reply.
    A task that one of these calls is kept beside what `progress` tells, before its caller has the result.
    """

    tasks: Sequence[Task]
    alone: bool
    progress: Progress


class Cancel(NamedTuple):
    """Stop the tasks that have not finished. All but those that run in a thread have sent their `Finished` then."""

    tasks: Sequence[Task]


class Receive(NamedTuple):
    """The next message of the inbox. TimeoutError when none has come until `deadline` (of `time.monotonic`; 0: now)."""

    deadline: float | None = None


class Load(NamedTuple):
    """The checkpoint that a config names (the newest of its namespace without an id), or None."""

    config: RunnableConfig


class ListCheckpoints(NamedTuple):
    """Checkpoints of a thread, newest first."""

    config: RunnableConfig
    filter: dict[str, Any] | None = None
    before: RunnableConfig | None = None
    limit: int | None = None


class LoadDeltas(NamedTuple):
    """What makes the values of delta channels at a checkpoint: seeds and writes, by channel."""

    config: RunnableConfig
    channels: Sequence[str]


class SaveCheckpoint(NamedTuple):
    """Store a checkpoint after its parent; where the shelf is not of frozen ones, it holds all values.

    Before it, store what the task wrote that finished last.
    """

    shelf: Shelf
    parent_id: str | None
    checkpoint: FrozenCheckpoint
    metadata: CheckpointMetadata
    last: Written | None = None

    @property
    def step(self) -> int:
        """The superstep that made the checkpoint."""
        return self.metadata["step"]


class SaveWrites(NamedTuple):
    """Store the writes of a task of this superstep beside a checkpoint."""

    shelf: Shelf
    written: Written
    step: int


Saving = SaveCheckpoint | SaveWrites


class Flush(NamedTuple):
    """Wait until all that was given to the saver is stored; raise what went wrong."""


class CacheGet(NamedTuple):
    """The writes that the cache has for these keys."""

    keys: Sequence[Any]


class CachePut(NamedTuple):
    """Keep these writes in the cache."""

    entries: Mapping[Any, Any]


# -- effects of an attempt --------------------------------------------------------------------------------------------


class Sleep(NamedTuple):
    """Wait this many seconds before the next try."""

    seconds: float


class Open(NamedTuple):
    """Tell the callbacks that a task begins; the reply is its run manager."""

    task: Task
    config: RunnableConfig


class Close(NamedTuple):
    """Tell the callbacks how a task's attempt ended: with an answer, or with an error."""

    manager: Any
    output: Any
    error: BaseException | None


class Invoke(NamedTuple):
    """Run the user's code on an input; the reply is its answer."""

    bound: Runnable[Any, Any]
    input: Any
    config: RunnableConfig
    timed: Any = None


LoopEffect = (
    Start
    | Cancel
    | Receive
    | Load
    | ListCheckpoints
    | LoadDeltas
    | SaveCheckpoint
    | SaveWrites
    | Flush
    | CacheGet
    | CachePut
)
AttemptEffect = Sleep | Open | Close | Invoke
Effect = LoopEffect | AttemptEffect

LOOP_EFFECTS: tuple[type[Any], ...] = (
    Start, Cancel, Receive, Load, ListCheckpoints, LoadDeltas, SaveCheckpoint, SaveWrites, Flush, CacheGet, CachePut,
)  # fmt: skip
ATTEMPT_EFFECTS: tuple[type[Any], ...] = (Sleep, Open, Close, Invoke)

# -- messages ---------------------------------------------------------------------------------------------------------


class Spawned(NamedTuple):
    """A task was called from inside a task; it runs already."""

    task: Task


class Finished(NamedTuple):
    """A task has ended: its fields say how."""

    task: Task


Message = Spawned | Finished

Routine = Generator[Effect | Event | Later, Any, T]

# -- typed helpers ----------------------------------------------------------------------------------------------------


def load(config: RunnableConfig) -> Routine[CheckpointTuple | None]:
    """The checkpoint that the config names, or None. What is stored after it will be newer, whatever the clock says."""
    found: CheckpointTuple | None = yield Load(config)
    if found is not None:
        sort_after(found.checkpoint["id"])
    return found


def list_checkpoints(
    config: RunnableConfig,
    filter: dict[str, Any] | None = None,
    before: RunnableConfig | None = None,
    limit: int | None = None,
) -> Routine[list[CheckpointTuple]]:
    """Checkpoints, newest first."""
    found: list[CheckpointTuple] = yield ListCheckpoints(config, filter, before, limit)
    return found


def load_deltas(config: RunnableConfig, channels: Sequence[str]) -> Routine[Mapping[str, Any]]:
    """Seeds and writes of delta channels at the checkpoint that the config names."""
    found: Mapping[str, Any] = yield LoadDeltas(config, channels)
    return found


def cache_get(keys: Sequence[Any]) -> Routine[Mapping[Any, Any]]:
    """The cached writes by key; only hits."""
    found: Mapping[Any, Any] = yield CacheGet(keys)
    return found


def invoke(bound: Runnable[Any, Any], input: Any, config: RunnableConfig, timed: Any = None) -> Routine[Any]:
    """The answer of the user's code."""
    answer = yield Invoke(bound, input, config, timed)
    return answer


def note_superstep(error: BaseException, effect: Saving) -> None:
    """Have a saver's error, whichever saver it is, tell what was not stored, and how the thread goes on."""
    shelf = effect.shelf
    place = f"thread {shelf.thread_id!r}" + (f", namespace {shelf.ns!r}" if shelf.ns else "")
    what = "The checkpoint" if isinstance(effect, SaveCheckpoint) else "What a task wrote"
    error.add_note(
        f"{what} of superstep {effect.step} of {place} was not stored, and nothing after it. What was stored before is "
        "whole: once the saver works, run the thread with None as the input, or with its input where it has none yet."
    )
