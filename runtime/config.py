"""What a node may ask of the run that it is part of, from anywhere in its call stack.

`get_config` finds the task by a context variable, so it works in every function that a node calls, in threads started
with a copy of the context, and in asyncio tasks. The rest are views of that config.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import var_child_runnable_config

from runtime._context import task_config, task_of
from runtime._words import CONFIG_KEY_RUNTIME, CONFIG_KEY_SCRATCHPAD

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.runtime import Runtime
    from runtime.store.base import BaseStore
    from runtime.types import StreamWriter

__all__ = ("get_config", "get_store", "get_stream_writer")


def get_config() -> RunnableConfig:
    """The config of the innermost runnable that is running here: the task's, or that of a runnable inside it.

    Raises RuntimeError outside of both.
    """
    inner, own = var_child_runnable_config.get(), task_config.get()
    if own is None:
        if inner is None:
            raise RuntimeError("get_config() was called outside of a run. Call it in a node, a tool or a task.")
        return inner
    if inner is not None and inner.get("configurable", {}).get(CONFIG_KEY_SCRATCHPAD) is task_of(own):
        return inner
    return own


def get_store() -> BaseStore:
    """The store that the graph was compiled with, or None when it has none. RuntimeError outside of a graph's run."""
    return find_runtime("get_store").store  # type: ignore[return-value]  # as LangGraph: who asks has given the graph one


def get_stream_writer() -> StreamWriter:
    """A function that writes one item to the `custom` stream, and does nothing where nobody reads it.

    Raises RuntimeError outside of a graph's run.
    """
    return find_runtime("get_stream_writer").stream_writer


def find_runtime(asked_by: str) -> Runtime[Any]:
    """The `Runtime` of the task that is running here, else a RuntimeError that names the function that asked."""
    found: Runtime[Any] | None = get_config().get("configurable", {}).get(CONFIG_KEY_RUNTIME)
    if found is None:
        raise RuntimeError(f"{asked_by}() was called outside of a graph's run. Call it in a node, a tool or a task.")
    return found
