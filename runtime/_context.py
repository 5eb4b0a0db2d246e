"""What the running task may ask of its run: one typed object, held by a context variable.

The engine sets it when a task begins. `interrupt`, `get_config`, nested graphs and stream writers find it here; it
also travels in the task's config under one private key, so that a config handed to a bare thread still works.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import xxhash

from runtime._words import CONF, CONFIG_KEY_SCRATCHPAD, MISSING, NS_SEP

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.pregel.run import Run
    from runtime.pregel.state import State
    from runtime.pregel.task import Task


def digest(text: str) -> str:
    """A 128-bit xxh3 digest of the text, as 32 hex digits."""
    return xxhash.xxh3_128_hexdigest(text.encode())


def interrupt_id(ns: str, answered: int) -> str:
    """The id of the interrupt that a task asks after `answered` answers: stable for task and position."""
    return digest(ns if answered == 0 else f"{ns}{NS_SEP}{answered}")


class TaskContext:
    """One task, as the code in it sees its run.

    `step` and `stop` count supersteps; `resumes` are the answers given to this task so far, in order; `asked` counts
    the interrupts of this attempt. `read(keys, fresh)` reads channels, `send(writes)` adds writes to the task.
    """

    __slots__ = (
        "asked", "attempt", "called", "caller", "closed", "config", "first_attempt_at", "last_sign", "manager",
        "nested", "resumes", "resuming", "run", "state", "step", "stop", "task", "watched_signs",
    )  # fmt: skip

    def __init__(self, run: Any, task: Task, state: State, step: int, stop: int, resumes: list[Any]) -> None:
        self.run: Run = run
        self.task = task
        self.state = state
        self.step = step
        self.stop = stop
        self.resumes = resumes
        self.config: RunnableConfig | None = None
        self.attempt = 0
        self.first_attempt_at: float | None = None
        self.resuming = run.resuming
        self.asked = 0
        self.nested = 0
        self.called = 0
        self.caller: TaskContext | None = None
        self.manager: Any = None
        self.closed = False
        self.last_sign = 0.0
        self.watched_signs = True

    def beat(self) -> None:
        """The task is alive: its idle timeout starts anew."""
        self.last_sign = time.monotonic()

    @property
    def ns(self) -> str:
        """The namespace of the task, its id included."""
        return self.task.ns

    def read(self, names: str | Sequence[str], fresh: bool = False) -> Any:
        """What the task may read now: the state it was planned on; with `fresh`, its own writes so far on top."""
        return self.task.read_fresh(self.state, names) if fresh else self.state.read(names)

    def send(self, writes: Sequence[tuple[str, Any]]) -> None:
        """Add writes to the task, before those that its answer makes."""
        if self.closed:
            return  # the attempt was stopped; what it still does no longer counts
        self.task.sent.extend(writes)
        self.sign()

    def sign(self) -> None:
        """Something was written, streamed or called: progress, where the idle timeout counts that."""
        if self.watched_signs:
            self.last_sign = time.monotonic()

    def begin(self) -> None:
        """A new attempt starts: questions and nested graphs are counted from the first again."""
        self.attempt += 1
        if self.attempt > 1:
            self.asked = 0
            self.nested = 0
            self.called = 0
            self.resuming = True

    def answer(self) -> Any:
        """The answer to the next question of this attempt, or `MISSING` when nobody has given it yet."""
        index = self.asked
        self.asked += 1
        if index < len(self.resumes):
            return self.resumes[index]
        given = self.run.answers.take(self.ns, index)
        if given is not MISSING:
            self.resumes.append(given)
        return given

    def next_nested(self) -> int:
        """How many nested runs were started in this attempt before this one."""
        count = self.nested
        self.nested = count + 1
        return count


current: ContextVar[TaskContext | None] = ContextVar("runtime_task", default=None)


def task_of(config: RunnableConfig | None) -> TaskContext | None:
    """The task that a config was made for, else the one that is running here, else None."""
    if config is not None:
        found = config.get(CONF, {}).get(CONFIG_KEY_SCRATCHPAD)
        if isinstance(found, TaskContext):
            return found
    return current.get()
