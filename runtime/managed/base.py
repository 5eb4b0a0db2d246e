"""Managed values: what a node may read like state, though nobody writes it and nothing stores it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import isclass
from typing import Any, Generic, Protocol, TypeGuard, TypeVar

__all__ = ("ManagedValue", "ManagedValueMapping", "ManagedValueSpec", "is_managed_value")

V = TypeVar("V")


class Scratchpad(Protocol):
    """What a managed value may ask: the superstep that runs, and the one at which the run must stop."""

    step: int
    stop: int


class ManagedValue(ABC, Generic[V]):
    """A value that the engine works out for each task. Put the class into `Annotated`, as the last item."""

    @staticmethod
    @abstractmethod
    def get(scratchpad: Scratchpad) -> V:
        """The value for the task that this scratchpad belongs to."""


ManagedValueSpec = type[ManagedValue[Any]]
ManagedValueMapping = dict[str, ManagedValueSpec]


def is_managed_value(value: Any) -> TypeGuard[ManagedValueSpec]:
    """Whether an item of an annotation is a managed value's class."""
    return isclass(value) and issubclass(value, ManagedValue)
