"""The checkpoints of a recorded thread, for its tree: those that were recorded, and those that they come from.

A checkpoint that was made between two runs, by `update_state` for a fork, is in no recording. Its children name it, so
it is looked up in the graph's history, where that can be reached; what was recorded does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench import text
from workbench.comparison import where
from workbench.diff import ABSENT, Operation, diff
from workbench.index import Index
from workbench.tree import Checkpoint


def checkpoints(index: Index, thread: str | None, graph: Any) -> list[Checkpoint]:
    """The thread's checkpoints at the top, oldest first; the newest is the current one."""
    found = {one.id: one for one in _recorded(index, thread)}
    if any(one.parent is not None and one.parent not in found for one in found.values()):
        history = _history(graph, thread)
        for one in list(found.values()):
            while one.parent is not None and one.parent not in found and one.parent in history:
                one = history[one.parent]
                found[one.id] = one
    waiting = _waiting(index)
    parents = {one.parent for one in found.values()}
    newest = max(found, default=None)
    return [
        one._replace(current=one.id == newest, waits=() if one.id in parents else waiting.get(one.id, ()))
        for one in sorted(found.values(), key=lambda one: one.id)
    ]


def _recorded(index: Index, thread: str | None) -> Iterator[Checkpoint]:
    for superstep in index.supersteps:
        saved = superstep.saved
        if saved is not None and not saved.ns and saved.thread_id == thread:
            yield Checkpoint(saved.checkpoint_id, saved.parent_id, saved.step, saved.source, saved.next)


def _waiting(index: Index) -> dict[str, tuple[str, ...]]:
    """The nodes that ask, by the checkpoint at which they do."""
    found: dict[str, tuple[str, ...]] = {}
    for run in index.roots:
        if run.stop is None or run.stop.when != "asked":
            continue
        saved = [superstep.saved.checkpoint_id for superstep in run.supersteps if superstep.saved is not None]
        at = saved[-1] if saved else run.started.checkpoint_id if run.started is not None else None
        if at is not None:
            found[at] = tuple(dict.fromkeys(run.stop.nodes))
    return found


def _history(graph: Any, thread: str | None) -> dict[str, Checkpoint]:
    """The thread as its saver has it now; empty where that cannot be asked."""
    try:
        snapshots = list(graph.get_state_history({"configurable": {"thread_id": thread}}))
    except Exception:  # no graph, no saver, or one that answers only to async calls
        return {}
    values = {_id(one.config): one.values for one in snapshots}
    found = {}
    for one in snapshots:
        id, parent = _id(one.config), _id(one.parent_config)
        metadata = one.metadata or {}
        source = str(metadata.get("source", "loop"))
        label = _label(values.get(parent), one.values) if source == "update" and parent is not None else ""
        found[id or ""] = Checkpoint(
            id or "", parent, int(metadata.get("step", -1)), source, tuple(one.next), label=label
        )
    return found


def _id(config: Any) -> str | None:
    id = (config or {}).get("configurable", {}).get("checkpoint_id")
    return None if id is None else str(id)


def _label(before: Any, after: Any) -> str:
    """What an update changed, in a few words: `order.state = whole`."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return ""
    changed = diff(before, after)
    if not changed:
        return "nothing changed"
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"{_said(changed[0])}{more}"


def _said(operation: Operation) -> str:
    path = where(operation.path)
    if operation.after is ABSENT:
        return f"without {path}"
    return f"{path} = {text.value(operation.after, 30)}"
