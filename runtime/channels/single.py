"""What the channels share that hold one value and store it as it is."""

from __future__ import annotations

from typing import Any, Generic, Self

from runtime._words import MISSING, Missing
from runtime.channels.base import BaseChannel, Value, twin
from runtime.channels.wording import empty
from runtime.errors import EmptyChannelError


class SingleValue(BaseChannel[Value, Value, Value], Generic[Value]):
    """One value, or none. A subclass says what `update` makes of it."""

    __slots__ = ("value",)

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value: Value | Missing = MISSING

    def copy(self) -> Self:
        other: Self = self._twin(self)
        return other

    def checkpoint(self) -> Value | Missing:
        return self.value

    def from_checkpoint(self, checkpoint: Value | Missing) -> Self:
        channel = twin(self)
        channel.value = checkpoint
        return channel

    def get(self) -> Value:
        if isinstance(self.value, Missing):
            raise EmptyChannelError(empty(self))
        return self.value

    def is_available(self) -> bool:
        return self.value is not MISSING
