"""The serializer's port, and adapters to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

__all__ = (
    "CipherProtocol",
    "SerializerCompat",
    "SerializerProtocol",
    "UntypedSerializerProtocol",
    "maybe_add_typed_methods",
)


class UntypedSerializerProtocol(Protocol):
    """A serializer that gives bytes alone: the `dumps` and `loads` of pickle, json and others."""

    def dumps(self, obj: Any) -> bytes:
        """The object as bytes."""

    def loads(self, data: bytes) -> Any:
        """The object that the bytes say."""


@runtime_checkable
class SerializerProtocol(Protocol):
    """A serializer that gives a tag with the bytes, so that the reader knows what they are."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The object as (tag, bytes). TypeError names what can't be serialised."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The object that (tag, bytes) say. NotImplementedError for a tag that is not known."""


class SerializerCompat(SerializerProtocol):
    """An untyped serializer as a typed one; the tag is the name of each object's class, and is not looked at again."""

    def __init__(self, serde: UntypedSerializerProtocol) -> None:
        self.serde = serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return type(obj).__name__, self.serde.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self.serde.loads(data[1])


def maybe_add_typed_methods(serde: SerializerProtocol | UntypedSerializerProtocol) -> SerializerProtocol:
    """The serializer itself if it is typed, else an adapter around it."""
    if isinstance(serde, SerializerProtocol):
        return serde
    return SerializerCompat(serde)


def with_allowlist(serde: SerializerProtocol, extra: Iterable[tuple[str, ...] | type]) -> SerializerProtocol:
    """The serializer that also revives these types; the same one where it keeps no list, or has them on it."""
    extend = getattr(serde, "with_msgpack_allowlist", None)
    if extend is None:
        return serde
    extended: SerializerProtocol = extend(extra)
    return extended


class CipherProtocol(Protocol):
    """Encrypts bytes, and says with which cipher."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """The cipher's name and the ciphertext."""

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """The plaintext. ValueError when the cipher is another, or the ciphertext was changed."""
