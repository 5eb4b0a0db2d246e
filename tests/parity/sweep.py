"""Many programs, one after the other: every kind of difference is kept, made minimal, and the sweep goes on."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.parity.calls import ENDLESS, run
from tests.parity.compare import difference
from tests.parity.engines import engine_of
from tests.parity.programs import programs
from tests.parity.spec import Program, source
from tests.runtime.invariants import watched

CHUNK = 500
WIDTH = 400


class Difference(NamedTuple):
    """A program whose two runs differ, and how."""

    program: Program
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((source(self.program), *brief(self.lines)))


class Found(NamedTuple):
    """The smallest program of a kind of difference."""

    kind: str
    difference: Difference


def brief(lines: Sequence[str]) -> Iterator[str]:
    """The lines, each cut to where it differs from the one that stands for it on the other side."""
    lost = [line for line in lines if line[0] == "-"]
    new = [line for line in lines if line[0] == "+"]
    yield from (line for line in lines if line[0] not in "-+")
    for line in lost:
        other = next((item for item in new if item[2:30] == line[2:30]), None)
        if other is None:
            yield line[:WIDTH]
            continue
        new.remove(other)
        start = _alike(line[1:], other[1:]) + 1
        end = _alike(line[start:][::-1], other[start:][::-1])
        for text in (line, other):
            around = max(start - 90, 30)
            yield f"{text[:30]} … {text[around : min(len(text) - end + 20, around + WIDTH)]}"
    yield from (line[:WIDTH] for line in new)


def _alike(left: str, right: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def differ(program: Program) -> Difference | None:
    """The difference between the two runs of a program; None when they agree, or when one of them is endless."""
    expected = run(engine_of("langgraph"), program)
    with watched():
        found = run(engine_of("runtime"), program)
    lines = () if ENDLESS in (*expected, *found) else difference(expected, found)
    return Difference(program, tuple(lines)) if lines else None


def kind(found: Difference) -> str:
    """What differs, in a word or two: those of one kind are taken to have one cause."""
    return ", ".join(sorted({_kind(line) for line in found.lines}))


def _kind(line: str) -> str:
    match = re.match(r"([-+]) (chunk|\w+)(?: raised (<\w+>))?", line)
    if match is None:
        return line
    sign, word, error = match.groups()
    mode = re.search(r"'(values|updates|tasks|checkpoints|debug|custom|messages)'", line) if word == "chunk" else None
    return f"{sign}{error or (mode and mode.group(1)) or word}"


def sweep(count: int, number: int, tell: Callable[[str], None] = lambda text: None) -> Iterator[Found]:
    """Run so many programs, made from this seed, and give the smallest that differs of each kind."""
    known: Counter[str] = Counter()
    began = time.monotonic()
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        found = differences(size, number + start)
        for index, one in found:
            name = kind(one)
            known[name] += 1
            if known[name] == 1:
                yield Found(name, minimal(size, number + start, index, name) or one)
        seconds = time.monotonic() - began
        tell(f"{start + size} programs, {known.total()} differences of {len(known)} kinds, {seconds:.0f} s")


def differences(size: int, number: int) -> list[tuple[int, Difference]]:
    """Those of `size` programs of this seed that differ, each with its index."""
    found: list[tuple[int, Difference]] = []
    count = iter(range(10**9))

    def look(program: Program) -> None:
        index = next(count)
        difference = differ(program)
        if difference is not None:
            found.append((index, difference))

    generate(size, number, look)
    return found


def minimal(size: int, number: int, index: int, name: str, seconds: float = 20) -> Difference | None:
    """The smallest program that differs in this way, from the one of this index; None when it differs no more."""
    count = iter(range(10**9))
    best: list[Difference] = []
    failing: set[Program] = set()
    until = time.monotonic() + seconds

    def look(program: Program) -> None:
        if next(count) < index:
            return
        if program not in failing:
            if time.monotonic() > until:
                raise _Enough
            difference = differ(program)
            if difference is None or kind(difference) != name:
                return
            best.append(difference)
            failing.add(program)
        raise _Found

    with suppress(_Found, _Enough):
        generate(size, number, look, (Phase.generate, Phase.shrink))
    return min(best, key=lambda found: len(source(found.program)), default=None)


class _Found(Exception):
    """The program differs as wanted."""


class _Enough(KeyboardInterrupt):
    """The time for growing a program down is over; Hypothesis lets only this kind of exception through at once."""


def generate(
    size: int, number: int, look: Callable[[Program], None], phases: tuple[Phase, ...] = (Phase.generate,)
) -> None:
    """Look at so many programs, made from this seed."""
    options = settings(
        max_examples=size,
        database=None,
        deadline=None,
        derandomize=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )

    @seed(number)
    @options
    @given(programs())
    def each(program: Program) -> None:
        look(program)

    each()
