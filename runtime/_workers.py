"""The threads of this process that runs share: made as work comes, kept for a while, never in the way of its end.

How to think about it. Work waits in one queue. As long as any waits, one thread is on its way to it; a thread that
takes a piece sends the next one off first, if more is left. So short functions hardly pay for threads, those that wait
overlap, and one that waits for another never keeps it from running. A thread that finds nothing to do rests, and ends
when it has rested long enough or enough others rest.

All are daemons. What still runs in one when the process ends (the function of a run that was stopped, and that no
thread can be made to leave) is left behind.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 0.2
"""Seconds of one wait for a thread. Ctrl-C is sure to be seen only between two waits: it may come just before one, and
on some systems it ends none.
"""


class Workers:
    """Threads for functions that nobody waits for here. At most `most` live, at most `kept` rest, for `rest` seconds.

    A function that is given must not raise.
    """

    def __init__(self, most: int, kept: int, rest: float) -> None:
        self.most = most
        self.kept = kept
        self.rest = rest
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._work: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._resting: list[queue.SimpleQueue[None]] = []
        self._count = 0
        self._waking = False

    def submit(self, function: Callable[..., object], *args: Any) -> None:
        """Have the function called in one of the threads. RuntimeError where there is none and none can be made."""
        with self._lock:
            self._work.append((function, args))
            try:
                self._wake_one()
            except BaseException as error:
                if not (isinstance(error, RuntimeError) and self._count):
                    self._work.pop()
                    raise

    def _wake_one(self) -> None:
        """See to it that a thread is on its way while work waits. Whoever calls this holds the lock."""
        if self._waking or not self._work:
            return
        self._waking = True
        try:
            if self._resting:
                self._resting.pop().put(None)
            elif self._count < self.most:
                threading.Thread(target=self._live, name="runtime", daemon=True).start()
            else:
                self._waking = False
        except BaseException:  # no thread can be made, or Ctrl-C came between
            self._waking = False
            raise

    def _live(self) -> None:
        call: queue.SimpleQueue[None] = queue.SimpleQueue()
        with self._lock:
            self._count += 1
            self._waking = False
        while True:
            with self._lock:
                if self._work:
                    function, args = self._work.popleft()
                    self._send_off_the_next()
                elif len(self._resting) < self.kept:
                    self._resting.append(call)
                    function, args = self._await_call, (call,)
                else:
                    self._count -= 1
                    return
            if function(*args) is _ENDED:
                return
            del function, args  # what they hold must not live as long as a thread rests

    def _send_off_the_next(self) -> None:
        try:
            self._wake_one()
        except RuntimeError:
            return  # no more threads are to be had: the work waits for this one, or another

    def _await_call(self, call: queue.SimpleQueue[None]) -> object:
        """Rest until there is work, or long enough."""
        try:
            call.get(timeout=self.rest)
        except queue.Empty:
            with self._lock:
                if call in self._resting:
                    self._resting.remove(call)
                    self._count -= 1
                    return _ENDED
            call.get()  # somebody called at the last moment
        with self._lock:
            self._waking = False
        return None


_ENDED = object()

workers = Workers(most=4096, kept=32, rest=10.0)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=workers._begin_anew)


async def in_thread(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """The function's result, from one of the threads, where it runs in a copy of the caller's context."""
    context, future = copy_context(), Future[T]()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = context.run(function, *args, **kwargs)
        except StopIteration as error:  # it may not go through a coroutine
            future.set_exception(_wrapped(error))
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    workers.submit(work)
    return await asyncio.wrap_future(future)


def _wrapped(error: StopIteration) -> RuntimeError:
    wrapped = RuntimeError(f"The function raised {error!r}.")
    wrapped.__cause__ = error
    return wrapped
