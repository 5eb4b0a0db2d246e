"""An attempt against the clock: how long it may take in all, and how long without a sign of progress."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks.base import BaseCallbackHandler

from runtime.errors import NodeTimeoutError
from runtime.pregel.enter import call_async
from runtime.types import TimeoutPolicy

if TYPE_CHECKING:
    from runtime._context import TaskContext
    from runtime.pregel.effects import Invoke
    from runtime.pregel.task import Task


class Pulse(BaseCallbackHandler):
    """Takes whatever the callbacks tell of a task as a sign of progress."""

    run_inline = True

    def __init__(self, context: TaskContext) -> None:
        self.context = context

    def _beat(self, *args: Any, **kwargs: Any) -> None:
        self.context.beat()

    on_llm_start = on_chat_model_start = on_llm_new_token = on_llm_end = on_llm_error = _beat
    on_chain_start = on_chain_end = on_chain_error = _beat
    on_tool_start = on_tool_end = on_tool_error = on_retriever_start = on_retriever_end = on_retriever_error = _beat
    on_text = on_custom_event = _beat


def with_pulse(callbacks: Any, context: TaskContext) -> Any:
    """The callbacks with a pulse among them."""
    pulse = Pulse(context)
    if callbacks is None or isinstance(callbacks, list):
        return [*(callbacks or []), pulse]
    copied = callbacks.copy()
    copied.add_handler(pulse, True)
    return copied


async def call_timed(task: Task, effect: Invoke) -> Any:
    """The answer of the user's code, or NodeTimeoutError when it took too long; then it has been cancelled."""
    policy: TimeoutPolicy = effect.timed
    started = time.monotonic()
    task.beat()
    if policy.idle_timeout is not None and policy.refresh_on == "auto":
        callbacks = with_pulse(effect.config.get("callbacks"), task)
        effect = effect._replace(config={**effect.config, "callbacks": callbacks})
    job = asyncio.ensure_future(call_async(effect))
    try:
        while True:
            left, kind = _left(policy, started, task)
            done, _ = await asyncio.wait({job}, timeout=max(0.0, left))
            if done:
                return job.result()
            if _left(policy, started, task)[0] <= 0:
                raise NodeTimeoutError(
                    task.node,
                    time.monotonic() - started,
                    kind=cast("Any", kind),
                    run_timeout=cast("float | None", policy.run_timeout),
                    idle_timeout=cast("float | None", policy.idle_timeout),
                )
    finally:
        if not job.done():
            task.closed = True
            job.cancel()
            await asyncio.wait({job})
            if not job.cancelled():
                job.exception()  # looked at, so that nobody is told of it as forgotten
            task.closed = False


def _left(policy: TimeoutPolicy, started: float, task: Task) -> tuple[float, str]:
    """Seconds until the first limit is reached, and which that is."""
    now = time.monotonic()
    limits = []
    if policy.run_timeout is not None:
        limits.append((cast("float", policy.run_timeout) - (now - started), "run"))
    if policy.idle_timeout is not None:
        limits.append((cast("float", policy.idle_timeout) - (now - task.last_sign), "idle"))
    return min(limits, default=(60.0, "run"))
