"""A channel that holds a value for one superstep: the trigger of every ordinary node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from runtime._words import MISSING
from runtime.channels.base import Value
from runtime.channels.single import SingleValue
from runtime.channels.wording import refuse_several

__all__ = ("EphemeralValue",)


class EphemeralValue(SingleValue[Value], Generic[Value]):
    """Keeps a value for the superstep after the write, then is empty again.

    With `guard` it takes one write in a superstep at most; without, it keeps the last.
    """

    __slots__ = ("guard",)
    reacts_to_silence = True

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EphemeralValue) and other.guard == self.guard

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            held = self.value is not MISSING
            self.value = MISSING
            return held
        if self.guard and len(values) > 1:
            refuse_several(self, values)
        self.value = values[-1]
        return True
