"""Ids that sort by time: UUIDs of version 6, as text or as objects.

The text of a later id is always greater than that of an earlier one from the same process, whatever the clock does, and
than one that `sort_after` was told of. Ids of other processes differ by their random node.
"""

from __future__ import annotations

import os
import random
import threading
import time
import uuid

# Version 6 counts units of 100 ns from the start of the Gregorian calendar.
_GREGORIAN_TO_UNIX = 0x01B21DD213814000

_lock = threading.Lock()
_entropy = random.SystemRandom()
_last = 0
_node = ""
_clock_seq = 0


def checkpoint_id(clock_seq: int | None = None) -> str:
    """A new id, as text. The low 14 bits of `clock_seq` go into the fourth group: a run puts its step there."""
    global _last
    with _lock:
        now = time.time_ns() // 100 + _GREGORIAN_TO_UNIX
        _last = now = now if now > _last else _last + 1
    stamp = f"{now:015x}"
    tail = (_clock_seq if clock_seq is None else clock_seq) & 0x3FFF | 0x8000
    return f"{stamp[:8]}-{stamp[8:12]}-6{stamp[12:]}-{tail:x}-{_node}"


def sort_after(id: str) -> None:
    """Make all ids from now on sort after this one, which a process with another clock may have made."""
    global _last
    try:
        stamp = int(f"{id[:8]}{id[9:13]}{id[15:18]}", 16)
    except ValueError:  # no id of ours, nor of LangGraph's
        return
    if id[14:15] == "6" and stamp > _last:
        with _lock:
            _last = max(_last, stamp)


class UUID(uuid.UUID):
    """A UUID that tells its time also when it is of version 6, which Python before 3.14 does not."""

    @property
    def time(self) -> int:
        """Units of 100 ns since 1582-10-15, for versions 1 and 6."""
        if self.version != 6:
            return super().time
        return self.time_low << 28 | self.time_mid << 12 | self.time_hi_version & 0x0FFF


def uuid6(node: int | None = None, clock_seq: int | None = None) -> UUID:
    """A new id, as an object. `node` replaces this process's random 48 bits, `clock_seq` its 14."""
    text = checkpoint_id(clock_seq)
    if node is not None:
        text = f"{text[:24]}{node & 0xFFFFFFFFFFFF:012x}"
    return UUID(text)


def _draw_node() -> None:
    """A node and clock sequence of this process's own; a forked child must not go on with its parent's."""
    global _node, _clock_seq
    # The lowest bit of the first octet marks a node that is no hardware address.
    _node = f"{_entropy.getrandbits(48) | 1 << 40:012x}"
    _clock_seq = _entropy.getrandbits(14)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _draw_node()


_draw_node()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
