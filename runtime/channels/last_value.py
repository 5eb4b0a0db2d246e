"""Channels that keep the last value: for plain state keys, and for the trigger of a deferred node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from runtime._words import MISSING, Missing
from runtime.channels.base import BaseChannel, Value, twin
from runtime.channels.single import SingleValue
from runtime.channels.wording import empty, label, shown
from runtime.errors import EmptyChannelError, ErrorCode, InvalidUpdateError, create_error_message

__all__ = ("LastValue", "LastValueAfterFinish")


class LastValue(SingleValue[Value], Generic[Value]):
    """Keeps the value last written, and takes one write in a superstep at most."""

    __slots__ = ()
    reacts_to_silence = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LastValue)

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return False
        if len(values) > 1:
            raise InvalidUpdateError(
                create_error_message(
                    message=f"{label(self)} took {len(values)} writes in one superstep, but keeps only one:"
                    f" {shown(values)}. Give it a reducer (Annotated[type, reducer]),"
                    " or let one node follow the other.",
                    error_code=ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
                )
            )
        self.value = values[0]
        return True


class LastValueAfterFinish(BaseChannel[Value, Value, tuple[Value, bool]], Generic[Value]):
    """Keeps the last value written, and shows it only when nothing else would run; read once, it is gone."""

    __slots__ = ("finished", "value")
    reacts_to_silence = False
    may_finish = True
    may_consume = True

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value: Value | Missing = MISSING
        self.finished = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LastValueAfterFinish)

    def copy(self) -> Self:
        return twin(self)

    def checkpoint(self) -> tuple[Value, bool] | Missing:
        if isinstance(self.value, Missing):
            return MISSING
        return self.value, self.finished

    def from_checkpoint(self, checkpoint: Any) -> Self:
        channel = twin(self)
        if isinstance(checkpoint, (tuple, list)) and len(checkpoint) == 2 and isinstance(checkpoint[1], bool):
            channel.value, channel.finished = checkpoint
        else:  # nothing, or a plain value, stored before the node was deferred
            channel.value, channel.finished = checkpoint, False
        return channel

    def get(self) -> Value:
        if isinstance(self.value, Missing):
            raise EmptyChannelError(empty(self))
        if not self.finished:
            raise EmptyChannelError(f"{label(self)} holds a value, but shows it only when nothing else is left to run.")
        return self.value

    def is_available(self) -> bool:
        return self.finished and self.value is not MISSING

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return False
        self.value = values[-1]
        self.finished = False
        return True

    def consume(self) -> bool:
        if not self.finished:
            return False
        self.value = MISSING
        self.finished = False
        return True

    def finish(self) -> bool:
        if self.finished or self.value is MISSING:
            return False
        self.finished = True
        return True
