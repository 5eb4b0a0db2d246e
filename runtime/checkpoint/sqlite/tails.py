"""How a list that grows is stored: each version as what it adds to an earlier one.

The versions of a growing list form a chain, numbered from 0. Number 0 is stored whole. Number k is stored as its tail
after the list numbered k with its lowest bit cleared: 5 after 4, 6 after 4, 7 after 6, 8 after 0. So a list of n
versions costs about n · log n tails to keep, and any one version is read from at most log n rows.

A chain lives in memory and begins anew with each process. It is about bytes: what it gives back are the bytes that it
took, whatever the serializer meant by them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from runtime.checkpoint.base.versions import Version

# A shorter list is not worth a chain.
MIN_BYTES: Final = 512

_HEADER_SIZES: Final = {0xDC: 3, 0xDD: 5} | dict.fromkeys(range(0x90, 0xA0), 1)
"""How many bytes say "a list of so many items" at the beginning of MessagePack, by the first of them."""


class Mark(NamedTuple):
    """A version that later ones may be stored after: its number, and the length of its body."""

    number: int
    version: Version
    size: int


class Chain(NamedTuple):
    """The last version of a growing list: its body, and the marks that the next version may be stored after."""

    body: bytes
    marks: tuple[Mark, ...]


class Piece(NamedTuple):
    """A version as it is stored: its head, the version whose body comes next, and the rest."""

    head: bytes
    base: Version | None
    rest: bytes


def split(tag: str, data: bytes) -> tuple[bytes, bytes] | None:
    """A list's header and body, where it is long enough for a chain; None for any other value."""
    cut = _HEADER_SIZES.get(data[0]) if tag == "msgpack" and len(data) >= MIN_BYTES else None
    return None if cut is None else (data[:cut], data[cut:])


def grown(chain: Chain | None, version: Version, head: bytes, body: bytes) -> tuple[Piece, Chain]:
    """The piece to store for a list, and its chain: the given one, where the list begins with that one's last."""
    if chain is None or not body.startswith(chain.body):
        return Piece(head, None, body), Chain(body, (Mark(0, version, len(body)),))
    number = chain.marks[-1].number + 1
    after = number & (number - 1)
    marks = tuple(mark for mark in chain.marks if mark.number <= after)
    base = marks[-1]
    return Piece(head, base.version, body[base.size :]), Chain(body, (*marks, Mark(number, version, len(body))))
