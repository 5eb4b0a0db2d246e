"""What a node was declared with, and what a function says about itself by its annotations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from langchain_core.runnables.base import Runnable

from runtime._annotations import annotations_of, signature
from runtime.pregel.schemas import is_annotated
from runtime.types import Command

if TYPE_CHECKING:
    from runtime.types import CachePolicy, RetryPolicy, TimeoutPolicy, TracePolicy

__all__ = (
    "DEFAULT_ERROR_HANDLER",
    "NO_DEFAULTS",
    "Declared",
    "NodeDefaults",
    "StateNodeSpec",
    "command_ends",
    "declared",
    "literals",
    "node_name",
    "plain_name",
)

DEFAULT_ERROR_HANDLER = "__default_error_handler__"
"""The node of the handler that `set_node_defaults` names."""


@dataclass(slots=True)
class StateNodeSpec:
    """A node as `add_node` was told: what it runs and reads, its policies, and where its commands may lead.

    `ends` serves validation and drawing: names, or names with the label of the move. `error_handler_node` names the
    node that takes over when this one's tries are used up.
    """

    runnable: Runnable[Any, Any]
    metadata: dict[str, Any] | None
    input_schema: Any
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None
    cache_policy: CachePolicy[Any] | None
    is_error_handler: bool = False
    error_handler_node: str | None = None
    ends: Sequence[str] | Mapping[str, str] = ()
    defer: bool = False
    timeout: TimeoutPolicy | None = None
    trace_policy: TracePolicy | None = None


@dataclass(frozen=True, slots=True)
class NodeDefaults:
    """The policies of nodes that have none of their own."""

    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None
    cache_policy: CachePolicy[Any] | None = None
    error_handler: Any = None
    timeout: TimeoutPolicy | None = None

    def filled_in(self, spec: StateNodeSpec) -> StateNodeSpec:
        """The node with these defaults where it has nothing. A handler gets no cache and no handler."""
        handled = self.error_handler is not None and not spec.is_error_handler
        return replace(
            spec,
            retry_policy=self.retry_policy if spec.retry_policy is None else spec.retry_policy,
            cache_policy=spec.cache_policy if spec.cache_policy or spec.is_error_handler else self.cache_policy,
            error_handler_node=spec.error_handler_node or (DEFAULT_ERROR_HANDLER if handled else None),
            timeout=spec.timeout or self.timeout,
        )


NO_DEFAULTS = NodeDefaults()


class Declared(NamedTuple):
    """What a callable's annotations say; None where there is none.

    `schema` is that of its first parameter, where this is a class with keys; `answer` that of what it returns, and
    `ends` are the nodes to which commands among its answers lead.
    """

    schema: Any = None
    answer: Any = None
    ends: tuple[str, ...] = ()


_NOTHING = Declared()
_functions: WeakKeyDictionary[Any, Declared] = WeakKeyDictionary()
_methods: WeakKeyDictionary[Any, Declared] = WeakKeyDictionary()


def declared(thing: Any) -> Declared:
    """What a function, method or callable object declares. Read once for each function; nothing is raised."""
    function, bound = (thing, False) if type(thing) is FunctionType else _function_of(thing)
    if function is None or not annotations_of(function):
        return _NOTHING
    known = _methods if bound else _functions
    found = known.get(function)
    if found is None:
        found = known[function] = _declared(function, bound)
    return found


def _function_of(thing: Any) -> tuple[Any, bool]:
    """The function in which the code stands, and whether its first parameter is filled already."""
    method = thing if inspect.ismethod(thing) else getattr(thing, "__call__", None)  # noqa: B004 - the method is read
    if inspect.ismethod(method) and inspect.isfunction(method.__func__):
        return method.__func__, True
    return None, False


def _declared(function: Any, bound: bool) -> Declared:
    try:
        hints = get_type_hints(function)
        names = list(signature(function).parameters)[bound:]
    except Exception:  # an annotation that cannot be evaluated here says nothing
        return _NOTHING
    input, answer = hints.get(names[0]) if names else None, hints.get("return")
    return Declared(input if is_annotated(input) else None, answer, command_ends(answer))


def command_ends(answer: Any) -> tuple[str, ...]:
    """The nodes in a return annotation such as `Command[Literal["a", "b"]]`, also inside of unions and lists."""
    if answer is None:
        return ()
    return tuple(dict.fromkeys(plain_name(name) for command in _commands(answer) for name in literals(command)))


def _commands(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Command:
        yield from get_args(annotation)
    else:
        for part in get_args(annotation):
            yield from _commands(part)


def literals(annotation: Any) -> tuple[Any, ...]:
    """The values of a `Literal[...]` annotation, in order; none for any other."""
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def node_name(action: Any) -> str:
    """The name of a node that was given without one. TypeError for what has none."""
    if isinstance(action, Runnable):
        return action.get_name()
    if not callable(action):
        raise TypeError(f"A node is a function, a callable object or a Runnable, not {action!r}.")
    return getattr(action, "__name__", None) or type(action).__name__


def plain_name(name: Any) -> Any:
    """The name as a plain string, where it is a member of an enum of strings."""
    return name.value if type(name) is not str and isinstance(name, Enum) else name
