"""Channels that wait for several writers: the join of an edge from many nodes to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Self

from runtime._words import Missing
from runtime.channels.base import BaseChannel, Value, twin
from runtime.channels.wording import label, shown
from runtime.errors import EmptyChannelError, InvalidUpdateError

__all__ = ("NamedBarrierValue", "NamedBarrierValueAfterFinish")


class _Barrier(BaseChannel[None, Value, Any], Generic[Value]):
    """What both barriers share: the names they wait for, and those that have come."""

    __slots__ = ("names", "seen")
    reacts_to_silence = False

    def __init__(self, typ: type[Value] | Any, names: Iterable[Value]) -> None:
        super().__init__(typ)
        self.names = set(names)
        self.seen: set[Value] = set()

    def copy(self) -> Self:
        return twin(self)

    def get(self) -> None:
        if not self.is_available():
            raise EmptyChannelError(self._waits_for())

    def update(self, values: Sequence[Value]) -> bool:
        for value in values:
            if value not in self.names:
                raise InvalidUpdateError(
                    f"{label(self)} took the write {shown([value])}, but waits only for"
                    f" {shown(_sorted(self.names))}. Write one of these names."
                )
        seen = self.seen.union(values)
        changed = len(seen) > len(self.seen)
        self.seen = seen
        return changed

    def _complete(self) -> bool:
        return self.names <= self.seen  # a checkpoint of an earlier graph may know names that are gone

    def _waits_for(self) -> str:
        missing = self.names - self.seen
        if not missing:
            return f"{label(self)} is complete, but opens only when nothing else is left to run."
        return f"{label(self)} is still closed: it waits for {shown(_sorted(missing))}."


class NamedBarrierValue(_Barrier[Value], Generic[Value]):
    """Opens when each of the `names` has been written, by the same superstep or not; its value is None."""

    __slots__ = ()
    may_consume = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedBarrierValue) and other.names == self.names

    def checkpoint(self) -> set[Value]:
        return self.seen

    def from_checkpoint(self, checkpoint: Any) -> Self:
        channel = twin(self)
        channel.seen, _ = _stored(checkpoint)
        return channel

    def is_available(self) -> bool:
        return self._complete()

    def consume(self) -> bool:
        if not self._complete():
            return False
        self.seen = set()
        return True


class NamedBarrierValueAfterFinish(_Barrier[Value], Generic[Value]):
    """Opens when each of the `names` has been written and nothing else would run; its value is None."""

    __slots__ = ("finished",)
    may_finish = True
    may_consume = True

    def __init__(self, typ: type[Value] | Any, names: Iterable[Value]) -> None:
        super().__init__(typ, names)
        self.finished = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedBarrierValueAfterFinish) and other.names == self.names

    def checkpoint(self) -> tuple[set[Value], bool]:
        return self.seen, self.finished

    def from_checkpoint(self, checkpoint: Any) -> Self:
        channel = twin(self)
        channel.seen, channel.finished = _stored(checkpoint)
        return channel

    def is_available(self) -> bool:
        return self.finished and self._complete()

    def consume(self) -> bool:
        if not self.is_available():
            return False
        self.seen = set()
        self.finished = False
        return True

    def finish(self) -> bool:
        if self.finished or not self._complete():
            return False
        self.finished = True
        return True


def _stored(checkpoint: Any) -> tuple[set[Any], bool]:
    """The names and the flag of either barrier's stored form; a node may have been deferred since, or no longer be."""
    if isinstance(checkpoint, Missing):
        return set(), False
    if isinstance(checkpoint, (tuple, list)) and len(checkpoint) == 2 and isinstance(checkpoint[1], bool):
        return set(checkpoint[0]), checkpoint[1]
    return set(checkpoint), False


def _sorted(names: set[Value]) -> list[Value]:
    return sorted(names, key=str)
