"""Reasons hold: checked against the engine, by taking away what they name, and by giving what they miss.

The checkpoint before a superstep is edited, and the engine says what is next. Without the channels that `why` names the
node is not; with those that `why_not` misses it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.workbench.exact.conftest import Recorded
from workbench import Recording
from workbench.explain import why_here
from workbench.index import Superstep

SENDS = "__pregel_tasks"
WRITABLE = ("unwritten", "equal", "emptied")


def test_every_task_that_ran_has_a_reason_that_happened(recorded):
    for one in recorded:
        for superstep in one.rec.index.supersteps:
            for node in {task.node for task in superstep.tasks.values() if task.planned is not None}:
                answer = why_here(one.rec.index, node, superstep)
                assert answer.triggers or answer.sent or answer.called or answer.handles, one
                for cause in answer.triggers:
                    assert cause.seen is None or cause.version > cause.seen, one
                    assert not cause.writers or cause.writers[-1].version == cause.version, one
                    for writer in cause.writers:
                        assert wrote(one, superstep.ns, cause.channel, writer), (str(one), node, writer)


def wrote(one: Recorded, ns: str, channel: str, writer: Any) -> bool:
    """True where the frame of writes has these writes, of this superstep."""
    if not writer.nodes:
        return True
    rows = one.rec.writes.query("ns == @ns and channel == @channel")
    return set(writer.nodes) <= set(rows[rows.step == writer.step].node)


def test_without_the_channels_that_why_names_the_node_does_not_run(recorded):
    tried = 0
    for one, part, superstep, before in planned(recorded):
        for node in woken(superstep):
            causes = why_here(part.index, node, superstep).triggers
            assert node in next_of(one, before, lambda checkpoint: None), one
            assert node not in next_of(one, before, forgetting(node, [cause.channel for cause in causes])), one
            tried += 1
    assert tried > 200


def test_with_the_channels_that_why_not_misses_the_node_runs(recorded):
    tried = 0
    for one, part, superstep, before in planned(recorded):
        nodes = {node.name for node in one.program.graph.nodes} - {task.node for task in superstep.tasks.values()}
        for node in nodes:
            reasons = part.why_not(node, superstep.step, ns="").reasons
            assert reasons, (str(one), node)
            missed = [reason.channel for reason in reasons if reason.kind in (*WRITABLE, "members", "deferred")]
            assert missed, (str(one), node, reasons)
            for channel in missed:
                assert node in next_of(one, before, supplying(one, node, channel)), (str(one), node, channel)
                tried += 1
    assert tried > 200


# -- editing checkpoints ----------------------------------------------------------------------------------------------


def planned(recorded: list[Recorded]) -> Iterator[tuple[Recorded, Recording, Superstep, Any]]:
    """Each superstep of each run of an outermost graph, with the checkpoint that it was planned from."""
    for one in recorded:
        for part in one.rec.runs:
            saved = None
            for superstep in part.index.roots[0].supersteps:
                if superstep.planned is not None and saved is not None:
                    conf = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": saved}
                    yield one, part, superstep, one.saver.get_tuple({"configurable": conf})
                saved = superstep.saved.checkpoint_id if superstep.saved is not None else None


def woken(superstep: Superstep) -> set[str]:
    """The nodes that channels woke, and no Send beside."""
    pushed = {task.node for task in superstep.tasks.values() if task.kind == "push"}
    return {task.node for task in superstep.tasks.values() if task.kind == "pull"} - pushed


def next_of(one: Recorded, before: Any, edit: Callable[[dict[str, Any]], None]) -> tuple[str, ...]:
    """What the engine would run next, from the checkpoint as it is edited here."""
    checkpoint = {
        **before.checkpoint,
        "channel_values": {**before.checkpoint["channel_values"]},
        "channel_versions": {**before.checkpoint["channel_versions"]},
        "versions_seen": {node: {**seen} for node, seen in before.checkpoint["versions_seen"].items()},
        "updated_channels": None,
    }
    edit(checkpoint)
    conf = {"configurable": {"thread_id": "edited", "checkpoint_ns": ""}}
    config = one.saver.put(conf, checkpoint, before.metadata, checkpoint["channel_versions"])
    found = one.graph.get_state(config).next
    one.saver.delete_thread("edited")
    return found


def forgetting(node: str, channels: list[str]) -> Callable[[dict[str, Any]], None]:
    """The edit after which these channels are no news to the node."""

    def edit(checkpoint: dict[str, Any]) -> None:
        seen = checkpoint["versions_seen"].setdefault(node, {})
        seen.update({name: checkpoint["channel_versions"][name] for name in channels})

    return edit


def supplying(one: Recorded, node: str, channel: str) -> Callable[[dict[str, Any]], None]:
    """The edit after which this channel has what the node waits for: a newer value, or all members of a join."""

    def edit(checkpoint: dict[str, Any]) -> None:
        model = one.graph.channels[channel].copy()
        if hasattr(model, "names"):
            model.update(list(model.names))
        else:
            model.update([None])
        model.finish()
        checkpoint["channel_values"][channel] = model.checkpoint()
        checkpoint["channel_versions"][channel] = one.saver.get_next_version(
            max(checkpoint["channel_versions"].values()), None
        )

    return edit
