"""The functional way to say a graph: an entrypoint that calls tasks, in plain control flow.

A task is a function whose calls are tasks of the superstep that runs: each has an identity, its result is stored as it
comes, and a run that is taken up again finds it. An entrypoint is a graph of one node, whose last value the thread
keeps.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_origin, get_type_hints, overload

from runtime._annotations import signature
from runtime._words import END, PREVIOUS, RETURN, START
from runtime.channels.ephemeral_value import EphemeralValue
from runtime.channels.last_value import LastValue
from runtime.pregel.call import RunnableCallable, cannot_be_stopped, is_async_callable, name_of
from runtime.pregel.called import call
from runtime.pregel.main import Pregel
from runtime.pregel.node import PregelNode, as_policies
from runtime.pregel.policy import task_namespace
from runtime.pregel.trusted import trusting
from runtime.types import CachePolicy, RetryPolicy, TimeoutPolicy
from runtime.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from runtime.cache.base import BaseCache
    from runtime.checkpoint.base import BaseCheckpointSaver
    from runtime.store.base import BaseStore

__all__ = ("entrypoint", "task")

R = TypeVar("R")
S = TypeVar("S")
Saved = TypeVar("Saved")
Retry = RetryPolicy | Sequence[RetryPolicy] | None
Timeout = float | timedelta | TimeoutPolicy | None


class TaskFunction:
    """A function whose calls run as tasks. Calling it in a running graph gives a future of the result."""

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        name: str | None,
        retry_policy: Retry,
        cache_policy: CachePolicy[Any] | None,
        timeout: Timeout,
    ) -> None:
        update_wrapper(self, func)
        self.func = func
        self.name = name or name_of(func)
        self.__name__ = self.name
        asynchronous = is_async_callable(func)
        if timeout is not None and not asynchronous:
            raise ValueError(cannot_be_stopped(f"Task '{self.name}'"))
        self.asynchronous = asynchronous
        self.node = PregelNode(
            channels=(),
            triggers=(),
            bound=_Spread(func, self.name, asynchronous),
            writers=(_returned,),
            retry_policy=as_policies(retry_policy) or None,
            cache_policy=cache_policy,
            timeout=timeout,
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call(self.node, self.name, args, kwargs)

    def clear_cache(self, cache: BaseCache[Any]) -> None:
        """Forget the cached results of this function."""
        if self.node.cache_policy is not None:
            cache.clear((task_namespace(self.node),))

    async def aclear_cache(self, cache: BaseCache[Any]) -> None:
        """The async twin of `clear_cache`."""
        if self.node.cache_policy is not None:
            await cache.aclear((task_namespace(self.node),))


class _Spread(RunnableCallable):
    """Calls the function with the arguments of the call, and what it asks for by name."""

    def __init__(self, func: Callable[..., Any], name: str, asynchronous: bool) -> None:
        self.source = func
        first = None if asynchronous else self._call
        super().__init__(first, self._acall if asynchronous else None, name=name, trace=False, recurse=False)
        self.wants = RunnableCallable(func, name=name).wants

    def arguments(self, config: Any) -> dict[str, Any]:
        return {"filled": super().arguments(config)}

    def _call(self, input: Any, filled: dict[str, Any] | None = None) -> Any:
        args, kwargs = input
        return self.source(*args, **{**(filled or {}), **kwargs})

    async def _acall(self, input: Any, filled: dict[str, Any] | None = None) -> Any:
        args, kwargs = input
        return await self.source(*args, **{**(filled or {}), **kwargs})


def _returned(output: Any) -> Sequence[tuple[str, Any]]:
    return ((RETURN, output),)


def _retry(retry_policy: Retry, deprecated: dict[str, Any], what: str) -> Retry:
    if "retry" in deprecated:
        warnings.warn(
            f"`retry` is deprecated: in {what} it is called `retry_policy` now.",
            LangGraphDeprecatedSinceV05,
            stacklevel=3,
        )
        retry_policy = retry_policy or deprecated.pop("retry")
    return retry_policy


def _refuse(deprecated: dict[str, Any], what: str) -> None:
    if deprecated:
        raise TypeError(f"{what}() got an unexpected keyword argument {next(iter(deprecated))!r}")


@overload
def task(func: Callable[..., Any], /) -> TaskFunction: ...
@overload
def task(
    func: None = None,
    /,
    *,
    name: str | None = None,
    retry_policy: Retry = None,
    cache_policy: CachePolicy[Any] | None = None,
    timeout: Timeout = None,
    **deprecated: Any,
) -> Callable[[Callable[..., Any]], TaskFunction]: ...
def task(
    func: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    retry_policy: Retry = None,
    cache_policy: CachePolicy[Any] | None = None,
    timeout: Timeout = None,
    **deprecated: Any,
) -> Any:
    """Make a function a task: in a running graph, a call of it is a task of its own and gives a future.

    Bare or with arguments. The future is `concurrent.futures`' in sync code (`.result()`) and awaitable in async code.
    Results are stored as they come, by caller and number of the call, so make calls in a stable order. `timeout` is
    for async functions (ValueError otherwise).
    """
    retry_policy = _retry(retry_policy, deprecated, "task")
    _refuse(deprecated, "task")

    def decorate(function: Callable[..., Any]) -> TaskFunction:
        return TaskFunction(function, name=name, retry_policy=retry_policy, cache_policy=cache_policy, timeout=timeout)

    return decorate if func is None else decorate(func)


class entrypoint(Generic[S]):
    """Make a function of one input a graph: `invoke`, `stream` and the rest run it, and its calls of tasks.

    With a checkpointer the thread keeps what the function returned last: its parameter `previous` gets it, and
    `entrypoint.final(value=…, save=…)` keeps something else. ValueError for a function without a parameter,
    NotImplementedError for a generator.
    """

    def __init__(
        self,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | None = None,
        context_schema: type[Any] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        retry_policy: Retry = None,
        timeout: Timeout = None,
        **deprecated: Any,
    ) -> None:
        if "config_schema" in deprecated:
            warnings.warn(
                "`config_schema` is deprecated: in entrypoint it is called `context_schema` now.",
                LangGraphDeprecatedSinceV10,
                stacklevel=2,
            )
            context_schema = context_schema or deprecated.pop("config_schema")
        self.retry_policy = _retry(retry_policy, deprecated, "entrypoint")
        _refuse(deprecated, "entrypoint")
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.context_schema = context_schema
        self.cache_policy = cache_policy
        self.timeout = timeout

    @dataclass(frozen=True, kw_only=True, slots=True)
    class final(Generic[R, Saved]):
        """What an entrypoint returns to its caller (`value`), and what its thread keeps for the next run (`save`)."""

        value: R
        save: Saved

    def __call__(self, func: Callable[..., Any]) -> Pregel[Any, Any, Any, Any]:
        """The graph of this function."""
        name = name_of(func)
        if inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
            raise NotImplementedError(
                f"Entrypoint '{name}' is a generator. Return a value; stream with a StreamWriter."
            )
        parameters = list(signature(func).parameters.values())
        if not parameters:
            raise ValueError(f"Entrypoint '{name}' takes no parameter. Its first one is the input.")
        if self.timeout is not None and not is_async_callable(func):
            raise ValueError(cannot_be_stopped(f"Entrypoint '{name}'"))
        input_type, output_type, saved_type = _types_of(func, parameters[0].name)
        node = PregelNode(
            channels=START,
            triggers=(START,),
            bound=RunnableCallable(func, name=name, trace=False),
            writers=(_ended,),
            retry_policy=as_policies(self.retry_policy) or None,
            cache_policy=self.cache_policy,
            timeout=self.timeout,
        )
        graph: Pregel[Any, Any, Any, Any] = Pregel(
            nodes={name: node},
            channels={
                START: EphemeralValue(input_type),
                END: LastValue(output_type, END),
                PREVIOUS: LastValue(saved_type, PREVIOUS),
            },
            input_channels=START,
            output_channels=END,
            stream_channels=END,
            stream_mode="updates",
            stream_eager=True,
            checkpointer=self.checkpointer,
            store=self.store,
            cache=self.cache,
            context_schema=self.context_schema,
        )
        return trusting(graph)


def _ended(output: Any) -> Sequence[tuple[str, Any]]:
    if isinstance(output, entrypoint.final):
        return ((END, output.value), (PREVIOUS, output.save))
    return ((END, output), (PREVIOUS, output))


def _types_of(func: Callable[..., Any], first: str) -> tuple[Any, Any, Any]:
    """The types of input, output and saved value, from the annotations."""
    try:
        hints = get_type_hints(func if inspect.isroutine(func) else type(func).__call__)
    except (NameError, TypeError):
        hints = {}
    returned = hints.get("return", Any)
    origin = get_origin(returned)
    if returned is entrypoint.final:
        return hints.get(first, Any), Any, Any
    if origin is entrypoint.final:
        kinds = get_args(returned)
        if len(kinds) != 2:
            raise TypeError("entrypoint.final takes two types: final[what is returned, what is saved].")
        return hints.get(first, Any), kinds[0], kinds[1]
    return hints.get(first, Any), returned, returned
