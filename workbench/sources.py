"""Where events come from.

Our runtime tells its observers all that happens, so for its graphs there is nothing to translate. A graph that another
engine compiled says less, and says it otherwise; what makes events of that belongs here, and every view works from
then on.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from runtime.events import Event, observe


class Observer(Protocol):
    """Whoever wants the events."""

    def event(self, event: Event) -> object:
        """Take one event."""


def watching(observer: Observer, graph: Any = None) -> AbstractContextManager[None]:
    """A block in which the observer is told of every run that starts. `graph` is the one it is about to run, if any.

    Raises TypeError for a graph that tells no events.
    """
    if any(base.__module__.partition(".")[0] == "langgraph" for base in type(graph).__mro__):
        raise TypeError(
            f"A {type(graph).__name__} that LangGraph compiled tells no events. Compile the same builder with "
            "runtime.graph.StateGraph: replace langgraph by runtime in its imports."
        )
    return observe(observer)
