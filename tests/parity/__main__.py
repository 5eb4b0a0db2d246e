"""Compare the two engines on many programs: `python -m tests.parity --programs 50000 --seed 1 --jobs 2`.

Prints each kind of difference as the smallest program that shows it, and goes on; what a seed makes, it makes again.
"""

from __future__ import annotations

import argparse
import logging
import secrets
import sys
import warnings
from multiprocessing import get_context

from tests.parity.sweep import Found, sweep


def main() -> int:
    """Sweep, tell, and say by the exit code whether there was any difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None, help="a new one without it")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    number = secrets.randbits(32) if options.seed is None else options.seed
    print(f"{options.programs} programs of seed {number}", flush=True)
    each = -(-options.programs // options.jobs)
    parts = [(each, number + job * 1_000_000, job) for job in range(options.jobs)]
    kinds: dict[str, str] = {}
    if options.jobs == 1:
        results = [_part(*parts[0])]
    else:
        with get_context("fork").Pool(options.jobs) as pool:
            results = pool.starmap(_part, parts)
    for found in results:
        kinds |= {one.kind: str(one.difference) for one in found}
    print(f"\n{each * options.jobs} programs, {len(kinds)} kinds of difference")
    return 1 if kinds else 0


def _part(count: int, number: int, job: int) -> list[Found]:
    """One job's share; what it finds is printed at once."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    found = []
    for one in sweep(count, number, lambda text: print(f"job {job}: {text}", file=sys.stderr, flush=True)):
        found.append(one)
        print(f"\n{'-' * 80}\n{one.kind}\n{one.difference}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
