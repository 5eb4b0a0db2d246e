"""The door: a graph of nodes and channels that runs, streams, and keeps a state for each thread.

Every method here is a few lines over a routine of `loop` or `operations` and a driver; the async twins differ in the
driver only.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, cast

from runtime._words import CONF, CONFIG_KEY_SCRATCHPAD, TASKS
from runtime.channels.base import BaseChannel
from runtime.channels.topic import Topic
from runtime.pregel import operations, schemas
from runtime.pregel.adriver import AsyncDriver, adrive, asaver_answers
from runtime.pregel.driver import SyncDriver, drive, saver_answers
from runtime.pregel.effects import Invoke
from runtime.pregel.enter import call_async, call_sync
from runtime.pregel.fit import built, check_names
from runtime.pregel.loop import Outcome, supersteps
from runtime.pregel.migrate import migrate
from runtime.pregel.nested import subgraphs_of
from runtime.pregel.node import NodeBuilder, PregelNode, as_policies
from runtime.pregel.output import invoked, printed, shaped, shaped_v2
from runtime.pregel.policy import node_namespace
from runtime.pregel.program import Program, as_names
from runtime.pregel.protocol import PregelProtocol
from runtime.pregel.run import LIVE_MODES, Chunk, Outlet, Run, nudging, whole_config
from runtime.pregel.traced import AsyncTold, Told
from runtime.types import (
    CachePolicy,
    Checkpointer,
    Command,
    Durability,
    RetryPolicy,
    Send,
    StateSnapshot,
    StateUpdate,
    StreamMode,
)
from runtime.typing import ContextT, InputT, OutputT, StateT
from runtime.utils.config import merge_configs
from runtime.warnings import LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.graph import Graph
    from pydantic import BaseModel

    from runtime.cache.base import BaseCache
    from runtime.checkpoint.base import Checkpoint
    from runtime.runtime import RunControl
    from runtime.store.base import BaseStore

__all__ = ("NodeBuilder", "Pregel")

Modes = StreamMode | Sequence[StreamMode]
Breaks = Literal["*"] | Sequence[str] | None


class Pregel(PregelProtocol[StateT, ContextT, InputT, OutputT], Generic[StateT, ContextT, InputT, OutputT]):
    """A graph that can run: nodes (actors) that wake each other through channels.

    `nodes` by name (built, or `NodeBuilder`s); `channels` by name; input, output and stream channels as one name (the
    bare value) or several (a dict). `checkpointer` keeps the state of each thread. `step_timeout` limits a superstep,
    in seconds. Raises ValueError when these do not fit together, TypeError for a node that is none.
    """

    def __init__(
        self,
        *,
        nodes: Mapping[str, PregelNode | NodeBuilder],
        channels: Mapping[str, Any] | None,
        auto_validate: bool = True,
        stream_mode: StreamMode = "values",
        stream_eager: bool = False,
        output_channels: str | Sequence[str],
        stream_channels: str | Sequence[str] | None = None,
        interrupt_after_nodes: Literal["*"] | Sequence[str] = (),
        interrupt_before_nodes: Literal["*"] | Sequence[str] = (),
        input_channels: str | Sequence[str],
        step_timeout: float | None = None,
        debug: bool | None = None,
        checkpointer: Checkpointer = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] = (),
        cache_policy: CachePolicy[Any] | None = None,
        context_schema: type[ContextT] | None = None,
        config: RunnableConfig | None = None,
        trigger_to_nodes: Mapping[str, Sequence[str]] | None = None,
        node_error_handler_map: Mapping[str, str] | None = None,
        name: str = "LangGraph",
        stream_transformers: Sequence[Any] | None = None,
        **deprecated: Any,
    ) -> None:
        if "config_type" in deprecated:
            warnings.warn(
                "`config_type` is deprecated: it is called `context_schema` now.",
                LangGraphDeprecatedSinceV10,
                stacklevel=2,
            )
            context_schema = context_schema or deprecated.pop("config_type")
        if deprecated:
            raise TypeError(f"Pregel() got an unexpected keyword argument {next(iter(deprecated))!r}")
        self.nodes: dict[str, PregelNode] = {key: built(key, node) for key, node in nodes.items()}
        self.channels: dict[str, Any] = dict(channels or {})
        if TASKS in self.channels and not isinstance(self.channels[TASKS], Topic):
            raise ValueError(f"The channel {TASKS!r} is the queue of Sends. Give your channel another name.")
        self.channels[TASKS] = Topic(Send, accumulate=False)
        for key, channel in self.channels.items():
            if isinstance(channel, BaseChannel):
                channel.key = key
        self.stream_mode: StreamMode = stream_mode
        self.stream_eager = stream_eager
        self.output_channels = output_channels
        self.stream_channels = stream_channels
        self.interrupt_after_nodes = interrupt_after_nodes
        self.interrupt_before_nodes = interrupt_before_nodes
        self.input_channels = input_channels
        self.step_timeout = step_timeout
        self.debug = bool(debug)
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.retry_policy = retry_policy
        self.cache_policy = cache_policy
        self.context_schema = context_schema
        self.config = config
        self.trigger_to_nodes = dict(trigger_to_nodes or {})
        self.node_error_handler_map = dict(node_error_handler_map or {})
        self.stream_transformers = tuple(stream_transformers or ())
        self.name = name
        if auto_validate:
            self.validate()

    # -- shape --------------------------------------------------------------------------------------------------------

    def validate(self) -> Self:
        """This graph, if its nodes and channels fit together. ValueError that says what does not."""
        check_names(self)
        listeners: dict[str, list[str]] = {}
        for name, node in self.nodes.items():
            for trigger in node.triggers:
                listeners.setdefault(trigger, []).append(name)
        self.trigger_to_nodes = cast("dict[str, Sequence[str]]", listeners)
        self.__dict__.pop("program", None)
        return self

    @cached_property
    def program(self) -> Program:
        """The graph as the engine walks it."""
        return Program(self)

    @cached_property
    def retry_policies(self) -> tuple[RetryPolicy, ...]:
        """The graph's retry policies, for nodes that have none of their own."""
        return as_policies(self.retry_policy or None)

    @property
    def stream_channels_asis(self) -> str | Sequence[str]:
        """The channels that streams show: those declared, else all."""
        if self.stream_channels is not None:
            return self.stream_channels
        return [name for name, channel in self.channels.items() if isinstance(channel, BaseChannel) and name != TASKS]

    @property
    def stream_channels_list(self) -> Sequence[str]:
        """The same as a list."""
        return list(as_names(self.stream_channels_asis))

    def copy(self, update: Mapping[str, Any] | None = None) -> Self:
        """A shallow clone, with these attributes replaced."""
        twin = object.__new__(type(self))
        twin.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("program", "retry_policies")})
        twin.__dict__.update(update or {})
        return twin

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> Self:
        """A clone that has this config under each call's own."""
        return self.copy({"config": merge_configs(self.config, config, cast("RunnableConfig", kwargs))})

    def coerce_context(self, context: Any) -> Any:
        """The context as its schema wants it: a dict becomes an instance of a dataclass or model."""
        schema = self.context_schema
        if not isinstance(context, dict) or schema is None:
            return context
        if dataclasses.is_dataclass(schema) or hasattr(schema, "model_validate"):
            return schema(**context)
        return context

    def migrated(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint of any version in the form of the newest."""
        return checkpoint if checkpoint.get("v", 1) >= 4 else migrate(checkpoint, self)

    def get_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, PregelProtocol[Any, Any, Any, Any]]]:
        """The graphs that nodes of this one run, by name of the node; nested ones too with `recurse`."""
        return subgraphs_of(self, namespace, recurse)

    async def aget_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> AsyncIterator[tuple[str, PregelProtocol[Any, Any, Any, Any]]]:
        """The async twin of `get_subgraphs`."""
        for item in self.get_subgraphs(namespace=namespace, recurse=recurse):
            yield item

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The graph as langchain-core draws it; subgraphs opened with `xray`, to that depth or all."""
        from runtime.pregel.draw import draw_graph  # noqa: PLC0415 - drawing loads more of langchain-core than running

        return draw_graph(self, config, xray=xray)

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The async twin of `get_graph`."""
        return self.get_graph(config, xray=xray)

    # -- schemas ------------------------------------------------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """The type of the input; None where it is a dict of several channels."""
        return schemas.type_of_channels(self.channels, self.input_channels, written=True)

    @property
    def OutputType(self) -> Any:
        """The type of the output; None where it is a dict of several channels."""
        return schemas.type_of_channels(self.channels, self.output_channels, written=False)

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """A pydantic model of the input."""
        return schemas.model_of_channels(self.channels, self.input_channels, self.get_name("Input"), written=True)

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """A pydantic model of the output."""
        return schemas.model_of_channels(self.channels, self.output_channels, self.get_name("Output"), written=False)

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """The JSON schema of the input."""
        return self.get_input_schema(config).model_json_schema()

    def get_output_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """The JSON schema of the output."""
        return self.get_output_schema(config).model_json_schema()

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """The JSON schema of the context, or None when the graph takes none. ValueError for a type without keys."""
        return schemas.context_json_schema(self.context_schema)

    def config_schema(self, *, include: Sequence[str] | None = None) -> type[BaseModel]:
        """Deprecated: `get_context_jsonschema`."""
        warnings.warn(
            "`config_schema` is deprecated: `get_context_jsonschema` tells it now.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        return schemas.config_model(self.get_name("Config"), self.context_schema, include)

    def get_config_jsonschema(self, *, include: Sequence[str] | None = None) -> dict[str, Any]:
        """Deprecated: `get_context_jsonschema`."""
        warnings.warn(
            "`get_config_jsonschema` is deprecated: `get_context_jsonschema` tells it now.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        return schemas.config_model(self.get_name("Config"), self.context_schema, include).model_json_schema()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Only text here: `%load_ext workbench` draws graphs."""
        return {"text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.get_name()!r}: {len(self.nodes)} nodes>"

    # -- runs ---------------------------------------------------------------------------------------------------------

    def stream(  # type: ignore[override]  # a graph's own options come by name, and it takes None and commands
        self,
        input: InputT | Command[Any] | None,
        config: RunnableConfig | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Modes | None = None,
        print_mode: Modes = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Breaks = None,
        interrupt_after: Breaks = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Run, and give chunks as they come.

        One mode gives bare payloads, a list of modes (mode, payload), `subgraphs` puts the namespace in front;
        `version="v2"` gives dicts with type, ns and data. Closing the stream early leaves the thread at its last
        saved barrier. Raises what a node raised; GraphRecursionError; EmptyInputError; GraphDrained.
        """
        asked: Modes = stream_mode or self._default_mode(config)
        modes = frozenset([asked] if isinstance(asked, str) else asked)
        run = self._run(
            config, False, modes, context=context, durability=_durability(durability, kwargs), control=control,
            output_keys=output_keys, breaks_before=interrupt_before, breaks_after=interrupt_after,
        )  # fmt: skip
        chunks: deque[Chunk] = deque()
        live = subgraphs or self.stream_eager or not modes.isdisjoint(LIVE_MODES)
        outlet = Outlet(modes, subgraphs, chunks.append, run.ns, live)
        run.outlets = (outlet, *self._printers(run, print_mode, debug), *run.outlets)
        driver = SyncDriver(run, live)
        if live:
            outlet.put = nudging(chunks.append, driver.nudge)
        shape = shaped_v2(self, run) if version == "v2" else shaped(asked, subgraphs)
        with Told(self, run, input) as told, closing(driver.stream(supersteps(run, input), chunks)) as stream:
            while True:
                try:
                    chunk = next(stream)
                except StopIteration as end:
                    told.output = end.value.output
                    return
                yield shape(chunk)

    async def astream(  # type: ignore[override]  # a graph's own options come by name, and it takes None and commands
        self,
        input: InputT | Command[Any] | None,
        config: RunnableConfig | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Modes | None = None,
        print_mode: Modes = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Breaks = None,
        interrupt_after: Breaks = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """The async twin of `stream`."""
        asked: Modes = stream_mode or self._default_mode(config)
        modes = frozenset([asked] if isinstance(asked, str) else asked)
        run = self._run(
            config, True, modes, context=context, durability=_durability(durability, kwargs), control=control,
            output_keys=output_keys, breaks_before=interrupt_before, breaks_after=interrupt_after,
        )  # fmt: skip
        chunks: deque[Chunk] = deque()
        live = subgraphs or self.stream_eager or not modes.isdisjoint(LIVE_MODES)
        driver = AsyncDriver(run, live)
        outlet = Outlet(modes, subgraphs, nudging(chunks.append, driver.nudge), run.ns, live)
        run.outlets = (outlet, *self._printers(run, print_mode, debug), *run.outlets)
        shape = shaped_v2(self, run) if version == "v2" else shaped(asked, subgraphs)
        result: list[Outcome] = []
        async with AsyncTold(self, run, input) as told:
            async with aclosing(driver.stream(supersteps(run, input), chunks, result)) as stream:
                async for chunk in stream:
                    yield shape(chunk)
            told.output = result[0].output

    def invoke(
        self,
        input: InputT | Command[Any] | None,
        config: RunnableConfig | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Modes = "values",
        print_mode: Modes = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Breaks = None,
        interrupt_after: Breaks = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        debug: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run to the end, or to the next question, and give the output.

        Questions are under "__interrupt__" (a list); with `version="v2"` the result is a `GraphOutput`. With another
        stream mode, or several, it is the list of chunks. Raises as `stream` does.
        """
        output_keys = output_keys if output_keys is not None else self.output_channels
        if stream_mode != "values":
            return list(
                self.stream(
                    input,
                    config,
                    context=context,
                    stream_mode=stream_mode,
                    print_mode=print_mode,
                    output_keys=output_keys,
                    interrupt_before=interrupt_before,
                    interrupt_after=interrupt_after,
                    durability=durability,
                    control=control,
                    debug=debug,
                    version=version,
                    **kwargs,
                )
            )
        run = self._run(
            config, False, context=context, durability=_durability(durability, kwargs), control=control,
            output_keys=output_keys, breaks_before=interrupt_before, breaks_after=interrupt_after,
        )  # fmt: skip
        run.outlets = (*self._printers(run, print_mode, debug), *run.outlets)
        with Told(self, run, input) as told:
            outcome = drive(supersteps(run, input), SyncDriver(run, False).answers)
            told.output = outcome.output
        return invoked(self, outcome, version)

    async def ainvoke(
        self,
        input: InputT | Command[Any] | None,
        config: RunnableConfig | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Modes = "values",
        print_mode: Modes = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Breaks = None,
        interrupt_after: Breaks = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        debug: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """The async twin of `invoke`."""
        output_keys = output_keys if output_keys is not None else self.output_channels
        if stream_mode != "values":
            stream = self.astream(
                input, config, context=context, stream_mode=stream_mode, print_mode=print_mode,
                output_keys=output_keys, interrupt_before=interrupt_before, interrupt_after=interrupt_after,
                durability=durability, control=control, debug=debug, version=version, **kwargs,
            )  # fmt: skip
            return [chunk async for chunk in stream]
        run = self._run(
            config, True, context=context, durability=_durability(durability, kwargs), control=control,
            output_keys=output_keys, breaks_before=interrupt_before, breaks_after=interrupt_after,
        )  # fmt: skip
        run.outlets = (*self._printers(run, print_mode, debug), *run.outlets)
        async with AsyncTold(self, run, input) as told:
            outcome = await adrive(supersteps(run, input), AsyncDriver(run, False).answers)
            told.output = outcome.output
        return invoked(self, outcome, version)

    def _run(
        self, config: RunnableConfig | None, asynchronous: bool, modes: frozenset[str] = frozenset(), **how: Any
    ) -> Run:
        if how["output_keys"] is not None:
            unknown = [name for name in as_names(how["output_keys"]) if name not in self.channels]
            if unknown:
                raise ValueError(
                    f"output_keys names {', '.join(map(repr, unknown))}, which is no channel of this graph."
                )
        whole = whole_config(self.config, config)
        if not modes.isdisjoint(("messages", "tools")):
            from runtime.pregel.messages import MessageStreamer, with_handler  # noqa: PLC0415 - used by few runs
            from runtime.pregel.tools import ToolStreamer  # noqa: PLC0415 - used by few runs

            for mode, kind in (("messages", MessageStreamer), ("tools", ToolStreamer)):
                if mode in modes:
                    whole = {**whole, "callbacks": with_handler(whole.get("callbacks"), kind)}
        run = Run(self, whole, asynchronous=asynchronous, **how)
        if how["durability"] is not None and run.saver is None and not run.nested:
            warnings.warn(
                f"`durability` has no effect: {how['durability']!r} says when to save, and no checkpointer is there.",
                stacklevel=3,
            )
        return run

    def _default_mode(self, config: RunnableConfig | None) -> StreamMode:
        conf = whole_config(self.config, config).get(CONF, {})
        return "values" if CONFIG_KEY_SCRATCHPAD in conf else self.stream_mode

    def _printers(self, run: Run, print_mode: Modes, debug: bool | None) -> tuple[Outlet, ...]:
        modes: Modes = print_mode or (["updates", "values"] if debug or (debug is None and self.debug) else ())
        if not modes:
            return ()
        return (Outlet(frozenset([modes] if isinstance(modes, str) else modes), False, printed, run.ns, False),)

    # -- state --------------------------------------------------------------------------------------------------------

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """The state of a thread: as it stands, or at the checkpoint that the config names.

        An unknown thread has an empty snapshot. With `subgraphs`, tasks hold the state of their graphs. ValueError
        without a checkpointer.
        """
        site = operations.site_of(self, config)
        if site is None:
            return _nothing_at(config)
        return drive(operations.get_state(site, subgraphs), saver_answers(site.saver))

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """The async twin of `get_state`."""
        site = operations.site_of(self, config)
        if site is None:
            return _nothing_at(config)
        return await adrive(operations.get_state(site, subgraphs), asaver_answers(site.saver))

    def get_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The checkpoints of a thread, newest first; a checkpoint id in the config asks for that one alone."""
        site = _site_or_raise(self, config)
        yield from drive(operations.get_state_history(site, filter, before, limit), saver_answers(site.saver))

    async def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """The async twin of `get_state_history`."""
        site = _site_or_raise(self, config)
        routine = operations.get_state_history(site, filter, before, limit)
        for snapshot in await adrive(routine, asaver_answers(site.saver)):
            yield snapshot

    def update_state(
        self,
        config: RunnableConfig,
        values: dict[str, Any] | Any | None,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Write to a thread as if `as_node` had returned the values, and give the config of the new checkpoint.

        What follows that node runs next. Without `as_node` the node that ran last is taken; InvalidUpdateError when
        that is ambiguous, or the values do not fit.
        """
        return self.bulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    async def aupdate_state(
        self,
        config: RunnableConfig,
        values: dict[str, Any] | Any | None,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """The async twin of `update_state`."""
        return await self.abulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Several updates: one checkpoint for each list of them. ValueError for an empty list."""
        site = _site_or_raise(self, config)
        answers = {**saver_answers(site.saver), Invoke: call_sync}
        return drive(operations.bulk_update_state(site, supersteps), answers)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """The async twin of `bulk_update_state`."""
        site = _site_or_raise(self, config)
        answers = {**asaver_answers(site.saver), Invoke: call_async}
        return await adrive(operations.bulk_update_state(site, supersteps), answers)

    # -- cache --------------------------------------------------------------------------------------------------------

    def clear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Forget what the cache keeps of these nodes, or of all. ValueError without a cache."""
        self._the_cache().clear(self._cache_namespaces(nodes))

    async def aclear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """The async twin of `clear_cache`."""
        await self._the_cache().aclear(self._cache_namespaces(nodes))

    def _the_cache(self) -> BaseCache[Any]:
        if self.cache is None:
            raise ValueError("This graph has no cache. Compile it with cache=InMemoryCache().")
        return self.cache

    def _cache_namespaces(self, nodes: Sequence[str] | None) -> list[tuple[str, ...]]:
        return [node_namespace(name, self.nodes[name]) for name in (nodes or self.nodes)]


def _durability(durability: Durability | None, kwargs: dict[str, Any]) -> Durability | None:
    """The durability asked for, by its own name or by the older flag."""
    during = kwargs.pop("checkpoint_during", None)
    if during is not None:
        warnings.warn(
            "`checkpoint_during` is deprecated: say durability='async' for True, durability='exit' for False.",
            LangGraphDeprecatedSinceV10,
            stacklevel=3,
        )
        if durability is not None:
            raise ValueError("checkpoint_during and durability say the same thing. Give durability alone.")
        durability = "async" if during else "exit"
    return durability


def _nothing_at(config: RunnableConfig) -> StateSnapshot:
    return StateSnapshot({}, (), config, None, None, None, (), ())


def _site_or_raise(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig) -> operations.Site:
    site = operations.site_of(graph, config)
    if site is None:
        raise ValueError(
            f"The namespace {config.get(CONF, {}).get('checkpoint_ns')!r} names no subgraph of this graph."
        )
    return site
