"""The values that a graph program handles: commands, sends, interrupts, policies, snapshots, stream parts."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, NotRequired, TypeVar, Union, final

from langchain_core.messages.tool import ToolOutputMixin
from typing_extensions import TypedDict

from runtime._context import TaskContext, digest, interrupt_id, task_of
from runtime._words import MISSING, NS_SEP, OVERWRITE
from runtime._words import PARENT as _PARENT
from runtime.errors import GraphInterrupt, mark_invalid_resume
from runtime.warnings import LangGraphDeprecatedSinceV10, LangGraphDeprecatedSinceV11

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

    from runtime.checkpoint.base import BaseCheckpointSaver, CheckpointMetadata

__all__ = (
    "All",
    "CacheKey",
    "CachePolicy",
    "CheckpointPayload",
    "CheckpointStreamPart",
    "CheckpointTask",
    "Checkpointer",
    "Command",
    "CustomStreamPart",
    "DebugPayload",
    "DebugStreamPart",
    "Durability",
    "GraphOutput",
    "Interrupt",
    "MessagesStreamPart",
    "Overwrite",
    "PregelExecutableTask",
    "PregelTask",
    "RetryPolicy",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamPart",
    "StreamWriter",
    "TaskPayload",
    "TaskResultPayload",
    "TasksStreamPart",
    "TimeoutPolicy",
    "TracePolicy",
    "UpdatesStreamPart",
    "ValuesStreamPart",
    "default_retry_on",
    "ensure_valid_checkpointer",
    "interrupt",
    "omit_payload",
)

N = TypeVar("N", bound=Hashable)
OutT = TypeVar("OutT")

All = Literal["*"]
"""Every node that is not hidden."""

Durability = Literal["sync", "async", "exit"]
"""When a checkpoint is written: before the next superstep, beside it, or once at the end."""

StreamMode = Literal["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom", "tools"]
"""What a stream yields. Several may be asked for at once, as a list."""

StreamWriter = Callable[[Any], None]
"""Hands one item to the reader of the `custom` stream. It does nothing where nobody reads."""

Checkpointer = Union[None, bool, "BaseCheckpointSaver[Any]"]
"""A saver; True: keep a subgraph's state over the runs of its parent; False: never save; None: as the parent does."""


def ensure_valid_checkpointer(checkpointer: Any) -> Checkpointer:
    """The checkpointer, if it is one. Raises TypeError for anything but None, True, False or a saver."""
    if checkpointer is None or isinstance(checkpointer, bool):
        return checkpointer
    if callable(getattr(checkpointer, "get_tuple", None)) and callable(getattr(checkpointer, "put", None)):
        return checkpointer  # type: ignore[no-any-return]  # any saver with the contract's methods will do
    raise TypeError(
        f"Invalid checkpointer provided: {type(checkpointer).__name__!r}. Give None, True, False or a saver such as "
        "InMemorySaver(). from_conn_string() gives a context manager: enter it with `with`, and pass what you get."
    )


# -- policies ---------------------------------------------------------------------------------------------------------


def default_retry_on(exc: Exception) -> bool:
    """True for errors that a second try may mend: lost connections, a server's 5xx, and what is no plain mistake."""
    if isinstance(exc, ConnectionError):
        return True
    kind = f"{type(exc).__module__}.".split(".", 1)[0]
    response = getattr(exc, "response", None)
    if kind in ("httpx", "requests") and type(exc).__name__ in ("HTTPStatusError", "HTTPError"):
        return 500 <= getattr(response, "status_code", 500) < 600
    return not isinstance(exc, _MISTAKES)


_MISTAKES = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    OSError,
)


class RetryPolicy(NamedTuple):
    """How often, and after which wait, a failed task is tried again.

    Before attempt k+1 the wait is `initial_interval * backoff_factor**(k-1)` seconds, at most `max_interval`, plus up
    to one second of `jitter`. `max_attempts` counts the first one too. `retry_on` is an exception class, a sequence
    of them, or a function that answers for an exception.
    """

    initial_interval: float = 0.5
    backoff_factor: float = 2.0
    max_interval: float = 128.0
    max_attempts: int = 3
    jitter: bool = True
    retry_on: type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool] = default_retry_on


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeoutPolicy:
    """How long one attempt of an async node may take: in all, and without a sign of progress. Seconds or timedelta.

    With `refresh_on="auto"` any write, stream item, callback or `heartbeat()` is a sign of progress; with
    "heartbeat" only that call is.
    """

    run_timeout: float | timedelta | None = None
    idle_timeout: float | timedelta | None = None
    refresh_on: Literal["auto", "heartbeat"] = "auto"

    @classmethod
    def coerce(cls, value: float | timedelta | TimeoutPolicy | None) -> TimeoutPolicy | None:
        """A policy with its limits in seconds; a bare number is a run timeout. ValueError when not positive."""
        if value is None:
            return None
        policy = value if isinstance(value, TimeoutPolicy) else cls(run_timeout=value)
        return cls(
            run_timeout=_seconds(policy.run_timeout),
            idle_timeout=_seconds(policy.idle_timeout),
            refresh_on=policy.refresh_on,
        )


def _seconds(value: float | timedelta | None) -> float | None:
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds <= 0:
        raise ValueError(f"A timeout must be greater than 0 seconds, not {seconds:g}.")
    return seconds


KeyFuncT = TypeVar("KeyFuncT", bound=Callable[..., Any])


def _default_cache_key(*args: Any, **kwargs: Any) -> bytes:
    # Only a key is made of this: nothing is ever loaded from it.
    return pickle.dumps((_frozen(args), _frozen(kwargs)), protocol=5)


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(sorted(((k, _frozen(v)) for k, v in value.items()), key=lambda item: repr(item[0])))
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, (set, frozenset)):
        return tuple(sorted((_frozen(item) for item in value), key=repr))
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class CachePolicy(Generic[KeyFuncT]):
    """When a node's writes may be taken from the cache: the key made of its input, and the seconds it lasts."""

    key_func: KeyFuncT = _default_cache_key  # type: ignore[assignment]  # the default of a generic field
    ttl: int | None = None


class CacheKey(NamedTuple):
    """Where a task's writes are in the cache."""

    ns: tuple[str, ...]
    key: str
    ttl: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TracePolicy:
    """What tracers record of a node's input and output. The node itself sees the real ones."""

    process_inputs: Callable[[Any], Any] | None = None
    process_outputs: Callable[[Any], Any] | None = None


def omit_payload(payload: Any) -> dict[str, Any]:
    """An empty dict: as a processor of a `TracePolicy`, nothing of the payload is recorded."""
    return {}


# -- interrupts -------------------------------------------------------------------------------------------------------


@final
@dataclass(init=False, slots=True)
class Interrupt:
    """A question that a task asks: its `value`, its `id`, and the JSON schema of a fitting answer, if there is one."""

    value: Any
    id: str
    response_schema: dict[str, Any] | None

    def __init__(
        self,
        value: Any,
        id: str = "placeholder-id",
        response_schema: dict[str, Any] | None = None,
        *,
        ns: Sequence[str] | None = None,
        **legacy: Any,
    ) -> None:
        unknown = legacy.keys() - {"resumable", "when"}
        if unknown:
            raise TypeError(f"Interrupt() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        self.value = value
        self.id = digest(NS_SEP.join(ns)) if ns is not None and id == "placeholder-id" else id
        self.response_schema = response_schema

    @classmethod
    def from_ns(cls, value: Any, ns: str, *, response_schema: Any = None) -> Interrupt:
        """The first interrupt of the task with this namespace."""
        return cls(value=value, id=digest(ns), response_schema=response_schema)

    @property
    def interrupt_id(self) -> str:
        """Deprecated: the `id`."""
        warnings.warn(
            "`interrupt_id` is deprecated: an Interrupt's id is its attribute `id`.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        return self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        schema = f", response_schema={self.response_schema!r}" if self.response_schema is not None else ""
        return f"Interrupt(value={self.value!r}, id={self.id!r}{schema})"

    def __reduce__(self) -> Any:
        return (Interrupt, (self.value, self.id, self.response_schema))


def interrupt(value: Any, *, response_schema: Any = None) -> Any:
    """Stop here until somebody answers, and give the answer.

    The run ends normally and shows `value`; `invoke(Command(resume=answer), config)` goes on. The node then runs from
    its start again, and this call returns the answer; so keep the order of the calls in a node, and put side effects
    after them. With a type as `response_schema` the answer is validated and converted by pydantic (ValidationError
    otherwise, and the interrupt still waits); a dict is a JSON schema, shown to who answers and not checked.

    Raises RuntimeError outside of a running node. Needs a checkpointer to go on later.
    """
    task = task_of()
    if task is None:
        raise RuntimeError("interrupt() was called outside of a running node. Call it in a node, a tool or a task.")
    answer = task.answer(value)
    adapter, schema = _schema_of(response_schema)
    if answer is MISSING:
        answered = len(task.questions) - 1
        raise GraphInterrupt([Interrupt(value, interrupt_id(task.ns, answered), schema)])
    if adapter is None:
        return answer
    try:
        return adapter.validate_python(answer)
    except ValueError as error:
        _take_back(task)
        mark_invalid_resume(error)
        raise


def _take_back(task: TaskContext) -> None:
    """An answer that does not fit is not kept: the question still waits."""
    del task.resumes[len(task.questions) - 1 :]


def _schema_of(response_schema: Any) -> tuple[Any, dict[str, Any] | None]:
    if response_schema is None:
        return None, None
    if isinstance(response_schema, Mapping):
        return None, dict(response_schema)
    from pydantic import TypeAdapter  # noqa: PLC0415 - pydantic is loaded only where an answer is typed

    adapter = TypeAdapter(response_schema)
    return adapter, adapter.json_schema()


# -- sends and commands -----------------------------------------------------------------------------------------------


@dataclass(init=False, repr=False, eq=False)  # savers of others know how to store a dataclass
class Send:
    """One more task for the next superstep: run `node` on `arg`, untouched. `timeout` goes before the node's own."""

    __slots__ = ("arg", "node", "timeout")

    node: str
    arg: Any
    timeout: TimeoutPolicy | None

    def __init__(self, /, node: str, arg: Any, *, timeout: float | timedelta | TimeoutPolicy | None = None) -> None:
        self.node = node
        self.arg = arg
        self.timeout = TimeoutPolicy.coerce(timeout)

    def __hash__(self) -> int:
        return hash((self.node, self.arg, self.timeout))

    def __eq__(self, value: object) -> bool:
        return (
            isinstance(value, Send)
            and self.node == value.node
            and self.arg == value.arg
            and self.timeout == value.timeout
        )

    def __repr__(self) -> str:
        tail = f", timeout={self.timeout!r}" if self.timeout is not None else ""
        return f"Send(node={self.node!r}, arg={self.arg!r}{tail})"

    def __reduce__(self) -> Any:
        return (_revive_send, (self.node, self.arg, self.timeout))


def _revive_send(node: str, arg: Any, timeout: TimeoutPolicy | None) -> Send:
    return Send(node, arg, timeout=timeout)


@dataclass(frozen=True)
class Command(ToolOutputMixin, Generic[N]):  # a tool may return one, and langchain-core must leave it as it is
    """A node's answer that also says where to go, or a caller's word to a thread that waits.

    `update` is written to the state; `goto` names a node, is a `Send`, or a sequence of both; `resume` answers
    interrupts, by order or as `{interrupt id: answer}`; `graph=Command.PARENT` addresses the graph around this one.
    """

    graph: str | None = None
    update: Any | None = None
    resume: dict[str, Any] | Any | None = None
    goto: Send | Sequence[Send | N] | N = ()

    PARENT: ClassVar[Literal["__parent__"]] = _PARENT

    def __repr__(self) -> str:
        given = ", ".join(f"{f.name}={value!r}" for f in fields(self) if (value := getattr(self, f.name)))
        return f"Command({given})"


def update_pairs(update: Any) -> Sequence[tuple[str, Any]]:
    """A command's update as (key, value) pairs: a mapping, a list of pairs, an annotated object, or a bare value."""
    if isinstance(update, dict):
        return list(update.items())
    if isinstance(update, (list, tuple)) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in update
    ):
        return list(update)
    keys = annotated_keys(type(update))
    if keys:
        return object_pairs(update, keys)
    return [("__root__", update)] if update is not None else []


def annotated_keys(cls: type) -> tuple[str, ...]:
    """The fields that a class declares by annotation, its bases' first; none for a plain type."""
    if cls.__module__ == "builtins":
        return ()
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        names.update(dict.fromkeys(inspect.get_annotations(base)))
    return tuple(name for name in names if not name.startswith("__"))


def object_pairs(value: Any, keys: Sequence[str]) -> list[tuple[str, Any]]:
    """The fields of an object that a node returned, as updates.

    A pydantic field that is None, by default None, and was never set says nothing and is left out.
    """
    unset: set[str] = set()
    model_fields = getattr(type(value), "model_fields", None)
    if model_fields is not None:
        given = value.model_fields_set
        unset = {
            name
            for name, info in model_fields.items()
            if name not in given and info.default is None and getattr(value, name, None) is None
        }
    return [(key, found) for key in keys if key not in unset and (found := getattr(value, key, MISSING)) is not MISSING]


@dataclass(slots=True)
class Overwrite:
    """A write that replaces a reducer channel's value, and drops the other writes of its superstep."""

    value: Any
    type: Literal["__overwrite__"] = field(default=OVERWRITE)


class StateUpdate(NamedTuple):
    """One update of `bulk_update_state`: the values, the node that they count as written by, and its task's id."""

    values: Any
    as_node: str | None = None
    task_id: str | None = None


# -- tasks and snapshots ----------------------------------------------------------------------------------------------


class PregelTask(NamedTuple):
    """A task of a checkpoint's next superstep, as `get_state` tells it."""

    id: str
    name: str
    path: tuple[str | int | tuple[Any, ...], ...]
    error: Exception | None = None
    interrupts: tuple[Interrupt, ...] = ()
    state: RunnableConfig | StateSnapshot | None = None
    result: Any | None = None


@dataclass(slots=True)
class PregelExecutableTask:
    """A task that can run: a node, its input, its config, and the writes it has made."""

    name: str
    input: Any
    proc: Runnable[Any, Any]
    writes: deque[tuple[str, Any]]
    config: RunnableConfig
    triggers: Sequence[str]
    retry_policy: Sequence[RetryPolicy]
    cache_key: CacheKey | None
    id: str
    path: tuple[str | int | tuple[Any, ...], ...]
    writers: Sequence[Any] = ()
    subgraphs: Sequence[Any] = ()
    timeout: TimeoutPolicy | None = None


class StateSnapshot(NamedTuple):
    """The state of a thread at a barrier: the values, the nodes that run next, and where it stands in the history."""

    values: dict[str, Any] | Any
    next: tuple[str, ...]
    config: RunnableConfig
    metadata: CheckpointMetadata | None
    created_at: str | None
    parent_config: RunnableConfig | None
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True)
class GraphOutput(Generic[OutT]):
    """What `invoke(version="v2")` gives: the output value, and the interrupts that the run stopped at."""

    value: OutT
    interrupts: tuple[Interrupt, ...] = ()

    def __getitem__(self, key: str) -> Any:
        """Deprecated: read `value` and `interrupts`."""
        _warn_item_access()
        if key == "__interrupt__":
            return self.interrupts
        return self.value[key]  # type: ignore[index]  # the old form: the output as a dict

    def __contains__(self, key: object) -> bool:
        """Deprecated: read `value` and `interrupts`."""
        _warn_item_access()
        if key == "__interrupt__":
            return bool(self.interrupts)
        return key in self.value  # type: ignore[operator]  # the old form: the output as a dict


def _warn_item_access() -> None:
    warnings.warn(
        "Reading a GraphOutput by key is deprecated: it has the attributes `value` and `interrupts`.",
        LangGraphDeprecatedSinceV11,
        stacklevel=3,
    )


# -- stream payloads and parts ----------------------------------------------------------------------------------------


class TaskPayload(TypedDict):
    """A task begins."""

    id: str
    name: str
    input: Any
    triggers: Sequence[str]
    metadata: NotRequired[dict[str, Any]]


class TaskResultPayload(TypedDict):
    """A task has ended."""

    id: str
    name: str
    error: Any
    interrupts: list[dict[str, Any]]
    result: dict[str, Any]


class CheckpointTask(TypedDict):
    """A task of the next superstep, in a checkpoint's payload."""

    id: str
    name: str
    error: NotRequired[Any]
    interrupts: NotRequired[tuple[dict[str, Any], ...]]
    state: Any
    result: NotRequired[Any]


class CheckpointPayload(TypedDict):
    """A checkpoint was saved."""

    config: Any
    metadata: Any
    values: Any
    next: list[str]
    parent_config: Any
    tasks: list[CheckpointTask]


class DebugPayload(TypedDict):
    """One of the payloads above, with its superstep and time (ISO, UTC)."""

    step: int
    timestamp: str
    type: Literal["checkpoint", "task", "task_result"]
    payload: Any


class ValuesStreamPart(TypedDict):
    """The state after a superstep."""

    type: Literal["values"]
    ns: tuple[str, ...]
    data: Any
    interrupts: tuple[Interrupt, ...]


class UpdatesStreamPart(TypedDict):
    """What one task wrote."""

    type: Literal["updates"]
    ns: tuple[str, ...]
    data: dict[str, Any]


class MessagesStreamPart(TypedDict):
    """A message, or a piece of one, with its metadata."""

    type: Literal["messages"]
    ns: tuple[str, ...]
    data: tuple[Any, dict[str, Any]]


class CustomStreamPart(TypedDict):
    """What a node gave to its stream writer."""

    type: Literal["custom"]
    ns: tuple[str, ...]
    data: Any


class CheckpointStreamPart(TypedDict):
    """A checkpoint was saved."""

    type: Literal["checkpoints"]
    ns: tuple[str, ...]
    data: CheckpointPayload


class TasksStreamPart(TypedDict):
    """A task begins, or has ended."""

    type: Literal["tasks"]
    ns: tuple[str, ...]
    data: TaskPayload | TaskResultPayload


class DebugStreamPart(TypedDict):
    """A checkpoint, a task or a task's result, with its superstep and time."""

    type: Literal["debug"]
    ns: tuple[str, ...]
    data: DebugPayload


StreamPart = (
    ValuesStreamPart
    | UpdatesStreamPart
    | MessagesStreamPart
    | CustomStreamPart
    | CheckpointStreamPart
    | TasksStreamPart
    | DebugStreamPart
)
"""A chunk of `stream(version="v2")`."""
