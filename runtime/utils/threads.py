"""Functions run side by side in threads that the process keeps.

Whoever asks works off the queue too, and each worker that takes a piece wakes one more while there are others. So
short functions hardly pay for threads, and those that wait overlap.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Generic, TypeVar

__all__ = ("side_by_side",)

T = TypeVar("T")

# Threads are made as they are needed and wait here for more; the bound only stops a runaway.
_pool = ThreadPoolExecutor(max_workers=4096, thread_name_prefix="runtime-side")


def side_by_side(functions: Sequence[Callable[[], T]], limit: int | None = None) -> list[T]:
    """The results in the order of the functions, of which at most `limit` run at a time.

    Each runs in its own copy of the caller's context. All are run to their end; then the first error, in the order of
    the functions, is raised.
    """
    if len(functions) == 1:
        return [functions[0]()]
    work = _Work(functions, limit)
    work.go_on()
    work.wait()
    for error in work.errors:
        if error is not None:
            raise error
    return [work.results[index] for index in range(len(functions))]


class _Work(Generic[T]):
    def __init__(self, functions: Sequence[Callable[[], T]], limit: int | None) -> None:
        self.waiting = deque((index, copy_context(), function) for index, function in enumerate(functions))
        self.results: dict[int, T] = {}
        self.errors: list[Exception | None] = [None] * len(functions)
        self.helpers: list[Future[None]] = []
        self.most = (limit or len(functions)) - 1
        self.lock = threading.Lock()

    def go_on(self) -> None:
        """Run what waits, until nothing does."""
        while True:
            try:
                index, context, function = self.waiting.popleft()
            except IndexError:
                return
            self._wake_one()
            try:
                self.results[index] = context.run(function)
            except Exception as error:
                self.errors[index] = error

    def _wake_one(self) -> None:
        with self.lock:
            if self.waiting and len(self.helpers) < self.most:
                self.helpers.append(_pool.submit(self.go_on))

    def wait(self) -> None:
        """Return when no helper runs any more. One that has not begun has nothing left to do, and need not begin."""
        for helper in self.helpers:  # the list may grow meanwhile
            if not helper.cancel():
                helper.result()
