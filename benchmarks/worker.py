"""One measurement: a workload on one engine, in a process that holds nothing else.

    python -m benchmarks.worker chain_100 benchmarks.workloads.steps:chain_steps 100 runtime --worker -l 1 -w 0 -n 3

prints the time of a unit; `-o FILE` keeps it for pyperf, `--profile FILE` adds what cProfile saw.
"""

import gc
import hashlib
import json
import pkgutil
import time

import pyperf

from benchmarks.job import Engine, recorded

CLOCKS = {"cpu": time.process_time, "wall": time.perf_counter}


def main() -> None:
    """Makes the job, lets it run once unless it is to be met cold, and hands the timed runs to pyperf."""
    runner = pyperf.Runner()
    for name in ("name", "make", "size", "engine"):
        runner.argparser.add_argument(name)
    runner.argparser.add_argument("--clock", choices=CLOCKS, default="cpu")
    runner.argparser.add_argument("--cold", action="store_true", help="no run before the timed ones")
    args = runner.parse_args()

    engine, clock = Engine(args.engine), CLOCKS[args.clock]
    job = pkgutil.resolve_name(args.make)(engine, int(args.size))
    job = recorded(job) if engine.recorded else job
    result = None if args.cold else job.run()

    def timed(loops: int) -> float:
        passed = 0.0
        for _ in range(loops):
            gc.collect()
            began = clock()
            job.run()
            passed += clock() - began
        return passed

    digest = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    runner.bench_time_func(args.name, timed, inner_loops=job.units, metadata={"result": digest})
    job.close()


if __name__ == "__main__":
    main()
