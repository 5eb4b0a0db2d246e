"""A task that a running function calls: planned where it is called, submitted at once, and told to the loop after.

Its identity is its caller's path and the number of the call, so that a run that is taken up again finds its result.
The call never waits for the loop: a caller that runs in the loop's own thread would wait for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime._context import task_of
from runtime._words import PUSH, RESUME, RETURN
from runtime.pregel.node import PregelNode
from runtime.pregel.task import Task, child_ns, id_bytes, task_id, task_ns, task_path_str


def call(node: PregelNode, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Start a task of the function that runs here, and give a future of its result.

    The future is `concurrent.futures`' in sync code and asyncio's in async code. RuntimeError outside of a run.
    """
    caller = task_of()
    if caller is None or caller.run.caller is None:
        raise RuntimeError(
            f"Task '{name}' was called outside of a running graph. Call it in an entrypoint, a node or another task."
        )
    return caller.run.caller(planned(caller, node, name, (tuple(args), dict(kwargs))))


def planned(caller: Task, node: PregelNode, name: str, input: Any) -> Task:
    """The task of the caller's next call, with the result stored for it, if there is one."""
    index = caller.calls
    caller.calls = index + 1
    run = caller.run
    ns = child_ns(caller.ns, name)
    identity = f"{ns}{caller.step}{name}{PUSH}{task_path_str(caller.path)}{index}"
    id = task_id(id_bytes(caller.state.checkpoint_id), identity, caller.state.old)
    task = Task(id, name, (PUSH, caller.path, index, True), task_ns(ns, id), input, node, (PUSH,))
    stored = run.stored.get(id, ())
    answered = next((list(value) for channel, value in stored if channel == RESUME), [])
    task.place(run, caller.state, caller.step, caller.stop, answered)
    task.caller = caller
    caller.sign()
    for channel, value in stored:
        if channel == RETURN:
            task.take([(RETURN, value)])
    return task


def result_of(task: Task) -> Any:
    """What a finished task returned; raises what it raised."""
    if task.error is not None:
        raise task.error
    return next(value for channel, value in task.writes if channel == RETURN)
