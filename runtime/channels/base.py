"""What every channel can do: take a superstep's writes, be read, be stored and be copied.

How to think about it. A channel is one named place of the state. During a superstep nobody writes to it; at the
barrier `update` gets all writes of the superstep at once, in task path order, and decides what becomes of them.

What the channels of this package keep true:

1. `update` takes all of its writes or raises and changes nothing.
2. It never changes a value in place, nor a list or set that the channel keeps: it puts a new one there. So a copy may
   share them all, and the channel of an earlier superstep stays what it was.
3. `MISSING` means empty. `None` is a value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import MemberDescriptorType
from typing import Any, ClassVar, Generic, Self, TypeVar

from runtime._words import MISSING, Missing
from runtime.errors import EmptyChannelError

__all__ = ("MISSING", "BaseChannel")

Value = TypeVar("Value")
Update = TypeVar("Update")
Checkpoint = TypeVar("Checkpoint")
Channel = TypeVar("Channel", bound="BaseChannel[Any, Any, Any]")

_TRAITS = (("update", "reacts_to_silence"), ("finish", "may_finish"), ("consume", "may_consume"))


class BaseChannel(ABC, Generic[Value, Update, Checkpoint]):
    """A named place of the state. A subclass says what its writes make of its value.

    The three class attributes tell the engine which channels it may pass over. A subclass that brings its own
    `update`, `finish` or `consume` and does not speak of the attribute gets True for it: it is asked every time.
    """

    __slots__ = ("key", "typ")

    reacts_to_silence: ClassVar[bool] = True
    """Whether `update([])` may change the channel."""
    may_finish: ClassVar[bool] = False
    """Whether `finish()` may change the channel."""
    may_consume: ClassVar[bool] = False
    """Whether `consume()` may change the channel."""
    _twin: ClassVar[Any]

    def __init__(self, typ: Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._twin = staticmethod(_twin_maker(cls))
        for method, trait in _TRAITS:
            speaks = next(base for base in cls.__mro__ if method in vars(base) or trait in vars(base))
            if trait not in vars(speaks):
                setattr(cls, trait, True)

    @property
    def ValueType(self) -> Any:
        """The type of what `get` returns."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of one write."""
        return self.typ

    def copy(self) -> Self:
        """A channel with the same value, which can be updated apart from this one."""
        return self.from_checkpoint(self.checkpoint())

    def checkpoint(self) -> Checkpoint | Missing:
        """What a checkpoint stores of the channel, or `MISSING` for nothing."""
        try:
            value: Any = self.get()
        except EmptyChannelError:
            return MISSING
        stored: Checkpoint = value
        return stored

    @abstractmethod
    def from_checkpoint(self, checkpoint: Checkpoint | Missing) -> Self:
        """A new channel of the same make, with what a checkpoint stored; empty for `MISSING`."""

    @abstractmethod
    def get(self) -> Value:
        """The value. Raises `EmptyChannelError` when there is none."""

    def is_available(self) -> bool:
        """Whether `get` would return a value."""
        try:
            self.get()
        except EmptyChannelError:
            return False
        return True

    @abstractmethod
    def update(self, values: Sequence[Update]) -> bool:
        """Take the writes of one superstep, none included; True when the channel changed.

        Raises `InvalidUpdateError` when they do not fit.
        """

    def consume(self) -> bool:
        """A task that this channel triggered has been planned and is done; True when that changed the channel."""
        return False

    def finish(self) -> bool:
        """Nothing else would run any more; True when that changed the channel."""
        return False


def twin(channel: Channel) -> Channel:
    """A second channel with the same attributes, made without its constructor; the attributes' values are shared."""
    other: Channel = channel._twin(channel)
    return other


def _twin_maker(kind: type[BaseChannel[Any, Any, Any]]) -> Callable[[Any], Any]:
    """A function that copies the attributes of a channel of this class, written out: every barrier copies some."""
    slots = [n for base in kind.__mro__ for n, item in vars(base).items() if isinstance(item, MemberDescriptorType)]
    lines = ["def twin_of(channel):", "    other = new(kind)", *(f"    other.{n} = channel.{n}" for n in slots)]
    if kind.__dictoffset__:
        lines.append("    other.__dict__.update(channel.__dict__)")
    namespace: dict[str, Any] = {"new": object.__new__, "kind": kind}
    exec("\n".join([*lines, "    return other"]), namespace)
    twin_of: Callable[[Any], Any] = namespace["twin_of"]
    return twin_of
