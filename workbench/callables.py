"""What a node's code says about itself, read from its compiled names and never by running it.

A graph declares its nodes and edges; whether a node stops to ask a person, or a router sends, stands only in the code.
These readers find it in the names and constants of the functions. They see what is written there, in the function and
in the plain functions that it calls by name; what is decided elsewhere stays unknown, and is then not claimed.
"""

import dis
import functools
import inspect
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

_ENGINES = ("langgraph.", "runtime.")
_DEPTH = 6


class Sends(NamedTuple):
    """The nodes that a router's code sends tasks to, and those it names otherwise; `None` where it does not say."""

    to: frozenset[str] | None
    named: frozenset[str]
    only: bool


def asks(runnable: Any) -> bool:
    """True if the code, or a tool that it offers, calls `interrupt()` to ask a person."""
    return any(_mentions(function, "interrupt") for function in functions(runnable))


def jumps(runnable: Any) -> bool:
    """True if the code makes a `Command` with `goto`, so that it chooses the next node itself."""
    for function in functions(runnable):
        for code in codes(function.__code__):
            keywords = [name for one in code.co_consts if isinstance(one, tuple) for name in one]
            if "Command" in (*code.co_names, *code.co_freevars) and "goto" in keywords:
                return True
    return False


def sends(path: Any, nodes: frozenset[str]) -> Sends | None:
    """Which of `nodes` a router sends tasks to with `Send`; `None` if its code does not mention `Send`."""
    found = list(functions(path))
    only = any(_annotated_with_send_only(function) for function in found)
    targets: set[str] = set()
    named: set[str] = set()
    seen = open_ = False
    for function in found:
        for code in codes(function.__code__):
            for target in _send_targets(code):
                seen = True
                open_ = open_ or target not in nodes
                targets.add(target)
            named |= {one for one in _texts(code) if one in nodes} | ({"__end__"} if "END" in code.co_names else set())
    if not seen and not only:
        return None
    if open_ or not targets:
        return Sends(None, frozenset(named), only)
    return Sends(frozenset(targets), frozenset(named - targets), only)


def name(runnable: Any) -> str:
    """The name of the function behind a node; empty for a lambda and where there is none."""
    found = next(functions(runnable), None)
    return "" if found is None or found.__name__ == "<lambda>" else found.__name__


def functions(runnable: Any) -> Iterator[FunctionType]:
    """The Python functions behind a node: through partials, methods, wrappers, runnables, and tools on offer."""
    met: set[int] = set()
    queue = [(runnable, 0)]
    while queue:
        thing, depth = queue.pop(0)
        if id(thing) in met or depth > _DEPTH:
            continue
        met.add(id(thing))
        if isinstance(thing, FunctionType):
            yield thing
        queue.extend((one, depth + 1) for one in _within(thing))


def _within(thing: Any) -> Iterator[Any]:
    if isinstance(thing, MethodType):
        yield thing.__func__
    elif isinstance(thing, functools.partial):
        yield thing.func
    elif isinstance(thing, FunctionType):
        yield from (one for one in (getattr(thing, "__wrapped__", None),) if one is not None)
    elif not isinstance(thing, type | str | int | float):
        yield from _runnables(thing)


def _runnables(thing: Any) -> Iterator[Any]:
    for attribute in ("func", "afunc", "coroutine", "bound"):
        inner = _look(thing, attribute)
        if callable(inner) or attribute == "bound":
            yield inner
    for attribute in ("steps", "steps__", "tools_by_name"):
        inner = _look(thing, attribute)
        yield from inner.values() if isinstance(inner, Mapping) else inner if isinstance(inner, list | tuple) else ()
    called = vars(type(thing)).get("__call__")
    if isinstance(called, FunctionType) and not type(thing).__module__.startswith((*_ENGINES, "langchain_core.")):
        yield called


def _look(thing: Any, attribute: str) -> Any:
    try:
        return getattr(thing, attribute, None)
    except Exception:  # a property of a user's object may raise anything; then it tells us nothing
        return None


def _mentions(function: FunctionType, word: str, depth: int = 1) -> bool:
    if function.__module__ and function.__module__.startswith(_ENGINES):
        return False
    around = {**function.__globals__, **closure(function)}
    called = []
    for code in codes(function.__code__):
        for used in {*code.co_names, *code.co_freevars}:
            thing = around.get(used)
            if (thing is None and used == word and used in code.co_names) or _is_engines(thing, word):
                return True
            if isinstance(thing, FunctionType) and _near(thing, function):
                called.append(thing)
    return depth > 0 and any(_mentions(one, word, depth - 1) for one in called)


def _near(called: FunctionType, function: FunctionType) -> bool:
    return called.__module__ == function.__module__ and called is not function


def _is_engines(thing: Any, word: str) -> bool:
    return getattr(thing, "__name__", "") == word and str(getattr(thing, "__module__", "")).startswith(_ENGINES)


def closure(function: FunctionType) -> dict[str, Any]:
    """What the variables hold that a function has from the functions around it."""
    found = {}
    for used, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[used] = cell.cell_contents
        except ValueError:  # a cell that is still empty
            continue
    return found


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object, and those of the functions written inside it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from codes(one)


def _texts(code: CodeType) -> Iterator[str]:
    for one in code.co_consts:
        if isinstance(one, str):
            yield one
        elif isinstance(one, tuple | frozenset):
            yield from (part for part in one if isinstance(part, str))


def _send_targets(code: CodeType) -> Iterator[str]:
    """For each `Send(` in the code, the constant that follows as its first argument; "" where it is no constant."""
    waiting = False
    for step in dis.get_instructions(code):
        if waiting and step.opname.startswith("LOAD_"):
            yield step.argval if step.opname == "LOAD_CONST" and isinstance(step.argval, str) else ""
            waiting = False
        elif step.argval == "Send" and step.opname.startswith("LOAD_") and step.opname != "LOAD_CLOSURE":
            waiting = True


def _annotated_with_send_only(function: FunctionType) -> bool:
    """True for `-> Send` and for `-> list[Send]`, written as a type or as text."""
    given = inspect.get_annotations(function).get("return")
    words = given.__name__ if isinstance(given, type) and not hasattr(given, "__args__") else str(given)
    inner = words.partition("[")[2].rpartition("]")[0] or words
    return inner.strip().rpartition(".")[2] == "Send"
