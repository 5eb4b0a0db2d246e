"""Into a task's context: what the user's code finds when it looks around, and who is told about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import var_child_runnable_config

from runtime._context import current
from runtime._words import CONF, CONFIG_KEY_RUNTIME
from runtime.pregel.call import RunnableCallable
from runtime.pregel.effects import Invoke
from runtime.pregel.policy import code_of
from runtime.runtime import DEFAULT_RUNTIME

if TYPE_CHECKING:
    from runtime.pregel.run import Run
    from runtime.pregel.task import Task


def enter(task: Task, effect: Invoke) -> None:
    """Make the task the current one. Called inside the task's own copy of the context, so nothing is put back."""
    current.set(task.context)
    var_child_runnable_config.set(effect.config)


def call_sync(effect: Invoke) -> Any:
    """The answer of the user's code in the sync colour."""
    bound = effect.bound
    if effect.timed is not None:
        raise ValueError(f"'{bound.get_name()}' has a timeout, and a sync run cannot stop it. Use ainvoke or astream.")
    if isinstance(bound, RunnableCallable):
        return bound.call(effect.input, effect.config, effect.config[CONF].get(CONFIG_KEY_RUNTIME, DEFAULT_RUNTIME))
    return bound.invoke(effect.input, effect.config)


async def call_async(effect: Invoke) -> Any:
    """The answer of the user's code in the async colour."""
    bound = effect.bound
    if isinstance(bound, RunnableCallable):
        runtime = effect.config[CONF].get(CONFIG_KEY_RUNTIME, DEFAULT_RUNTIME)
        return await bound.acall(effect.input, effect.config, runtime)
    return await bound.ainvoke(effect.input, effect.config)


def task_started_args(run: Run, task: Task) -> tuple[Any, dict[str, Any]]:
    """What the callbacks are told when a task begins: its manager, and the arguments of on_chain_start."""
    context = task.context
    assert context is not None
    assert context.config is not None
    config = context.config
    above = context.caller.manager if context.caller is not None else None
    manager = (
        above.get_child("seq:step:1") if above is not None else run.manager.get_child(f"graph:step:{context.step}")
    )
    tags = task.proc.tags
    if tags:
        manager.add_tags(list(tags))
    manager.add_metadata({"ls_integration": "langgraph", **config.get("metadata", {})}, inherit=True)
    inputs = task.input
    if task.called:
        args, kwargs = inputs
        inputs = {**dict(zip(_parameters(task), args, strict=False)), **kwargs}
    return manager, {"serialized": None, "inputs": inputs, "name": task.node}


def _parameters(task: Task) -> list[str]:
    """The names of the parameters of a called function."""
    try:
        return list(inspect.signature(code_of(task.proc)).parameters)
    except (TypeError, ValueError):
        return [f"arg{index}" for index in range(len(task.input[0]))]


def closing(manager: Any, output: Any, error: BaseException | None) -> Callable[[], Any]:
    """The call that tells the callbacks how a task ended."""
    if error is not None:
        return lambda: manager.on_chain_error(error)
    return lambda: manager.on_chain_end(output)
