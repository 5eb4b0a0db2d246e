"""A program run on one engine: what each call gave, as lines to compare."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

from tests.parity.build import Builder, value_for
from tests.parity.engines import Engine
from tests.parity.explained import shows_explained
from tests.parity.functions import function
from tests.parity.plain import plain
from tests.parity.spec import Call, Function, Look, Program, Run, Update
from tests.parity.streams import Line, stream_lines

CONFIG = {"configurable": {"thread_id": "t"}}

ENDLESS = Line((0,), "endless")
"""All that is told of a program whose nodes send themselves more work than anybody waits for."""


def run(engine: Engine, program: Program) -> list[Line]:
    """Everything that can be seen of the program on this engine."""
    with asyncio.Runner() as runner:
        return Performance(engine, program, runner).lines()


class Performance:
    """One program on one engine."""

    def __init__(self, engine: Engine, program: Program, runner: asyncio.Runner) -> None:
        self.engine = engine
        self.program = program
        self.runner = runner
        self.saver = engine.memory.InMemorySaver() if program.saver else None
        self.builder = Builder(engine, program.colour)
        self.graph: Any = None
        self.seen: list[Line] = []
        self.number = 0
        self.notes = 0

    def lines(self) -> list[Line]:
        try:
            self.graph = self._compiled()
        except Exception as error:
            return [Line((0,), f"compile {plain(error)}")]
        for call in self.program.calls:
            self._try(type(call).__name__, lambda call=call: self._call(call))
        if self.saver is not None:
            self._try("history", lambda: [self._note(f"history {plain(item)}") for item in self._history()])
            self._try("look", lambda: self._call(Look(subgraphs=True)))
        for name, count in sorted(self.builder.runs.items()):
            self._note(f"runs {name} {count}")
        return [ENDLESS] if self.builder.endless else self.seen

    def _compiled(self) -> Any:
        spec = self.program.graph
        if isinstance(spec, Function):
            return function(self.builder, spec, self.saver)
        return self.builder.graph(spec, self.saver)

    def _try(self, what: str, ask: Callable[[], Any]) -> None:
        self.number += 1
        self.notes = 0
        try:
            ask()
        except Exception as error:
            self._note(f"{what} raised {plain(error)}")

    def _note(self, text: str) -> None:
        self.notes += 1
        self.seen.append(Line((self.number, 10**6, self.notes), text))

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> None:
        match call:
            case Run():
                self._run(call)
            case Look():
                self._note(f"look {plain(self._ask('get_state', self._config(call.at), subgraphs=call.subgraphs))}")
            case Update():
                self._update(call)

    def _run(self, call: Run) -> None:
        more: dict[str, Any] = {"version": call.version}
        if call.durability is not None and self.saver is not None:
            more["durability"] = call.durability
        if call.before:
            more["interrupt_before"] = list(call.before)
        if call.after:
            more["interrupt_after"] = list(call.after)
        config = {**self._config(call.at), "recursion_limit": call.limit}
        given = self._input(call)
        if call.modes is None:
            self._note(f"invoke {plain(_in_order(self._ask('invoke', given, config, **more)))}")
            return
        modes = list(call.modes) if isinstance(call.modes, tuple) else call.modes
        chunks: list[Any] = []
        more |= {"stream_mode": modes, "subgraphs": call.subgraphs}
        failure = ""
        try:
            self._collect(chunks, "stream", given, config, **more)
        except Exception as error:
            failure = type(error).__name__
            raise
        finally:
            self.seen += stream_lines(self.number, chunks, call, failure)

    def _input(self, call: Run) -> Any:
        types = self.engine.types
        match call.input:
            case "none":
                return None
            case "command":
                return types.Command(update={"log": [f"c{self.number}"]}, goto=list(call.goto))
            case "new":
                keys = ("log",) if isinstance(self.program.graph, Function) else self.program.graph.keys
                return {key: value_for(key, f"in{self.number}", 1) for key in keys if key in _GIVEN}
        pending = self._questions()
        if not pending:  # several may come to ask, and which of them a plain answer meets is a race
            return None
        if call.input == "answer":
            return types.Command(resume=f"r{self.number}")
        if call.input == "first":
            pending = pending[:1]
        return types.Command(resume={q.id: f"r{self.number}{q.value}" for q in pending})

    def _questions(self) -> list[Any]:
        if self.saver is None:
            return []
        tasks = self._ask("get_state", CONFIG).tasks
        asked = [question for task in tasks if task.error is None for question in task.interrupts]
        return sorted(asked, key=_asked)

    def _update(self, call: Update) -> None:
        config = self._config(call.at)
        if self.saver is not None and shows_explained(self.program.graph, call, self._ask("get_state", config)):
            return
        if call.inside:
            state = self._ask("get_state", config, subgraphs=True)
            config = next((task.state.config for task in state.tasks if task.state and task.state.metadata), config)
        steps = [
            [
                self.engine.types.StateUpdate(
                    None if keys is None else {key: value_for(key, f"up{self.number}", 7) for key in keys}, as_node
                )
                for keys, as_node in step
            ]
            for step in call.supersteps
        ]
        if len(steps) == 1 and len(steps[0]) == 1:
            result = self._ask("update_state", config, steps[0][0].values, steps[0][0].as_node)
        else:
            result = self._ask("bulk_update_state", config, steps)
        self._note(f"update {plain(result)}")
        self._note(f"updated {plain(self._ask('get_state', result, subgraphs=True))}")

    # -- both colours -------------------------------------------------------------------------------------------------

    def _config(self, at: int | None) -> dict[str, Any]:
        if at is None or self.saver is None:
            return CONFIG
        history = self._history()
        return history[at % len(history)].config if history else CONFIG

    def _history(self) -> list[Any]:
        found: list[Any] = []
        self._collect(found, "get_state_history", CONFIG)
        return found

    def _ask(self, method: str, *args: Any, **more: Any) -> Any:
        if self.program.colour == "sync":
            return getattr(self.graph, method)(*args, **more)
        return self.runner.run(getattr(self.graph, f"a{method}")(*args, **more))

    def _collect(self, into: list[Any], method: str, *args: Any, **more: Any) -> None:
        if self.program.colour == "sync":
            for item in getattr(self.graph, method)(*args, **more):
                into.append(item)
        else:
            self.runner.run(_gather(getattr(self.graph, f"a{method}")(*args, **more), into))


_GIVEN = ("log", "x", "map", "delta", "talk")


async def _gather(items: Any, into: list[Any]) -> None:
    async for item in items:
        into.append(item)


def _in_order(result: Any) -> Any:
    """A result with its questions in order: threads ask when they come to it."""
    if hasattr(result, "interrupts"):
        return dataclasses.replace(result, interrupts=tuple(sorted(result.interrupts, key=_asked)))
    return result


def _asked(question: Any) -> str:
    return str(question.value)
