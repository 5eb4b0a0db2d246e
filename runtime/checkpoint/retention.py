"""How long checkpoints are kept: a rule, and the job that forgets what the rule lets go.

    Retention(keep=100, days=30).apply(saver)

keeps of each thread the newest hundred checkpoints and whatever is younger than thirty days. What else stays, whatever
the rule says:

1. The newest checkpoint of each namespace, and each that a question waits in.
2. The ancestors whose writes a kept checkpoint's delta channels are made of.

What a nested graph kept for one task goes with the checkpoint that the task started from, and stays with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

from runtime._words import NS_END, NS_SEP
from runtime.checkpoint.base import BaseCheckpointSaver, Outline

__all__ = ("Removed", "Retention")


class Removed(NamedTuple):
    """What was forgotten of one thread in one namespace, the oldest first."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retention:
    """Keeps a thread's newest `keep` checkpoints, in each namespace, and those of the last `days`; one rule is enough.

    It may run while threads go on, as often as one likes. The saver must be able to forget single checkpoints, as ours
    can; another's database can be opened with ours.
    """

    keep: int | None = None
    days: float | None = None

    def __post_init__(self) -> None:
        if self.keep is None and self.days is None:
            raise ValueError("Retention needs a rule: keep=… says how many checkpoints stay, days=… how long.")
        for name, given in (("keep", self.keep), ("days", self.days)):
            if given is not None and given < 0:
                raise ValueError(f"Retention({name}={given!r}): {name} can't be less than 0.")

    def apply(
        self, saver: BaseCheckpointSaver[Any], threads: Iterable[str] | None = None, *, now: datetime | None = None
    ) -> list[Removed]:
        """Forget what the rule lets go, of these threads or of all, and say what that was."""
        removed = []
        for each in self.foreseen(saver, threads, now=now):
            saver.delete_checkpoints(*each)
            removed.append(each)
        return removed

    def foreseen(
        self, saver: BaseCheckpointSaver[Any], threads: Iterable[str] | None = None, *, now: datetime | None = None
    ) -> Iterator[Removed]:
        """What `apply` would forget; nothing is."""
        _check(saver)
        for thread_id in list(saver.thread_ids()) if threads is None else threads:
            for ns, ids in self.chosen(saver.outline(thread_id), now):
                yield Removed(thread_id, ns, ids)

    async def aapply(
        self, saver: BaseCheckpointSaver[Any], threads: Iterable[str] | None = None, *, now: datetime | None = None
    ) -> list[Removed]:
        """`apply`, awaited."""
        _check(saver)
        removed = []
        for thread_id in list(await saver.athread_ids()) if threads is None else threads:
            for ns, ids in self.chosen(await saver.aoutline(thread_id), now):
                await saver.adelete_checkpoints(thread_id, ns, ids)
                removed.append(Removed(thread_id, ns, ids))
        return removed

    def chosen(self, outlines: Iterable[Outline], now: datetime | None = None) -> list[tuple[str, tuple[str, ...]]]:
        """Of one thread's checkpoints, those that the rule lets go: ids by namespace, nested namespaces first."""
        spaces: dict[str, dict[str, Outline]] = defaultdict(dict)
        for each in outlines:
            spaces[each.checkpoint_ns][each.id] = each
        kept: dict[str, set[str]] = {}
        for ns in sorted(spaces, key=lambda ns: ns.count(NS_SEP) + bool(ns)):
            space = spaces[ns]
            wanted = {id for id in self._wanted(space, now) if _owner_stays(space[id], spaces, kept)}
            kept[ns] = wanted | {id for each in wanted for id in _history(space, space[each])}
        gone = [(ns, tuple(sorted(spaces[ns].keys() - kept[ns]))) for ns in reversed(kept)]
        return [(ns, ids) for ns, ids in gone if ids]

    def _wanted(self, space: Mapping[str, Outline], now: datetime | None) -> Iterator[str]:
        since = None if self.days is None else (now or datetime.now(UTC)) - timedelta(days=self.days)
        for place, id in zip(count(), sorted(space, reverse=True), strict=False):
            young = since is not None and _is_since(space[id].ts, since)
            if place < max(self.keep or 0, 1) or young or space[id].asks:
                yield id


def _check(saver: Any) -> None:
    if not hasattr(saver, "delete_checkpoints"):
        raise TypeError(
            f"{type(saver).__module__}.{type(saver).__qualname__} can't forget single checkpoints. Open its database "
            "with a saver of runtime.checkpoint, or use its own prune()."
        )


def _is_since(ts: str, since: datetime) -> bool:
    """Whether a time is no earlier than another; True of what is no time, so that nothing goes for want of one."""
    try:
        return datetime.fromisoformat(ts) >= since
    except (ValueError, TypeError):
        return True


def _owner_stays(nested: Outline, spaces: Mapping[str, Any], kept: Mapping[str, set[str]]) -> bool:
    """False for what one task's nested graph kept, when the checkpoint that the task started from goes or is gone."""
    above, _, last = nested.checkpoint_ns.rpartition(NS_SEP)
    owner = (nested.metadata.get("parents") or {}).get(above)
    if NS_END not in last or owner is None or above not in spaces or nested.asks:
        return True
    return owner in kept[above]


def _history(space: Mapping[str, Outline], outline: Outline) -> Iterator[str]:
    """The ancestors whose writes the delta channels of a checkpoint are made of."""
    met = {outline.id}
    waiting = set(outline.metadata.get("counters_since_delta_snapshot") or ()) - outline.held
    while waiting and (parent := space.get(outline.parent_id or "")) is not None and parent.id not in met:
        met.add(parent.id)
        yield parent.id
        waiting -= parent.held
        outline = parent
