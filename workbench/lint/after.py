"""The rules for a run: a function each, from its recording, and from what the code of its nodes says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.events import TaskFinished
from workbench import prose, text
from workbench.freeze import ATOMS, DROPPED, NotCopied
from workbench.index import Index, Run, Superstep, is_state
from workbench.inplace import InputChanged
from workbench.lint import code
from workbench.lint.facts import Facts
from workbench.lint.finding import Finding, Rule

_ROUNDS: Final = 20
"""From how many rounds on growth is told."""

_NEAR: Final = 0.8
"""The part of the recursion limit from which on it is told."""


class Ran:
    """A recorded run, as the rules see it."""

    def __init__(self, recording: Any) -> None:
        self.index: Index = recording.index
        self.events: Sequence[Any] = recording.events
        self.graph = recording.graph
        self._facts: dict[str, Facts | None] = {}

    def facts_of(self, ns: str) -> Facts | None:
        """What is known of the graph that ran there; None for a graph that was never seen."""
        if ns not in self._facts:
            graph = self.graph
            for name in ns.split(":") if ns else ():
                graph = Facts(graph).inner.get(name) if graph is not None else None
            self._facts[ns] = None if graph is None else Facts(graph, ns)
        return self._facts[ns]

    @cached_property
    def tries(self) -> list[list[TaskFinished]]:
        """The tasks that ended more than once, or with an answer, each with all its ends."""
        ends: dict[tuple[str, str], list[TaskFinished]] = {}
        for event in self.events:
            if isinstance(event, TaskFinished) and event.status != "cached":
                ends.setdefault((event.ns, event.task_id), []).append(event)
        return [many for many in ends.values() if len(many) > 1 or many[-1].answers]


def place(ns: str) -> str:
    """A namespace as findings name it: the nodes without their tasks, `desk:editor`."""
    return prose.place(ns).replace(", ", ":")


def changed_in_place(ran: Ran) -> Iterator[Finding]:
    """Inputs that a node changed instead of answering with a write."""
    for event in ran.events:
        if isinstance(event, InputChanged):
            one = text.listing(event.nodes, "or")
            yield Finding(
                "WB201",
                f"{one} changed {event.channel!r} in place: {_moved(event.before, event.after)}.",
                "A changed list or dict is the task's own copy, and the change is lost; a changed object of yours is "
                "shared, past reducer and barrier. A retry begins with either.",
                f"Make a new value and return it: {{{event.channel!r}: [*old, new]}}, or only the new part where "
                "there is a reducer.",
                event.nodes,
                event.channel,
                event.step,
                place(event.ns),
            )


def _moved(before: Any, after: Any) -> str:
    one, other = text.value(before, 40), text.value(after, 40)
    return f"{one} became {other}" if one != other else "it is no longer what the node was given"


def effect_twice(ran: Ran) -> Iterator[Finding]:
    """Calls with an effect, before a question, in a node that was answered: it ran again from its start."""
    told: set[tuple[str, str]] = set()
    for ends in ran.tries:
        end, ns = ends[-1], place(ends[-1].ns)
        facts = ran.facts_of(ns)
        found = facts.code(end.node) if facts is not None and end.answers else None
        if found is None or (ns, end.node) in told:
            continue
        told.add((ns, end.node))
        effects = code.effects_before_question(found)
        if effects:
            listed = text.listing(f"{words} ({found._replace(line=line).place})" for words, line in effects)
            yield Finding(
                "WB202",
                f"{end.node} ran again from its start when it was answered, and with it {listed}.",
                "Whatever stands before interrupt() happens once for each answer, and once more.",
                "Move it behind the interrupt(), into a node of its own before this one, or guard it with an "
                "idempotency key.",
                (end.node,),
                "",
                end.step,
                ns,
            )


def order_changed(ran: Ran) -> Iterator[Finding]:
    """Questions that a node asked in another order when it ran again."""
    for ends in ran.tries:
        for first, again in pairwise(ends):
            moved = _swapped(first.questions, again.questions)
            if moved is None:
                continue
            asked, got = moved
            yield Finding(
                "WB203",
                f"{first.node} first asked {prose.asked(asked)}; when it ran again, {prose.asked(got)} stood in its "
                "place and got that answer.",
                "Answers are matched to questions by their number, so each came to the wrong question.",
                "Ask in the same order each time: let nothing that can change between tries (time, chance, a set, "
                "what another node does) decide.",
                (first.node,),
                "",
                again.step,
                place(first.ns),
            )


def _swapped(first: Sequence[Any], again: Sequence[Any]) -> tuple[Any, Any] | None:
    """The first question whose place another one took, if it was asked elsewhere too."""
    for number, (one, other) in enumerate(zip(first, again, strict=False)):
        if not _same(one, other):
            elsewhere = [*again[:number], *again[number + 1 :]]
            return (one, other) if any(_same(one, third) for third in elsewhere) else None
    return None


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # a value that does not say yes or no
        return True


def unanswered_call(ran: Ran) -> Iterator[Finding]:
    """Tool calls that no tool message answers."""
    told: set[str] = set()
    for run in ran.index.runs:
        last: dict[str, Any] = {}
        for superstep, _, values in run.states():
            for channel, value in values.items():
                if isinstance(value, list):
                    last[channel] = value
                    calls = [call for call, passed in _open_calls(value) if passed and call["id"] not in told]
                    told |= {call["id"] for call in calls}
                    yield from (_unanswered(run, superstep, channel, call, True) for call in calls)
        ended = run.finished is not None and run.finished.status == "done"
        kept = run.started is not None and run.started.thread_id is not None
        for channel, value in last.items() if ended and kept and run.supersteps else ():
            calls = [call for call, _ in _open_calls(value) if call["id"] not in told]
            told |= {call["id"] for call in calls}
            yield from (_unanswered(run, run.supersteps[-1], channel, call, False) for call in calls)


def _open_calls(messages: Sequence[Any]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Each tool call without its tool message, and whether the conversation has passed it."""
    for place_, message in enumerate(messages):
        calls = [call for call in getattr(message, "tool_calls", None) or () if isinstance(call, Mapping)]
        if not calls or text.message(message) is None:
            continue
        behind = messages[place_ + 1 :]
        until = next((i for i, one in enumerate(behind) if getattr(one, "tool_call_id", None) is None), None)
        answered = {getattr(one, "tool_call_id", None) for one in behind[:until]}
        yield from ((call, until is not None) for call in calls if call.get("id") not in answered)


def _unanswered(run: Run, superstep: Superstep, channel: str, call: Mapping[str, Any], passed: bool) -> Finding:
    what = "has passed it" if passed else "ends with it, on a thread that can go on"
    return Finding(
        "WB204",
        f"The tool call {text.call(call)} in {channel!r} has no tool message, and the conversation {what}.",
        "Providers refuse a conversation in which a tool call is not answered: the next model call fails.",
        "Write a ToolMessage with its tool_call_id for every call, for those that were refused, too.",
        _writers(superstep, channel),
        channel,
        superstep.step,
        place(run.ns),
    )


def _writers(superstep: Superstep, channel: str) -> tuple[str, ...]:
    writers = [writer for change in superstep.changes() if change.channel == channel for writer in change.writers]
    return tuple(dict.fromkeys(writer for writer in writers if not writer.startswith("__")))


def not_storable(ran: Ran) -> Iterator[Finding]:
    """Written values that no checkpoint can hold."""
    told: set[tuple[str, str, type[Any]]] = set()
    for superstep in ran.index.supersteps:
        run = superstep.run
        serde = getattr(getattr(run.graph, "checkpointer", None), "serde", None) or JsonPlusSerializer()
        for write in superstep.updated.writes if superstep.updated is not None else ():
            key = (run.ns, write.channel, type(write.value))
            if not is_state(write.channel) or run.kinds.get(write.channel) == "UntrackedValue" or key in told:
                continue
            error = _refusal(serde, write.value)
            if error:
                told.add(key)
                node = () if write.node.startswith("__") else (write.node,)
                yield Finding(
                    "WB205",
                    f"{write.node if node else 'The input'} wrote {write.channel!r} a value that no checkpoint can "
                    f"hold: {error}.",
                    "With a saver the run fails at this write; without one it cannot be stopped, resumed or looked "
                    "at later.",
                    "Keep plain data in the state, and the object elsewhere: in the run's context, or an "
                    "UntrackedValue channel.",
                    node,
                    write.channel,
                    superstep.step,
                    place(run.ns),
                )


def _refusal(serde: Any, value: Any) -> str:
    """Why a value cannot be stored; empty when it can."""
    if isinstance(value, NotCopied):
        return f"a {value.kind}"
    if (type(value) in ATOMS and not callable(value)) or value is DROPPED:
        return ""
    try:
        serde.dumps_typed(value)
    except Exception as error:  # whatever a serializer raises is its reason
        first = " ".join(str(error).split()).partition(". ")[0]  # what follows is the serializer's way out
        return text.shorten(first or type(error).__name__, 200).rstrip(".")
    return ""


def grows(ran: Ran) -> Iterator[Finding]:
    """Values that a node made longer each time it ran, and that nothing made shorter."""
    sizes: dict[tuple[str, str], list[tuple[int, int, tuple[str, ...]]]] = {}
    for run in ran.index.runs:
        for superstep, _, values in run.states():
            for change in superstep.changes():
                value = values.get(change.channel)
                if is_state(change.channel) and isinstance(value, list | str | dict | set | tuple):
                    row = (len(value), superstep.step, change.writers)
                    sizes.setdefault((place(run.ns), change.channel), []).append(row)
    for (ns, channel), rows in sizes.items():
        if any(after[0] <= before[0] for before, after in pairwise(rows)):
            continue
        rounds: dict[str, int] = {}
        for writer in (writer for row in rows for writer in dict.fromkeys(row[2])):
            rounds[writer] = rounds.get(writer, 0) + 1
        nodes = tuple(node for node, count in rounds.items() if count >= _ROUNDS and not node.startswith("__"))
        if nodes:
            yield Finding(
                "WB206",
                f"{channel!r} grew with each of {max(rounds[node] for node in nodes)} rounds of "
                f"{text.listing(nodes)}, from {rows[0][0]:,} to {rows[-1][0]:,} parts, and nothing took any out.",
                "It grows with the length of the thread: each model call and each checkpoint costs more than the "
                "last, until one is too large.",
                "Keep the newest part or a summary: trim_messages, RemoveMessage, or a reducer with a limit.",
                nodes,
                channel,
                rows[-1][1],
                ns,
            )


def near_the_limit(ran: Ran) -> Iterator[Finding]:
    """Runs that went round until the recursion limit was near, in a graph that does not mind it."""
    for run in ran.index.runs:
        steps = [superstep for superstep in run.supersteps if any(task.ran for task in superstep.visible)]
        nodes = [task.node for superstep in steps for task in superstep.visible if task.ran]
        again = tuple(node for node in dict.fromkeys(nodes) if nodes.count(node) > 1)
        limit = run.started.limit if run.started is not None else None
        over = run.finished is not None and run.finished.status == "out_of_steps"
        near = limit is not None and len(steps) >= _NEAR * (limit - 1) and bool(again) and not _minds(run.graph)
        if not over and not near:
            continue
        of = f" of {limit}" if limit is not None else ""
        yield Finding(
            "WB207",
            f"The run {'reached' if over else 'came near'} its recursion limit{of}: it took "
            f"{text.count(len(steps), 'superstep')}.",
            "It failed there." if over else "A few rounds more, and it fails there with nothing to show.",
            "Count rounds in the state and end gracefully (RemainingSteps tells what is left), or raise "
            "config={'recursion_limit': …}.",
            again,
            "",
            steps[-1].step if steps else None,
            place(run.ns),
        )


def _minds(graph: Any) -> bool:
    """True for a graph that asks how many supersteps are left."""
    managed = getattr(getattr(graph, "builder", None), "managed", None) or {}
    return any("Step" in getattr(spec, "__name__", "") for spec in managed.values())


RULES: Final = (
    Rule("WB201", "a node changed its input in place", changed_in_place),
    Rule("WB202", "side effects before an interrupt() ran twice", effect_twice),
    Rule("WB203", "the order of interrupts changed between tries", order_changed),
    Rule("WB204", "a tool call without its tool message", unanswered_call),
    Rule("WB205", "state that no checkpoint can hold", not_storable),
    Rule("WB206", "state that grows with every round", grows),
    Rule("WB207", "how near the recursion limit the run came", near_the_limit),
)
"""The rules for a run, in the order of their codes."""
