"""How a value rests in memory: frozen once, by its kind, so that no live object can change what is stored.

1. An atom (text, bytes, number, bool, None) is immutable: it is kept as it is.
2. A list of atoms is kept as a length of a buffer. When the next value is that list with a tail, the tail is added to
   the buffer; so a log that grows by a line a superstep costs a line, and not itself, each time.
3. Any other value is serialised. The bytes of a long list share a buffer in the same way. Its items are serialised
   anew each time, for a node may have changed one in place.

Rules 1 and 2 give what a `JsonPlusSerializer` would give back. For any other serializer every value goes through it.
"""

from __future__ import annotations

import threading
from operator import is_
from typing import Any, Final

from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer

Blob = Any
"""An atom, an `AtomList`, a `PackedList`, or the (tag, bytes) of a serializer."""

_ATOMS: Final = frozenset({str, bytes, int, float, bool, type(None)})

# Equality of these is identity; of numbers it is not, for 1 == 1.0 == True.
_TEXT: Final = frozenset({str, bytes, type(None)})

# A shorter list is not worth a buffer of its own.
_MIN_SHARED_BYTES: Final = 512

_growing = threading.Lock()


class AtomList:
    """The first `size` items of a buffer that only grows."""

    __slots__ = ("_buffer", "_size", "_textual")

    def __init__(self, buffer: list[Any], *, textual: bool) -> None:
        self._buffer = buffer
        self._size = len(buffer)
        self._textual = textual

    def value(self) -> list[Any]:
        """A new list of the items."""
        return self._buffer[: self._size]

    def grown(self, value: list[Any]) -> AtomList | None:
        """A list of atoms that begins with this one, in the same buffer; None when it does not, or is no such list."""
        size = self._size
        tail = value[size:]
        kinds = set(map(type, tail))
        if not kinds <= _ATOMS or not self._begins(value):
            return None
        with _growing:
            if len(self._buffer) != size:  # another branch of the thread has gone on from here
                return None
            self._buffer.extend(tail)
            return AtomList(self._buffer, textual=self._textual and kinds <= _TEXT)

    def _begins(self, value: list[Any]) -> bool:
        size, buffer = self._size, self._buffer
        if len(value) < size:
            return False
        # Both compare pointers first, so an unchanged beginning costs next to nothing.
        return value[:size] == buffer[:size] if self._textual else all(map(is_, buffer[:size], value))


class PackedList:
    """A list's MessagePack: its own header, and the first `size` bytes of a buffer that only grows."""

    __slots__ = ("_buffer", "_header", "_size")

    def __init__(self, header: bytes, buffer: bytearray) -> None:
        self._header = header
        self._buffer = buffer
        self._size = len(buffer)

    def pair(self) -> tuple[str, bytes]:
        """What the serializer gave."""
        return "msgpack", self._header + self._buffer[: self._size]

    @classmethod
    def of(cls, data: bytes, previous: Blob) -> PackedList:
        """A list's MessagePack, in the buffer of the previous one if it begins with that."""
        cut = _header_size(data)
        header, body = data[:cut], data[cut:]
        if isinstance(previous, PackedList):
            size = previous._size
            with _growing:
                if len(previous._buffer) == size and body[:size] == previous._buffer:
                    previous._buffer += body[size:]
                    return PackedList(header, previous._buffer)
        return cls(header, bytearray(body))


def freeze(value: Any, serde: SerializerProtocol, previous: Blob = None) -> Blob:
    """The value, at rest. `previous` is the blob of the value that it follows, if there was one."""
    cls = type(value)
    if type(serde) is not JsonPlusSerializer:
        return serde.dumps_typed(value)
    if cls in _ATOMS:
        return value
    if cls is not list:
        return serde.dumps_typed(value)
    if value and type(value[0]) in _ATOMS:
        atoms = _atom_list(value, previous)
        if atoms is not None:
            return atoms
    pair = serde.dumps_typed(value)
    if pair[0] == "msgpack" and len(pair[1]) >= _MIN_SHARED_BYTES:
        return PackedList.of(pair[1], previous)
    return pair


def thaw(blob: Blob, serde: SerializerProtocol) -> Any:
    """A new value, equal to the one that was frozen; atoms are shared."""
    cls = type(blob)
    if cls is tuple:
        return serde.loads_typed(blob)
    if cls is AtomList:
        return blob.value()
    if cls is PackedList:
        return serde.loads_typed(blob.pair())
    return blob


def _atom_list(value: list[Any], previous: Blob) -> AtomList | None:
    if type(previous) is AtomList:
        grown = previous.grown(value)
        if grown is not None:
            return grown
    kinds = set(map(type, value))
    return AtomList(value.copy(), textual=kinds <= _TEXT) if kinds <= _ATOMS else None


def _header_size(data: bytes) -> int:
    """How many bytes say "a list of so many items" at the beginning of a list's MessagePack."""
    return {0xDC: 3, 0xDD: 5}.get(data[0], 1)
