"""What the serializer let pass or refused, told to whoever listens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NotRequired

from typing_extensions import TypedDict

__all__ = ("SerdeEvent", "SerdeEventListener", "emit_serde_event", "register_serde_event_listener")

logger = logging.getLogger(__name__)


class SerdeEvent(TypedDict):
    """A type was named by stored bytes.

    `kind` is "msgpack_unregistered_allowed" (revived, though on no list), "msgpack_blocked" (its data was given
    instead) or "msgpack_method_blocked" (the bytes asked for a method call).
    """

    kind: str
    module: str
    name: str
    method: NotRequired[str]


SerdeEventListener = Callable[[SerdeEvent], None]

_lock = threading.Lock()
_listeners: tuple[SerdeEventListener, ...] = ()


def register_serde_event_listener(listener: SerdeEventListener) -> Callable[[], None]:
    """Call `listener` for each event from now on. What is returned ends that; calling it twice does no harm."""
    global _listeners
    with _lock:
        _listeners = (*_listeners, listener)

    def unregister() -> None:
        global _listeners
        with _lock:
            rest = list(_listeners)
            if listener in rest:
                rest.remove(listener)
            _listeners = tuple(rest)

    return unregister


def emit_serde_event(event: SerdeEvent) -> None:
    """Tell every listener. One that raises is logged, and does not stop the others."""
    for listener in _listeners:
        try:
            listener(event)
        except Exception:
            logger.warning("A serde event listener failed on %r", event, exc_info=True)
