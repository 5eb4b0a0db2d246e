"""Functions run side by side in threads that the process keeps.

Whoever asks works off the queue too, and each worker that takes a piece wakes one more while there are others. So
short functions hardly pay for threads, and those that wait overlap.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Generic, TypeVar

from runtime._context import turn
from runtime._workers import PATIENCE, workers

__all__ = ("side_by_side",)

T = TypeVar("T")


def side_by_side(functions: Sequence[Callable[[], T]], limit: int | None = None) -> list[T]:
    """The results in the order of the functions, of which at most `limit` run at a time.

    Each runs in its own copy of the caller's context, and asks its questions when those before it have ended. All are
    run to their end; then the first error, in the order of the functions, is raised. Only what is no `Exception`, such
    as Ctrl-C, ends it at once: what has not begun is left.
    """
    if len(functions) == 1:
        return [functions[0]()]
    work = _Work(functions, limit)
    try:
        work.go_on()
        while not work.ended.wait(PATIENCE):
            pass
    finally:
        work.waiting.clear()
    for error in work.errors:
        if error is not None:
            raise error
    return [work.results[index] for index in range(len(functions))]


class _Work(Generic[T]):
    def __init__(self, functions: Sequence[Callable[[], T]], limit: int | None) -> None:
        self.waiting = deque((index, copy_context(), function) for index, function in enumerate(functions))
        self.results: dict[int, T] = {}
        self.errors: list[BaseException | None] = [None] * len(functions)
        self.most = (limit or len(functions)) - 1
        self.helpers = 0
        self.left = len(functions)
        self.ends = [threading.Event() for _ in functions]
        self.ended = threading.Event()
        self.lock = threading.Lock()
        if not functions:
            self.ended.set()

    def go_on(self) -> None:
        """Run what waits, until nothing does."""
        while True:
            try:
                index, context, function = self.waiting.popleft()
            except IndexError:
                return
            self._wake_one()
            context.run(turn.set, partial(self._wait_for_those_before, index))
            try:
                self.results[index] = context.run(function)
            except Exception as error:
                self.errors[index] = error
            except BaseException as error:
                self.errors[index] = error
                self.waiting.clear()
                self.ended.set()
                raise
            finally:
                self.ends[index].set()
            self._count_down()

    def _wait_for_those_before(self, index: int) -> None:
        for end in self.ends[:index]:
            while not end.wait(PATIENCE):
                pass

    def _help(self) -> None:
        with suppress(BaseException):  # it is among the errors
            self.go_on()

    def _wake_one(self) -> None:
        with self.lock:
            if self.waiting and self.helpers < self.most:
                self.helpers += 1
                workers.submit(self._help)

    def _count_down(self) -> None:
        with self.lock:
            self.left -= 1
            if not self.left:
                self.ended.set()
