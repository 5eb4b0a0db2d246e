"""What a tool is given beside the model's arguments: parts of the state, the store, its runtime.

Which parameters those are is read once for each tool, from its signature and from its schema. The model does not see
them, and what it sends for them is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Generic, NamedTuple, get_args, get_origin, get_type_hints

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg
from langchain_core.tools.base import _DirectlyInjectedToolArg, get_all_basemodel_annotations
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypeVar

from runtime._annotations import signature
from runtime._context import task_of
from runtime._words import CONFIG_KEY_READ
from runtime.runtime import ExecutionInfo, ServerInfo
from runtime.store.base import BaseStore
from runtime.types import StreamWriter
from runtime.typing import ContextT

__all__ = ("InjectedState", "InjectedStore", "ToolRuntime", "Wants", "wants_of")

StateT = TypeVar("StateT", default=Any)


class InjectedState(InjectedToolArg):
    """Marks a parameter that gets the graph's state, or one field of it: `Annotated[str, InjectedState("field")]`."""

    def __init__(self, field: str | None = None) -> None:
        self.field = field


class InjectedStore(InjectedToolArg):
    """Marks a parameter that gets the graph's store: `Annotated[BaseStore, InjectedStore()]`."""


class _AsItIs:
    """Tells pydantic to look at nothing: a tool's schema would else check and copy the whole state at each call."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema(
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value)
        )


ValueT = TypeVar("ValueT")
AsItIs = Annotated[ValueT, _AsItIs()]


@dataclass
class ToolRuntime(_DirectlyInjectedToolArg, Generic[ContextT, StateT]):
    """What a tool may know of its run; a parameter of this type, or named `runtime`, gets it.

    `state` is the state that the tool node was given; `tools` are all tools of that node; the rest is as in `Runtime`.
    """

    state: AsItIs[StateT]
    context: AsItIs[ContextT]
    config: AsItIs[RunnableConfig]
    stream_writer: AsItIs[StreamWriter]
    tool_call_id: str | None
    store: AsItIs[BaseStore | None]
    tools: AsItIs[list[BaseTool]] = field(default_factory=list)
    execution_info: AsItIs[ExecutionInfo | None] = None
    server_info: AsItIs[ServerInfo | None] = None

    def emit_output_delta(self, delta: Any) -> None:
        """Hand a piece of the output to the reader of the `tools` stream; nothing where nobody reads."""
        task = task_of(self.config)
        if task is not None:
            event = {"event": "tool-output-delta", "tool_call_id": self.tool_call_id, "delta": delta}
            task.run.stream(task, "tools", event)


class Wants(NamedTuple):
    """The parameters of a tool that are not the model's.

    `state` maps a parameter to the field it gets (None: the whole state); `hidden` are all that the model may not
    set; `optional` those that have a default.
    """

    state: Mapping[str, str | None]
    store: tuple[str, ...]
    runtime: tuple[str, ...]
    hidden: frozenset[str]
    optional: frozenset[str]

    def arguments(self, tool: str, state: Any, runtime: ToolRuntime[Any, Any], messages_key: str) -> dict[str, Any]:
        """The values for these parameters.

        Raises ValueError where there is no store, or a list of messages for a state; KeyError or AttributeError for
        a field that the state lacks and the parameter needs.
        """
        given: dict[str, Any] = dict.fromkeys(self.runtime, runtime)
        if self.store:
            if runtime.store is None:
                raise ValueError(f"Tool '{tool}' asks for the store, but the graph has none. Compile it with store=...")
            given.update(dict.fromkeys(self.store, runtime.store))
        if self.state:
            given.update(self._from_state(tool, state, messages_key))
        return given

    def _from_state(self, tool: str, state: Any, messages_key: str) -> dict[str, Any]:
        if isinstance(state, list):
            others = sorted({name for name in self.state.values() if name is not None and name != messages_key})
            if others:
                raise ValueError(
                    f"Tool '{tool}' asks for the state's fields {', '.join(map(repr, others))}, but its tool node was "
                    f"given a list of messages. Give the node the whole state."
                )
            state = {messages_key: state}
        given = {}
        for name, wanted in self.state.items():
            try:
                given[name] = state if wanted is None else _field(state, wanted)
            except (KeyError, AttributeError):
                if name not in self.optional:
                    raise
        return given


def _field(state: Any, name: str) -> Any:
    return state[name] if isinstance(state, Mapping) else getattr(state, name)


def graph_state(config: RunnableConfig) -> Any:
    """The state as the running node is given it, for a node that was sent something else; empty outside of a graph."""
    task = task_of(config)
    if task is not None:
        node = task.proc
        state = task.state.read(node.channels)
        return state if node.mapper is None else node.mapper(state)
    read = config.get("configurable", {}).get(CONFIG_KEY_READ)
    if isinstance(read, partial):  # as LangGraph hands it out: bound to the channels and the managed values, by name
        _, channels, managed, *_ = read.args
        return read([*channels, *managed], True)
    return {}


def wants_of(tool: BaseTool) -> Wants:
    """What this tool is to be given, read from its schema and from its function."""
    annotations, optional = _declared(tool)
    state: dict[str, str | None] = {}
    store, runtime, hidden = [], [], set()
    for name, annotation in annotations.items():
        if name == "runtime" or _is_runtime(annotation):
            runtime.append(name)
            hidden.add(name)
            continue
        for marker in get_args(annotation)[1:]:
            if _is(marker, InjectedState):
                state[name] = getattr(marker, "field", None)
            elif _is(marker, InjectedStore):
                store.append(name)
            if _is(marker, InjectedToolArg):
                hidden.add(name)
    return Wants(state, tuple(store), tuple(runtime), frozenset(hidden), frozenset(optional))


def _declared(tool: BaseTool) -> tuple[dict[str, Any], set[str]]:
    """The annotation of each parameter, and those parameters that have a default."""
    function = _function(tool)
    annotations, optional = _of_function(function)
    schema = tool.args_schema if isinstance(tool.args_schema, type) else None
    if schema is not None:
        annotations |= get_all_basemodel_annotations(schema)
        if issubclass(schema, BaseModel):
            optional |= {name for name, info in schema.model_fields.items() if not info.is_required()}
    return annotations, optional


def _function(tool: BaseTool) -> Callable[..., Any]:
    """The code behind a tool: what was decorated, or the method that a subclass wrote."""
    wrapped = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    return wrapped if wrapped is not None else tool._run


def _of_function(function: Callable[..., Any]) -> tuple[dict[str, Any], set[str]]:
    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError):  # code that cannot be looked into asks for nothing
        return {}, set()
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception:  # a name that is not there at run time; the other parameters still count
        hints = {}
    annotations = {name: hints.get(name, parameter.annotation) for name, parameter in parameters.items()}
    return annotations, {name for name, parameter in parameters.items() if parameter.default is not parameter.empty}


def _is_runtime(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    return isinstance(kind, type) and issubclass(kind, ToolRuntime)


def _is(marker: Any, kind: type) -> bool:
    return isinstance(marker, kind) or (isinstance(marker, type) and issubclass(marker, kind))
