"""A channel that collects: all writes of a superstep as one list."""

from __future__ import annotations

from collections.abc import Sequence
from types import GenericAlias
from typing import Any, Generic, Self, Union

from runtime._words import Missing
from runtime.channels.base import BaseChannel, Value, twin
from runtime.channels.wording import empty
from runtime.errors import EmptyChannelError

__all__ = ("Topic",)


class Topic(BaseChannel[list[Value], Value | list[Value], list[Value]], Generic[Value]):
    """Holds what the last superstep wrote, as a list; with `accumulate`, what all supersteps wrote.

    A write that is a list counts as many writes. `get` returns a list of its own each time.
    """

    __slots__ = ("accumulate", "values")

    reacts_to_silence = True

    def __init__(self, typ: type[Value] | Any, accumulate: bool = False) -> None:
        super().__init__(typ)
        self.accumulate = accumulate
        self.values: list[Value] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topic) and other.accumulate == self.accumulate

    @property
    def ValueType(self) -> Any:
        return GenericAlias(Sequence, self.typ)

    @property
    def UpdateType(self) -> Any:
        return Union.__getitem__((self.typ, GenericAlias(list, self.typ)))  # `|` refuses a type that is a string

    def copy(self) -> Self:
        return twin(self)

    def checkpoint(self) -> list[Value]:
        return self.values

    def from_checkpoint(self, checkpoint: list[Value] | tuple[Any, list[Value]] | Missing) -> Self:
        channel = twin(self)
        if isinstance(checkpoint, Missing):
            channel.values = []
        elif isinstance(checkpoint, tuple):  # an old form: what was ever seen, and the list
            channel.values = checkpoint[1]
        else:
            channel.values = checkpoint
        return channel

    def get(self) -> list[Value]:
        if not self.values:
            raise EmptyChannelError(empty(self))
        return list(self.values)

    def is_available(self) -> bool:
        return bool(self.values)

    def update(self, values: Sequence[Value | list[Value]]) -> bool:
        new: list[Value] = []
        for value in values:
            if isinstance(value, list):
                new.extend(value)
            else:
                new.append(value)
        if self.accumulate:
            self.values = self.values + new if new else self.values
            return bool(new)
        changed = bool(self.values or new)
        self.values = new
        return changed
