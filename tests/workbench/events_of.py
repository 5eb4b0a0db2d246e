"""Events made by hand: a small machine that a test tells what happens, superstep by superstep.

run = Story({"topic": "LastValue", "branch:to:plan": "EphemeralValue"})
run.starts(input={"topic": "tea"})
run.input({"topic": "tea", "branch:to:plan": None})
run.superstep(task("plan", wakes="branch:to:plan", writes=[("topic", "coffee")]))
run.ends(output={"topic": "coffee"})
run.events
"""

from typing import Any, NamedTuple

from runtime.events import (
    Change,
    CheckpointSaved,
    Event,
    Interrupted,
    Planned,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SuperstepPlanned,
    SuperstepUpdated,
    TaskFinished,
    TaskStarted,
    Trigger,
    Write,
)
from runtime.types import Interrupt


class T(NamedTuple):
    """What a test says of a task."""

    node: str
    wakes: tuple[str, ...] = ()
    writes: tuple[tuple[str, Any], ...] = ()
    reads: tuple[str, ...] = ()
    status: str = "ok"
    seconds: float = 1.0
    input: Any = None
    error: BaseException | None = None
    asks: tuple[Any, ...] = ()
    answers: tuple[Any, ...] = ()
    kind: str = "pull"
    id: str = ""
    hidden: bool = False


def task(node: str, *, wakes: str | tuple[str, ...] = (), writes: Any = (), reads: Any = (), **more: Any) -> T:
    """A task; `wakes` names the channel or channels that woke it."""
    woken = (wakes,) if isinstance(wakes, str) else tuple(wakes)
    return T(node, woken, tuple(writes), tuple(reads), **more)


class Story:
    """A run made by hand. Its clock adds what it is told, so that times are the same on every run."""

    def __init__(self, channels: dict[str, str], *, run: str = "r1", ns: str = "", saver: bool = True) -> None:
        self.channels = channels
        self.run, self.ns, self.saver = run, ns, saver
        self.at = 1_700_000_000.0
        self.step = -1
        self.events: list[Event] = []
        self.versions: dict[str, int] = {}
        self.values: dict[str, Any] = {}
        self.seen: dict[str, dict[str, int]] = {}
        self.parent: str | None = None
        self.come: dict[str, set[str]] = {}

    def _place(self) -> tuple[str, str, int, float]:
        return self.run, self.ns, self.step, self.at

    def starts(self, input: Any = None, kind: Any = "input", graph: Any = None, step: int | None = None) -> None:
        self.step = self.step if step is None else step
        self.events.append(
            RunStarted(
                *self._place(), graph, "t1" if self.saver else None, self.parent, kind, input, dict(self.channels),
                dict(self.versions), dict(self.values), {node: dict(seen) for node, seen in self.seen.items()},
            )
        )  # fmt: skip

    def input(self, writes: dict[str, Any], source: Any = "input") -> None:
        self._update(source, [Write("0", "__input__", channel, value) for channel, value in writes.items()])
        self.step += 1

    def plans(self, *tasks: T) -> list[Planned]:
        planned = []
        for place, one in enumerate(tasks):
            seen = self.seen.setdefault(one.node, {})
            triggers = tuple(Trigger(name, self.versions.get(name), seen.get(name)) for name in one.wakes)
            reads = tuple((name, self.versions.get(name)) for name in one.reads)
            given = one.input if one.kind == "push" else {name: self.values.get(name) for name in one.reads}
            path = ("__pregel_pull", one.node) if one.kind == "pull" else ("__pregel_push", place, False)
            planned.append(
                Planned(
                    one.id or f"{one.node}-{self.step}-{place}", one.node, path, one.kind, given, triggers, reads,
                    one.hidden, one.wakes,
                )
            )  # fmt: skip
        self.events.append(SuperstepPlanned(*self._place(), tuple(planned)))
        return planned

    def superstep(self, *tasks: T, consumes: tuple[str, ...] = ()) -> None:
        """Plan, execute and update; without the update where a task failed or asks."""
        planned = self.plans(*tasks)
        began = self.at
        for one, plan in zip(tasks, planned, strict=True):
            if one.status != "cached":
                self.events.append(TaskStarted(*self._place(), plan.task_id, one.node, 1))
        questions = []
        for one, plan in sorted(zip(tasks, planned, strict=True), key=lambda pair: pair[0].seconds):
            self.at = began + one.seconds
            asked = tuple(
                Interrupt(value, f"{plan.task_id}?{place}") for place, value in enumerate(one.asks, len(one.answers))
            )
            questions += [Interrupted(plan.task_id, one.node, question) for question in asked]
            self.events.append(
                TaskFinished(
                    *self._place(), plan.task_id, one.node, one.status, 0 if one.status == "cached" else 1, one.seconds,
                    one.writes, one.error, asked, one.answers, one.hidden,
                )
            )  # fmt: skip
        if questions:
            nodes = tuple(question.node for question in questions)
            self.events.append(RunInterrupted(*self._place(), "asked", nodes, tuple(questions)))
            return
        if any(one.status == "failed" for one in tasks):
            return
        for one in tasks:
            self.seen[one.node].update({name: self.versions[name] for name in one.wakes if name in self.versions})
        writes = [
            Write(plan.task_id, one.node, channel, value)
            for one, plan in zip(tasks, planned, strict=True)
            for channel, value in one.writes
        ]
        self._update("loop", writes, consumes)
        self.step += 1

    def _update(self, source: Any, writes: list[Write], consumes: tuple[str, ...] = ()) -> None:
        version = max(self.versions.values(), default=0) + 1
        written: dict[str, list[Write]] = {}
        for write in writes:
            written.setdefault(write.channel, []).append(write)
        changes = []
        for channel, group in written.items():
            before, kind = self.versions.get(channel), self.channels.get(channel, "LastValue")
            adds = kind == "BinaryOperatorAggregate"
            value = sum((one.value for one in group), self.values.get(channel, [])) if adds else group[-1].value
            self.versions[channel], self.values[channel] = version, value
            writers = tuple(one.node for one in group)
            opened = kind != "NamedBarrierValue" or self._comes(channel, [one.value for one in group])
            if kind == "NamedBarrierValue":
                value = None
            if not opened:
                self.values.pop(channel, None)
            changes.append(Change(channel, kind, before, version, opened, value, writers))
        for channel in consumes:
            before = self.versions[channel]
            self.versions[channel] = version
            self.values.pop(channel, None)
            changes.append(Change(channel, self.channels[channel], before, version, False, None, ()))
        self.events.append(SuperstepUpdated(*self._place(), source, tuple(writes), tuple(changes)))
        if self.saver:
            saved = f"c{self.step}"
            self.events.append(CheckpointSaved(*self._place(), "t1", saved, self.parent, source, ()))
            self.parent = saved

    def _comes(self, channel: str, names: list[str]) -> bool:
        """True when the last member of a join has come."""
        come = self.come.setdefault(channel, set())
        come.update(names)
        return come >= set(channel.split(":")[1].split("+"))

    def ends(self, status: Any = "done", output: Any = None, error: BaseException | None = None) -> None:
        self.events.append(RunFinished(*self._place(), status, output, error))


LITERATURE = {
    "topic": "LastValue",
    "queries": "LastValue",
    "papers": "BinaryOperatorAggregate",
    "outline": "LastValue",
    "draft": "LastValue",
    "__start__": "EphemeralValue",
    "branch:to:plan": "EphemeralValue",
    "branch:to:outline": "EphemeralValue",
    "branch:to:rank": "EphemeralValue",
    "branch:to:check": "EphemeralValue",
    "join:rank+outline:write": "NamedBarrierValue",
    "__pregel_tasks": "Topic",
}


def literature() -> Story:
    """plan, then three searches beside an outline from the cache, rank, a barrier, write, and check, which asks."""
    run = Story(LITERATURE)
    run.starts(input={"topic": "coffee"})
    run.input({"__start__": {"topic": "coffee"}})
    first = [("topic", "coffee"), ("branch:to:plan", None)]
    run.superstep(task("__start__", wakes="__start__", writes=first, seconds=0.0, hidden=True), consumes=("__start__",))
    sends = [("__pregel_tasks", place) for place in range(3)]
    asked = [("queries", ["a", "b", "c"]), ("branch:to:outline", None), *sends]
    run.superstep(task("plan", wakes="branch:to:plan", reads=["topic"], writes=asked, seconds=0.8))
    found = [
        task(
            "search", wakes="__pregel_tasks", kind="push", input=one, seconds=seconds,
            writes=[("papers", [one]), ("branch:to:rank", None)],
        )
        for one, seconds in (("a", 1.1), ("b", 2.3), ("c", 1.4))
    ]  # fmt: skip
    outlined = [("outline", "three parts"), ("join:rank+outline:write", "outline")]
    run.superstep(task("outline", wakes="branch:to:outline", status="cached", seconds=0.0, writes=outlined), *found)
    ranked = [("papers", ["z"]), ("join:rank+outline:write", "rank")]
    run.superstep(task("rank", wakes="branch:to:rank", reads=["papers"], writes=ranked, seconds=0.3))
    written = [("draft", "Coffee wakes."), ("branch:to:check", None)]
    run.superstep(task("write", wakes="join:rank+outline:write", writes=written, seconds=1.9))
    run.superstep(task("check", wakes="branch:to:check", reads=["draft"], status="interrupted", asks=("Publish?",)))
    run.ends("interrupted", output={"topic": "coffee"})
    return run


def long(supersteps: int, channels: int) -> Story:
    """A loop of one node that writes every channel in every superstep."""
    names = [f"key{place}" for place in range(channels)]
    run = Story(dict.fromkeys(names, "LastValue") | {"branch:to:loop": "EphemeralValue"})
    run.starts(input={})
    run.input({"branch:to:loop": None})
    for number in range(supersteps):
        run.superstep(
            task("loop", wakes="branch:to:loop", reads=names, writes=[(name, number) for name in names])._replace(
                writes=(*((name, number) for name in names), ("branch:to:loop", None))
            )
        )
    run.ends(output={})
    return run
