"""Graphs inside of graphs: which ones a node runs, as far as that can be seen without running it.

A node may be a graph; a sequence or binding may hold one; and a function may name one. For a function its code is read,
not its text: every name that it loads, and the attributes taken from there, are looked up in the function's closure,
globals and defaults. No user code runs for it. So what a property or a subscript would give stays unseen; and so do, as
in LangGraph, an instance's attributes and the globals that a function inside the function names.
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MemberDescriptorType, MethodType
from typing import TYPE_CHECKING, Any, TypeGuard

from langchain_core.runnables.base import Runnable

from runtime._words import MISSING, NS_SEP

if TYPE_CHECKING:
    from runtime.pregel.main import Pregel
    from runtime.pregel.protocol import PregelProtocol

__all__ = ("graphs_in", "is_graph", "subgraphs_of")

# Attributes of langchain-core's runnables that hold what they are made of.
_PARTS = (
    "first", "middle", "last", "steps__", "bound", "mapper", "runnable", "fallbacks", "branches", "default", "func",
    "afunc",
)  # fmt: skip
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_SILENT = ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP", "RESUME", "COPY_FREE_VARS", "NOT_TAKEN")


def is_graph(thing: Any) -> TypeGuard[Pregel[Any, Any, Any, Any]]:
    """Whether this is a graph: a Runnable with nodes and states of its own."""
    return isinstance(thing, Runnable) and hasattr(type(thing), "get_subgraphs")


def graphs_in(runnable: Any) -> list[Runnable[Any, Any]]:
    """The graphs that a node's runnable runs, in the order in which they are met; empty when none is seen."""
    found: dict[int, Any] = {}
    _look_into(runnable, found, set())
    return list(found.values())


def subgraphs_of(
    graph: Pregel[Any, Any, Any, Any], namespace: str | None = None, recurse: bool = False
) -> Iterator[tuple[str, PregelProtocol[Any, Any, Any, Any]]]:
    """Each node's first graph, by the node's name; with `recurse`, those inside of it too, the names joined by "|".

    With a `namespace`, exactly the graph of that name. A graph that never saves (`checkpointer=False`) is left out.
    """
    wanted, _, rest = (namespace or "").partition(NS_SEP)
    for name, node in graph.nodes.items():
        if namespace is not None and name != wanted:
            continue
        inner = next((found for found in node.subgraphs if getattr(found, "checkpointer", None) is not False), None)
        if not is_graph(inner):
            continue
        if not rest:
            yield name, inner
        if recurse and (rest or namespace is None):
            for below, found in inner.get_subgraphs(namespace=rest or None, recurse=True):
                yield f"{name}{NS_SEP}{below}", found


# -- looking into things ----------------------------------------------------------------------------------------------


def _look_into(thing: Any, found: dict[int, Any], seen: set[int]) -> None:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if is_graph(thing):
        found[id(thing)] = thing
    elif isinstance(thing, Runnable):
        for part in _parts_of(thing):
            _look_into(part, found, seen)
    else:
        for value in _named_by(thing, {}):
            owner = value.__self__ if isinstance(value, MethodType) else value
            if isinstance(owner, Runnable):
                _look_into(owner, found, seen)


def _parts_of(runnable: Runnable[Any, Any]) -> Iterator[Any]:
    for name in _PARTS:
        part = _static(runnable, name)
        if isinstance(part, Mapping):
            yield from part.values()
        elif isinstance(part, (list, tuple)):
            for item in part:
                yield from item if isinstance(item, tuple) else (item,)
        elif part is not MISSING and part is not None:
            yield part


def _named_by(thing: Any, given: Mapping[str, Any]) -> Iterator[Any]:
    """What the code of a function, method, partial or callable object names. `given` are known arguments."""
    if isinstance(thing, functools.partial):
        yield from thing.args
        yield from thing.keywords.values()
        yield from _named_by(thing.func, {**_bound(thing.func, thing.args), **thing.keywords})
    elif isinstance(thing, MethodType):
        yield from _named_by(thing.__func__, given)
    elif isinstance(thing, FunctionType):
        cells = _cells(thing)
        yield from _loads(thing.__code__, thing.__globals__, {**_defaults(thing), **cells, **given})
        yield from cells.values()  # the compiler drops code that cannot be reached, but not its names
        yield from _named_by(getattr(thing, "__wrapped__", None), given)
    elif isinstance(method := getattr(type(thing), "__call__", None), FunctionType):  # noqa: B004 - the method is read
        yield from _named_by(method, given)


def _loads(code: CodeType, globals: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[Any]:
    """The values of the names that the code loads, and of the attributes that it takes from them, in its order."""
    value: Any = MISSING
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            inline = step.argval.co_name.startswith("<")  # a lambda or a comprehension
            yield from _loads(step.argval, globals if inline else {}, known)
        if step.opname in _SILENT:
            continue
        if step.opname in _ATTRIBUTES:
            value = MISSING if value is MISSING or is_graph(value) else _static(value, step.argval)
        elif step.opname in _NAMES or step.opname.startswith("LOAD_FAST"):
            name = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
            value = known.get(name, MISSING)
            if value is MISSING and step.opname in _NAMES:
                value = globals.get(name, MISSING)
        else:
            value = MISSING
        if value is not MISSING:
            yield value


def _bound(function: Any, arguments: Iterable[Any]) -> dict[str, Any]:
    """The first parameters of a function, with these arguments."""
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return dict(zip(names, arguments, strict=False))


def _defaults(function: FunctionType) -> dict[str, Any]:
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}


def _cells(function: FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _static(owner: Any, name: str) -> Any:
    """An attribute, without running a property or a `__getattr__`; MISSING where it takes one of those."""
    try:
        value = inspect.getattr_static(owner, name)
    except AttributeError:
        return MISSING
    if isinstance(value, MemberDescriptorType):
        return getattr(owner, name, MISSING)
    return MISSING if isinstance(value, (property, functools.cached_property)) else value
