"""A serializer whose bytes are of use only to whoever has the key."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Self

from runtime.checkpoint.serde.base import CipherProtocol, SerializerProtocol, with_allowlist
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = ("EncryptedSerializer",)

_NONCE_SIZE = 16
_TAG_SIZE = 16
_KEY_SIZES = (16, 24, 32)


class EncryptedSerializer(SerializerProtocol):
    """Encrypts what another serializer writes; the tag becomes "{its tag}+{cipher}". Plain data is still read."""

    def __init__(self, cipher: CipherProtocol, serde: SerializerProtocol | None = None) -> None:
        self.cipher = cipher
        self.serde: SerializerProtocol = JsonPlusSerializer() if serde is None else serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        tag, plaintext = self.serde.dumps_typed(obj)
        cipher, ciphertext = self.cipher.encrypt(plaintext)
        return f"{tag}+{cipher}", ciphertext

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        tag, cipher_mark, cipher = data[0].partition("+")
        if not cipher_mark:
            return self.serde.loads_typed(data)
        return self.serde.loads_typed((tag, self.cipher.decrypt(cipher, data[1])))

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> Self:
        """A copy whose inner serializer also revives these types; itself, if that changes nothing."""
        inner = with_allowlist(self.serde, extra_allowlist)
        if inner is self.serde:
            return self
        clone = copy.copy(self)
        clone.serde = inner
        return clone

    @classmethod
    def from_pycryptodome_aes(cls, serde: SerializerProtocol | None = None, **kwargs: Any) -> EncryptedSerializer:
        """A serializer that encrypts by AES, with the package `pycryptodome`.

        The key has 16, 24 or 32 bytes; it is `key=` or else the environment's LANGGRAPH_AES_KEY. Other keywords go to
        `Crypto.Cipher.AES.new`; the mode is EAX unless they say another.
        """
        try:
            AES = import_module("Crypto.Cipher.AES")
        except ImportError as error:
            raise ImportError("Encryption by AES needs the package pycryptodome: pip install pycryptodome") from error

        key = kwargs.pop("key", None)
        if key is None:
            key = _key_from_environment()
        if kwargs.get("mode") is None:
            kwargs["mode"] = AES.MODE_EAX

        class AESCipher:
            """Nonce, tag and ciphertext in a row; a changed byte is found when they are read."""

            def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
                cipher = AES.new(key, **kwargs)
                ciphertext, tag = cipher.encrypt_and_digest(plaintext)
                return "aes", cipher.nonce + tag + ciphertext

            def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
                if ciphername != "aes":
                    raise ValueError(f"The data is encrypted by {ciphername!r}, and this serializer knows only 'aes'.")
                body = _NONCE_SIZE + _TAG_SIZE
                cipher = AES.new(key, **kwargs, nonce=ciphertext[:_NONCE_SIZE])
                plaintext: bytes = cipher.decrypt_and_verify(ciphertext[body:], ciphertext[_NONCE_SIZE:body])
                return plaintext

        return cls(AESCipher(), serde)


def _key_from_environment() -> bytes:
    key = os.environ.get("LANGGRAPH_AES_KEY", "").encode()
    if not key:
        raise ValueError("There is no key to encrypt by: give key=…, or set the environment's LANGGRAPH_AES_KEY.")
    if len(key) not in _KEY_SIZES:
        raise ValueError(f"LANGGRAPH_AES_KEY has {len(key)} bytes, but AES takes a key of 16, 24 or 32.")
    return key
