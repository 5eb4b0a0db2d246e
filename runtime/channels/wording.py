"""The sentences in which channels fail. They name the channel, the values met, and the way out."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any, NoReturn

from runtime.channels.base import BaseChannel
from runtime.errors import InvalidUpdateError


def label(channel: BaseChannel[Any, Any, Any]) -> str:
    """How an error's sentence calls the channel."""
    return f"Channel {channel.key!r}" if channel.key else f"An unnamed {type(channel).__name__}"


def empty(channel: BaseChannel[Any, Any, Any]) -> str:
    """The sentence for an empty channel."""
    return f"{label(channel)} is empty: nothing has written to it. Write to it before this step, or give it a default."


def shown(values: Sequence[Any]) -> str:
    """The values as a short list for an error's sentence; long ones are cut."""
    if not values:
        return "nothing"
    cut = [reprlib.repr(value) for value in values[:3]]
    if len(values) > len(cut):
        cut.append(f"{len(values) - len(cut)} more")
    return ", ".join(cut[:-1]) + " and " + cut[-1] if len(cut) > 1 else cut[0]


def refuse_several(channel: BaseChannel[Any, Any, Any], values: Sequence[Any]) -> NoReturn:
    """Raise `InvalidUpdateError` for a guarded channel that was written more than once in a superstep."""
    raise InvalidUpdateError(
        f"{label(channel)} took {len(values)} writes in one superstep, but its guard lets only one through:"
        f" {shown(values)}. Make it with guard=False to keep the last of them, or let one node follow the other."
    )
