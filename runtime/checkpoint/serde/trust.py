"""Which types stored bytes may name.

Whoever can write to the store can write any name there. So a name is turned into a type by one of three ways only:

1. It is on the built-in list: values of the standard library, messages, and the runtime's own. Such a module may be
   imported, for the name was ours before the bytes said it.
2. The program put it on its allowlist. It may be imported too, for the same reason.
3. In permissive mode (the default): its module is **already imported**, and the type is of a sort that this serializer
   writes: an enum, a dataclass, a named tuple, a pydantic model. `subprocess.Popen` is none of these.

Everything else comes back as plain data.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from runtime.checkpoint.serde.event_hooks import emit_serde_event

logger = logging.getLogger(__name__)

Symbol = tuple[str, str]
"""A module and a name in it (with dots, where a class is nested in another)."""

_BUILT_IN: Final[dict[str, str]] = {
    "builtins": "complex dict frozenset int range set slice",
    "collections": "deque",
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "ipaddress": "IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    "re": "compile",
    "uuid": "UUID",
    "zoneinfo": "ZoneInfo",
    "pandas": "Timedelta Timestamp",
    "pydantic.types": "SecretBytes SecretStr",
    "pydantic.v1.types": "SecretBytes SecretStr",
    "langchain_core.documents.base": "Document",
    "langchain_core.messages.ai": "AIMessage AIMessageChunk",
    "langchain_core.messages.base": "BaseMessage BaseMessageChunk",
    "langchain_core.messages.chat": "ChatMessage ChatMessageChunk",
    "langchain_core.messages.function": "FunctionMessage FunctionMessageChunk",
    "langchain_core.messages.human": "HumanMessage HumanMessageChunk",
    "langchain_core.messages.modifier": "RemoveMessage",
    "langchain_core.messages.system": "SystemMessage SystemMessageChunk",
    "langchain_core.messages.tool": "ToolMessage ToolMessageChunk",
    "runtime.checkpoint.serde.frames": "made",
    "runtime.types": "Command Interrupt Overwrite PregelTask Send StateSnapshot TimeoutPolicy",
    "runtime.store.base": "GetOp Item SearchItem",
}
BUILT_IN: Final[frozenset[Symbol]] = frozenset(
    (module, name) for module, names in _BUILT_IN.items() for name in names.split()
)

_METHOD: Final = ("datetime", "datetime", "fromisoformat")
"""The one method that stored bytes may ask for."""

_TRUE_WORDS: Final = frozenset({"1", "true", "yes"})

_found: dict[Symbol, Any] = {}
_warned: set[tuple[str, str, str]] = set()


def strict_by_default() -> bool:
    """Whether the environment asks serializers to revive listed types only."""
    word = os.environ.get("RUNTIME_STRICT_MSGPACK") or os.environ.get("LANGGRAPH_STRICT_MSGPACK", "")
    return word.lower() in _TRUE_WORDS


def type_name(cls: type) -> str:
    """The name to store for a class: with dots where it is nested in another class."""
    return cls.__name__ if "<locals>" in cls.__qualname__ else cls.__qualname__


def stored_name(cls: type) -> Symbol:
    """The symbol to store for a class. The runtime's own have LangGraph's, so that either reads the other."""
    symbol = cls.__module__, type_name(cls)
    own = symbol in BUILT_IN and symbol[0].startswith("runtime.")
    return ("langgraph" + symbol[0].removeprefix("runtime"), symbol[1]) if own else symbol


def symbols(entries: Iterable[tuple[str, ...] | type]) -> frozenset[Symbol]:
    """An allowlist, whose entries are types, (module, name), or a path in parts such as (package, module, name)."""
    return frozenset(
        modern((entry.__module__, type_name(entry)))
        if isinstance(entry, type)
        else modern((".".join(entry[:-1]), entry[-1]))
        for entry in entries
    )


def modern(symbol: Symbol) -> Symbol:
    """The symbol under our own name when it was written by LangGraph."""
    module, name = symbol
    return ("runtime" + module.removeprefix("langgraph"), name) if module.startswith("langgraph.") else symbol


class Trust:
    """The rule by which one serializer revives types."""

    __slots__ = ("listed", "permissive")

    def __init__(self, listed: Iterable[Symbol] = (), *, permissive: bool) -> None:
        self.listed = frozenset(listed)
        self.permissive = permissive

    def extended(self, extra: frozenset[Symbol]) -> Trust:
        """The same rule with a longer list."""
        return Trust(self.listed | extra, permissive=self.permissive)

    def admit(self, symbol: Symbol, fits: Callable[[Any], bool]) -> Any | None:
        """What the symbol names, if it may be revived, else None. `fits` says if a type is of the sort expected."""
        symbol = modern(symbol)
        if symbol in _found:
            return _found[symbol]
        if symbol in BUILT_IN:
            found = _imported(symbol)
            if found is not None:
                _found[symbol] = found
            return found
        if symbol in self.listed:
            return _imported(symbol)
        if self.permissive:
            found = _loaded(symbol)
            if found is not None and fits(found):
                _tell_unregistered(symbol)
                return found
        _tell_blocked(symbol, self.permissive)
        return None

    def admit_method(self, symbol: Symbol, method: str) -> Callable[[Any], Any] | None:
        """The bound method that the bytes ask for, if it is the one that is allowed, else None."""
        if (*symbol, method) == _METHOD:
            found: Callable[[Any], Any] = getattr(_imported(symbol), method)
            return found
        module, name = symbol
        emit_serde_event({"kind": "msgpack_method_blocked", "module": module, "name": name, "method": method})
        _warn_once(
            symbol,
            "method",
            f"Blocked deserialization of method call {module}.{name}.{method}: stored bytes may call no method but "
            "datetime.datetime.fromisoformat. The argument is given instead.",
        )
        return None


def warn_not_rebuilt(symbol: Symbol, error: Exception) -> None:
    """Say, once for each type, that a stored value does not fit its class any more."""
    module, name = symbol
    _warn_once(
        symbol,
        "rebuild",
        f"Could not reconstruct {module}.{name} from a checkpoint ({type(error).__name__}: {error}). Its data is given "
        "instead. Has the class changed since the checkpoint was saved?",
    )


def _imported(symbol: Symbol) -> Any | None:
    """The symbol, whose module is imported if need be: only for names that did not come from the bytes."""
    module, _ = symbol
    if module not in sys.modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            warn_not_rebuilt(symbol, error)
            return None
    return _loaded(symbol)


def _loaded(symbol: Symbol) -> Any | None:
    """The symbol, if its module is imported already.

    Namespaces are read as plain dicts: a module's `__getattr__` may import another module.
    """
    module, name = symbol
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        if found is None:
            return None
        found = vars(found).get(part) if isinstance(found, type) or found is sys.modules.get(module) else None
    return found


def _tell_unregistered(symbol: Symbol) -> None:
    module, name = symbol
    emit_serde_event({"kind": "msgpack_unregistered_allowed", "module": module, "name": name})
    _warn_once(
        symbol,
        "unregistered",
        f"Deserializing unregistered type {module}.{name} from a checkpoint, because its module is imported. Add "
        f"('{module}', '{name}') to allowed_msgpack_modules to say that this is meant, or set "
        "RUNTIME_STRICT_MSGPACK=true to revive listed types only.",
    )


def _tell_blocked(symbol: Symbol, permissive: bool) -> None:
    module, name = symbol
    emit_serde_event({"kind": "msgpack_blocked", "module": module, "name": name})
    why = (
        "its module is not imported, or it is no enum, dataclass, named tuple or pydantic model"
        if permissive
        else "it is not in allowed_msgpack_modules"
    )
    _warn_once(
        symbol,
        "blocked",
        f"Blocked deserialization of {module}.{name}: {why}. Its data is given instead. Add ('{module}', '{name}') to "
        "allowed_msgpack_modules to revive it.",
    )


def _warn_once(symbol: Symbol, kind: str, message: str) -> None:
    if (kind, *symbol) not in _warned:
        _warned.add((kind, *symbol))
        logger.warning(message)
