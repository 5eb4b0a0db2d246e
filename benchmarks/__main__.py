"""`python -m benchmarks`: measures, prints the tables, and writes them in README.md if nothing was left out."""

import argparse
import sys

from benchmarks import report
from benchmarks.measure import ROOT, agree, keep, take_turns
from benchmarks.table import RECORDED, RECORDED_MOST, SAVERS, SAVERS_AIM, SAVERS_MUST, SHAPES, WORKLOADS


def main() -> int:
    """Nonzero when the engines disagree; how fast they are, and what has no figures, is for the reader to judge."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=sys.modules["__main__"].__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="workloads and shapes whose name begins like this")
    parser.add_argument("--rounds", type=int, default=3, help="how often the engines take turns (3)")
    parser.add_argument("--values", type=int, default=3, help="timed runs in each process; the best counts (3)")
    parser.add_argument("--list", action="store_true", help="print the names and do nothing")
    args = parser.parse_args()

    begins = tuple(args.only or [""])
    workloads = [one for one in WORKLOADS if one.name.startswith(begins)]
    alone = [one for one in SAVERS if one.name.startswith(begins)]
    watched = [one for one in RECORDED if one.name.startswith(begins)]
    shapes = [one for one in SHAPES if one.name.startswith(begins)]
    if args.list or not (workloads or alone or watched or shapes):
        print(*[one.name for one in (*WORKLOADS, *SAVERS, *RECORDED)], *[one.name for one in SHAPES], sep="\n")
        return 0 if args.list else 2

    def watch(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    compared = take_turns([*workloads, *alone], (report.PEER, report.OURS), args.rounds, args.values, watch)
    both = take_turns(watched, (report.RECORDED, report.OURS), args.rounds, args.values, watch)
    sizes = [one for shape in shapes for one in shape.workloads()]
    grown = take_turns(sizes, (report.OURS,), args.rounds, args.values, watch)

    parts = [report.facts(args.rounds)]
    parts += [report.comparison(workloads, compared)] if workloads else []
    parts += [report.comparison(alone, compared, SAVERS_MUST, SAVERS_AIM)] if alone else []
    parts += [report.recorded(watched, both, RECORDED_MOST)] if watched else []
    parts += [report.growth(shapes, grown)] if shapes else []
    figures = "\n\n".join(parts)
    print(figures)
    if not args.only:
        report.write(figures)
    for engine in (report.PEER, report.OURS):
        keep(compared, engine, ROOT / "build" / "benchmarks" / f"{engine}.json")
    return int(not all(agree(rounds) for rounds, _ in (*compared.values(), *both.values())))


if __name__ == "__main__":
    sys.exit(main())
