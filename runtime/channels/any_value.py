"""A channel for writers that are known to agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from runtime._words import MISSING
from runtime.channels.base import Value
from runtime.channels.single import SingleValue

__all__ = ("AnyValue",)


class AnyValue(SingleValue[Value], Generic[Value]):
    """Keeps the last of a superstep's writes, taking them all as equal; empty after a superstep without one."""

    __slots__ = ()
    reacts_to_silence = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyValue)

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            held = self.value is not MISSING
            self.value = MISSING
            return held
        self.value = values[-1]
        return True
