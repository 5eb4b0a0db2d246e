"""Whether a node may ask a person, however deep: what must be ruled out before a loop is called endless.

`callables.asks` says that a node asks; this says that it may. The search follows the functions, methods and modules
that the code names, in whatever file they stand, but not into libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from workbench import callables

_LIMIT: Final = 1_000
_LIBRARIES: Final = ("langgraph", "runtime", "langchain_core", "langchain", *sys.stdlib_module_names)

_Place = tuple[FunctionType, type[Any] | None]  # a function, and the class of its first parameter


def may_ask(runnable: Any) -> bool:
    """True if some code that the node may reach names `interrupt`."""
    queue: list[_Place] = [(function, _owner(runnable)) for function in callables.functions(runnable)]
    met: set[FunctionType] = set()
    while queue:
        function, owner = queue.pop()
        if function in met or len(met) > _LIMIT or str(function.__module__).partition(".")[0] in _LIBRARIES:
            continue
        met.add(function)
        names = {name for code in callables.codes(function.__code__) for name in (*code.co_names, *code.co_freevars)}
        if "interrupt" in names:
            return True
        queue += _named(function, owner, names)
    return False


def _owner(runnable: Any) -> type[Any] | None:
    """The class of the object to which a node's method belongs."""
    method = getattr(runnable, "func", None) or getattr(runnable, "afunc", None) or runnable
    return type(method.__self__) if isinstance(method, MethodType) else None


def _named(function: FunctionType, owner: type[Any] | None, names: set[str]) -> Iterator[_Place]:
    """The functions that the code names: itself, as parts of modules, or as methods of objects and of its own class."""
    around = {**function.__globals__, **callables.closure(function)}
    for name in names:
        thing = around.get(name)
        if isinstance(thing, MethodType) and isinstance(thing.__func__, FunctionType):
            yield thing.__func__, type(thing.__self__)
        elif isinstance(thing, FunctionType):
            yield thing, owner
        elif isinstance(thing, ModuleType):
            yield from ((one, None) for one in _parts(vars(thing), names))
        elif thing is not None:
            yield from _methods(thing if isinstance(thing, type) else type(thing), names)
    if owner is not None:
        yield from _methods(owner, names)


def _parts(there: Mapping[str, Any], names: set[str]) -> Iterator[FunctionType]:
    yield from (one for name in names if isinstance(one := there.get(name), FunctionType))


def _methods(kind: type[Any], names: set[str]) -> Iterator[_Place]:
    if kind.__module__.partition(".")[0] not in _LIBRARIES:
        for base in kind.__mro__:
            yield from ((one, kind) for one in _parts(vars(base), {*names, "__call__"}))
