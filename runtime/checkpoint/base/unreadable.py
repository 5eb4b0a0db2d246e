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

    `part` says what is being read, or what and its name. Errors of the classes in `passing` are not about the bytes:
    they pass.
    """

    __slots__ = ("_key", "part")

    passing: ClassVar[tuple[type[BaseException], ...]] = ()

    def __init__(self, thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> None:
        self._key = (thread_id, checkpoint_ns, checkpoint_id or "the newest")
        self.part: str | tuple[str, str] = "the checkpoint itself"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, (UnreadableCheckpointError, *self.passing)):
            part = self.part if isinstance(self.part, str) else "{} {!r}".format(*self.part)
            raise UnreadableCheckpointError(part, *self._key, _root(error)) from error

    def values(self, serde: Any, parts: Any, what: str = "the value of channel") -> list[Any]:
        """The values of these named pairs of tag and bytes, in their order."""
        values = []
        for name, pair in parts:
            self.part = (what, name)
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
    values, versions, seen = frame.get("channel_values"), frame.get("channel_versions"), frame.get("versions_seen")
    if not (isinstance(values or {}, dict) and isinstance(versions or {}, dict) and isinstance(seen or {}, dict)):
        raise TypeError("channel_values, channel_versions and versions_seen are maps")
    if not (isinstance(frame["id"], str) and isinstance(frame["ts"], str)):
        raise TypeError("id and ts are texts")
    for each in (versions, *seen.values()) if seen else (versions,):
        if each and not _VERSIONS.issuperset(map(type, _map("the versions seen", each).values())):
            raise TypeError("a version is a number or a text")
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
