"""The serializer of every saver, store and cache that is given no other: MessagePack, with a tag.

| tag | bytes |
|---|---|
| `null` | none: the value is None |
| `bytes`, `bytearray` | the value itself |
| `msgpack` | MessagePack with extensions; tuples come back as lists, exceptions as their `repr` |
| `json` | read only: what old checkpoints hold |
| `pickle` | written and read only with `pickle_fallback=True` |
"""

from __future__ import annotations

import copy
import json
import logging
import pickle
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, Literal, Self

from runtime.checkpoint.serde.base import SerializerProtocol
from runtime.checkpoint.serde.frames import is_table
from runtime.checkpoint.serde.packing import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_CONSTRUCTOR_SINGLE_ARG,
    EXT_DELTA_SNAPSHOT,
    EXT_METHOD_SINGLE_ARG,
    EXT_NUMPY_ARRAY,
    EXT_PYDANTIC_V1,
    EXT_PYDANTIC_V2,
    culprit,
    pack,
    reason,
)
from runtime.checkpoint.serde.revival import (
    as_it_is,
    begin,
    construct,
    is_model,
    is_plain_data,
    is_record,
    met_long,
    model,
    noted,
    record,
    reviving,
    unpack,
)
from runtime.checkpoint.serde.trust import Symbol, Trust, modern, strict_by_default, symbols, warn_not_rebuilt

__all__ = (
    "EXT_CONSTRUCTOR_KW_ARGS",
    "EXT_CONSTRUCTOR_POS_ARGS",
    "EXT_CONSTRUCTOR_SINGLE_ARG",
    "EXT_DELTA_SNAPSHOT",
    "EXT_METHOD_SINGLE_ARG",
    "EXT_NUMPY_ARRAY",
    "EXT_PYDANTIC_V1",
    "EXT_PYDANTIC_V2",
    "InvalidModuleError",
    "JsonPlusSerializer",
    "strict_by_default",
)

logger = logging.getLogger(__name__)

AllowedModules = Iterable[tuple[str, ...] | type]

_BY_ENVIRONMENT: Final[Any] = object()


class InvalidModuleError(Exception):
    """Stored JSON names a module that is on no list."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class JsonPlusSerializer(SerializerProtocol):
    """Values to tagged bytes and back.

    `allowed_msgpack_modules` says which types of a program's own are revived: True, any whose module is imported, with
    a warning for each that is on no list; an iterable of types or (module, name), these; None, none. By default it is
    True, or None where the environment variable RUNTIME_STRICT_MSGPACK is set. Types that are not revived come back as
    their data. `allowed_json_modules` says the same for old checkpoints; by default none.

    `pickle_fallback=True` pickles what has no form of its own, and values that are data frames, as LangGraph does.
    Whoever can write to the store can then run code here; use it for stores that only this program writes to.
    """

    def __init__(
        self,
        *,
        pickle_fallback: bool = False,
        allowed_json_modules: Iterable[tuple[str, ...]] | Literal[True] | None = None,
        allowed_msgpack_modules: AllowedModules | Literal[True] | None = _BY_ENVIRONMENT,
        __unpack_ext_hook__: Callable[[int, bytes], Any] | None = None,
    ) -> None:
        if allowed_msgpack_modules is _BY_ENVIRONMENT:
            allowed_msgpack_modules = None if strict_by_default() else True
        self.pickle_fallback = pickle_fallback
        self._json_trust = _trust(allowed_json_modules)
        self._trust = _trust(allowed_msgpack_modules)
        self._custom_hook = __unpack_ext_hook__ is not None
        self._hook = __unpack_ext_hook__ or reviving(self._trust)

    def with_msgpack_allowlist(self, extra_allowlist: AllowedModules) -> Self:
        """A copy of this serializer that also revives these types; itself if it does so already."""
        extra = symbols(extra_allowlist)
        if extra <= self._trust.listed:
            return self
        clone = copy.copy(self)
        clone._trust = self._trust.extended(extra)
        if not self._custom_hook:
            clone._hook = reviving(clone._trust)
        return clone

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if obj is None:
            return "null", b""
        if isinstance(obj, bytes):
            return "bytes", obj
        if isinstance(obj, bytearray):
            return "bytearray", bytes(obj)
        if self.pickle_fallback and is_table(obj):  # LangGraph has no other form for it
            return "pickle", self._pickled(obj)
        try:
            return "msgpack", pack(obj)
        except (TypeError, ValueError, RecursionError) as error:
            if self.pickle_fallback:
                return "pickle", self._pickled(obj)
            raise _not_serializable(obj, error) from error

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        tag, content = data
        if tag == "msgpack":
            begin()
            return unpack(content, self._hook)
        if tag == "null":
            return None
        if tag == "bytes":
            return content
        if tag == "bytearray":
            return bytearray(content)
        if tag == "json":
            return _loaded_json(content, self._revive_json)
        if tag == "pickle" and self.pickle_fallback:
            _warn_of_pickle()
            return pickle.loads(content)
        hint = " Pickle runs code: it is read only with pickle_fallback=True." if tag == "pickle" else ""
        raise NotImplementedError(f"Unknown serialization type: {tag!r}.{hint}")

    def _pickled(self, obj: Any) -> bytes:
        _warn_of_pickle()
        return pickle.dumps(obj)

    def _revive_json(self, value: dict[str, Any]) -> Any:
        """The object that a JSON object stands for, or the JSON object itself."""
        if value.get("lc") == 2 and value.get("type") == "constructor" and isinstance(value.get("id"), list):
            return self._revive_constructor(value)
        if value.get("lc") == 1 and "id" in value:
            return _revive_langchain(value)
        return value

    def _revive_constructor(self, value: dict[str, Any]) -> Any:
        *module, name = map(str, value["id"])
        symbol = modern((".".join(module), name))
        arguments, keywords = value.get("args") or [], value.get("kwargs") or {}
        try:
            found = self._named_in_json(symbol, value)
            if met_long():
                return as_it_is(found, keywords)
            if is_model(found):
                return model(found, keywords)
            made = is_record(found) and not arguments
            return noted(record(found, keywords) if made else construct(found, arguments, keywords))
        except InvalidModuleError as error:
            logger.warning("%s", error)
        except Exception as error:
            warn_not_rebuilt(symbol, error)
        return value

    def _named_in_json(self, symbol: Symbol, value: dict[str, Any]) -> Any:
        if symbol == ("datetime", "datetime") and value.get("method") == "fromisoformat":
            return self._json_trust.admit_method(symbol, "fromisoformat")
        found = self._json_trust.admit(symbol, is_plain_data)
        if found is None:
            raise InvalidModuleError(
                f"{'.'.join(symbol)} in a stored JSON value is on no list, so its data is given instead. Add it to "
                f"allowed_json_modules as {tuple(value['id'])} to revive it."
            )
        return found


def _trust(allowed: AllowedModules | Literal[True] | None) -> Trust:
    if allowed is True:
        return Trust(permissive=True)
    return Trust(symbols(allowed or ()), permissive=False)


def _revive_langchain(value: dict[str, Any]) -> Any:
    """The message that langchain's own form of JSON stands for. Other classes of it may take a URL or a key."""
    from langchain_core.load.load import Reviver  # noqa: PLC0415  # 0.2 s, and only checkpoints of old need it

    try:
        return Reviver(allowed_objects="messages")(value)
    except Exception as error:
        warn_not_rebuilt(("langchain", str(value["id"])), error)
        return value


def _loaded_json(content: bytes, hook: Callable[[dict[str, Any]], Any]) -> Any:
    begin()
    try:
        return json.loads(content.decode(), object_hook=hook)
    except RecursionError as error:
        raise ValueError("stored JSON is nested too deeply to be read") from error


@cache
def _warn_of_pickle() -> None:
    """Say once what it means that a program asked for pickle."""
    logger.warning(
        "A checkpoint is pickled, as pickle_fallback=True asks for: whoever can write to the store can run code here. "
        "Use it for stores that only this program writes to."
    )


_KNOWN_BY_ITS_TYPE = "Type is not msgpack serializable"


def _not_serializable(obj: Any, error: Exception) -> TypeError:
    path, part = culprit(obj)
    cls = type(part)
    where = f" at {path}" if path else ""
    module = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
    why = reason(part) if str(error).startswith(_KNOWN_BY_ITS_TYPE) else str(error)
    detail = f" ({why})" if why else ""
    return TypeError(
        f"Type is not serializable: {module}{cls.__qualname__}{where}{detail}. Turn it into plain data before it is "
        "stored, keep it out of the state, or use JsonPlusSerializer(pickle_fallback=True)."
    )
