"""How a list that grows is stored: each version as what it adds to an earlier one.

The versions of a growing list form a chain, numbered from 0. Number 0 is stored whole. Number k is stored as its header
and its tail after the list numbered k with its lowest bit cleared: 5 after 4, 6 after 4, 7 after 6, 8 after 0. So a
list of n versions costs about n · log n tails to keep, and any one version is read from at most log n rows.

A chain lives in memory and begins anew with each process. It is about bytes: what it gives back are the bytes that it
took, whatever the serializer meant by them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from runtime.checkpoint.base.versions import Version
from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer

# A shorter list is not worth a chain.
MIN_BYTES: Final = 512

_HEADER_SIZES: Final = {0xDC: 3, 0xDD: 5} | dict.fromkeys(range(0x90, 0xA0), 1)
"""How many bytes say "a list of so many items" at the beginning of MessagePack, by the first of them."""

_ATOMS: Final = frozenset({str, bytes, int, float, bool, type(None)})

_NO_ATOMS: Final = frozenset((*range(0x80, 0xA0), *range(0xC7, 0xCA), *range(0xD4, 0xD9), *range(0xDC, 0xE0)))
"""How the MessagePack of a container, or of an object, begins."""


class Mark(NamedTuple):
    """A version that later ones may be stored after: its number, and the length of its body."""

    number: int
    version: Version
    size: int


class Chain(NamedTuple):
    """The last version of a growing list: its body, and the marks that the next version may be stored after."""

    body: memoryview
    marks: tuple[Mark, ...]


class Piece(NamedTuple):
    """A version as it is stored: the version whose body stands between its header and the rest of it, and its bytes."""

    base: Version | None
    value: bytes


def header_size(tag: str, data: bytes) -> int | None:
    """How long a list's header is, where the list is long enough for a chain; None for any other value."""
    return _HEADER_SIZES.get(data[0]) if tag == "msgpack" and len(data) >= MIN_BYTES else None


def grown(chain: Chain | None, version: Version, data: bytes, header: int) -> tuple[Piece, Chain]:
    """The piece to store for a list, and its chain: the given one, where the list begins with that one's last."""
    body = memoryview(data)[header:]
    if chain is None or not data.startswith(chain.body, header):
        return Piece(None, data), Chain(body, (Mark(0, version, len(body)),))
    number = chain.marks[-1].number + 1
    after = number & (number - 1)
    marks = tuple(mark for mark in chain.marks if mark.number <= after)
    base = marks[-1]
    piece = Piece(base.version, data[:header] + data[header + base.size :])
    return piece, Chain(body, (*marks, Mark(number, version, len(body))))


class Stored:
    """A value as it was read: its tag and bytes, and for a list's tail the list that it goes on from.

    Whoever reads several checkpoints at once shares what they have in common. The items of a list of atoms are then
    made once, for nobody can change them; any other value is made anew each time.
    """

    __slots__ = ("_items", "base", "data", "tag")

    def __init__(self, tag: str, data: bytes, base: Stored | None = None) -> None:
        self.tag = tag
        self.data = data
        self.base = base
        self._items: list[Any] | None = None

    def pair(self) -> tuple[str, bytes]:
        """What the serializer gave."""
        if self.base is None:
            return self.tag, self.data
        links = self._links()
        tails = [link.data[_header(link.data) :] for link in reversed(links)]
        return self.tag, b"".join((self.data[: _header(self.data)], *tails))

    def load(self, serde: SerializerProtocol) -> Any:
        """A new value; ValueError, TypeError or KeyError where the bytes are none."""
        items = self._atoms(serde) if self.tag == "msgpack" and type(serde) is JsonPlusSerializer else None
        return serde.loads_typed(self.pair()) if items is None else items.copy()

    def _links(self) -> list[Stored]:
        """This piece, the one that it goes on from, and so on."""
        links, link = [self], self.base
        while link is not None:
            links.append(link)
            link = link.base
        return links

    def _atoms(self, serde: SerializerProtocol) -> list[Any] | None:
        """The items, where they are all atoms."""
        links = self._links()
        whole = links[-1].data
        cut = _HEADER_SIZES.get(whole[0]) if whole else None
        if cut is None or len(whole) <= cut or whole[cut] in _NO_ATOMS:
            return None
        items: list[Any] = []
        for link in reversed(links):
            if link._items is None:
                data = link.data
                if link.base is not None:
                    cut = _header(data)
                    data = _list_header(_count(data[:cut]) - len(items)) + data[cut:]
                part = serde.loads_typed((self.tag, data))
                if not set(map(type, part)) <= _ATOMS:
                    return None
                link._items = items + part
            items = link._items
        return items


def _header(data: bytes) -> int:
    return _HEADER_SIZES[data[0]]


def _count(header: bytes) -> int:
    """How many items a list's header says."""
    return header[0] & 15 if len(header) == 1 else int.from_bytes(header[1:], "big")


def _list_header(count: int) -> bytes:
    """The header of a list of so many items."""
    return b"\xdd" + count.to_bytes(4, "big")
