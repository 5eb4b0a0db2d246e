"""Tasks and supersteps of a run that another engine made, as far as they have come.

LangGraph names a task's place in the plan by a path, and a saver is given it as text: `~__pregel_pull, rank`. The text
is enough: writes are applied in the order of these, and it says whether a channel woke the task, a Send ordered it, or
another task called it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from runtime.pregel.task import SPECIAL, is_outcome

PULL: Final = "~__pregel_pull, "
PUSH: Final = "~__pregel_push, "
PUSHED: Final = ("__pregel_push",)
_HANDLER: Final = ", node_error_handler, "


class Saved(NamedTuple):
    """A checkpoint as a saver keeps it, what made it, and when it came."""

    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]
    parent_id: str | None
    at: float

    @property
    def source(self) -> str:
        """What made it: input, loop, update or fork."""
        return str(self.metadata.get("source", "loop"))


@dataclass(slots=True, eq=False)
class Work:
    """What is known of a task. `place` is its path as text.

    `writes` is None until they have come; `stored` says that an earlier run has made them. `streamed` and `closed` say
    that the stream has told of its begin and its end, `placed` that its plan was told with its path.
    """

    id: str
    node: str | None = None
    place: str = ""
    input: Any = None
    listens: tuple[str, ...] = ()
    began: float | None = None
    ended: float | None = None
    writes: Sequence[tuple[str, Any]] | None = None
    result: Mapping[str, Any] | None = None
    stored: bool = False
    streamed: bool = False
    closed: bool = False
    placed: bool = False

    @property
    def path(self) -> tuple[Any, ...]:
        """Where it comes from, as our runtime says it."""
        return path_of(self.place)

    @property
    def pulled(self) -> bool:
        """True for a task that a channel woke."""
        return self.place.startswith(PULL)

    @property
    def called(self) -> bool:
        """True for a task that another one called, or that stands in for a failed one."""
        return len(self.path) > 3

    @property
    def hidden(self) -> bool:
        """True for a task of the engine's own."""
        return self.node == "__start__"

    @property
    def finished(self) -> bool:
        """True when its writes count."""
        return self.writes is not None and is_outcome(self.writes)

    @property
    def took(self) -> float | None:
        """Seconds from its begin to its end, where both are known."""
        return self.ended - self.began if self.ended is not None and self.began is not None else None

    @property
    def outcome(self) -> tuple[tuple[str, Any], ...]:
        """What it wrote to channels."""
        return tuple((channel, value) for channel, value in self.writes or () if channel not in SPECIAL)

    def special(self, channel: str) -> Any:
        """What it wrote last under a name that is no channel's; None where it did not."""
        return next((value for name, value in reversed(self.writes or ()) if name == channel), None)

    def tell(self, channels: Iterable[str]) -> None:
        """Add what was written to these channels, of which a saver is told nothing, as the stream told it."""
        told = list(self.result or ())
        for channel in channels:
            if channel not in told or self.writes is None or any(name == channel for name, _ in self.writes):
                continue
            value = self.result[channel] if self.result is not None else None
            values = value["$writes"] if isinstance(value, Mapping) and value.keys() == {"$writes"} else [value]
            before = set(told[: told.index(channel)])
            at = max((place + 1 for place, (name, _) in enumerate(self.writes) if name in before), default=0)
            self.writes = [*self.writes[:at], *((channel, one) for one in values), *self.writes[at:]]

    @property
    def questions(self) -> tuple[Any, ...]:
        """The interrupts that it waits at."""
        return () if self.finished else tuple(self.special("__interrupt__") or ())

    @property
    def answers(self) -> tuple[Any, ...]:
        """The answers that it has got."""
        given = self.special("__resume__")
        return tuple(given) if isinstance(given, list | tuple) else ()

    @property
    def error(self) -> BaseException | None:
        """The error that ended it."""
        found: BaseException | None = None if self.finished else self.special("__error__")
        return found


@dataclass(slots=True)
class Came:
    """What has come of one superstep so far."""

    works: dict[str, Work] = field(default_factory=dict)
    saved: Saved | None = None
    told: set[str] = field(default_factory=set)

    def work(self, id: str) -> Work:
        """The task of that id."""
        return self.works.setdefault(id, Work(id))

    @property
    def ordered(self) -> list[Work]:
        """Its tasks in the order in which their writes are applied."""
        return sorted(self.works.values(), key=lambda work: work.place)

    @property
    def fresh(self) -> list[Work]:
        """The tasks that are known to run, and have not been told: in the order of a plan, Sends first."""
        return [
            work
            for work in sorted(self.works.values(), key=lambda work: (work.called, work.pulled, work.place))
            if work.id not in self.told
            and work.node is not None
            and (work.streamed or (work.writes is not None and not work.stored))
        ]


def path_of(place: str) -> tuple[Any, ...]:
    """A path from its text. The text of an order by Send, or of a call, tells its number."""
    if place.startswith(PULL):
        node, handled, _ = place.removeprefix(PULL).partition(_HANDLER)
        return ("__pregel_pull", node, "node_error_handler", False) if handled else ("__pregel_pull", node)
    if place.startswith(PUSH):
        rest = place.removeprefix(PUSH)
        if rest.startswith("~"):
            caller, index, _ = rest.rsplit(", ", 2)
            return ("__pregel_push", path_of(caller), int(index), True)
        index, handled, _ = rest.partition(_HANDLER)
        order = ("__pregel_push", int(index.partition(",")[0]), False)
        return (*order, "node_error_handler", False) if handled else order
    return (place,) if place else ()


def node_of(place: str, sent: Sequence[Any]) -> str | None:
    """The node of a task by its path and the Sends that waited; None where these do not tell it."""
    match path_of(place):
        case ("__pregel_pull", node):
            return str(node)
        case ("__pregel_push", int(index), False) if index < len(sent):
            return str(sent[index].node)
        case _:
            return None
