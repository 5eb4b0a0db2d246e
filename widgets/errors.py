"""What a session refuses, and why.

    SessionError
    ├── NoCheckpointer      the graph keeps nothing between runs
    ├── Busy                another call runs on this thread
    ├── NothingToRun        the thread has ended, or has not begun
    ├── WrongAnswer         an answer that no question fits
    ├── UnknownCheckpoint   the thread has no such checkpoint
    ├── EditRefused         an edit that the graph's state cannot take
    └── RunFailed           a node raised; the thread stands where it stood before that superstep

Each message is a sentence that ends with the way out. After any of them the thread is as it was, or as its last
checkpoint says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "Busy",
    "EditRefused",
    "NoCheckpointer",
    "NothingToRun",
    "RunFailed",
    "SessionError",
    "UnknownCheckpoint",
    "WrongAnswer",
]


class SessionError(Exception):
    """A session could not do what it was asked for; `thread` says on which thread."""

    def __init__(self, message: str, *, thread: str | None = None) -> None:
        super().__init__(message)
        self.thread = thread


class NoCheckpointer(SessionError):
    """The graph has no checkpointer, so there is nothing to resume, fork or go back to."""


class Busy(SessionError):
    """Another call on this session runs now; `verb` says which."""

    def __init__(self, message: str, *, verb: str, thread: str | None = None) -> None:
        super().__init__(message, thread=thread)
        self.verb = verb


class NothingToRun(SessionError):
    """No task is planned: the thread has ended, has not begun, or waits for an answer."""


class WrongAnswer(SessionError):
    """An answer that fits no pending question. `given` is the answer, `pending` the ids that wait, `reasons` by id."""

    def __init__(
        self,
        message: str,
        *,
        given: Any,
        pending: Sequence[str] = (),
        reasons: dict[str, str] | None = None,
        thread: str | None = None,
    ) -> None:
        super().__init__(message, thread=thread)
        self.given = given
        self.pending = tuple(pending)
        self.reasons = reasons or {}


class UnknownCheckpoint(SessionError):
    """No checkpoint of the thread is meant by `wanted`; `known` are the ids there are."""

    def __init__(self, message: str, *, wanted: Any, known: Sequence[str] = (), thread: str | None = None) -> None:
        super().__init__(message, thread=thread)
        self.wanted = wanted
        self.known = tuple(known)


class EditRefused(SessionError):
    """Values that cannot be written. `channel` is the one at fault; `as_node` may be one of `candidates`."""

    def __init__(
        self,
        message: str,
        *,
        channel: str | None = None,
        as_node: str | None = None,
        candidates: Sequence[str] = (),
        thread: str | None = None,
    ) -> None:
        super().__init__(message, thread=thread)
        self.channel = channel
        self.as_node = as_node
        self.candidates = tuple(candidates)


class RunFailed(SessionError):
    """A run ended with an exception: `error`, raised at `node` in superstep `step` where that is known."""

    def __init__(
        self, message: str, *, error: BaseException, node: str | None, step: int | None, thread: str | None = None
    ) -> None:
        super().__init__(message, thread=thread)
        self.error = error
        self.node = node
        self.step = step
