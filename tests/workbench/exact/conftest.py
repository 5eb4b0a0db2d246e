"""Random programs of the differential test, run on our engine and recorded, once for all the tests here."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

from tests.parity.calls import Performance
from tests.parity.engines import engine_of
from tests.parity.spec import Function, Program, Run, source
from tests.parity.sweep import generate
from workbench import Recording, recording

PROGRAMS = 150


class Recorded(NamedTuple):
    """A program that has run: what was recorded, its graph, and its saver, which has every superstep."""

    program: Program
    rec: Recording
    graph: Any
    saver: Any

    def __str__(self) -> str:
        return source(self.program)


def performed(program: Program) -> Recorded:
    """Run the program's calls, whether they fail or not, and record them all."""
    calls = [call._replace(durability="sync") for call in program.calls if isinstance(call, Run)]
    program = program._replace(calls=tuple(calls), saver=True)
    with recording() as rec, asyncio.Runner() as runner:
        performance = Performance(engine_of("runtime"), program, runner)
        performance.lines()
    return Recorded(program, rec, performance.graph, performance.saver)


@pytest.fixture(scope="session")
def recorded() -> list[Recorded]:
    found: list[Recorded] = []

    def look(program: Program) -> None:
        if not isinstance(program.graph, Function):
            found.append(performed(program))

    generate(PROGRAMS, 1, look)
    return found
