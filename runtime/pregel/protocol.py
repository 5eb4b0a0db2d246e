"""What a graph must offer to be run, nested and looked into, whatever made it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic

from langchain_core.runnables.base import Runnable

from runtime.typing import ContextT, InputT, OutputT, StateT

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.graph import Graph as DrawableGraph

    from runtime.types import StateSnapshot, StateUpdate

__all__ = ("PregelProtocol", "StreamChunk", "StreamProtocol")

StreamChunk = tuple[tuple[str, ...], str, Any]
"""Namespace, mode and payload of one item of a stream."""


class StreamProtocol:
    """Takes stream chunks of the modes that somebody reads."""

    __slots__ = ("_call", "modes")

    def __init__(self, call: Callable[[StreamChunk], None], modes: set[str]) -> None:
        self._call = call
        self.modes = modes

    def __call__(self, chunk: StreamChunk) -> None:
        self._call(chunk)


class PregelProtocol(Runnable[InputT, Any], Generic[StateT, ContextT, InputT, OutputT]):
    """A graph: something that runs, streams, can be drawn, and keeps a state by thread."""

    @abstractmethod
    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> DrawableGraph:
        """Nodes and edges, to be drawn; nested graphs opened to the depth `xray`."""

    @abstractmethod
    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> DrawableGraph:
        """The async twin of `get_graph`."""

    @abstractmethod
    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """The state of a thread."""

    @abstractmethod
    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """The async twin of `get_state`."""

    @abstractmethod
    def get_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The checkpoints of a thread, newest first."""

    @abstractmethod
    def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """The async twin of `get_state_history`."""

    @abstractmethod
    def update_state(self, config: RunnableConfig, values: Any, as_node: str | None = None) -> RunnableConfig:
        """Write to a thread's state."""

    @abstractmethod
    async def aupdate_state(self, config: RunnableConfig, values: Any, as_node: str | None = None) -> RunnableConfig:
        """The async twin of `update_state`."""

    @abstractmethod
    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Write to a thread's state several times, each a superstep of its own."""

    @abstractmethod
    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """The async twin of `bulk_update_state`."""
