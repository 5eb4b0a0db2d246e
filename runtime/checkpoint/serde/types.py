"""Words and shapes that savers and serializers share with the engine, without knowing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from runtime._words import ERROR, INTERRUPT, RESUME, SCHEDULED, TASKS

# The name by which conformance suites for savers know it.
from runtime.channels.delta import DeltaSnapshot as _DeltaSnapshot  # noqa: F401

__all__ = ("ERROR", "INTERRUPT", "RESUME", "SCHEDULED", "TASKS", "ChannelProtocol", "SendProtocol")

Value = TypeVar("Value", covariant=True)
Update = TypeVar("Update", contravariant=True)
C = TypeVar("C")


class ChannelProtocol(Protocol[Value, Update, C]):
    """What a saver may ask of a channel."""

    @property
    def ValueType(self) -> Any:
        """The type of the value it holds."""

    @property
    def UpdateType(self) -> Any:
        """The type of the updates it takes."""

    def checkpoint(self) -> C | None:
        """The form to store, or MISSING when there is nothing to store."""

    def from_checkpoint(self, checkpoint: C | None) -> Self:
        """A new channel that holds a stored value."""

    def update(self, values: Sequence[Update]) -> bool:
        """Take the writes of a superstep; true when the channel changed."""

    def get(self) -> Value:
        """The value; EmptyChannelError when there is none."""

    def consume(self) -> bool:
        """A task has read the channel; true when that changed it."""


@runtime_checkable
class SendProtocol(Protocol):
    """What is stored of a `Send`."""

    node: str
    arg: Any

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __eq__(self, value: object) -> bool: ...
