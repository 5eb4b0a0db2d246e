"""A run as langchain-core's callbacks and tracers hear of it, and whether any of them listens."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

from runtime.pregel.enter import INTEGRATION

if TYPE_CHECKING:
    from runtime.pregel.main import Pregel
    from runtime.pregel.run import Run


class Told:
    """A run as the callbacks hear of it: begun, ended, or failed. It costs nothing where nobody listens."""

    def __init__(self, graph: Pregel[Any, Any, Any, Any], run: Run, input: Any) -> None:
        self.graph = graph
        self.run = run
        self.input = input
        self.output: Any = None

    def _name(self) -> str:
        return str(self.run.config.get("run_name") or self.graph.get_name())

    def __enter__(self) -> Self:
        config = self.run.config
        if config.get("callbacks") or traced():
            from langchain_core.runnables.config import get_callback_manager_for_config  # noqa: PLC0415

            manager = get_callback_manager_for_config(config)
            manager.add_metadata({**INTEGRATION, **config.get("metadata", {})})
            self.run.manager = manager.on_chain_start(None, self.input, name=self._name(), run_id=config.get("run_id"))
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        manager = self.run.manager
        if manager is None or isinstance(error, GeneratorExit):
            return
        if error is not None:
            manager.on_chain_error(error)
        else:
            manager.on_chain_end(self.output)


class AsyncTold(Told):
    """The async twin of `Told`."""

    async def __aenter__(self) -> Self:
        config = self.run.config
        if config.get("callbacks") or traced():
            from langchain_core.runnables.config import get_async_callback_manager_for_config  # noqa: PLC0415

            manager = get_async_callback_manager_for_config(config)
            manager.add_metadata({**INTEGRATION, **config.get("metadata", {})})
            self.run.manager = await manager.on_chain_start(
                None, self.input, name=self._name(), run_id=config.get("run_id")
            )
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        manager = self.run.manager
        if manager is None or isinstance(error, GeneratorExit):
            return
        if error is not None:
            await manager.on_chain_error(error)
        else:
            await manager.on_chain_end(self.output)


def traced() -> bool:
    """True when some tracer or global handler of langchain-core would see a run."""
    return _langsmith_on() or ("langchain_core.tracers.context" in sys.modules and _has_hooks())


def _langsmith_on() -> bool:
    helpers = sys.modules.get("langsmith.run_helpers")
    if helpers is not None:  # a program that says so by its context, or runs inside a traced function, has loaded it
        here = helpers.get_tracing_context()
        if here["enabled"] is not None:
            return bool(here["enabled"])
        if here["parent"] is not None:
            return True
    return environment_traces()


@lru_cache(maxsize=1)
def environment_traces() -> bool:
    """True when the environment switches LangSmith on. It is read once in a process, as LangSmith's client reads it."""
    names = ("LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING")
    return any(_on(name) for name in names)


def _has_hooks() -> bool:
    from langchain_core.tracers import context  # noqa: PLC0415 - looked at only where it is loaded already

    return (
        any(var.get() is not None or (env is not None and _on(env)) for var, _, _, env in context._configure_hooks)
        or context.tracing_v2_callback_var.get() is not None
    )


def _on(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("true", "1")
