"""How many supersteps the run may still take, for nodes that want to end well before the limit."""

from __future__ import annotations

from typing import Annotated

from runtime.managed.base import ManagedValue, Scratchpad

__all__ = ("IsLastStep", "IsLastStepManager", "RemainingSteps", "RemainingStepsManager")


class IsLastStepManager(ManagedValue[bool]):
    """True in the last superstep that the recursion limit allows."""

    @staticmethod
    def get(scratchpad: Scratchpad) -> bool:
        return scratchpad.step == scratchpad.stop - 1


class RemainingStepsManager(ManagedValue[int]):
    """The number of supersteps that are left, the running one included."""

    @staticmethod
    def get(scratchpad: Scratchpad) -> int:
        return scratchpad.stop - scratchpad.step


IsLastStep = Annotated[bool, IsLastStepManager]
RemainingSteps = Annotated[int, RemainingStepsManager]
