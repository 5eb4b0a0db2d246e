"""What must be true of a thread whose process was killed: judged by what its saver holds, and by its diary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from runtime.pregel.task import UNFINISHED
from tests.runtime.survival.lives import Thread
from tests.runtime.survival.program import Line, program

ERROR_SOURCE = "__error_source_node__"


class Kept(NamedTuple):
    """What a saver holds of a thread: its checkpoints, by id, and the tasks whose end is stored beside one."""

    checkpoints: Mapping[str, Any]
    ended: frozenset[str]

    @classmethod
    def of(cls, thread: Thread) -> Kept:
        """Read it, as another process would."""
        with thread.saver.read(thread.address) as saver:
            found = list(saver.list({"configurable": {"thread_id": thread.id}}))
        writes = [(id, channel) for each in found for id, channel, _ in each.pending_writes or ()]
        ended = {id for id, channel in writes if channel not in UNFINISHED or channel == ERROR_SOURCE}
        return cls({each.checkpoint["id"]: each for each in found}, frozenset(ended))

    def newest(self) -> dict[str, int]:
        """The superstep of each namespace's newest checkpoint."""
        steps: dict[str, int] = {}
        for _, each in sorted(self.checkpoints.items()):
            steps[each.config["configurable"]["checkpoint_ns"]] = each.metadata["step"]
        return steps


class Outcome(NamedTuple):
    """How a thread ended: its values, and its course, which is the source, superstep and values of each checkpoint."""

    values: Mapping[str, Any]
    course: Sequence[tuple[str, int, Any]]

    @classmethod
    def of(cls, thread: Thread) -> Outcome:
        """Read it, as another process would."""
        with thread.saver.read(thread.address) as saver:
            graph = program(saver, asynchronous=thread.saver.asynchronous)
            values = graph.get_state(thread.config).values
            states = list(graph.get_state_history(thread.config))
        return cls(values, [(each.metadata["source"], each.metadata["step"], each.values) for each in states[::-1]])


def faults_of_life(thread: Thread, before: Kept, after: Kept, lines: Sequence[Line]) -> Iterator[str]:
    """What is wrong after a life that began with `before`, noted these lines, and left `after`."""
    for id in before.checkpoints.keys() - after.checkpoints.keys():
        yield f"checkpoint {id} is gone"
    for id in before.ended - after.ended:
        yield f"the writes of task {id} are gone"
    for each in after.checkpoints.values():
        parent = each.parent_config and each.parent_config["configurable"]["checkpoint_id"]
        if parent and parent not in after.checkpoints:
            yield f"checkpoint {each.checkpoint['id']} has no parent: {parent} is not there"
    newest = after.newest()
    for word, facts in lines:
        if word == "kept" and facts[0] not in after.checkpoints:
            yield f"checkpoint {facts[0]} was told of as kept, and is not"
        elif word == "failed":
            yield f"a process failed by itself: {facts[0]}"
        elif word == "began":
            label, ns, id, step = facts
            if id in before.ended:
                yield f"task {label!r} ran again, though its end was kept"
            if thread.durability == "sync" and newest.get(ns, -2) < int(step) - 1:
                yield f"task {label!r} began in superstep {step} of {ns!r} before the checkpoint before it was kept"
        elif word == "told" and thread.durability == "sync" and facts[0] not in after.ended:
            yield f"task {facts[0]} was told to have finished before its writes were kept"


def faults_of_end(outcome: Outcome, undisturbed: Outcome) -> Iterator[str]:
    """What is wrong with a thread that was killed on its way, next to one that was not."""
    for name, value in undisturbed.values.items():
        found = outcome.values.get(name)
        if found != value and isinstance(found, list):
            yield f"{name} lacks {_more(value, found)} and has {_more(found, value)} too often, or is in disorder"
        elif found != value:
            yield f"{name} is {found!r} and should be {value!r}"
    if outcome.course != undisturbed.course:
        steps = [each[:2] for each in outcome.course]
        yield f"its course is {steps} and should be {[each[:2] for each in undisturbed.course]}, each with its values"


def _more(these: Sequence[str], than: Sequence[str]) -> list[str]:
    return list((Counter(these) - Counter(than)).elements())
