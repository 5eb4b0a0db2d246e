"""`StateGraph`: nodes, edges and routers over one state, declared step by step, then compiled to run."""

from __future__ import annotations

import logging
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from inspect import isclass
from typing import TYPE_CHECKING, Any, Generic, Literal, get_origin

from runtime._words import END, NS_END, NS_SEP, START
from runtime.channels.base import BaseChannel
from runtime.channels.last_value import LastValue
from runtime.graph.branch import BranchSpec, branch_name
from runtime.graph.check import check
from runtime.graph.compile import CompiledStateGraph, Settings, compile_graph
from runtime.graph.node import (
    DEFAULT_ERROR_HANDLER,
    NO_DEFAULTS,
    StateNodeSpec,
    declared,
    node_name,
    plain_name,
)
from runtime.graph.schema import Channel, fields_of
from runtime.managed.base import ManagedValueSpec, is_managed_value
from runtime.pregel.call import coerce_to_runnable
from runtime.pregel.schemas import name_of
from runtime.pregel.trusted import trusting
from runtime.types import TimeoutPolicy, ensure_valid_checkpointer
from runtime.typing import ContextT, InputT, OutputT, StateT
from runtime.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Self

    from runtime.cache.base import BaseCache
    from runtime.store.base import BaseStore
    from runtime.types import All, CachePolicy, Checkpointer, RetryPolicy, TracePolicy

__all__ = ("CompiledStateGraph", "StateGraph")

logger = logging.getLogger(__name__)


class StateGraph(Generic[StateT, ContextT, InputT, OutputT]):
    """A graph whose nodes read one state and answer with updates of it.

    The state's keys and their reducers come from `state_schema`: `Annotated[list, operator.add]` folds updates, a
    plain type keeps the last one. `input_schema` and `output_schema` narrow what goes in and what comes out;
    `context_schema` is the type of what a caller passes as `context=`. Every method that declares something returns
    the graph itself. `compile()` makes the graph that can be run, and may be called many times.
    """

    nodes: dict[str, StateNodeSpec]
    edges: set[tuple[str, str]]
    branches: defaultdict[str, dict[str, BranchSpec]]
    channels: dict[str, Channel]
    managed: dict[str, ManagedValueSpec]
    schemas: dict[Any, dict[str, Channel | ManagedValueSpec]]
    waiting_edges: set[tuple[tuple[str, ...], str]]
    compiled: bool

    def __init__(
        self,
        state_schema: type[StateT],
        context_schema: type[ContextT] | None = None,
        *,
        input_schema: type[InputT] | None = None,
        output_schema: type[OutputT] | None = None,
        **old: Any,
    ) -> None:
        context_schema = _renamed(old, "config_schema", "context_schema", context_schema, LangGraphDeprecatedSinceV10)
        input_schema = _renamed(old, "input", "input_schema", input_schema, LangGraphDeprecatedSinceV05)
        output_schema = _renamed(old, "output", "output_schema", output_schema, LangGraphDeprecatedSinceV05)
        _refuse(old, "StateGraph")
        self.nodes = {}
        self.edges = set()
        self.branches = defaultdict(dict)
        self.channels = {}
        self.managed = {}
        self.schemas = {}
        self.waiting_edges = set()
        self.compiled = False
        self.state_schema = state_schema
        self.input_schema: Any = state_schema if input_schema is None else input_schema
        self.output_schema: Any = state_schema if output_schema is None else output_schema
        self.context_schema = context_schema
        self._defaults = NO_DEFAULTS
        self._add_schema(state_schema)
        for narrower in (input_schema, output_schema):
            if narrower is not None:
                self._add_schema(narrower, managed=False)

    # -- schemas ------------------------------------------------------------------------------------------------------

    def _add_schema(self, schema: Any, *, managed: bool = True) -> None:
        """Take up the keys of a schema. The first declaration of a key counts; a richer one later is a ValueError."""
        _warn_if_no_type(schema)
        if schema in self.schemas:
            return
        fields = fields_of(schema)
        found = [key for key, field in fields.items() if is_managed_value(field)]
        if found and not managed:
            raise ValueError(
                f"Schema '{name_of(schema)}' of input or output has managed values: {', '.join(found)}. The engine "
                "makes them for each task; declare them in the state's schema, or in that of the node that reads them."
            )
        self.schemas[schema] = fields
        for key, field in fields.items():
            self._add_key(key, field, schema)

    def _add_key(self, key: str, field: Channel | ManagedValueSpec, schema: Any) -> None:
        first: Any = self.managed.get(key) or self.channels.get(key)
        if first is None and is_managed_value(field):
            self.managed[key] = field
        elif first is None and isinstance(field, BaseChannel):
            self.channels[key] = field
        elif type(field) is not LastValue and field != first:
            owner = next(name_of(s) for s, fields in self.schemas.items() if key in fields)
            raise ValueError(
                f"Key '{key}' is declared twice: in '{owner}' as {_kind(first)}, and in '{name_of(schema)}' as "
                f"{_kind(field)}. Give it the same reducer or channel in both, or leave it out in the second."
            )

    # -- nodes --------------------------------------------------------------------------------------------------------

    def add_node(
        self,
        node: Any,
        action: Any = None,
        *,
        defer: bool = False,
        metadata: dict[str, Any] | None = None,
        input_schema: Any = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        error_handler: Any = None,
        destinations: Mapping[str, str] | Sequence[str] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        trace_policy: TracePolicy | None = None,
        **old: Any,
    ) -> Self:
        """Add a node: a function of the state that answers with an update, or anything that can stand for one.

        The name may be left out; then it is the function's. What the node reads is `input_schema`, else the annotated
        class of its first parameter, else the whole state; keys that are new with it become private channels. Other
        parameters are filled in by name: config, runtime, store, writer, previous, error. `defer` makes it wait until
        nothing else would run. `error_handler` takes over when all tries have failed. `destinations` says where its
        commands may lead, for drawing; a return annotation `Command[Literal["a", "b"]]` does as well.

        Raises ValueError for a name that is taken, reserved, or holds "|" or ":"; RuntimeError for a name without an
        action; TypeError for an action that cannot be called.
        """
        if old:
            retry_policy = _renamed(old, "retry", "retry_policy", retry_policy, LangGraphDeprecatedSinceV05)
            input_schema = _renamed(old, "input", "input_schema", input_schema, LangGraphDeprecatedSinceV05)
            _refuse(old, "add_node")
        name, action = _named(node, action)
        self._check_name(name)
        self._warn_if_compiled("node")
        said = declared(action)
        if input_schema is None:
            input_schema = self.state_schema if said.schema is None else said.schema
        spec = StateNodeSpec(
            runnable=coerce_to_runnable(action, name=name, trace=False),
            metadata=metadata,
            input_schema=input_schema,
            retry_policy=retry_policy,
            cache_policy=cache_policy,
            ends=_destinations(destinations) if destinations is not None else said.ends,
            defer=defer,
            timeout=TimeoutPolicy.coerce(timeout),
            trace_policy=trace_policy,
        )
        if error_handler is not None:
            spec.error_handler_node = f"__error_handler__{name}"
            self.nodes[spec.error_handler_node] = _handler(spec.error_handler_node, error_handler, input_schema)
        self.nodes[name] = spec
        if input_schema is not self.state_schema:
            self._add_schema(input_schema)
        return self

    def set_node_defaults(
        self,
        *,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        error_handler: Any = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> Self:
        """Set policies for the nodes that have none of their own. They are looked up when the graph is compiled.

        Error handlers get the retry policy and the timeout too, but neither the cache policy nor a handler.
        """
        given = {
            "retry_policy": retry_policy,
            "cache_policy": cache_policy,
            "error_handler": error_handler,
            "timeout": TimeoutPolicy.coerce(timeout),
        }
        self._defaults = replace(self._defaults, **{key: value for key, value in given.items() if value is not None})
        return self

    # -- edges --------------------------------------------------------------------------------------------------------

    def add_edge(self, start_key: str | Sequence[str], end_key: str) -> Self:
        """Run `end_key` after `start_key`; after a list of nodes, once each of them has run.

        Raises ValueError for an edge from END or to START, and for a list with a node that is not there yet.
        """
        self._warn_if_compiled("edge")
        end = plain_name(end_key)
        starts = [start_key] if isinstance(start_key, str) else list(start_key)
        starts = [plain_name(start) for start in starts]
        if END in starts:
            raise ValueError(f"An edge starts at END, which is where a run stops: {starts!r} -> {end!r}.")
        if end == START:
            raise ValueError(f"An edge leads to START, which only gives the input: {starts!r} -> {end!r}.")
        if isinstance(start_key, str):
            self.edges.add((starts[0], end))
            return self
        missing = [name for name in (*starts, end) if name not in self.nodes and name != END]
        if missing:
            raise ValueError(f"An edge from the list {starts!r} to {end!r} needs node {missing[0]!r}. Add it first.")
        self.waiting_edges.add((tuple(starts), end))
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: Any,
        path_map: Mapping[Hashable, str] | Sequence[str] | None = None,
    ) -> Self:
        """After `source`, go where `path` says: it reads the state and answers with a node's name, a Send, or a list.

        `path_map` maps answers to nodes; a list names the nodes that are possible. Without one, a return annotation
        `Literal["a", "b"]` serves, else any node is possible. Raises ValueError when the source has a router of the
        same name already.
        """
        self._warn_if_compiled("edge")
        source = plain_name(source)
        name = branch_name(path)
        if name in self.branches[source]:
            raise ValueError(
                f"Node '{source}' has a router named '{name}' already. Give the second function a name of its own, "
                "or wrap it in RunnableLambda(function, name=…)."
            )
        branch = BranchSpec.of(path, name, path_map)
        self.branches[source][name] = branch
        if branch.input_schema is not None:
            self._add_schema(branch.input_schema)
        return self

    def add_sequence(self, nodes: Sequence[Any]) -> Self:
        """Add nodes, functions or (name, function) pairs, and an edge from each to the next.

        Raises ValueError for an empty sequence and for a name that is taken.
        """
        if len(nodes) < 1:
            raise ValueError("A sequence needs at least one node.")
        before: str | None = None
        for node in nodes:
            name, action = node if isinstance(node, tuple) and len(node) == 2 else (node_name(node), node)
            name = plain_name(name)
            if name in self.nodes:
                raise ValueError(
                    f"A sequence holds a second node named '{name}'. Name it yourself: ('{name}_2', function)."
                )
            self.add_node(name, action)
            if before is not None:
                self.add_edge(before, name)
            before = name
        return self

    def set_entry_point(self, key: str) -> Self:
        """Start with this node: an edge from START."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(
        self, path: Any, path_map: Mapping[Hashable, str] | Sequence[str] | None = None
    ) -> Self:
        """Start where `path` says: a conditional edge from START."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: str) -> Self:
        """End after this node: an edge to END."""
        return self.add_edge(key, END)

    # -- compile ------------------------------------------------------------------------------------------------------

    def validate(self, interrupt: Sequence[str] | None = None) -> Self:
        """This graph, if its edges, routers and breakpoints name what exists, and it has a way in; else ValueError."""
        check(self, interrupt or ())
        self.compiled = True
        return self

    def compile(
        self,
        checkpointer: Checkpointer = None,
        *,
        cache: BaseCache[Any] | None = None,
        store: BaseStore | None = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        debug: bool = False,
        name: str | None = None,
        transformers: Sequence[Callable[[tuple[str, ...]], Any]] | None = None,
    ) -> CompiledStateGraph[StateT, ContextT, InputT, OutputT]:
        """The graph, ready to run. None of the nodes is called for it.

        `checkpointer` saves the thread's state: a saver; True, to keep a subgraph's state from run to run of its
        parent; False, to save nothing even inside a parent. `interrupt_before` and `interrupt_after` stop the run at
        these nodes, "*" at all. ValueError when the graph does not hold together, TypeError for what is no saver.
        """
        checkpointer = ensure_valid_checkpointer(checkpointer)
        before, after = _breakpoints(interrupt_before), _breakpoints(interrupt_after)
        self.validate([*(before if before != "*" else ()), *(after if after != "*" else ())])
        settings = Settings(checkpointer, cache, store, before, after, debug, name or "LangGraph", transformers)
        return trusting(compile_graph(self, self._specs(), settings))

    def _specs(self) -> dict[str, StateNodeSpec]:
        """The nodes with the defaults filled in, and the default error handler as a node of its own."""
        defaults = self._defaults
        if defaults is NO_DEFAULTS:
            return self.nodes
        specs = dict(self.nodes)
        if defaults.error_handler is not None:
            if DEFAULT_ERROR_HANDLER in specs:
                raise ValueError(
                    f"A node is named '{DEFAULT_ERROR_HANDLER}', as the node of the default error handler is. "
                    "Give it another name."
                )
            specs[DEFAULT_ERROR_HANDLER] = _handler(DEFAULT_ERROR_HANDLER, defaults.error_handler, self.state_schema)
        return {name: defaults.filled_in(spec) for name, spec in specs.items()}

    # -- checks while declaring ---------------------------------------------------------------------------------------

    def _check_name(self, name: str) -> None:
        if name in self.nodes:
            raise ValueError(f"Node '{name}' exists already. Give this one another name.")
        if name in (START, END):
            raise ValueError(f"'{name}' is one of the graph's own ends and no name for a node.")
        for sign in (NS_SEP, NS_END):
            if sign in name:
                raise ValueError(f"Node name '{name}' holds '{sign}', which parts the names in a namespace.")

    def _warn_if_compiled(self, what: str) -> None:
        if self.compiled:
            logger.warning("The graph gets another %s after it was compiled. What was compiled does not change.", what)


# -- arguments --------------------------------------------------------------------------------------------------------


def _named(node: Any, action: Any) -> tuple[str, Any]:
    """The node's name and its action, of which the name may have been left out."""
    if action is not None:
        return (plain_name(node), action) if isinstance(node, str) else (node_name(node), node)
    if node is None or isinstance(node, str):
        raise RuntimeError(f"add_node({node!r}) names a node, but says not what it does. Pass the function second.")
    return node_name(node), node


def _handler(name: str, action: Any, input_schema: Any) -> StateNodeSpec:
    return StateNodeSpec(
        runnable=coerce_to_runnable(action, name=name, trace=False),
        metadata=None,
        input_schema=input_schema,
        retry_policy=None,
        cache_policy=None,
        is_error_handler=True,
        ends=declared(action).ends,
    )


def _destinations(given: Mapping[str, str] | Sequence[str]) -> Sequence[str] | Mapping[str, str]:
    if isinstance(given, Mapping):
        return {plain_name(name): label for name, label in given.items()}
    return (plain_name(given),) if isinstance(given, str) else tuple(plain_name(name) for name in given)


def _breakpoints(given: All | Sequence[str] | None) -> Literal["*"] | list[str]:
    if given is None:
        return []
    if given == "*":
        return "*"
    if isinstance(given, str):
        raise TypeError(f"Breakpoints are a list of node names, or '*' for all nodes, not {given!r}.")
    return [plain_name(name) for name in given]


def _renamed(old: dict[str, Any], name: str, new_name: str, value: Any, kind: Any) -> Any:
    """The value of an argument that used to have another name, with a warning when the old one was used."""
    if name not in old:
        return value
    warnings.warn(f"`{name}` is deprecated: it is called `{new_name}` now.", kind, stacklevel=3)
    given = old.pop(name)
    return given if value is None else value


def _refuse(unknown: dict[str, Any], what: str) -> None:
    if unknown:
        raise TypeError(f"{what}() got an unexpected keyword argument {next(iter(unknown))!r}")


def _warn_if_no_type(schema: Any) -> None:
    if not isclass(schema) and get_origin(schema) is None:
        warnings.warn(
            f"The state schema {schema!r} is no type. Pass a class with annotations, or Annotated[type, reducer].",
            UserWarning,
            stacklevel=5,
        )


def _kind(field: Any) -> str:
    if is_managed_value(field):
        return f"the managed value {field.__name__}"
    reducer = getattr(field, "operator", None) or getattr(field, "reducer", None)
    how = f" with reducer {getattr(reducer, '__name__', reducer)!r}" if reducer is not None else ""
    return f"{type(field).__name__}{how}"
