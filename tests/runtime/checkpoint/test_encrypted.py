from typing import Any

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.serde.base import SerializerCompat, maybe_add_typed_methods
from runtime.checkpoint.serde.encrypted import EncryptedSerializer
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer


class Reversing:
    """A cipher that a reader of this test can follow."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversed", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "reversed"
        return ciphertext[::-1]


def test_the_tag_names_the_cipher():
    serde = EncryptedSerializer(Reversing())
    pair = serde.dumps_typed({"a": "bc"})
    assert pair == ("msgpack+reversed", JsonPlusSerializer().dumps_typed({"a": "bc"})[1][::-1])
    assert serde.loads_typed(pair) == {"a": "bc"}


def test_plain_data_is_still_read():
    assert EncryptedSerializer(Reversing()).loads_typed(JsonPlusSerializer().dumps_typed([1])) == [1]


def test_an_allowlist_reaches_the_inner_serializer():
    serde = EncryptedSerializer(Reversing(), JsonPlusSerializer(allowed_msgpack_modules=None))
    wider = serde.with_msgpack_allowlist([("a.module", "Thing")])
    assert wider.serde is not serde.serde
    assert wider.with_msgpack_allowlist([("a.module", "Thing")]) is wider


def test_a_saver_in_memory_encrypts_every_value():
    saver = InMemorySaver(serde=EncryptedSerializer(Reversing()))
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_id": "1"}}
    saver.put_writes(config, [("a", "plain text")], "task")
    (write,) = saver.writes["t", "", "1"].values()
    assert write[2] == ("msgpack+reversed", b"txet nialp\xaa")


def test_aes_hides_the_value_and_finds_a_changed_byte():
    pytest.importorskip("Crypto")
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    tag, data = serde.dumps_typed("secret text")
    assert tag == "msgpack+aes"
    assert b"secret" not in data
    assert serde.loads_typed((tag, data)) == "secret text"
    with pytest.raises(ValueError, match="MAC check failed"):
        serde.loads_typed((tag, data[:-1] + bytes([data[-1] ^ 1])))
    with pytest.raises(ValueError, match="knows only 'aes'"):
        serde.loads_typed(("msgpack+other", data))


def test_the_environments_key_is_checked_at_once(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("Crypto")
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
    with pytest.raises(ValueError, match="no key"):
        EncryptedSerializer.from_pycryptodome_aes()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "too short")
    with pytest.raises(ValueError, match="9 bytes"):
        EncryptedSerializer.from_pycryptodome_aes()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "0123456789abcdef")
    serde = EncryptedSerializer.from_pycryptodome_aes()
    assert serde.loads_typed(serde.dumps_typed([1])) == [1]


def test_an_untyped_serializer_gets_the_typed_methods():
    class Repr:
        def dumps(self, obj: Any) -> bytes:
            return repr(obj).encode()

        def loads(self, data: bytes) -> Any:
            return data.decode()

    serde = maybe_add_typed_methods(Repr())
    assert isinstance(serde, SerializerCompat)
    assert serde.loads_typed(serde.dumps_typed([1])) == "[1]"
    assert maybe_add_typed_methods(serde) is serde
