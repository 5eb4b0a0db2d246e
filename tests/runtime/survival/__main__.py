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
from dataclasses import dataclass, field
from pathlib import Path

from tests.runtime.survival.judge import Kept, Outcome, faults_of_end, faults_of_life
from tests.runtime.survival.lives import SAVERS, Thread, live
from tests.runtime.survival.program import read

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
    faults: Counter[str] = field(default_factory=Counter)


def main() -> int:
    """Kill, tell, and say by the exit code whether anything was lost or doubled."""
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.survival", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="of each saver and durability")
    parser.add_argument("--seed", type=int, default=None, help="a new one without it")
    parser.add_argument("--savers", nargs="*", default=list(SAVERS), choices=list(SAVERS))
    parser.add_argument("--durabilities", nargs="*", default=DURABILITIES, choices=DURABILITIES)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each saver and durability")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", file=sys.stderr, flush=True)
    failed = False
    for name in options.savers:
        for durability in options.durabilities:
            began = time.perf_counter()
            tally = survive(name, durability, options.kills, random.Random(f"{seed} {name} {durability}"))
            failed = failed or bool(tally.faults)
            if options.json:
                print(json.dumps(vars(tally)), flush=True)
            else:
                print(
                    f"{name} {durability}: {tally.kills} kills on {tally.threads} threads; {tally.tasks} tasks began,"
                    f" {tally.again} of them again; {sum(tally.faults.values())} faults;"
                    f" {time.perf_counter() - began:.0f} s",
                    flush=True,
                )
                for fault, count in tally.faults.most_common(20):
                    print(f"  {count} x {fault}", flush=True)
    return int(failed)


def survive(name: str, durability: str, kills: int, chance: random.Random) -> Tally:
    """Go through so many kills, on as many threads as it takes."""
    tally = Tally(name, durability)
    with tempfile.TemporaryDirectory() as folder:
        calm = _thread(name, durability, Path(folder), 0)
        _, lasts = live(calm, False, None)
        undisturbed = Outcome.of(calm)
        while tally.kills < kills:
            tally.threads += 1
            thread = _thread(name, durability, Path(folder), tally.threads)
            tally.faults.update(_end(thread, lasts, chance, tally))
            tally.faults.update(faults_of_end(Outcome.of(thread), undisturbed))
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
    tally.again += began.total() - len(began)
    return faults


def _thread(name: str, durability: str, folder: Path, number: int) -> Thread:
    return Thread(
        SAVERS[name], str(folder / f"{number}.sqlite"), f"thread-{number}", durability, str(folder / f"{number}.diary")
    )


if __name__ == "__main__":
    sys.exit(main())
