"""A user's function as something that can be called in either colour, with what it asks for by parameter name.

Signatures are read once, when a node is declared; a call then costs what the function costs.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args, get_origin
from weakref import WeakKeyDictionary

from langchain_core.runnables.base import (
    Runnable,
    RunnableBindingBase,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
)

from runtime._annotations import signature
from runtime._words import CONF, CONFIG_KEY_NODE_ERROR, CONFIG_KEY_RUNTIME, MISSING
from runtime._workers import in_thread
from runtime.runtime import DEFAULT_RUNTIME, Runtime

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("RunnableCallable", "RunnableLike", "coerce_to_runnable", "is_async_callable", "wanted")

RunnableLike = Any
"""What can be a node: a function of either colour, a callable object, a Runnable, or a dict of those."""

# Parameter name -> annotations (as types or their names) under which it is filled in. None means any annotation.
_INJECTED: dict[str, frozenset[str] | None] = {
    "config": frozenset({"RunnableConfig", "Optional[RunnableConfig]", "RunnableConfig | None"}),
    "writer": frozenset({"StreamWriter"}),
    "store": frozenset({"BaseStore", "Optional[BaseStore]", "BaseStore | None"}),
    "previous": None,
    "runtime": None,
    "error": frozenset({"NodeError", "Optional[NodeError]", "NodeError | None"}),
}


def is_async_callable(func: Any) -> bool:
    """True for a coroutine function, also as a partial, a bound method or a callable object."""
    return inspect.iscoroutinefunction(func) or (
        not inspect.isfunction(func) and inspect.iscoroutinefunction(getattr(func, "__call__", None))  # noqa: B004 - the method itself is looked at
    )


def can_be_stopped(runnable: Any) -> bool:
    """True when a timeout can stop it: when nothing that it is known to be made of is a function that is only sync."""
    if isinstance(runnable, RunnableBindingBase):
        return can_be_stopped(runnable.bound)
    if isinstance(runnable, RunnableSequence):
        return all(can_be_stopped(step) for step in runnable.steps)
    if isinstance(runnable, RunnableParallel):
        return all(can_be_stopped(step) for step in runnable.steps__.values())
    if isinstance(runnable, (RunnableLambda, RunnableCallable)):
        return getattr(runnable, "afunc", None) is not None
    return True


def cannot_be_stopped(what: str) -> str:
    """What to say of a sync function with a timeout."""
    return (
        f"{what} has a timeout, which is only supported for async nodes, tasks and entrypoints: "
        "a sync function cannot be stopped. Make it async, or leave the timeout out."
    )


def _annotation_text(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation.strip().strip("'\"")
    if annotation == _STREAM_WRITER:
        return "StreamWriter"
    if get_origin(annotation) is not None:
        names = [_annotation_text(arg) for arg in get_args(annotation) if arg is not type(None)]
        optional = type(None) in get_args(annotation)
        return f"Optional[{names[0]}]" if optional and len(names) == 1 else str(annotation)
    return str(getattr(annotation, "__name__", annotation))


_STREAM_WRITER = Callable[[Any], None]


class Traits(NamedTuple):
    """What a function's signature says: whether it is async or a generator, and what it wants filled in."""

    asynchronous: bool
    generator: bool
    wants: tuple[tuple[str, bool], ...]


_traits: WeakKeyDictionary[Any, Traits] = WeakKeyDictionary()


def traits_of(func: Any) -> Traits:
    """The traits of a function, read once for each function."""
    try:
        known = _traits.get(func)
    except TypeError:  # it cannot be hashed, or not be held weakly
        return _read_traits(func)
    if known is None:
        known = _read_traits(func)
        with suppress(TypeError):
            _traits[func] = known
    return known


def _read_traits(func: Any) -> Traits:
    generator = inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func)
    return Traits(is_async_callable(func), generator, wanted(func))


def wanted(func: Any) -> tuple[tuple[str, bool], ...]:
    """The parameters of `func` that the engine fills in, and whether each may stay out.

    A parameter counts by its name, when it can be passed by keyword and its annotation is the expected one or none;
    the first parameter is the node's input and never counts. A `config` of another type is left alone, with a warning.
    """
    try:
        parameters = list(signature(func).parameters.values())
    except (TypeError, ValueError):
        return ()
    found = []
    for index, parameter in enumerate(parameters):
        if parameter.name not in _INJECTED:
            continue
        by_keyword = parameter.kind is parameter.KEYWORD_ONLY
        if not by_keyword and (index == 0 or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD):
            continue
        known = _INJECTED[parameter.name]
        text = "" if parameter.annotation is parameter.empty else _annotation_text(parameter.annotation)
        if known is not None and text and text not in known and text.rpartition(".")[2] not in known:
            if parameter.name == "config":
                _warn_of_config(func, text)
            continue
        optional = parameter.default is not parameter.empty or text.startswith("Optional[") or text.endswith("| None")
        found.append((parameter.name, optional))
    return tuple(found)


def _warn_of_config(func: Any, text: str) -> None:
    warnings.warn(
        f"The parameter 'config' of '{name_of(func)}' is annotated with {text}, so it is not filled in. "
        "Annotate it with RunnableConfig or Optional[RunnableConfig] to be given the run's config.",
        UserWarning,
        stacklevel=5,
    )


_PLAIN = frozenset({dict, list, tuple, str, int, bool, type(None)})
"""What functions mostly answer. To ask an abstract class whether it is a Runnable costs as much as a small node."""


class RunnableCallable(Runnable[Any, Any]):
    """A function of one input as a Runnable, in one colour or both.

    `func` and `afunc` are the two colours; one of them may be None. What `func` asks for by name (`config`, `writer`,
    `store`, `previous`, `runtime`, `error`) is filled in from the running task. A Runnable that the function returns
    is run on the same input, unless `recurse` is False. Keyword arguments beyond the named ones are always passed on.
    """

    def __init__(
        self,
        func: Callable[..., Any] | None,
        afunc: Callable[..., Awaitable[Any]] | None = None,
        *,
        name: str | None = None,
        tags: list[str] | None = None,
        trace: bool = True,
        recurse: bool = True,
        **kwargs: Any,
    ) -> None:
        if func is None and afunc is None:
            raise ValueError("A RunnableCallable needs a function. Pass func, or afunc, or both.")
        traits = traits_of(afunc if func is None else func)
        if afunc is None and traits.asynchronous:
            func, afunc = None, func
        self.func = func
        self.afunc = afunc
        self.tags = tags
        self.trace = trace
        self.recurse = recurse
        self.kwargs = kwargs
        self.name = name or name_of(func or afunc)
        self.wants = tuple(item for item in traits.wants if item[0] not in kwargs) if kwargs else traits.wants

    def __repr__(self) -> str:
        return f"RunnableCallable({self.name})"

    def arguments(self, config: RunnableConfig) -> dict[str, Any]:
        """What the function asked for by name. ValueError when something it cannot do without is not there."""
        filled = dict(self.kwargs)
        runtime = config.get(CONF, {}).get(CONFIG_KEY_RUNTIME) or DEFAULT_RUNTIME
        for name, optional in self.wants:
            value = self._argument(name, config, runtime)
            if value is MISSING:
                if not optional:
                    raise ValueError(
                        f"'{self.name}' asks for '{name}', which is not there. "
                        f"Run it in a graph that has one, or give the parameter a default."
                    )
                continue
            filled[name] = value
        return filled

    def _argument(self, name: str, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        if name == "config":
            return config
        if name == "runtime":
            return runtime
        if name == "writer":
            return runtime.stream_writer
        if name == "store":
            return MISSING if runtime.store is None else runtime.store
        if name == "previous":
            return runtime.previous
        return config.get(CONF, {}).get(CONFIG_KEY_NODE_ERROR)

    def call(self, input: Any, config: RunnableConfig) -> Any:
        """The function's answer, in the caller's own context. TypeError for a function that is only async."""
        if self.func is None:
            raise TypeError(
                f"'{self.name}' is async and was called by a sync run. Use the async call: ainvoke, astream or abatch."
            )
        answer = self.func(input, **self.arguments(config)) if self.wants or self.kwargs else self.func(input)
        if self.recurse and type(answer) not in _PLAIN and isinstance(answer, Runnable):
            return answer.invoke(input, config)
        return answer

    async def acall(self, input: Any, config: RunnableConfig) -> Any:
        """The same in the async colour; a function that is only sync runs in a worker thread."""
        arguments = self.arguments(config) if self.wants or self.kwargs else {}
        if self.afunc is not None:
            answer = await self.afunc(input, **arguments)
        else:
            answer = await in_thread(cast("Callable[..., Any]", self.func), input, **arguments)
        if self.recurse and type(answer) not in _PLAIN and isinstance(answer, Runnable):
            return await answer.ainvoke(input, config)
        return answer

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the function as a Runnable of its own, with a run of its own where somebody traces."""
        if not self.trace:
            return self.call(input, config or {})
        return self._call_with_config(cast("Any", self.call), input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        if not self.trace:
            return await self.acall(input, config or {})
        return await self._acall_with_config(cast("Any", self.acall), input, config, **kwargs)


def name_of(func: Any) -> str:
    """What a node of this function is called: the function's name, or its class's where it has none."""
    if isinstance(func, partial):
        return name_of(func.func)
    return getattr(func, "__name__", None) or type(func).__name__


def coerce_to_runnable(thing: RunnableLike, *, name: str | None = None, trace: bool = True) -> Runnable[Any, Any]:
    """The thing as a Runnable: a Runnable as it is, a function as `RunnableCallable`, a dict as its parallel.

    Generator functions become a `RunnableLambda`, which adds up what they yield. TypeError for anything else.
    """
    if isinstance(thing, Runnable):
        return thing
    if callable(thing):
        if traits_of(thing).generator:
            return RunnableLambda(thing, name=name)
        return RunnableCallable(thing, name=name, trace=trace)
    if isinstance(thing, dict):
        return RunnableParallel(thing)
    raise TypeError(f"A node is a function, a callable object, a Runnable or a dict of those, not {thing!r}.")
