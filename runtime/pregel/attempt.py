"""One task, from its first try to its end: run the node, make writes of its answer, ask its routers, try again.

A routine, like the loop; it ends with the task's fields telling how it went, and raises nothing but what must stop
the process. What a failed attempt wrote is dropped; answers to its questions are kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from runtime._words import MISSING
from runtime.errors import GraphBubbleUp, GraphInterrupt, NodeCancelledError, ParentCommand, is_invalid_resume
from runtime.pregel.deltas import with_ids
from runtime.pregel.effects import Close, Invoke, Open, Routine, Sleep
from runtime.pregel.policy import matching, wait_before_next
from runtime.pregel.task import Task
from runtime.types import RetryPolicy

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.pregel.run import Run


def attempt(run: Run, task: Task) -> Routine[None]:
    """Try the task until it succeeds, stops to ask, or has used up its tries."""
    task.started_at = run.clock()
    started = time.perf_counter()
    while True:
        if task.attempt:
            task.again()
            task.fresh, task.error = {}, None
            run.stream(task, "attempt", task.attempt + 1)
        task.attempt += 1
        task.sent = []
        try:
            yield from _once(run, task)
            task.finished = True
        except GraphInterrupt as stop:
            task.writes = []
            task.interrupts = tuple(stop.args[0]) if stop.args else ()
            task.error = stop
        except GraphBubbleUp as control:
            task.writes, task.error = [], control
        except Exception as error:
            task.writes, task.error = [], error
            policies: Sequence[RetryPolicy] = task.proc.retry_policy or run.graph.retry_policies
            policy = None if is_invalid_resume(error) else matching(policies, error)
            if policy is not None and task.attempt < policy.max_attempts:
                yield Sleep(wait_before_next(policy, task.attempt))
                continue
            error.add_note(f"Raised in node {task.node!r} (task {task.id})")
        task.duration = time.perf_counter() - started
        return


def finish_idle(run: Run, task: Task) -> bool:
    """Finish a task that runs no code, here and now; False where somebody is to be told of it as of any other."""
    if run.watches or (run.manager is not None and not task.hidden):  # the way in has no run of its own
        return False
    try:
        task.writes = [pair for writer in task.proc.writers for pair in writer(task.input)]
        if run.program.deltas:
            with_ids(run.program, task.writes)
        task.finished = True
    except GraphBubbleUp as control:
        task.writes, task.error = [], control
    except Exception as error:
        task.writes, task.error = [], error
        error.add_note(f"Raised in node {task.node!r} (task {task.id})")
    return True


def _once(run: Run, task: Task) -> Routine[None]:
    """One try: the node's code, the writes of its answer, its routers; with a run of its own where that is told."""
    node = task.proc
    config = run.task_config(task)
    manager = None
    if run.manager is not None and not (node.idle and node.hidden):  # the way in makes a run only to hold its branch's
        manager = task.manager = yield Open(task, config)
        config = below(config, manager, 1)
    left: ParentCommand | None = None
    try:
        try:
            limits = task.timeout or node.timeout
            if limits is not None:
                task.watched_signs = limits.refresh_on == "auto"
            output = yield Invoke(node.bound, task.input, config, limits)
        except ParentCommand as up:
            # It comes from a graph that this node runs, and so it is meant for this graph.
            left, output = up, replace(up.args[0], graph=None)
        except asyncio.CancelledError as error:
            if run.asynchronous and _is_cancelling():
                raise
            raise NodeCancelledError(task.node) from error
        writes = task.writes = list(task.sent)
        for writer in node.writers:
            writes += writer(output)
        if run.program.deltas:
            with_ids(run.program, writes)
        if node.branches:
            for index, branch in enumerate(node.branches, len(node.writers) + 2):
                state = task.read_fresh(task.state, branch.read)
                asked = branch.input(None if state is MISSING else state, output)
                answer = yield Invoke(branch.path, asked, config if manager is None else below(config, manager, index))
                writes += branch.writes(answer)
    except BaseException as error:
        if manager is not None:
            yield Close(manager, None, error)
        raise
    if manager is not None:
        yield Close(manager, None if left is not None else output, left)


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def below(config: RunnableConfig, manager: Any, position: int) -> RunnableConfig:
    """The config of what runs inside of a task's own run, at this position in it."""
    return cast("RunnableConfig", {**config, "callbacks": manager.get_child(f"seq:step:{position}")})
