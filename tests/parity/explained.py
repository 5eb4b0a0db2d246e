"""Where the two engines differ and ours is right: by the contract, or because LangGraph's way is a defect.

`DIFFERENCES` names each, with its reason. A value that shows one is made alike before it is compared, as narrowly as it
can be told; what shows in no single value is kept out of the programs (`programs` names the entry beside the choice).
"""

from __future__ import annotations

from typing import Any

from tests.parity.spec import END, Function, Graph, Update

DIFFERENCES = {
    "empty response schema": "§13: an interrupt's dict has `response_schema` only where there is one.",
    "private keys": "§5.6: a config shows no private key.",
    "answered, then failed": "§5.3, §5.6, §13: a task that was answered and then failed has no open question any more "
    "and gives no update. There it shows its question, and an empty update.",
    "cut off at exit": "§4.10, and the case cancel-keeps-what-was-done: a task cut off by a failing sibling is marked "
    "with that. There it is not, with durability 'exit'.",
    "cut off": "§5.12: a task that was cut off has no end in the stream. There it has one in some nested graphs.",
    "a router after a command from inside": "§5.8: a node whose graph was left by a command to the parent has routers "
    "as others have. There this is a TypeError.",
    "a late save": "§2, §5.5: a checkpoint holds its own superstep. There a topic that adds up, and a barrier, are one "
    "object for all supersteps, and what is saved in the background may hold more.",
    "an edit of nothing by nobody": "§5.7 does not say; ours is a copy with the same next. There what an earlier edit "
    "had passed by may be next again.",
    "a replay at exit": "§5.11: a lasting graph goes back to what it was before the checkpoint. There it does not, "
    "when the replay begins before its superstep and is saved at exit.",
    "a new call of a lasting graph": "§5.8: what a superstep gives to a lasting graph that it calls for the first time "
    "is taken in. There it is lost where the run was resumed: the graph goes on from its end of an earlier superstep.",
    "a barrier to come": "§5.6: a thread whose tasks have all finished, but whose barrier was not passed, is to be "
    "gone on with, so they are next. There `next` is (), as where a thread has ended.",
    "questions side by side": "§5.9: all are reported together. In which order they came is a race inside of one task.",
    "messages in pairs": "§5.3: any message in what a node gave is shown. There it is not where a Command's update is "
    "a list of pairs.",
    "delta counters": "§2.2: bookkeeping of when a checkpoint holds a delta channel whole. Ours does so more often: in "
    "a fork, where LangGraph mixes in what another branch wrote.",
    "last words": "§5.3: a task's end is told when it ends. There what the last task of a superstep told is lost when "
    "the writes of the superstep do not fit.",
    "an emptied update": "§5.3: a question is in the updates, in version 'v2' too. There it is taken out of them where "
    "a function asks and the values are streamed as well.",
    "an answer at exit": "§5.9: an answer is kept until its superstep is over, whatever the durability. There one to a "
    "graph that never saves is lost at exit, when that graph fails.",
    "a used answer": "§4.7, §5.9: an answer is used once. There a run without one, and a function anew, takes "
    "the answer that was given before.",
    "sync without a saver": "§11.1: durability 'sync' in a graph that never saves is an AttributeError there.",
    "an earlier stop answered again": "§5.11, and the case interrupt-same-stop-two-answers: there the first answer, "
    "kept with the checkpoint, wins over the answer given now.",
    "half a superstep": "§4.5: a superstep whose writes do not fit changes nothing. There, with durability 'exit', the "
    "checkpoint holds those that were applied before the one that did not fit.",
    "fleeting values": "§5.6: what finished tasks have stored is applied to the values of `get_state`. There this "
    "empties channels that react to silence, though they were just written.",
    "a second try": "§5.8, §11.1: a retried node's child goes on in its own namespace. There it starts over.",
    "settled": "§5.7: as END the thread is settled, and `next` is (). There is left what the settled writes woke.",
    "an edit keeps what was next": "§3.7, and the case timetravel-fork-keeps-goto: an update in nobody's name by a "
    "node without edges leaves what was next. There it is dropped.",
    "a handler that had finished": "§4.2, §5.12: what has finished is not run again. There a handler is, with the "
    "error as text, when the superstep was stopped.",
    "the way out of a lasting graph": "§5.8: a command to the parent is the parent's. There it is nobody's where a "
    "graph that stands in another keeps its state in a namespace without task ids.",
    "a tie with itself": "§5.7: an update in nobody's name is made in that of the one node that ran last. There a node "
    "that two channels woke at once ties with itself.",
    "a word lost on the way": "§5.7: what a Command said to a waiting thread is part of what an update starts from. "
    "There it is, but not where an update names its node, or several supersteps are written at once.",
    "no barrier": "§5.6: where all tasks of a superstep have finished, and it was not applied, they are still next: a "
    "run goes on from there. There `next` is (), as at the end of a thread.",
    "a router fails": "§4.10, §11.1: a node whose router failed has not finished and runs again. There it counts as "
    "finished, and its edges are lost.",
}

_NO_SCHEMA = ("response_schema", None)
_CUT_OFF = "CancelledError"
_COUNTERS = "counters_since_delta_snapshot"


def alike(value: Any) -> Any:
    """The value without what is known to differ."""
    if isinstance(value, dict):
        if _CUT_OFF in str(value.get("error")) and "state" in value:  # a task in a streamed checkpoint
            value = {**{key: item for key, item in value.items() if key != "error"}, "interrupts": ()}
        return {key: _in_order(key, item) for key, item in value.items() if not _differs(key, item)}
    kind = type(value).__name__  # each engine has its own
    if kind == "PregelTask" and value.error is not None:
        error = None if _CUT_OFF in str(value.error) else value.error
        return value._replace(interrupts=(), error=error)
    if kind == "PregelTask":
        return value._replace(interrupts=_in_order("interrupts", value.interrupts))
    if kind == "StateSnapshot":
        failed = {item.id for task in value.tasks if task.error is not None for item in task.interrupts}
        open_ones = tuple(item for item in value.interrupts if item.id not in failed)
        following = value.next or tuple(task.name for task in value.tasks)
        return value._replace(interrupts=_in_order("interrupts", open_ones), next=following)
    return value


def _in_order(key: Any, item: Any) -> Any:
    if key not in ("interrupts", "__interrupt__") or not isinstance(item, (tuple, list)):
        return item
    return type(item)(sorted(item, key=lambda asked: str(asked["value"] if isinstance(asked, dict) else asked.value)))


def _differs(key: Any, item: Any) -> bool:
    return key == _COUNTERS or (key, item) == _NO_SCHEMA or str(key).startswith("__pregel_")


def shows_explained(graph: Graph | Function, call: Update, state: Any) -> bool:
    """True when this update of a thread that stands like this is "settled", or "an edit keeps what was next"."""
    if isinstance(graph, Function):
        return False
    names = {as_node for step in call.supersteps for _, as_node in step}
    if END in names and (len(call.supersteps) > 1 or any(task.result is not None for task in state.tasks)):
        return True
    leading = {start for start, end in graph.edges if end != END} | {route.source for route in graph.routes}
    waits = any(task.result is None for task in state.tasks)
    return None in names and waits and any(node.name not in leading for node in graph.nodes)
