"""A stored checkpoint that can't be read: one error for whatever is wrong with its bytes, which says where they are."""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar, Final, Self

__all__ = ("Reading", "UnreadableCheckpointError", "checked_frame", "checked_metadata", "counted_channels")


class UnreadableCheckpointError(ValueError):
    """What is stored of a checkpoint is damaged, was changed, or is of another serializer."""

    def __init__(self, part: str, thread_id: str, checkpoint_ns: str, checkpoint_id: str, cause: BaseException) -> None:
        ns = f" in namespace {checkpoint_ns!r}" if checkpoint_ns else ""
        super().__init__(
            f"Checkpoint {checkpoint_id!r} of thread {thread_id!r}{ns} can't be read: {part} is damaged, was changed, "
            f"or is of another serializer ({type(cause).__name__}: {str(cause)[:300]}). Read the thread with the "
            "serializer that wrote it, or go on from another of its checkpoints."
        )
        self.part = part
        self.thread_id = thread_id
        self.checkpoint_ns = checkpoint_ns
        self.checkpoint_id = checkpoint_id


WRITE: Final = "the write to channel"


class Reading:
    """A context in which stored bytes are read: what goes wrong there becomes an `UnreadableCheckpointError`.

    `part` says what is being read. Errors of the classes in `passing` are not about the bytes, and pass.
    """

    __slots__ = ("_key", "part")

    passing: ClassVar[tuple[type[BaseException], ...]] = ()

    def __init__(self, thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> None:
        self._key = (thread_id, checkpoint_ns, checkpoint_id or "the newest")
        self.part = "the checkpoint itself"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, (UnreadableCheckpointError, *self.passing)):
            raise UnreadableCheckpointError(self.part, *self._key, _root(error)) from error

    def values(self, serde: Any, parts: Any, what: str = "the value of channel") -> list[Any]:
        """The values of these named pairs of tag and bytes, in their order."""
        values = []
        for name, pair in parts:
            self.part = f"{what} {name!r}"
            values.append(serde.loads_typed(pair))
        return values


def _root(error: BaseException) -> BaseException:
    """What an error came from in the first place."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


_VERSIONS: Final = frozenset((str, int, float))


def checked_frame(frame: Any) -> dict[str, Any]:
    """A checkpoint that may lack its values; TypeError or KeyError where it has not the shape of one."""
    _map("the checkpoint", frame)
    for name in ("channel_values", "channel_versions", "versions_seen"):
        _map(name, frame.get(name) or {})
    for name in ("id", "ts"):
        if not isinstance(frame[name], str):
            raise TypeError(f"{name} is a text, and not {type(frame[name]).__name__}")
    for versions in (frame.get("channel_versions") or {}, *(frame.get("versions_seen") or {}).values()):
        for kind in set(map(type, _map("the versions seen", versions).values())) - _VERSIONS:
            raise TypeError(f"a version is a number or a text, and not {kind.__name__}")
    return frame  # type: ignore[no-any-return]  # checked above


def checked_metadata(metadata: Any) -> Any:
    """The metadata of a checkpoint; TypeError where they are none."""
    return _map("the metadata", metadata)


def counted_channels(metadata: Any) -> list[str]:
    """The delta channels whose writes a checkpoint counts; TypeError where the metadata are damaged."""
    counters = checked_metadata(metadata).get("counters_since_delta_snapshot") or {}
    return [*_map("the counters of delta channels", counters)]


def _map(name: str, part: Any) -> Any:
    if not isinstance(part, dict):
        raise TypeError(f"{name} is a map, and not {type(part).__name__}")
    return part
