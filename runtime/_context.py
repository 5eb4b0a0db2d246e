"""What the running task may ask of its run: one typed object, held by a context variable.

It travels in the task's config under one private key, so that a config handed to a bare thread works; and the engine
sets that config when a task begins, so that `interrupt`, `get_config`, nested graphs and stream writers find it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

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

    `step` and `stop` count supersteps; `resumes` are the answers given to this task so far, in order; `attempt` counts
    from 1; `nested` and `calls` count what this attempt did, and `questions` are the values that it asked.
    """

    ns: str
    """The namespace of the task, its id included."""
    run: Run
    state: State
    checkpoint_id: str
    step = -1
    stop = 0
    resumes: list[Any]
    resuming: bool | None = None
    attempt = 0
    questions: tuple[Any, ...] = ()
    nested = 0
    calls = 0
    caller: Task | None = None
    manager: Any = None
    closed = False
    last_sign = 0.0
    watched_signs = True

    def beat(self) -> None:
        """The task is alive: its idle timeout starts anew."""
        self.last_sign = time.monotonic()

    def sign(self) -> None:
        """Something was written, streamed or called: progress, where the idle timeout counts that."""
        if self.watched_signs:
            self.last_sign = time.monotonic()

    def again(self) -> None:
        """Another attempt starts: questions and nested graphs are counted from the first again."""
        self.nested = self.calls = 0
        self.questions = ()
        self.resuming = True

    def answer(self, question: Any) -> Any:
        """The answer to this attempt's next question, or `MISSING` when nobody has given it yet."""
        wait_for_turn = turn.get()
        if wait_for_turn is not None:
            wait_for_turn()
        index = len(self.questions)
        self.questions = (*self.questions, question)
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


turn: ContextVar[Callable[[], None] | None] = ContextVar("runtime_turn", default=None)
"""Where a task runs functions side by side: waits until those before this one have ended. Questions are known by their
number, so they must be asked in the same order each time.
"""

task_config: ContextVar[RunnableConfig | None] = ContextVar("runtime_task_config", default=None)
"""The config of the task that is running here. It holds the task."""


def task_of(config: RunnableConfig | None = None) -> Task | None:
    """The task that a config was made for, else the one that is running here, else None."""
    for known in (config, task_config.get()):
        found = known.get(CONF, {}).get(CONFIG_KEY_SCRATCHPAD) if known is not None else None
        if isinstance(found, TaskContext):
            return cast("Task", found)
    return None
