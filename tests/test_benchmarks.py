"""The benchmarks keep running, and both engines give the same results; how fast they are is never asserted."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.job import Engine, Maker, recorded
from benchmarks.measure import Taken, measure, take_turns
from benchmarks.table import RECORDED, SAVERS, SHAPES, WORKLOADS, Shape, Workload
from benchmarks.workloads.steps import chain_steps
from workbench.recorder import last

ROOT = Path(__file__).parent.parent
TINY = 4
MAKERS = {one.make.__name__: one.make for one in (*WORKLOADS, *SAVERS, *RECORDED, *SHAPES)}
WORKLOAD = Workload("chain", chain_steps, TINY, must=2, aim=4)


def result(make: Maker, package: str) -> Any:
    """What the job gives on that engine at a tiny size."""
    job = make(Engine(package), TINY)
    try:
        return job.run()
    finally:
        job.close()


def taken(seconds: float, result: str = "same", peak: int = 2**20) -> Taken:
    return Taken(None, seconds, result, peak)


def cells(table: str, label: str) -> list[str]:
    """The cells of the line of a table that begins with this label."""
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {label} "))
    return [cell.strip() for cell in line.split("|")[1:-1]]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_both_engines_give_the_same_result(make: Maker) -> None:
    assert result(make, report.OURS) == result(make, report.PEER)


@pytest.mark.parametrize("workload", RECORDED, ids=[one.name for one in RECORDED])
def test_a_recorded_job_gives_the_same_result_and_is_recorded(workload: Workload) -> None:
    job = workload.make(Engine(report.RECORDED), TINY)
    assert recorded(job).run() == job.run()
    kept = last()
    assert kept is not None
    assert len(kept.supersteps) > 1


def test_no_two_measurements_share_a_name() -> None:
    sizes = [size for shape in SHAPES for size in shape.workloads()]
    names = [one.name for one in (*WORKLOADS, *SAVERS, *RECORDED, *sizes)]
    assert sorted(names) == sorted(set(names))


def test_a_worker_has_no_engine_in_it_before_the_clock_runs() -> None:
    code = "import sys, benchmarks.table, benchmarks.worker; print(*{m.partition('.')[0] for m in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"runtime", "langgraph", "langchain_core", "pydantic"} & set(run.stdout.split())


def test_a_workload_is_measured_in_a_process_of_its_own() -> None:
    got = measure(WORKLOAD, report.OURS, values=1)
    assert isinstance(got, Taken), got
    assert got.seconds > 0
    assert got.run.get_metadata()["inner_loops"] == 400


def test_an_engine_that_fails_is_told_in_one_line_and_not_asked_again() -> None:
    found = take_turns([WORKLOAD], ["no_such_engine"], 2, 1, watch=lambda line: None)
    rounds, failures = found["chain"]
    assert rounds == {"no_such_engine": []}
    assert failures == {"no_such_engine": "ModuleNotFoundError: No module named 'no_such_engine'"}


def test_a_ratio_is_the_median_of_the_ratios_within_rounds() -> None:
    slow, fast = [taken(8), taken(90), taken(6)], [taken(2), taken(10), taken(3)]
    line = cells(report.comparison([WORKLOAD], {"chain": ({report.PEER: slow, report.OURS: fast}, {})}), "chain")
    assert line[4:] == ["**4.0x**", "2.0x to 9.0x", "2.0x", "4.0x", "reaches aim"]


def test_results_that_differ_have_no_ratio() -> None:
    rounds = {report.PEER: [taken(8, "one")], report.OURS: [taken(2, "other")]}
    table = report.comparison([WORKLOAD], {"chain": (rounds, {})})
    assert cells(table, "chain")[2:] == ["", "", "", "", "", "", "not measured"]
    assert table.endswith("Not measured, chain: both engines: their results differ")


def test_an_exponent_is_that_of_the_last_two_sizes() -> None:
    shape = Shape("keys", chain_steps, (1, 10, 100), most=0.1)
    found = {
        one.name: ({report.OURS: [taken(cost)]}, {}) for one, cost in zip(shape.workloads(), (1, 3, 300), strict=True)
    }
    assert cells(report.growth([shape], found), "keys")[3:] == ["2.00", "0.1", "no"]


def test_what_recording_costs_is_told_as_a_part_of_the_run() -> None:
    rounds = {report.RECORDED: [taken(1.25), taken(1.75)], report.OURS: [taken(1), taken(1)]}
    line = cells(report.recorded([WORKLOAD], {"chain": (rounds, {})}, 0.15), "chain")
    assert line[4:] == ["**50%**", "25% to 75%", "15%", "no"]


def test_figures_are_written_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n")
    report.write("new", page)
    assert page.read_text().split() == ["above", *report.BEGIN.split(), "new", *report.END.split(), "below"]


def test_the_readme_has_one_place_for_figures() -> None:
    text = report.README.read_text("utf-8")
    assert (text.count(report.BEGIN), text.count(report.END)) == (1, 1)
    assert text.index(report.BEGIN) < text.index(report.END)


def test_the_command_measures_a_part_and_leaves_the_readme_alone() -> None:
    before = report.README.read_bytes()
    command = [sys.executable, "-m", "benchmarks", "--only", "invoke_1node", "--rounds", "1", "--values", "1"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert float(cells(run.stdout, "invoke_1node")[4].strip("*x")) > 0
    assert report.README.read_bytes() == before
