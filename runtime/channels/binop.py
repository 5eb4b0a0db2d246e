"""A channel that folds its writes into its value, one after the other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self

from runtime._words import MISSING, Missing
from runtime.channels.base import Value, twin
from runtime.channels.delta import DeltaSnapshot
from runtime.channels.reducing import concrete, reducer_failed, same_reducer, sole_overwrite, zero
from runtime.channels.single import SingleValue

__all__ = ("BinaryOperatorAggregate",)


class BinaryOperatorAggregate(SingleValue[Value], Generic[Value]):
    """Keeps `operator(value, write)` for each write in turn. An `Overwrite` replaces the value instead.

    It starts from the default that was declared, else from the type's empty value, else empty: then the first write
    is the value. A default is copied for each start, unless it cannot be copied; then it is shared.
    """

    __slots__ = ("_concrete", "_default", "_untouched", "operator")

    reacts_to_silence = False

    def __init__(
        self,
        typ: type[Value] | Any,
        operator: Callable[[Value, Value], Value],
        *,
        default: Value | Missing = MISSING,
        default_factory: Callable[[], Value] | None = None,
    ) -> None:
        if default is not MISSING and default_factory is not None:
            raise TypeError("A reducer channel takes a default or a default_factory, not both.")
        super().__init__(typ)
        self.operator = operator
        self._concrete = concrete(typ)
        self._default = default_factory or (None if isinstance(default, Missing) else _copies(default))
        self._untouched = False
        self._start()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinaryOperatorAggregate) and same_reducer(other.operator, self.operator)

    @property
    def has_default(self) -> bool:
        """Whether a default was declared."""
        return self._default is not None

    def set_default_aside(self) -> None:
        """Start from the type's empty value instead, if nothing was written yet: the input gives the key a value.

        A declared default stands in for a key that the input leaves out; it is nothing to add the input to.
        """
        if self._untouched:
            self.value = zero(self._concrete)
            self._untouched = False

    def from_checkpoint(self, checkpoint: Value | DeltaSnapshot | Missing) -> Self:
        channel = twin(self)
        if isinstance(checkpoint, Missing):
            channel._start()
        else:
            channel.value = checkpoint.value if isinstance(checkpoint, DeltaSnapshot) else checkpoint
            channel._untouched = False
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return False
        overwrite = sole_overwrite(self, values)
        self.value = self._fold(values) if overwrite is MISSING else overwrite
        self._untouched = False
        return True

    def _fold(self, writes: Sequence[Value]) -> Value:
        rest = iter(writes)
        value = next(rest) if isinstance(self.value, Missing) else self.value
        operator = self.operator
        for write in rest:
            try:
                value = operator(value, write)
            except Exception as error:
                error.add_note(reducer_failed(self, operator, value, write))
                raise
        return value

    def _start(self) -> None:
        self.value = zero(self._concrete) if self._default is None else self._default()
        self._untouched = self._default is not None


def _copies(default: Any) -> Callable[[], Any]:
    def one() -> Any:
        try:
            return copy.deepcopy(default)
        except Exception:  # a lock, a connection: shared, as a dataclass shares its defaults
            return default

    return one
