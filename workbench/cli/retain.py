"""What `workbench retain` does: it forgets the checkpoints that a rule lets go, or says which those are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.checkpoint.base.unreadable import UnreadableCheckpointError
from runtime.checkpoint.retention import Removed, Retention
from workbench import savers, text
from workbench.cli.printing import Result, line, table


def retain(database: str, newest: int | None, days: float | None, threads: Sequence[str], *, dry_run: bool) -> Result:
    """What was forgotten, by thread and namespace. A thread that can't be read is left as it is, and told."""
    rule = Retention(newest, days)
    removed: list[Removed] = []
    failed: dict[str, str] = {}
    with savers.opened(database, writes=not dry_run) as saver:
        for thread in threads or saver.thread_ids():
            try:
                removed += rule.foreseen(saver, [thread]) if dry_run else rule.apply(saver, [thread])
            except UnreadableCheckpointError as error:
                failed[thread] = str(error)
    return Result(_shown(removed, failed, dry_run), _data(rule, removed, failed, dry_run), 1 if failed else 0)


def _shown(removed: Sequence[Removed], failed: dict[str, str], dry_run: bool) -> list[Any]:
    count = sum(len(each.checkpoint_ids) for each in removed)
    told = f"{text.count(count, 'checkpoint')} {'would be' if dry_run else 'were' if count != 1 else 'was'} forgotten."
    rows = [[each.thread_id, each.checkpoint_ns, str(len(each.checkpoint_ids))] for each in removed]
    found = [table(["thread", "namespace", "checkpoints"], rows, right=["checkpoints"]), line("")] if rows else []
    return [*found, line(told), *(line(f"Left as it is: {words}") for words in failed.values())]


def _data(rule: Retention, removed: Sequence[Removed], failed: dict[str, str], dry_run: bool) -> dict[str, Any]:
    names = ("thread", "namespace", "checkpoints")
    return {
        "newest": rule.keep,
        "days": rule.days,
        "dry_run": dry_run,
        "forgotten": [dict(zip(names, each, strict=True)) for each in removed],
        "failed": failed,
    }
