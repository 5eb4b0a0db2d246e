"""What was measured, as Markdown: for the eyes, and for README.md between two marks."""

import math
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import geometric_mean, median

from benchmarks.measure import Failures, Rounds, Taken, agree, ratios, unit_cost
from benchmarks.table import MEAN_AIM, MEAN_MUST, MEMORY_AIM, MEMORY_MUST, Shape, Workload

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
PEER, OURS, RECORDED = "langgraph", "runtime", "runtime recorded"
DISTRIBUTIONS = (
    "pregel-workbench",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "langchain-core",
    "langsmith",
    "pyperf",
)

Found = dict[str, tuple[Rounds, Failures]]


def facts(rounds: int) -> str:
    """What the figures depend on."""
    versions = ", ".join(f"{name} {version(name)}" for name in DISTRIBUTIONS)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    load = f"load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else "load unknown"
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {python} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores; "
        f"{versions}; rounds: {rounds}; {load}."
    )


def comparison(workloads: Iterable[Workload], found: Found, must: float = MEAN_MUST, aim: float = MEAN_AIM) -> str:
    """The table of ratios, with the geometric mean and the peak memory below."""
    lines, notes, all_ratios, peaks = [], [], [], []
    for workload in workloads:
        rounds, failures = found[workload.name]
        label, clock = workload.name, "" if workload.clock == "cpu" else f", {workload.clock}"
        if failures or not agree(rounds):
            lines.append([label, workload.unit + clock, "", "", "", "", "", "", "not measured"])
            notes.append(_note(label, failures or {"both engines": "their results differ"}))
            continue
        peer, ours = rounds[PEER], rounds[OURS]
        by_round = ratios(peer, ours)
        ratio = median(by_round)
        all_ratios.append(ratio)
        peaks.append((_peak(peer) / _peak(ours), label, _peak(peer), _peak(ours)))
        costs = [_number(unit_cost(taken) * 1e6) for taken in (peer, ours)]
        spread = f"{_times(min(by_round))} to {_times(max(by_round))}"
        goals = [_times(workload.must), _times(workload.aim), verdict(ratio, workload.must, workload.aim)]
        lines.append([label, workload.unit + clock, *costs, f"**{_times(ratio)}**", spread, *goals])
    if all_ratios:
        mean = geometric_mean(all_ratios)
        goals = [_times(must), _times(aim), verdict(mean, must, aim)]
        lines.append(["geometric mean", "", "", "", f"**{_times(mean)}**", "", *goals])
        ratio, label, theirs, mine = min(peaks)
        goals = [_times(MEMORY_MUST), _times(MEMORY_AIM), verdict(ratio, MEMORY_MUST, MEMORY_AIM)]
        sizes = [f"{_number(size / 2**20)} MB" for size in (theirs, mine)]
        lines.append([f"peak memory, at worst ({label})", "process", *sizes, f"**{_times(ratio)}**", "", *goals])
    head = ["workload", "per", "LangGraph µs", "ours µs", "ratio", "in the rounds", "must", "aim", ""]
    return "\n\n".join([_table(head, lines), *notes])


def recorded(workloads: Iterable[Workload], found: Found, most: float) -> str:
    """The table of what it costs our engine that a run is recorded."""
    lines, notes = [], []
    for workload in workloads:
        rounds, failures = found[workload.name]
        if failures or not agree(rounds):
            lines.append([workload.name, workload.unit, "", "", "", "", "", "not measured"])
            notes.append(_note(workload.name, failures or {"both": "their results differ"}))
            continue
        more = [ratio - 1 for ratio in ratios(rounds[RECORDED], rounds[OURS])]
        costs = [_number(unit_cost(rounds[one]) * 1e6) for one in (OURS, RECORDED)]
        spread, holds = f"{min(more):.0%} to {max(more):.0%}", "yes" if median(more) <= most else "no"
        lines.append([workload.name, workload.unit, *costs, f"**{median(more):.0%}**", spread, f"{most:.0%}", holds])
    head = ["recording", "per", "ours µs", "recorded µs", "more", "in the rounds", "at most", "holds"]
    return "\n\n".join([_table(head, lines), *notes])


def growth(shapes: Iterable[Shape], found: Found) -> str:
    """The table of what our unit costs as a graph, a thread or a state grows."""
    lines, notes = [], []
    for shape in shapes:
        taken = [found[one.name] for one in shape.workloads()]
        if any(failures for _, failures in taken):
            lines.append([shape.name, shape.unit, "", "", "", "not measured"])
            notes.append(_note(shape.name, next(failures for _, failures in taken if failures)))
            continue
        costs = [unit_cost(rounds[OURS]) * 1e6 for rounds, _ in taken]
        power = math.log(costs[-1] / costs[-2]) / math.log(shape.sizes[-1] / shape.sizes[-2])
        series = ", ".join(f"{size:,}: {_number(cost)}" for size, cost in zip(shape.sizes, costs, strict=True))
        most, good = ("", "") if shape.most is None else (f"{shape.most:.1f}", "yes" if power <= shape.most else "no")
        lines.append([shape.name, shape.unit, series, f"{power:.2f}", most, good])
    table = _table(["growing", "per", "µs at each size", "exponent", "at most", "holds"], lines)
    return "\n\n".join([table, *notes])


def verdict(ratio: float, must: float | None, aim: float | None) -> str:
    """How a ratio stands to its goals."""
    if must is not None and ratio < must:
        return "below must"
    return "" if aim is None or ratio < aim else "reaches aim"


def write(figures: str, path: Path = README) -> None:
    """Puts the figures between the two marks of that file."""
    text = path.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(
            f"{path.name} has no place for figures: it needs a line {BEGIN!r} and a line {END!r} below it."
        )
    path.write_text(f"{before}{BEGIN}\n\n{figures}\n\n{END}{after}", "utf-8")


def _note(label: str, failures: Failures) -> str:
    return f"Not measured, {label}: " + "; ".join(f"{engine}: {reason}" for engine, reason in failures.items())


def _peak(taken: Sequence[Taken]) -> float:
    return median(one.peak for one in taken)


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}x" if ratio < 10 else f"{ratio:.0f}x"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    numbers = {
        "LangGraph µs",
        "ours µs",
        "ratio",
        "in the rounds",
        "must",
        "aim",
        "exponent",
        "at most",
        "recorded µs",
        "more",
    }
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    rule = ["-" * (width - 1) + (":" if name in numbers else "-") for name, width in zip(head, widths, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if name in numbers else cell.ljust(width)
            for cell, width, name in zip(cells, widths, head, strict=True)
        ]
        return f"| {' | '.join(padded)} |"

    return "\n".join(line(cells) for cells in [head, rule, *lines])
