"""Into a task's context: what the user's code finds when it looks around, and who is told about it."""

from __future__ import annotations

import copy
import logging
from collections.abc import AsyncIterator, Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from langchain_core.callbacks.manager import AsyncRunManager
from langchain_core.runnables.config import set_config_context, var_child_runnable_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langchain_core.tracers.base import BaseTracer

from runtime._annotations import signature
from runtime._context import task_config
from runtime.pregel.call import RunnableCallable
from runtime.pregel.effects import Invoke
from runtime.pregel.policy import code_of

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.pregel.run import Run
    from runtime.pregel.task import Task


logger = logging.getLogger(__name__)

INTEGRATION = {"ls_integration": "langgraph"}
"""What a run's metadata says of who made it, unless the caller's say something else."""


def enter(effect: Invoke) -> None:
    """Make the config's task the one that runs here: in the task's own copy of the context, so nothing is put back."""
    if task_config.get() is effect.config:  # a node's routers follow it
        return
    task_config.set(effect.config)
    if _is_traced(effect):
        with set_config_context(effect.config) as context:  # the run that LangSmith's own helpers hang theirs under
            for variable, value in context.items():
                variable.set(value)
    else:
        var_child_runnable_config.set(effect.config)


def _is_traced(effect: Invoke) -> bool:
    """True when a tracer listens."""
    callbacks: Any = effect.config.get("callbacks")
    return callbacks is not None and any(isinstance(h, BaseTracer) for h in getattr(callbacks, "handlers", ()))


def call_sync(effect: Invoke) -> Any:
    """The answer of the user's code in the sync colour."""
    bound = effect.bound
    if effect.timed is not None:
        raise ValueError(f"'{bound.get_name()}' has a timeout, and a sync run cannot stop it. Use ainvoke or astream.")
    if isinstance(bound, RunnableCallable) and not _makes_a_run(bound, effect):
        return bound.call(effect.input, effect.config)
    return bound.invoke(effect.input, effect.config)


async def call_async(effect: Invoke) -> Any:
    """The answer of the user's code in the async colour."""
    bound = effect.bound
    if isinstance(bound, RunnableCallable) and not _makes_a_run(bound, effect):
        return await bound.acall(effect.input, effect.config)
    return await bound.ainvoke(effect.input, effect.config)


def _makes_a_run(bound: RunnableCallable, effect: Invoke) -> bool:
    """True for a router, and a Runnable that the user made, where somebody is told of their runs."""
    return bound.trace and effect.config.get("callbacks") is not None


def _manager_and_inputs(run: Run, task: Task, config: RunnableConfig) -> tuple[Any, Any]:
    """The callback manager of a task, and the inputs that it is told."""
    above = task.caller.manager if task.caller is not None else None
    manager = above.get_child("seq:step:1") if above is not None else run.manager.get_child(f"graph:step:{task.step}")
    tags = task.proc.tags
    if tags:
        manager.add_tags(list(tags))
    manager.add_metadata({**INTEGRATION, **config.get("metadata", {})}, inherit=True)
    inputs = task.input
    if task.called:
        args, kwargs = inputs
        inputs = {**dict(zip(_parameters(task), args, strict=False)), **kwargs}
    return manager, inputs


def _parameters(task: Task) -> list[str]:
    """The names of the parameters of a called function."""
    try:
        return list(signature(code_of(task.proc)).parameters)
    except (TypeError, ValueError):
        return [f"arg{index}" for index in range(len(task.input[0]))]


def openings(
    run: Run, task: Task, config: RunnableConfig
) -> tuple[list[Callable[[], Any]], Callable[[list[Any]], Any]]:
    """The calls that tell the callbacks of a task's begin, and what makes its run manager of their replies.

    Where the node has a trace policy, tracers are told apart from the rest: what they record is the policy's to say.
    """
    manager, inputs = _manager_and_inputs(run, task, config)
    policy = task.proc.trace_policy
    if policy is None or policy.process_inputs is None:
        return [lambda: manager.on_chain_start(None, inputs, name=task.node)], lambda replies: replies[0]
    run_id = uuid4()
    told = _processed(policy.process_inputs, inputs, task)
    calls: list[Callable[[], Any]] = [
        partial(part.on_chain_start, None, payload, name=task.node, run_id=run_id)
        for part, payload in zip(_parted(manager), (inputs, told), strict=True)
    ]

    def joined(replies: list[Any]) -> Any:
        whole = replies[0]
        whole.handlers, whole.inheritable_handlers = manager.handlers, manager.inheritable_handlers
        return whole

    return calls, joined


def closings(task: Task, manager: Any, output: Any, error: BaseException | None) -> list[Callable[[], Any]]:
    """The calls that tell the callbacks how a task ended."""
    if error is not None:
        return [lambda: manager.on_chain_error(error)]
    policy = task.proc.trace_policy
    if policy is None or policy.process_outputs is None:
        return [*_chunks(manager, output), lambda: manager.on_chain_end(output)]
    told = _processed(policy.process_outputs, output, task)
    calls: list[Callable[[], Any]] = []
    for part, payload in zip(_parted(manager), (output, told), strict=True):
        calls += [*_chunks(part, payload), partial(part.on_chain_end, payload)]
    return calls


def _chunks(manager: Any, output: Any) -> list[Callable[[], Any]]:
    """The calls that give the output, as the one chunk that it is, to the handlers that look on while a run streams."""
    lookers = [handler for handler in manager.handlers if _looks_on(type(handler))]  # type: ignore[arg-type]  # a class can be hashed
    if not lookers:
        return []
    give = _agive if isinstance(manager, AsyncRunManager) else _give
    return [partial(give, handler, manager.run_id, output) for handler in lookers]


@lru_cache(maxsize=256)
def _looks_on(kind: type[Any]) -> bool:
    return issubclass(kind, _StreamingCallbackHandler)


def _give(handler: Any, run_id: UUID, output: Any) -> None:
    for _ in handler.tap_output_iter(run_id, iter([output])):
        pass


async def _agive(handler: Any, run_id: UUID, output: Any) -> None:
    async def once() -> AsyncIterator[Any]:
        yield output

    async for _ in handler.tap_output_aiter(run_id, once()):
        pass


def _parted(manager: Any) -> tuple[Any, Any]:
    """The manager twice: with the handlers that are no tracers, and with those that are."""
    parts = []
    for tracers in (False, True):
        part = copy.copy(manager)
        part.handlers = [h for h in manager.handlers if isinstance(h, BaseTracer) is tracers]
        part.inheritable_handlers = [h for h in manager.inheritable_handlers if isinstance(h, BaseTracer) is tracers]
        parts.append(part)
    return parts[0], parts[1]


def _processed(process: Callable[[Any], Any], payload: Any, task: Task) -> Any:
    try:
        return process(payload)
    except Exception:
        logger.warning("The trace policy of node '%s' failed; the real payload is recorded.", task.node, exc_info=True)
        return payload
