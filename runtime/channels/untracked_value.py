"""A channel whose value lives as long as the run and is never stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from runtime._words import MISSING, Missing
from runtime.channels.base import Value, twin
from runtime.channels.single import SingleValue
from runtime.channels.wording import refuse_several

__all__ = ("UntrackedValue",)


class UntrackedValue(SingleValue[Value], Generic[Value]):
    """Keeps the last value through the run; no checkpoint holds it, so a resumed run begins without it.

    With `guard` it takes one write in a superstep at most; without, it keeps the last.
    """

    __slots__ = ("guard",)
    reacts_to_silence = False

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntrackedValue) and other.guard == self.guard

    def checkpoint(self) -> Missing:
        return MISSING

    def from_checkpoint(self, checkpoint: Value | Missing) -> Self:
        channel = twin(self)
        channel.value = MISSING
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return False
        if self.guard and len(values) > 1:
            refuse_several(self, values)
        self.value = values[-1]
        return True
