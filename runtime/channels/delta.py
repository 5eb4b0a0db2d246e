"""A channel that a checkpoint does not store: its value is made again from the stored writes.

How to think about it. A list that grows by one item a superstep costs the square of its length when every checkpoint
holds all of it. Here a checkpoint holds none of it; the writes that each checkpoint keeps anyway are the log, and now
and then the engine stores the whole value, as a `DeltaSnapshot`, so that the log to be read stays short. Who decides
when is the engine (`snapshot_frequency` is its measure); who finds snapshot and writes is the saver.

1. `update` with a superstep's writes, and `replay_writes` with the same ones, give the same value.
2. So the reducer must be deterministic, and must not care how the writes are parted:
   `reducer(reducer(v, a), b) == reducer(v, a + b)`.
3. What stands beside a checkpoint is the log of its child, in a place for each task, whoever ran it. Two processes that
   run one superstep of a thread at the same time share that place, and what was written there first would count for
   both. So our savers keep with the child what made it of its parent, and read that. LangGraph and savers of others
   read what stands beside the parent: with these, a thread with such channels is for one process at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Self

from runtime._words import MISSING, Missing
from runtime.channels.base import Value, twin
from runtime.channels.reducing import concrete, overwritten, reducer_failed, same_reducer, sole_overwrite, zero
from runtime.channels.single import SingleValue
from runtime.channels.wording import label

__all__ = ("DeltaChannel", "DeltaSnapshot")


class DeltaSnapshot(NamedTuple):
    """The whole value of a `DeltaChannel`, where a checkpoint does hold it."""

    value: Any


class DeltaChannel(SingleValue[Value], Generic[Value]):
    """Keeps `reducer(value, writes)`, called once with all writes of a superstep; checkpoints store only the writes.

    `snapshot_frequency` is the number of updates after which a checkpoint holds the whole value. The channel is empty
    until its first write or until it is restored. An `Overwrite` replaces the value and drops the other writes.
    """

    __slots__ = ("reducer", "snapshot_frequency")

    reacts_to_silence = False

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any],
        typ: type[Value] | Any = None,
        *,
        snapshot_frequency: int = 100,
    ) -> None:
        if snapshot_frequency <= 0:
            raise ValueError(
                f"snapshot_frequency is {snapshot_frequency}, but a snapshot needs at least one update."
                " Give a whole number from 1 up; a large one makes snapshots rare."
            )
        super().__init__(list if typ is None else concrete(typ))
        self.reducer = reducer
        self.snapshot_frequency = snapshot_frequency

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeltaChannel)
            and other.snapshot_frequency == self.snapshot_frequency
            and same_reducer(other.reducer, self.reducer)
        )

    def copy(self) -> Self:
        channel = twin(self)
        channel.value = copy.copy(self.value)  # the reducer may add to it in place
        return channel

    def checkpoint(self) -> Missing:
        return MISSING

    def from_checkpoint(self, checkpoint: Value | DeltaSnapshot | Missing | None) -> Self:
        channel = twin(self)
        if checkpoint is None or isinstance(checkpoint, Missing):
            channel.value = zero(self.typ)
        elif isinstance(checkpoint, DeltaSnapshot):
            channel.value = checkpoint.value
        else:
            channel.value = checkpoint  # stored before the key became a DeltaChannel
        return channel

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        overwrite = sole_overwrite(self, values)
        self.value = self._reduced(self._held(), values) if overwrite is MISSING else self._replaced(overwrite)
        return True

    def replay_writes(self, writes: Sequence[tuple[str, str, Any]]) -> None:
        """Bring the value up to date with stored writes of this channel, oldest first.

        They may come from many supersteps; the last overwrite among them is where the value starts from.
        """
        value: Any = MISSING
        rest: list[Any] = []
        for _, _, write in writes:
            overwrite = overwritten(write)
            if overwrite is MISSING:
                rest.append(write)
            else:
                value, rest = self._replaced(overwrite), []
        if rest:
            value = self._reduced(self._held() if value is MISSING else value, rest)
        if value is not MISSING:
            self.value = value

    def _held(self) -> Any:
        value = zero(self.typ) if self.value is MISSING else self.value
        if value is MISSING:
            raise TypeError(
                f"{label(self)} has no value to start from: its type {self.typ!r} cannot be called without arguments."
                " Declare a type that can, or make the first write an Overwrite."
            )
        return value

    def _replaced(self, overwrite: Any) -> Any:
        # A copy, for the object belongs to the node that wrote it, and the reducer may add to it in place.
        return zero(self.typ) if overwrite is None else copy.copy(overwrite)

    def _reduced(self, value: Any, writes: Sequence[Any]) -> Any:
        try:
            return self.reducer(value, list(writes))
        except Exception as error:
            error.add_note(reducer_failed(self, self.reducer, value, writes))
            raise
