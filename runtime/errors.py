"""The errors of a graph program, as one tree.

Exception
├── EmptyChannelError           a channel was read before it was written
├── InvalidUpdateError          a write does not fit its channel, or a node's answer its schema
├── EmptyInputError             there is nothing to run
├── TaskNotFound                a task is asked for which the checkpoint does not hold
├── UnknownInterruptError       an answer names no interrupt that waits (strict resume)
├── NodeCancelledError          user code raised a cancellation of its own
├── NodeTimeoutError            an attempt took too long, or was silent too long
├── RecursionError
│   └── GraphRecursionError     the run needs more supersteps than it may take
└── GraphBubbleUp               control flow; no policy and no handler may swallow it
    ├── GraphInterrupt          a task waits for an answer
    │   └── NodeInterrupt       (deprecated)
    ├── GraphDrained            the run was asked to stop at a barrier
    └── ParentCommand           a command for the graph around this one
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from runtime.warnings import LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from runtime.types import Command, Interrupt

__all__ = (
    "EmptyChannelError",
    "EmptyInputError",
    "ErrorCode",
    "GraphBubbleUp",
    "GraphDrained",
    "GraphInterrupt",
    "GraphRecursionError",
    "InvalidUpdateError",
    "NodeCancelledError",
    "NodeError",
    "NodeInterrupt",
    "NodeTimeoutError",
    "ParentCommand",
    "TaskNotFound",
    "UnknownInterruptError",
    "create_error_message",
    "is_invalid_resume",
)


class ErrorCode(Enum):
    """A short name for an error that has a page of help."""

    GRAPH_RECURSION_LIMIT = "GRAPH_RECURSION_LIMIT"
    INVALID_CONCURRENT_GRAPH_UPDATE = "INVALID_CONCURRENT_GRAPH_UPDATE"
    INVALID_GRAPH_NODE_RETURN_VALUE = "INVALID_GRAPH_NODE_RETURN_VALUE"
    MULTIPLE_SUBGRAPHS = "MULTIPLE_SUBGRAPHS"
    INVALID_CHAT_HISTORY = "INVALID_CHAT_HISTORY"


def create_error_message(*, message: str, error_code: ErrorCode) -> str:
    """The message, and a second line that ends with the code to look up."""
    return f"{message}\nTo read more about this error, look up {error_code.value}"


class EmptyChannelError(Exception):
    """A channel that holds no value was read."""


class InvalidUpdateError(Exception):
    """A write does not fit: two for a channel that keeps one, or a value that its node may not give."""


class EmptyInputError(Exception):
    """A run was started with nothing to do: no input, and nothing that waits in the thread."""


class TaskNotFound(Exception):
    """The task that is asked for is not in the checkpoint."""


class GraphRecursionError(RecursionError):
    """The run reached its `recursion_limit` before it came to an end. The last superstep is saved."""


class GraphBubbleUp(Exception):
    """The base of control flow: it passes through every node, policy and handler."""


class GraphInterrupt(GraphBubbleUp):
    """A task stops until its questions are answered. `args[0]` holds the interrupts."""

    def __init__(self, interrupts: Sequence[Interrupt] = ()) -> None:
        super().__init__(interrupts)


class NodeInterrupt(GraphInterrupt):
    """Deprecated: call `runtime.types.interrupt` in the node."""

    def __init__(self, value: Any, id: str | None = None) -> None:
        warnings.warn(
            "NodeInterrupt is deprecated. Call runtime.types.interrupt() in the node.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        from runtime.types import Interrupt  # noqa: PLC0415 - types builds on this module

        super().__init__([Interrupt(value=value, id=id) if id is not None else Interrupt(value=value)])


class GraphDrained(GraphBubbleUp):
    """The run stopped at a barrier because it was asked to; `reason` says why. The thread can go on."""

    def __init__(self, reason: str = "shutdown") -> None:
        self.reason = reason
        super().__init__(reason)


class ParentCommand(GraphBubbleUp):
    """A command that is meant for the graph around this one. `args[0]` is the command."""

    args: tuple[Command[Any]]

    def __init__(self, command: Command[Any]) -> None:
        super().__init__(command)


@dataclass(frozen=True)
class NodeError:
    """What an error handler is told: the node that failed, and its error."""

    node: str
    error: BaseException


class NodeCancelledError(Exception):
    """User code in `node` raised a cancellation of its own; the run itself was not cancelled."""

    def __init__(self, node: str, message: str | None = None) -> None:
        self.node = node
        super().__init__(
            message or f"Node '{node}' raised CancelledError by itself. Catch it in the node, or let it end normally."
        )


class NodeTimeoutError(Exception):
    """An attempt of `node` was stopped after `elapsed` seconds.

    `kind` is "run" (the whole attempt) or "idle" (no sign of progress); `timeout` is the limit that fired, in seconds.
    """

    def __init__(
        self,
        node: str,
        elapsed: float,
        *,
        kind: Literal["idle", "run"],
        idle_timeout: float | None = None,
        run_timeout: float | None = None,
    ) -> None:
        limits = {"idle": idle_timeout, "run": run_timeout}
        if kind not in limits:
            raise ValueError(f"The kind of a node timeout is 'idle' or 'run', not {kind!r}.")
        timeout = limits[kind]
        if timeout is None:
            raise ValueError(f"A node timeout of kind {kind!r} needs {kind}_timeout.")
        self.node = node
        self.elapsed = elapsed
        self.kind = kind
        self.idle_timeout = idle_timeout
        self.run_timeout = run_timeout
        self.timeout = timeout
        what = "ran for" if kind == "run" else "gave no sign of progress; its attempt had run for"
        super().__init__(
            f"Node '{node}' {what} {elapsed:.3f} s, over its {kind} timeout of {timeout:g} s. "
            "Raise the timeout, or let the node do less at once."
        )

    def __reduce__(self) -> Any:
        return (
            _revive_timeout,
            (self.node, self.elapsed, self.kind, self.idle_timeout, self.run_timeout),
        )


def _revive_timeout(
    node: str, elapsed: float, kind: Literal["idle", "run"], idle: float | None, run: float | None
) -> NodeTimeoutError:
    return NodeTimeoutError(node, elapsed, kind=kind, idle_timeout=idle, run_timeout=run)


class UnknownInterruptError(Exception):
    """In strict mode, a resume that fits no interrupt which waits.

    `reason` is "not_pending", "empty_map" or "ambiguous"; `interrupt_ids` are those that were named, `pending_ids`
    those that wait.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["not_pending", "empty_map", "ambiguous"],
        interrupt_ids: Sequence[str] = (),
        pending_ids: Sequence[str] = (),
    ) -> None:
        self.reason = reason
        self.interrupt_ids = tuple(interrupt_ids)
        self.pending_ids = tuple(pending_ids)
        super().__init__(message)


def is_invalid_resume(error: BaseException) -> bool:
    """True for the validation error of an answer that did not fit the interrupt's `response_schema`."""
    return any(note == _INVALID_RESUME_NOTE for note in getattr(error, "__notes__", ()))


_INVALID_RESUME_NOTE = "The answer does not fit the interrupt's response_schema. The interrupt still waits."


def mark_invalid_resume(exc: BaseException) -> None:
    """Remember that `exc` was raised for an answer that does not fit, so that it is not taken for a node's failure."""
    exc.add_note(_INVALID_RESUME_NOTE)
