"""What a node may know of its run, in one object: context, store, stream writer, where and how often it runs.

A node gets it by a parameter named `runtime`, or by `get_runtime()`. One is made for each task, so its making is
cheap: the fields are set while the object is still open, and then it closes; a task's are set when it looks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, runtime_checkable

from runtime.config import find_runtime
from runtime.typing import ContextT

if TYPE_CHECKING:
    from typing import Self

    from runtime.store.base import BaseStore
    from runtime.types import StreamWriter

__all__ = (
    "DEFAULT_RUNTIME",
    "BaseUser",
    "ExecutionInfo",
    "RunControl",
    "Runtime",
    "ServerInfo",
    "get_runtime",
)


@runtime_checkable
class BaseUser(Protocol):
    """Who called a graph that a server runs, as the server's authentication tells it."""

    @property
    def is_authenticated(self) -> bool:
        """True when the server knows who this is."""
        ...

    @property
    def display_name(self) -> str:
        """A name to show."""
        ...

    @property
    def identity(self) -> str:
        """The name that is unique."""
        ...

    @property
    def permissions(self) -> Sequence[str]:
        """What this user may do."""
        ...

    def __getitem__(self, key: str) -> Any: ...
    def __contains__(self, key: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...


class _OpenExecutionInfo:
    __slots__ = (
        "checkpoint_id", "checkpoint_ns", "node_attempt", "node_first_attempt_time", "run_id", "task_id", "thread_id",
    )  # fmt: skip


@dataclass(frozen=True, init=False)
class ExecutionInfo(_OpenExecutionInfo):
    """Where a task stands: its checkpoint, namespace, thread and run, and which attempt this is, counted from 1."""

    __slots__ = ()

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None
    run_id: str | None
    node_attempt: int
    node_first_attempt_time: float | None

    def __new__(
        cls,
        checkpoint_id: str,
        checkpoint_ns: str,
        task_id: str,
        thread_id: str | None = None,
        run_id: str | None = None,
        node_attempt: int = 1,
        node_first_attempt_time: float | None = None,
    ) -> Self:
        new: Any = object.__new__(_OpenExecutionInfo)
        new.checkpoint_id = checkpoint_id
        new.checkpoint_ns = checkpoint_ns
        new.task_id = task_id
        new.thread_id = thread_id
        new.run_id = run_id
        new.node_attempt = node_attempt
        new.node_first_attempt_time = node_first_attempt_time
        new.__class__ = cls
        return new  # type: ignore[no-any-return]  # it has become one of cls

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def patch(self, **overrides: Any) -> ExecutionInfo:
        """A copy with these fields changed."""
        return dataclasses.replace(self, **overrides)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The server's side of a run: which assistant and which graph it is, and who called."""

    assistant_id: str
    graph_id: str
    user: BaseUser | None = None


class RunControl:
    """A hand on a run from outside: pass it as `control=`, and ask the run to stop at its next barrier.

    The state is saved and the thread can go on later; the caller gets `GraphDrained`. A run that has nothing left to
    do ends normally.
    """

    __slots__ = ("_drain_reason",)

    def __init__(self) -> None:
        self._drain_reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Stop before the next superstep. May be called from any thread; the last reason counts."""
        self._drain_reason = reason

    @property
    def drain_requested(self) -> bool:
        """True once somebody asked the run to stop."""
        return self._drain_reason is not None

    @property
    def drain_reason(self) -> str | None:
        """Why it was asked to stop, if it was."""
        return self._drain_reason

    def __repr__(self) -> str:
        return f"RunControl(drain_reason={self._drain_reason!r})"


def _no_stream_writer(_: Any) -> None:
    """Nobody reads the custom stream."""


def _no_heartbeat() -> None:
    """No idle timeout runs."""


class _OpenRuntime(Generic[ContextT]):
    __slots__ = (
        "_known", "context", "control", "execution_info", "heartbeat", "previous", "server_info", "store",
        "stream_writer",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, init=False)
class Runtime(_OpenRuntime[ContextT]):
    """What a task may know of its run, and use of it. Frozen; every field has a default.

    `context` is what the caller passed as `context=`; `store` the graph's store; `stream_writer(item)` writes to the
    custom stream; `heartbeat()` tells an idle timeout that the node is alive; `previous` is what the entrypoint gave
    last time in this thread; `execution_info` says where and how often the task runs; `server_info` is set by a
    server; `control` is the run's `RunControl`.
    """

    __slots__ = ()

    context: ContextT
    store: BaseStore | None
    stream_writer: StreamWriter
    heartbeat: Callable[[], None]
    previous: Any
    execution_info: ExecutionInfo | None
    server_info: ServerInfo | None
    control: RunControl | None

    def __new__(
        cls,
        *,
        context: ContextT = None,  # type: ignore[assignment]  # the default of the type variable is None
        store: BaseStore | None = None,
        stream_writer: StreamWriter = _no_stream_writer,
        heartbeat: Callable[[], None] = _no_heartbeat,
        previous: Any = None,
        execution_info: ExecutionInfo | None = None,
        server_info: ServerInfo | None = None,
        control: RunControl | None = None,
    ) -> Self:
        new: Any = object.__new__(_OpenRuntime)
        new.context = context
        new.store = store
        new.stream_writer = stream_writer
        new.heartbeat = heartbeat
        new.previous = previous
        new.execution_info = execution_info
        new.server_info = server_info
        new.control = control
        new.__class__ = cls
        return new  # type: ignore[no-any-return]  # it has become one of cls

    def __getattr__(self, name: str) -> Any:
        """A field of a runtime that is still empty: the first that is asked for has all of them filled."""
        if name not in _FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        for field, value in self._known().items():
            object.__setattr__(self, field, value)
        return object.__getattribute__(self, name)

    def __reduce__(self) -> Any:
        return _revive, (type(self), {field.name: getattr(self, field.name) for field in dataclasses.fields(self)})

    def merge(self, other: Runtime[ContextT]) -> Runtime[ContextT]:
        """A runtime with what `other` sets, and this one's fields where it sets none."""
        return type(self)(
            context=other.context or self.context,
            store=other.store or self.store,
            stream_writer=self.stream_writer if other.stream_writer is _no_stream_writer else other.stream_writer,
            heartbeat=self.heartbeat if other.heartbeat is _no_heartbeat else other.heartbeat,
            previous=self.previous if other.previous is None else other.previous,
            execution_info=other.execution_info or self.execution_info,
            server_info=other.server_info or self.server_info,
            control=other.control or self.control,
        )

    def override(self, **overrides: Any) -> Runtime[ContextT]:
        """A copy with these fields changed."""
        return dataclasses.replace(self, **overrides)

    def patch_execution_info(self, **overrides: Any) -> Runtime[ContextT]:
        """A copy with these fields of `execution_info` changed. RuntimeError when there is none yet."""
        if self.execution_info is None:
            raise RuntimeError(
                "This runtime has no execution_info to patch: it is set when a task starts. "
                "Pass a whole one by override(execution_info=ExecutionInfo(...))."
            )
        return self.override(execution_info=self.execution_info.patch(**overrides))

    @property
    def drain_requested(self) -> bool:
        """True once the run was asked to stop at its next barrier; a long node may look and end early."""
        return self.control is not None and self.control.drain_requested

    @property
    def drain_reason(self) -> str | None:
        """Why the run was asked to stop, if it was."""
        return self.control.drain_reason if self.control is not None else None


_FIELDS = frozenset(field.name for field in dataclasses.fields(Runtime))


def runtime_later(known: Callable[[], dict[str, Any]]) -> Runtime[Any]:
    """A runtime that takes its fields from `known()` when one of them is looked at: every task has one, few look."""
    new: Any = object.__new__(_OpenRuntime)
    new._known = known
    new.__class__ = Runtime
    return new  # type: ignore[no-any-return]  # it has become one


def as_runtime(found: Any) -> Runtime[Any] | None:
    """The object as a `Runtime`: a server may put one of its own kind into a config, with some of the fields."""
    if found is None or isinstance(found, Runtime):
        return found
    given = {
        field.name: getattr(found, field.name) for field in dataclasses.fields(Runtime) if hasattr(found, field.name)
    }
    return Runtime(**given)


def _revive(cls: type[Runtime[Any]], fields: dict[str, Any]) -> Runtime[Any]:
    return cls(**fields)


DEFAULT_RUNTIME: Runtime[Any] = Runtime()
"""The runtime of code that runs in no graph: every field at its default."""


def get_runtime(context_schema: type[ContextT] | None = None) -> Runtime[ContextT]:
    """The `Runtime` of the task that is running here. `context_schema` only tells the type checker.

    Raises RuntimeError outside of a graph's run.
    """
    return find_runtime("get_runtime")
