"""Rounds in which the engines take turns, so that a slow minute of the machine hits both of them."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyperf

from benchmarks.table import Workload

ROOT = Path(__file__).parent.parent
PATIENCE = 300  # seconds for one measurement
STEADY = {"PYTHONHASHSEED": "0", "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
STEADY["PYTHONDONTWRITEBYTECODE"] = ""  # who imports a package every day does not compile it every day


class Taken(NamedTuple):
    """One workload on one engine in one round."""

    run: Any  # pyperf's own record, for its other commands
    seconds: float  # of CPU or wall, for a unit, in the best run
    result: str
    peak: int  # bytes


Rounds = dict[str, list[Taken]]  # by engine
Failures = dict[str, str]  # by engine, the reason in one line


def take_turns(
    workloads: Sequence[Workload], engines: Sequence[str], rounds: int, values: int, watch: Callable[[str], None]
) -> dict[str, tuple[Rounds, Failures]]:
    """Every workload on every engine, by the workload's name. An engine that has failed at one is not asked again."""
    found: dict[str, tuple[Rounds, Failures]] = {one.name: ({name: [] for name in engines}, {}) for one in workloads}
    for turn in range(rounds):
        for workload in workloads:
            taken, failures = found[workload.name]
            for engine in engines if turn % 2 == 0 else engines[::-1]:
                if engine not in failures:
                    if turn == 0 and not workload.warm:
                        measure(workload, engine, values)  # leaves compiled modules behind
                    got = measure(workload, engine, values)
                    if isinstance(got, Taken):
                        taken[engine].append(got)
                    else:
                        failures[engine] = got
            watch(f"round {turn + 1} of {rounds}: {workload.name}")
    return found


def measure(workload: Workload, engine: str, values: int) -> Taken | str:
    """One workload on one engine in a fresh process; why it could not be measured, if it could not."""
    make = f"{workload.make.__module__}:{workload.make.__name__}"
    with TemporaryDirectory() as folder:
        output = Path(folder, "run.json")
        command = [sys.executable, "-m", "benchmarks.worker", workload.name, make, str(workload.size), engine]
        command += ["--worker", "--loops=1", "--warmups=0", f"--values={values if workload.warm else 1}"]
        command += [f"--clock={workload.clock}", f"--output={output}", *([] if workload.warm else ["--cold"])]
        environment = {**os.environ, **STEADY}
        try:
            subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True
            )
        except subprocess.TimeoutExpired:
            return f"took more than {PATIENCE} s"
        except subprocess.CalledProcessError as error:
            return (error.stderr.strip() or f"exit {error.returncode}").splitlines()[-1]
        (run,) = pyperf.Benchmark.load(str(output)).get_runs()
    facts = run.get_metadata()
    return Taken(run, min(run.values), facts["result"], facts["mem_max_rss"])


def agree(rounds: Rounds) -> bool:
    """Whether all results are the same, in every round and on every engine."""
    return len({one.result for taken in rounds.values() for one in taken}) <= 1


def unit_cost(taken: Sequence[Taken]) -> float:
    """Seconds for a unit: the median over the rounds."""
    return median(one.seconds for one in taken)


def ratios(slow: Sequence[Taken], fast: Sequence[Taken]) -> list[float]:
    """How many times longer the one took than the other, round by round."""
    return [one.seconds / other.seconds for one, other in zip(slow, fast, strict=True)]


def keep(found: dict[str, tuple[Rounds, Failures]], engine: str, path: Path) -> None:
    """Writes what was measured on that engine, for `python -m pyperf stats` and `compare_to`."""
    measured = [[one.run for one in rounds[engine]] for rounds, _ in found.values() if rounds[engine]]
    if measured:
        path.parent.mkdir(parents=True, exist_ok=True)
        pyperf.BenchmarkSuite([pyperf.Benchmark(runs) for runs in measured]).dump(str(path), replace=True)
