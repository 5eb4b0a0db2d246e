"""Widgets on a graph and its thread, and the session that they stand on, which needs none of them."""

from widgets.errors import (
    Busy,
    EditRefused,
    NoCheckpointer,
    NothingToRun,
    RunFailed,
    SessionError,
    UnknownCheckpoint,
    WrongAnswer,
)
from widgets.fork import Fork
from widgets.history import Branch, Checkpoint
from widgets.rehearsal import Change, Edit
from widgets.resume import Resume
from widgets.session import Session
from widgets.standing import Pending
from widgets.turns import Notice

__all__ = [
    "Branch",
    "Busy",
    "Change",
    "Checkpoint",
    "Edit",
    "EditRefused",
    "Fork",
    "NoCheckpointer",
    "NothingToRun",
    "Notice",
    "Pending",
    "Resume",
    "RunFailed",
    "Session",
    "SessionError",
    "UnknownCheckpoint",
    "WrongAnswer",
]
