"""What `keep=` drops: the values of all but the newest supersteps of what is recorded, and never a row."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from runtime.events import RunStarted, SuperstepPlanned, SuperstepUpdated, TaskFinished, TaskStreamed
from runtime.rows import EMPTY, Row, parts
from workbench.freeze import DROPPED


class Window:
    """Drops the values of events that are older than so many supersteps.

    A channel's value stays as long as it is still the channel's value at the edge of the window, so that the state
    after each superstep inside it is whole.
    """

    def __init__(self, events: list[Any], keep: int) -> None:
        self.dropped = 0
        self._events = events
        self._keep = keep
        self._current: list[int] = []
        self._inside: deque[list[int]] = deque()
        self._holders: dict[tuple[str, str, str], int] = {}

    def grew(self) -> None:
        """One event, or row, has come."""
        self._current.append(len(self._events) - 1)
        last = self._events[-1]
        if not (last[0] == "updated" if type(last) is tuple else isinstance(last, SuperstepUpdated)):
            return
        self._inside.append(self._current)
        self._current = []
        while len(self._inside) > self._keep:
            self.dropped += 1
            for place in self._inside.popleft():
                one = self._events[place]
                self._events[place] = self._row(place, one) if type(one) is tuple else self._event(place, one)

    def _event(self, place: int, event: Any) -> Any:
        match event:
            case RunStarted():
                self._holds(place, event.run, event.ns, event.values)
                return event._replace(input=DROPPED)
            case SuperstepPlanned():
                return event._replace(tasks=tuple(task._replace(input=DROPPED) for task in event.tasks))
            case TaskStreamed():
                return event._replace(value=DROPPED)
            case TaskFinished():
                return event._replace(writes=tuple((channel, DROPPED) for channel, _ in event.writes))
            case SuperstepUpdated():
                self._holds(place, event.run, event.ns, [change.channel for change in event.changes])
                return event._replace(writes=tuple(write._replace(value=DROPPED) for write in event.writes))
        return event

    def _row(self, place: int, row: Row) -> Row:
        match row:
            case ("planned", *_):
                head: list[Any] = [*row[:6]]
                for part in parts(row):
                    woken = (part.versions - part.woken) // 3
                    head += (part.task_id, part.fixed, part.reads, None, woken, *row[part.woken : part.values], DROPPED)
                return tuple(head)
            case ("finished", *_):
                return tuple(DROPPED if at > 10 and at % 2 else part for at, part in enumerate(row))
            case ("updated", run, ns, _, _, _, _, _, applied, names, *_):
                self._holds(place, run, ns, names)
                if isinstance(applied, tuple):
                    kept = tuple(DROPPED if at % 4 == 3 else part for at, part in enumerate(applied))
                    return (*row[:8], kept, *row[9:])
        return row

    def _holds(self, place: int, run: str, ns: str, channels: Sequence[str] | Any) -> None:
        """These channels have their value from here at the edge; that of before belongs to no superstep inside."""
        for channel in channels:
            old = self._holders.get((run, ns, channel))
            if old is not None:
                self._events[old] = _without(self._events[old], channel)
            self._holders[run, ns, channel] = place


def _without(one: Any, channel: str) -> Any:
    """The event or row without its value of this channel."""
    if isinstance(one, RunStarted):
        return one._replace(values={**one.values, channel: DROPPED})
    if isinstance(one, SuperstepUpdated):
        changes = (
            change._replace(value=DROPPED) if change.channel == channel and change.available else change
            for change in one.changes
        )
        return one._replace(changes=tuple(changes))
    names = one[9]
    place = 10 + len(names) + names.index(channel)
    return one if one[place] is EMPTY else (*one[:place], DROPPED, *one[place + 1 :])
