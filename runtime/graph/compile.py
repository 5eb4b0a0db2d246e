"""A builder's nodes, edges and routers, as the engine's nodes and channels.

Each key of the state is a channel. Each node has a channel that wakes it, `branch:to:name`; an edge is a writer of the
node before it, which writes there; an edge from several nodes is a barrier channel of its own, `join:a+b:c`. START is a
hidden node that writes the input into the state, so the nodes after it run one superstep later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple

from runtime._words import END, ROOT, START, TAG_HIDDEN
from runtime.channels.ephemeral_value import EphemeralValue
from runtime.channels.last_value import LastValueAfterFinish
from runtime.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from runtime.graph.schema import Channel
from runtime.graph.writes import RootWrites, StateWrites, Wake
from runtime.managed.base import ManagedValueSpec, is_managed_value
from runtime.pregel import schemas
from runtime.pregel.main import Pregel
from runtime.pregel.moves import Move
from runtime.pregel.node import PregelNode
from runtime.pregel.schemas import mapper_of
from runtime.pregel.write import Branch, Writer, branch_channel
from runtime.typing import ContextT, InputT, OutputT, StateT

if TYPE_CHECKING:
    from pydantic import BaseModel

    from runtime.cache.base import BaseCache
    from runtime.graph.branch import BranchSpec
    from runtime.graph.node import StateNodeSpec
    from runtime.graph.state import StateGraph
    from runtime.store.base import BaseStore
    from runtime.types import Checkpointer

__all__ = ("CompiledStateGraph", "Settings", "compile_graph")


class Settings(NamedTuple):
    """What `compile` was asked for."""

    checkpointer: Checkpointer
    cache: BaseCache[Any] | None
    store: BaseStore | None
    interrupt_before: Literal["*"] | Sequence[str]
    interrupt_after: Literal["*"] | Sequence[str]
    debug: bool
    name: str
    transformers: Sequence[Callable[[tuple[str, ...]], Any]] | None


def compile_graph(
    builder: StateGraph[Any, Any, Any, Any], specs: Mapping[str, StateNodeSpec], settings: Settings
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph that runs what the builder has declared by now; later declarations do not reach it."""
    parts = _Parts(builder, specs)
    return CompiledStateGraph(
        builder=builder,
        shape=parts.shape,
        nodes=parts.nodes,
        channels=parts.channels,
        input_channels=START,
        output_channels=_names(k for k, f in builder.schemas[builder.output_schema].items() if not is_managed_value(f)),
        stream_channels=_names(builder.channels),
        stream_mode="updates",
        checkpointer=settings.checkpointer,
        cache=settings.cache,
        store=settings.store,
        interrupt_before_nodes=settings.interrupt_before,
        interrupt_after_nodes=settings.interrupt_after,
        debug=settings.debug,
        name=settings.name,
        stream_transformers=settings.transformers,
        context_schema=builder.context_schema,
        node_error_handler_map={n: s.error_handler_node for n, s in specs.items() if s.error_handler_node is not None},
    )


def _names(keys: Any) -> str | list[str]:
    """The names of a state's channels: a list, or the one name of a state that is a bare value."""
    names = list(keys)
    return ROOT if names == [ROOT] else names


class Shape(NamedTuple):
    """What was declared, as it stood when the graph was compiled."""

    specs: Mapping[str, StateNodeSpec]
    edges: Sequence[tuple[str, str]]
    joins: Sequence[tuple[tuple[str, ...], str]]
    branches: Mapping[str, Mapping[str, BranchSpec]]


class CompiledStateGraph(Pregel[StateT, ContextT, InputT, OutputT], Generic[StateT, ContextT, InputT, OutputT]):
    """A `StateGraph` that can be run: `invoke`, `stream`, `get_state` and the rest of `Pregel`. `builder` made it."""

    builder: StateGraph[StateT, ContextT, InputT, OutputT]

    def __init__(
        self, *, builder: StateGraph[StateT, ContextT, InputT, OutputT], shape: Shape, **settings: Any
    ) -> None:
        self.builder = builder
        self.shape = shape
        super().__init__(**settings)

    def moves(self) -> list[Move]:
        """Where a run may go, as declared: by edges, by routers' answers, and by what commands are said to do."""
        shape = self.shape
        moves = [Move(start, end) for start, end in shape.edges]
        moves += [Move(start, end) for starts, end in shape.joins for start in starts]
        others = [name for name, spec in shape.specs.items() if not spec.is_error_handler]
        for source, named in shape.branches.items():
            for branch in named.values():
                if branch.ends is None:
                    moves += [Move(source, end, None, True) for end in branch.targets(others)]
                else:
                    moves += [Move(source, end, str(answer), True) for answer, end in branch.ends.items()]
        for source, spec in shape.specs.items():
            labels = spec.ends if isinstance(spec.ends, Mapping) else dict.fromkeys(spec.ends)
            moves += [Move(source, end, label, True) for end, label in labels.items()]
        return moves

    # -- schemas ------------------------------------------------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """The type of the input."""
        return self.builder.input_schema

    @property
    def OutputType(self) -> Any:
        """The type of the output of a state that is one bare value; None where the output is a dict."""
        return self.builder.output_schema if self.output_channels == ROOT else None

    def get_input_schema(self, config: Any = None) -> type[BaseModel]:
        """A pydantic model of the input."""
        return schemas.model_of(self.builder.input_schema, self.get_name("Input"))

    def get_output_schema(self, config: Any = None) -> type[BaseModel]:
        """A pydantic model of the output."""
        return schemas.model_of(self.builder.output_schema, self.get_name("Output"))

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of the input."""
        return schemas.json_schema_of(self.builder.input_schema, self.get_name("Input"))

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of the output."""
        return schemas.json_schema_of(self.builder.output_schema, self.get_name("Output"))


# -- parts ------------------------------------------------------------------------------------------------------------


class _Parts:
    """The engine's nodes and channels of one builder, node by node and edge by edge."""

    def __init__(self, builder: StateGraph[Any, Any, Any, Any], specs: Mapping[str, StateNodeSpec]) -> None:
        self.schemas = builder.schemas
        self.state_schema = builder.state_schema
        self.targets = frozenset(specs)
        self.fields = tuple(builder.channels)
        self.keys = frozenset({*builder.channels, *builder.managed})
        self.writes = RootWrites if ROOT in self.keys and len(self.keys) == 1 else StateWrites
        self.reads: dict[int, _Read] = {}
        self.channels: dict[str, Channel | ManagedValueSpec] = {
            **builder.channels,
            **builder.managed,
            START: EphemeralValue(builder.input_schema),
        }
        # A set has no order of its own, and the writes of a task should come in the same order in every process.
        edges, joins = sorted(builder.edges), sorted(builder.waiting_edges)
        branches = {source: dict(named) for source, named in builder.branches.items() if named}
        self.shape = Shape(dict(specs), edges, joins, branches)
        self.triggers = {name: [self._waking(name, spec)] for name, spec in specs.items()}
        self.writers: dict[str, list[Writer]] = {
            START: [self._start_writes(builder.input_schema)],
            **{name: [self.writes(name, self.keys, self.fields, self.targets)] for name in specs},
        }
        for start, end in edges:
            if end != END:
                self.writers[start].append(Wake(((branch_channel(end), None),)))
        for starts, end in joins:
            if end != END:
                self._add_join(starts, end, specs[end].defer)
        self.nodes: dict[str, PregelNode] = {START: self._start()}
        for name, spec in specs.items():
            self.nodes[name] = self._node(name, spec)

    def _start_writes(self, input_schema: Any) -> Writer:
        keys = tuple(key for key, field in self.schemas[input_schema].items() if not is_managed_value(field))
        return self.writes(START, frozenset(keys), keys, self.targets)

    def _waking(self, name: str, spec: StateNodeSpec) -> str:
        """The channel that wakes a node."""
        channel = branch_channel(name)
        self.channels[channel] = LastValueAfterFinish(Any) if spec.defer else _WAKING.copy()
        return channel

    def _add_join(self, starts: tuple[str, ...], end: str, defer: bool) -> None:
        channel = f"join:{'+'.join(starts)}:{end}"
        barrier = NamedBarrierValueAfterFinish if defer else NamedBarrierValue
        self.channels[channel] = barrier(str, set(starts))
        self.triggers[end].append(channel)
        for start in starts:
            self.writers[start].append(Wake(((channel, start),)))

    def _start(self) -> PregelNode:
        return PregelNode(
            channels=START,
            triggers=[START],
            tags=[TAG_HIDDEN],
            writers=self.writers[START],
            branches=self._branches(START, self.state_schema),
        )

    def _node(self, name: str, spec: StateNodeSpec) -> PregelNode:
        read = self._read(spec.input_schema)
        return PregelNode(
            channels=read.channels,
            triggers=self.triggers[name],
            mapper=read.mapper,
            bound=spec.runnable,
            writers=self.writers[name],
            branches=self._branches(name, spec.input_schema),
            metadata=spec.metadata,
            retry_policy=spec.retry_policy,
            cache_policy=spec.cache_policy,
            timeout=spec.timeout,
            trace_policy=spec.trace_policy,
            handler=spec.error_handler_node,
            handles_errors=spec.is_error_handler,
        )

    def _branches(self, source: str, schema: Any) -> Sequence[Branch]:
        named = self.shape.branches.get(source)
        return [self._branch(source, name, spec, schema) for name, spec in named.items()] if named else ()

    def _branch(self, source: str, name: str, spec: BranchSpec, read_schema: Any) -> Branch:
        read = self._read(read_schema if spec.input_schema is None else spec.input_schema)
        typed = spec.input_schema is not None or read.mapper is not None
        return Branch(
            source, name, spec.path, spec.ends, self.targets, read=read.channels, mapper=read.mapper, typed=typed
        )

    def _read(self, schema: Any) -> _Read:
        """What a node or router with this schema reads. Looked up by identity: hashing a type costs more than that."""
        found = self.reads.get(id(schema))
        if found is None:
            found = self.reads[id(schema)] = _Read(_names(self.schemas[schema]), mapper_of(schema))
        return found


_WAKING: EphemeralValue[Any] = EphemeralValue(Any, guard=False)
"""What wakes a node; each gets a copy, which is made faster than a new one."""


class _Read(NamedTuple):
    channels: str | Sequence[str]
    mapper: Callable[[Any], Any] | None
