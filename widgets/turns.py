"""Whose turn it is on a thread, and who listens: what all sessions on one thread of one checkpointer share.

Two sessions, or two widgets on graphs that were compiled twice, write to the same checkpoints; so one verb runs at a
time for all of them, and each hears of what the others do.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from weakref import WeakValueDictionary

from widgets.errors import Busy
from widgets.history import named
from workbench import text

__all__ = ["Notice", "Progress", "Turns", "turns_of"]

logger = logging.getLogger(__name__)


class Notice(NamedTuple):
    """What listeners are told: a verb has begun, a task has begun or ended, or the thread has moved."""

    kind: Literal["began", "progress", "moved"]
    verb: str
    words: str


@dataclass
class Progress:
    """Who runs in the superstep that is going on. It is also the run's control: the graph asks it whether to stop."""

    verb: str
    running: dict[str, str] = field(default_factory=dict)
    done: int = 0
    drain_requested: bool = False
    drain_reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Ask the run to stop at the next barrier."""
        self.drain_requested, self.drain_reason = True, reason

    def take(self, task: Mapping[str, Any]) -> None:
        """Count a task that the stream tells of: one that begins, or one that has ended."""
        if "result" in task or "error" in task:
            self.done += self.running.pop(task["id"], None) is not None
        else:
            if not self.running:
                self.done = 0
            self.running[task["id"]] = named(task["name"])

    @property
    def words(self) -> str:
        """Who runs: "Running search, 2 of 3 done"."""
        if not self.running:
            return "Between two supersteps" if self.done else "Starting"
        total = self.done + len(self.running)
        count = f", {self.done} of {total} done" if total > 1 else ""
        return f"Running {text.listing(dict.fromkeys(self.running.values()))}{count}"


class Turns:
    """One thread's turns. `run` is what runs now, or None."""

    def __init__(self, checkpointer: Any, thread: str) -> None:
        self.checkpointer = checkpointer  # held, so that its identity stands for it
        self.thread = thread
        self.run: Progress | None = None
        self._lock = threading.Lock()
        self._listeners: list[Callable[[Notice], object]] = []

    @contextmanager
    def taken(self, verb: str) -> Iterator[Progress]:
        """Do something on the thread; `Busy` when something is being done already."""
        if not self._lock.acquire(blocking=False):
            now = self.run
            doing = f"{now.verb}() is going on: {now.words}" if now else "another call is going on"
            raise Busy(
                f"On thread {self.thread!r} {doing}. Wait for its end, or stop() it at the next barrier.",
                verb=now.verb if now else "",
                thread=self.thread,
            )
        try:
            self.run = Progress(verb)
            self.tell(Notice("began", verb, self.run.words))
            yield self.run
        finally:
            self.run = None
            self._lock.release()
            self.tell(Notice("moved", verb, ""))

    def observe(self, listener: Callable[[Notice], object]) -> Callable[[], None]:
        """Call the listener with each notice from now on. What comes back ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def tell(self, notice: Notice) -> None:
        """Call every listener; one that raises is logged and dropped."""
        for listener in tuple(self._listeners):
            try:
                listener(notice)
            except Exception:
                logger.exception("A listener on thread %r raised and is no longer called.", self.thread)
                if listener in self._listeners:
                    self._listeners.remove(listener)


_known: WeakValueDictionary[tuple[int, str], Turns] = WeakValueDictionary()


def turns_of(checkpointer: Any, thread: str) -> Turns:
    """The turns of a thread: the same ones as long as somebody holds them."""
    return _known.setdefault((id(checkpointer), thread), Turns(checkpointer, thread))
