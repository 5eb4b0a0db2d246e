"""A compiled node: what wakes it, what it reads, what it runs, and what its answer writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.base import Runnable, RunnableSequence
from langchain_core.runnables.config import merge_configs

from runtime._words import TAG_HIDDEN
from runtime.pregel.call import RunnableCallable, coerce_to_runnable
from runtime.pregel.write import PASSTHROUGH, Branch, ChannelWrite, Writer
from runtime.types import CachePolicy, RetryPolicy, TimeoutPolicy, TracePolicy

if TYPE_CHECKING:
    from datetime import timedelta

    from langchain_core.runnables import RunnableConfig

__all__ = ("NodeBuilder", "PregelNode")

DEFAULT_BOUND: Runnable[Any, Any] = RunnableCallable(lambda value: value, name="passthrough", trace=False)


class PregelNode:
    """One actor of the graph.

    `channels` is what it reads: a name (the bare value; the node does not run while that channel is empty) or names
    (a dict of those that hold a value), passed through `mapper` if there is one. It is woken when one of `triggers`
    has a newer version than it has seen. `bound` runs on that input; `writers` and `branches` make writes of its
    answer. `handler` names the node that takes over when its tries are used up. `all_triggers` are the triggers in the
    order that a task's id is made of; an `idle` node runs no code of anybody's: it hands its input on to its writers.
    """

    def __init__(
        self,
        *,
        channels: str | Sequence[str],
        triggers: Sequence[str],
        mapper: Callable[[Any], Any] | None = None,
        bound: Runnable[Any, Any] | None = None,
        writers: Sequence[Writer] = (),
        branches: Sequence[Branch] = (),
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        trace_policy: TracePolicy | None = None,
        subgraphs: Sequence[Runnable[Any, Any]] | None = None,
        handler: str | None = None,
        handles_errors: bool = False,
    ) -> None:
        self.channels = channels
        self.triggers = triggers
        self.mapper = mapper
        self.bound = bound if bound is not None else DEFAULT_BOUND
        self.writers = writers
        self.branches = branches
        self.tags = tags
        self.metadata = dict(metadata or {})
        self.retry_policy = as_policies(retry_policy)
        self.cache_policy = cache_policy
        self.timeout = TimeoutPolicy.coerce(timeout)
        self.trace_policy = trace_policy
        self._subgraphs = None if subgraphs is None else list(subgraphs)
        self.handler = handler
        self.handles_errors = handles_errors
        self.all_triggers = tuple(sorted(triggers))
        self.idle = self.bound is DEFAULT_BOUND and not branches

    @property
    def hidden(self) -> bool:
        """True for a node that belongs to the machine and is not shown in streams."""
        return TAG_HIDDEN in self.tags

    @cached_property
    def subgraphs(self) -> list[Runnable[Any, Any]]:
        """The graphs that this node runs, as far as its code shows: the node itself, or what its function names."""
        from runtime.pregel.nested import graphs_in  # noqa: PLC0415 - it knows Pregel, which is made of nodes

        return graphs_in(self.bound) if self._subgraphs is None else self._subgraphs

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """What the node alone makes of an input, as in a test of it: no graph runs, and nothing is written."""
        return self.bound.invoke(input, self._config(config), **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        return await self.bound.ainvoke(input, self._config(config), **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """The same in pieces, where the node's code gives some; else in one."""
        yield from self.bound.stream(input, self._config(config), **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """The async twin of `stream`."""
        async for piece in self.bound.astream(input, self._config(config), **kwargs):
            yield piece

    def _config(self, config: RunnableConfig | None) -> RunnableConfig:
        return merge_configs({"metadata": self.metadata, "tags": list(self.tags)}, config)

    def copy(self, update: Mapping[str, Any] | None = None) -> PregelNode:
        """A node with the same settings, some of them replaced; nothing computed is carried over."""
        settings: dict[str, Any] = {
            "channels": self.channels,
            "triggers": self.triggers,
            "mapper": self.mapper,
            "bound": self.bound,
            "writers": self.writers,
            "branches": self.branches,
            "tags": self.tags,
            "metadata": self.metadata,
            "retry_policy": self.retry_policy,
            "cache_policy": self.cache_policy,
            "timeout": self.timeout,
            "trace_policy": self.trace_policy,
            "subgraphs": self._subgraphs,
            "handler": self.handler,
            "handles_errors": self.handles_errors,
        }
        return PregelNode(**{**settings, **(update or {})})

    def __repr__(self) -> str:
        return f"PregelNode(channels={self.channels!r}, triggers={self.triggers!r})"


def as_policies(policy: RetryPolicy | Sequence[RetryPolicy] | None) -> tuple[RetryPolicy, ...]:
    """Retry policies as a tuple: none, one, or several."""
    if policy is None:
        return ()
    return (policy,) if isinstance(policy, RetryPolicy) else tuple(policy)


class NodeBuilder:
    """Builds a node of a raw `Pregel`, step by step; `build()` gives the node."""

    def __init__(self) -> None:
        self._channels: str | list[str] = []
        self._triggers: list[str] = []
        self._tags: list[str] = []
        self._metadata: dict[str, Any] = {}
        self._writes: list[Writer] = []
        self._bound: Runnable[Any, Any] | None = None
        self._retry_policy: list[RetryPolicy] = []
        self._cache_policy: CachePolicy[Any] | None = None
        self._timeout: TimeoutPolicy | None = None

    def subscribe_only(self, channel: str) -> NodeBuilder:
        """Be woken by one channel, and take its bare value as input. ValueError after `subscribe_to`."""
        if self._channels:
            raise ValueError(
                f"This node already subscribes to {self._channels!r}. "
                "subscribe_only is for a node with one channel; use subscribe_to for several."
            )
        self._channels = channel
        self._triggers.append(channel)
        return self

    def subscribe_to(self, *channels: str, read: bool = True) -> NodeBuilder:
        """Be woken by these channels; with `read` their values are in the node's input, a dict."""
        names = self._names("subscribe_to")
        if read:
            names.extend(name for name in channels if name not in names)
        self._triggers.extend(name for name in channels if name not in self._triggers)
        return self

    def read_from(self, *channels: str) -> NodeBuilder:
        """Have these channels in the input as well, without being woken by them."""
        names = self._names("read_from")
        names.extend(name for name in channels if name not in names)
        return self

    def _names(self, method: str) -> list[str]:
        if isinstance(self._channels, str):
            raise ValueError(
                f"This node takes the bare value of {self._channels!r} (subscribe_only), so {method} cannot add to it."
            )
        return self._channels

    def do(self, node: Any) -> NodeBuilder:
        """Run this on the input; a second call runs on what the first gave."""
        runnable = coerce_to_runnable(node, trace=False)
        self._bound = runnable if self._bound is None else RunnableSequence(self._bound, runnable)
        return self

    def write_to(self, *channels: str | ChannelWrite, **kwargs: Any) -> NodeBuilder:
        """Write the node's answer to these channels; by keyword, a constant or what a function makes of the answer."""
        self._writes.extend(c if isinstance(c, ChannelWrite) else ChannelWrite(c) for c in channels)
        self._writes.extend(
            ChannelWrite(name, PASSTHROUGH, mapper=value) if callable(value) else ChannelWrite(name, value)
            for name, value in kwargs.items()
        )
        return self

    def meta(self, *tags: str, **metadata: Any) -> NodeBuilder:
        """Tags and metadata of the node's runs."""
        self._tags.extend(tags)
        self._metadata.update(metadata)
        return self

    def add_retry_policies(self, *policies: RetryPolicy) -> NodeBuilder:
        """Try a failed task again, by the first policy that fits its error."""
        self._retry_policy.extend(policies)
        return self

    def add_cache_policy(self, policy: CachePolicy[Any]) -> NodeBuilder:
        """Take the writes of an equal input from the graph's cache."""
        self._cache_policy = policy
        return self

    def set_timeout(self, timeout: float | timedelta | TimeoutPolicy | None) -> NodeBuilder:
        """Limit the time of an attempt."""
        self._timeout = TimeoutPolicy.coerce(timeout)
        return self

    def build(self) -> PregelNode:
        """The node."""
        return PregelNode(
            channels=self._channels if isinstance(self._channels, str) else list(self._channels),
            triggers=list(self._triggers),
            bound=self._bound,
            writers=list(self._writes),
            tags=list(self._tags),
            metadata=self._metadata,
            retry_policy=self._retry_policy or None,
            cache_policy=self._cache_policy,
            timeout=self._timeout,
        )
