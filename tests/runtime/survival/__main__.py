"""Kill a process at random moments, go on, and judge: `python -m tests.runtime.survival --kills 500 --seed 1`.

Prints a line for each saver and durability, and each fault once it is found. The exit code says whether there was one.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from runtime.checkpoint.postgres import PostgresSaver
from tests.postgres import MISSING, installed, server
from tests.runtime.survival.judge import Kept, Outcome, faults_of_end, faults_of_life
from tests.runtime.survival.lives import SAVERS, Thread, live
from tests.runtime.survival.program import TURNS, read
from tests.runtime.survival.rivals import compete, faults_of_rivals

DURABILITIES = ("sync", "async", "exit")


@dataclass
class Tally:
    """What one saver and durability went through."""

    saver: str
    durability: str
    kills: int = 0
    threads: int = 0
    tasks: int = 0
    again: int = 0
    pairs: int = 0
    faults: Counter[str] = field(default_factory=Counter)


def main() -> int:
    """Kill, tell, and say by the exit code whether anything was lost or doubled."""
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.survival", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="of each saver and durability")
    parser.add_argument("--pairs", type=int, default=5, help="of processes that go on with one thread at the same time")
    parser.add_argument("--seed", type=int, default=None, help="a new one without it")
    parser.add_argument("--savers", nargs="*", default=("sqlite", "aiosqlite"), choices=list(SAVERS))
    parser.add_argument("--durabilities", nargs="*", default=DURABILITIES, choices=DURABILITIES)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each saver and durability")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", file=sys.stderr, flush=True)
    failed = False
    with ExitStack() as stack:
        url = ""
        if any(SAVERS[name].on_server for name in options.savers):
            url = stack.enter_context(_database())
        for name, durability in product(options.savers, options.durabilities):
            began = time.perf_counter()
            chance = random.Random(f"{seed} {name} {durability}")
            tally = survive(name, durability, options.kills, options.pairs, chance, url)
            failed = failed or bool(tally.faults)
            if options.json:
                print(json.dumps(vars(tally)), flush=True)
            else:
                print(
                    f"{name} {durability}: {tally.kills} kills on {tally.threads} threads; {tally.tasks} tasks began,"
                    f" {tally.again} of them again; {tally.pairs} pairs; {sum(tally.faults.values())} faults;"
                    f" {time.perf_counter() - began:.0f} s",
                    flush=True,
                )
                for fault, count in tally.faults.most_common(20):
                    print(f"  {count} x {fault}", flush=True)
    return int(failed)


@contextmanager
def _database() -> Iterator[str]:
    """The address of a PostgreSQL database with the tables of a saver."""
    programs = installed()
    assert programs is not None, MISSING
    with server(programs) as running, running.database() as url:
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
        yield url


def survive(name: str, durability: str, kills: int, pairs: int, chance: random.Random, url: str) -> Tally:
    """Go through so many kills, on as many threads as it takes, and through so many pairs of rivals."""
    tally = Tally(name, durability)
    with tempfile.TemporaryDirectory() as folder:

        def new(number: int) -> Thread:
            files = Path(folder) / str(number)
            address = url if SAVERS[name].on_server else f"{files}.sqlite"
            return Thread(SAVERS[name], address, f"{name}-{durability}-{number}", durability, f"{files}.diary")

        calm = new(0)
        _, lasts = live(calm, False, None)
        undisturbed = Outcome.of(calm)
        while tally.kills < kills:
            tally.threads += 1
            thread = new(tally.threads)
            tally.faults.update(_end(thread, lasts, chance, tally))
            tally.faults.update(faults_of_end(Outcome.of(thread), undisturbed))
        while tally.pairs < pairs:
            tally.pairs += 1
            thread = new(-tally.pairs)
            compete(thread, 2)
            tally.faults.update(faults_of_rivals(thread))
    return tally


def _end(thread: Thread, lasts: float, chance: random.Random, tally: Tally) -> list[str]:
    """Bring a thread to its end, over as many lives as it takes."""
    faults: list[str] = []
    kept, noted, killed = Kept({}, frozenset()), 0, True
    while killed:
        killed, _ = live(thread, chance.random() < 0.5, chance.uniform(0, lasts))
        tally.kills += killed
        lines, before, kept = read(thread.diary), kept, Kept.of(thread)
        faults += faults_of_life(thread, before, kept, lines[noted:])
        noted = len(lines)
    began = Counter(line.facts[0] for line in lines if line.word == "began")
    tally.tasks += began.total()
    tally.again += began.total() - len(began) - TURNS  # the task that asks begins a second time, with the answer
    return faults


if __name__ == "__main__":
    sys.exit(main())
