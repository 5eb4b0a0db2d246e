"""Callbacks for a run's stops and resumptions, beside those of langchain-core.

A `GraphCallbackHandler` among a run's callbacks is told when the run stops to ask, or at a breakpoint, and when a
thread goes on. Handlers of other kinds never hear of these. What they are told is a view of the run's events.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.callbacks.base import BaseCallbackHandler

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.runnables import RunnableConfig

    from runtime.types import Interrupt

__all__ = (
    "GraphCallbackHandler",
    "GraphInterruptEvent",
    "GraphLifecycleEvent",
    "GraphLifecycleStatus",
    "GraphResumeEvent",
    "get_async_graph_callback_manager_for_config",
    "get_sync_graph_callback_manager_for_config",
)

logger = logging.getLogger(__name__)

GraphLifecycleStatus = Literal["pending", "interrupt_before", "interrupt_after"]
"""Why a run stops: questions wait, or it stands before or after nodes with a breakpoint."""


@dataclass(frozen=True)
class GraphLifecycleEvent:
    """A run stopped or goes on: its run id, why, the checkpoint, and the namespace of the graph (() at the top)."""

    run_id: Any
    status: GraphLifecycleStatus
    checkpoint_id: str | None
    checkpoint_ns: tuple[str, ...]


@dataclass(frozen=True)
class GraphInterruptEvent(GraphLifecycleEvent):
    """A run stops; `interrupts` are the questions that wait, none at a breakpoint."""

    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True)
class GraphResumeEvent(GraphLifecycleEvent):
    """A thread goes on."""


class GraphCallbackHandler(BaseCallbackHandler):
    """A handler that hears of interrupts and resumptions. Either method may be async in an async run.

    An exception in it is logged, and goes on only where `raise_error` is True.
    """

    def on_interrupt(self, event: GraphInterruptEvent) -> Any:
        """The run stops."""

    def on_resume(self, event: GraphResumeEvent) -> Any:
        """The thread goes on."""


class GraphCallbackManager:
    """Tells each `GraphCallbackHandler` in turn. `run_id` is the run's that it was made for, if that was said."""

    def __init__(self, handlers: Iterable[Any], run_id: UUID | None = None) -> None:
        self.run_id = run_id
        self.handlers: Sequence[GraphCallbackHandler] = tuple(
            handler for handler in handlers if isinstance(handler, GraphCallbackHandler)
        )

    def __bool__(self) -> bool:
        return bool(self.handlers)

    def tell(self, event: GraphLifecycleEvent) -> list[Any]:
        """Call the handlers; what async ones have still to do is given back."""
        todo = []
        for handler in self.handlers:
            method: Any = handler.on_interrupt if isinstance(event, GraphInterruptEvent) else handler.on_resume
            try:
                answer = method(event)
            except Exception as error:
                _failed(handler, error)
            else:
                if inspect.isawaitable(answer):
                    todo.append((handler, answer))
        return todo

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """Tell of a stop, in sync code."""
        self.tell_now(event)

    def on_resume(self, event: GraphResumeEvent) -> None:
        """Tell that a thread goes on, in sync code."""
        self.tell_now(event)

    def tell_now(self, event: GraphLifecycleEvent) -> None:
        """Tell of an event, in sync code: async handlers cannot be called there, and a warning says so."""
        for handler, answer in self.tell(event):
            answer.close()
            logger.warning("%s is async and was not called: this run is sync.", type(handler).__name__)


class AsyncGraphCallbackManager(GraphCallbackManager):
    """The same, in async code."""

    async def aon_event(self, event: GraphLifecycleEvent) -> None:
        """Tell of an event, and wait for async handlers."""
        for handler, answer in self.tell(event):
            try:
                await answer
            except Exception as error:
                _failed(handler, error)


def _failed(handler: GraphCallbackHandler, error: Exception) -> None:
    if getattr(handler, "raise_error", False):
        raise error
    logger.warning("%s failed: %r", type(handler).__name__, error)


def _handlers(config: RunnableConfig | None) -> Sequence[Any]:
    callbacks: Any = (config or {}).get("callbacks") or ()
    return callbacks if isinstance(callbacks, (list, tuple)) else callbacks.handlers


def get_sync_graph_callback_manager_for_config(
    config: RunnableConfig | None, *, run_id: UUID | None = None
) -> GraphCallbackManager:
    """The manager of the graph handlers among a config's callbacks."""
    return GraphCallbackManager(_handlers(config), run_id)


def get_async_graph_callback_manager_for_config(
    config: RunnableConfig | None, *, run_id: UUID | None = None
) -> AsyncGraphCallbackManager:
    """The same, for async code."""
    return AsyncGraphCallbackManager(_handlers(config), run_id)
