"""What `explain` finds: values that can be asked for their parts, and that show themselves as text and as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from workbench import html, text
from workbench.html import Html
from workbench.prose import Code, Line, Mark, Told, place, quoted, version

Picture = Callable[[], Html]
"""Draws what belongs to an answer, when it is shown."""


def undrawn() -> Html:
    """No picture."""
    return Html("")


# -- why --------------------------------------------------------------------------------------------------------------


class Writer(NamedTuple):
    """A superstep that wrote a channel: which, what made it, the nodes that wrote, and the versions around it.

    `nodes` is empty where nobody wrote: the channel of a deferred node opens when nothing else would run.
    """

    step: int
    source: str
    nodes: tuple[str, ...]
    version_before: int | None
    version: int | None


class Cause(NamedTuple):
    """A channel that woke a task: its version, the version that the node had seen, and who has written it since.

    `writers` is empty where it was written before the recording began.
    """

    channel: str
    kind: str
    version: int | None
    seen: int | None
    writers: tuple[Writer, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Why(Told):
    """Why a node ran in a superstep: the channels that woke it."""

    node: str
    step: int
    ns: str
    statuses: tuple[str, ...]
    sent: int
    called: int
    handles: tuple[str, ...]
    triggers: tuple[Cause, ...]
    picture: Picture = field(default=undrawn, compare=False)

    def head(self) -> Line:
        """That it ran, when, how often and how it ended."""
        many = len(self.statuses)
        times = "" if many == 1 else f" {many} times"
        where = f" of {place(self.ns)}" if self.ns else ""
        ends = [status for status in dict.fromkeys(self.statuses) if status not in ("ok", "next")]
        how = f" ({', '.join(ends)})" if ends else ""
        verb = "is next," if set(self.statuses) == {"next"} else f"ran{times}"
        return (f"{self.node} {verb} in superstep {self.step}{where}{how}.",)

    def lines(self) -> Iterator[Line]:
        """One line for each channel that woke it."""
        if self.called:
            yield (f"{text.count(self.called, 'task')} called by another task",)
        for failed in self.handles:
            yield (f"it handles the error of {failed}",)
        for cause in self.triggers:
            yield (*self._cause(cause),)

    def fragment(self) -> Html:
        """The answer, and the drawing with what it names."""
        return html.join([Told.fragment(self), self.picture()])

    def _cause(self, cause: Cause) -> Iterator[str | Code | Mark]:
        sends = cause.channel == "__pregel_tasks"
        if sends:
            yield "one task for a Send in " if self.sent == 1 else f"{self.sent} tasks, one for each Send in "
        yield Code(cause.channel)
        yield ", " if sends else " "
        if not cause.writers:
            yield Mark(version(cause.version), True)
            yield ", written before this recording began"
        for number, writer in enumerate(cause.writers):
            yield "" if number == 0 else ", then "
            yield Mark(f"{version(writer.version_before)} → {version(writer.version)}", True)
            once = writer._replace(nodes=tuple(dict.fromkeys(writer.nodes))) if sends else writer
            yield f" {_by(once)}"
        if cause.kind.endswith("AfterFinish"):
            yield ", when nothing else would run (deferred)"
        if not sends:
            seen = "had never seen it" if cause.seen is None else f"had last seen {version(cause.seen)}"
            yield f"; {self.node} {seen}"


def _by(writer: Writer) -> str:
    """Who wrote, and when; the input and a command come before any superstep."""
    if writer.source in ("input", "resume"):
        return f"by the {'input' if writer.source == 'input' else 'command'}"
    if not writer.nodes:
        return f"opened in superstep {writer.step}"
    made = "by an update as " if writer.source == "update" else "by "
    return f"{made}{text.listing(_counted(writer.nodes))} in superstep {writer.step}"


def _counted(nodes: tuple[str, ...]) -> Iterator[str]:
    for node in dict.fromkeys(nodes):
        many = nodes.count(node)
        yield node if many == 1 else f"{node} ({many} times)"


# -- why not ----------------------------------------------------------------------------------------------------------

ReasonKind = Literal[
    "unwritten",
    "equal",
    "members",
    "deferred",
    "emptied",
    "newer",
    "reads",
    "idle",
    "ended",
    "chose",
    "beside",
    "stopped",
]


class Reason(NamedTuple):
    """One fact that kept a node from running.

    About a channel: "unwritten", "equal" (nothing newer than was seen), "members" (a join that waits for `nodes`),
    "deferred", "emptied", "newer" (it was awake), "reads" (it changed, but only gives and does not wake). About a node
    that leads here: "idle" (never ran), "ended" (failed or waits), "chose" (went elsewhere), "beside" (its writes still
    wait at the barrier). "stopped": the run ended before.
    """

    kind: ReasonKind
    channel: str = ""
    nodes: tuple[str, ...] = ()
    step: int | None = None
    version: int | None = None
    seen: int | None = None
    come: tuple[tuple[str, int | None], ...] = ()
    chosen: tuple[str, ...] = ()
    status: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot(Told):
    """Why a node did not run in a superstep: what it waited for."""

    node: str
    step: int
    ns: str
    reasons: tuple[Reason, ...]
    at_end: bool = False
    picture: Picture = field(default=undrawn, compare=False)

    def head(self) -> Line:
        """That it did not run, and when that is meant."""
        where = f" of {place(self.ns)}" if self.ns else ""
        when = f"after superstep {self.step}" if self.at_end else f"in superstep {self.step}"
        return (f"{self.node} did not run {when}{where}.",)

    def lines(self) -> Iterator[Line]:
        """One line for each reason."""
        for reason in self.reasons:
            yield _reason(self.node, reason)

    def fragment(self) -> Html:
        """The answer, and the drawing with what it names."""
        return html.join([Told.fragment(self), self.picture()])


def _reason(node: str, reason: Reason) -> Line:
    channel, mark = Code(reason.channel), Mark(version(reason.version), True)
    who = text.listing(reason.nodes)
    match reason.kind:
        case "unwritten":
            leads = f"; it is {text.listing(reason.nodes, 'or')} that leads here" if reason.nodes else ""
            return (channel, f" was never written{leads}")
        case "equal":
            return (
                channel,
                " is ",
                mark,
                f", and {node} has seen ",
                Mark(version(reason.seen), True),
                ": nothing newer",
            )
        case "members":
            whole = len(reason.nodes) + len(reason.come)
            come = text.listing(name if at is None else f"{name} in superstep {at}" for name, at in reason.come)
            verb = "has" if len(reason.come) == 1 else "have"
            so_far = f"{len(reason.come)} of {whole} {verb} come{f' ({come})' if come else ''}"
            return (channel, f" waits for {who}: {so_far}")
        case "deferred":
            others = f" in superstep {reason.step} ran {who}" if who and who != node else " something else could run"
            return (channel, " is ", mark, f", but {node} is deferred: it waits until nothing else runs, and{others}")
        case "emptied":
            return (channel, " is empty: what was written to it has been used")
        case "newer":
            seen = "it was never seen" if reason.seen is None else f"{node} has seen {version(reason.seen)}"
            return (channel, " is ", mark, f" and {seen}: {node} was awake")
        case "reads":
            return (channel, f" was written in superstep {reason.step}, but {node} only reads it; it wakes nobody here")
        case "idle":
            return (f"{who} never ran{': ' if reason.chosen else ''}{text.listing(reason.chosen)}",)
        case "ended":
            how = {
                "failed": f"failed{f' with {reason.error}' if reason.error else ''}",
                "interrupted": "waits for an answer",
            }.get(reason.status, f"is {reason.status}")
            return (f"{who} {how} in superstep {reason.step}, so its edges were not taken",)
        case "chose":
            return (f"{who} chose {text.listing(reason.chosen)} in superstep {reason.step}",)
        case "beside":
            return (f"{who} runs in superstep {reason.step}; its writes count only after that barrier",)
        case "stopped":
            return (_stop(reason),)


def _stop(reason: Reason) -> str:
    who = text.listing(reason.nodes)
    match reason.status:
        case "interrupted":
            return f"the run stopped at superstep {reason.step} before: it waits at {who}"
        case "failed":
            return f"the run stopped at superstep {reason.step} before: {who or 'it'} failed with {reason.error}"
        case "out_of_steps":
            return f"the run stopped before superstep {reason.step}: it reached its recursion limit"
        case _:
            return f"the run stopped before: it was {reason.status}"


# -- who --------------------------------------------------------------------------------------------------------------


class Fold(NamedTuple):
    """One write behind a value: its order, the task and node, what it wrote, and the channel's value after it.

    `known` is False where the value in between cannot be told; then `after` is None.
    """

    order: int
    task_id: str
    node: str
    value: Any
    known: bool
    after: Any


@dataclass(frozen=True, slots=True, repr=False)
class Who(Told):
    """Who is behind a channel's value: the writes of one superstep, and what the channel made of them."""

    channel: str
    step: int
    ns: str
    source: str
    kind: str
    reducer: str
    version_before: int | None
    version: int | None
    had_value: bool
    before: Any
    has_value: bool
    value: Any
    writes: tuple[Fold, ...]
    picture: Picture = field(default=undrawn, compare=False)

    def head(self) -> Line:
        """The channel, its version, and who wrote it when."""
        nodes = tuple(write.node for write in self.writes)
        by = _by(Writer(self.step, self.source, nodes, self.version_before, self.version))
        rule = f"{self.kind}, {self.reducer}" if self.reducer else self.kind
        moved = Mark(f"{version(self.version_before)} → {version(self.version)}", True)
        return (Code(self.channel), " ", moved, f" {by} ({rule}).")

    def lines(self) -> Iterator[Line]:
        """The value before, each write, and the value after."""
        yield (f"before: {quoted(self.before) if self.had_value else 'empty'}",)
        for write in self.writes:
            after = f", makes {quoted(write.after)}" if write.known else ""
            yield (f"{write.order}. {write.node} wrote {quoted(write.value)}{after}",)
        yield (f"after: {quoted(self.value) if self.has_value else 'empty'}",)

    def fragment(self) -> Html:
        """The head line, a table of the writes, and the drawing with those who wrote."""
        rows: list[list[Any]] = [["", "before", "", _shown(self.had_value, self.before)]]
        for write in self.writes:
            rows.append([write.order, write.node, html.value(write.value), _shown(write.known, write.after)])
        rows.append(["", "after", "", _shown(self.has_value, self.value)])
        head = Told.fragment(_Head(self.head()))
        return html.join([head, html.table(["order", "node", "wrote", "value"], rows, right=[0]), self.picture()])


class _Head(Told):
    __slots__ = ("line",)

    def __init__(self, line: Line) -> None:
        self.line = line

    def head(self) -> Line:
        return self.line


def _shown(known: bool, value: Any) -> Html:
    return html.value(value) if known else html.tag("span", "empty", class_="quiet")
