"""What is run once as it is and once recorded, and what is looked at afterwards."""

from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from typing import Any

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import limit, ring, state_class

_RUNS = 4  # a worker lets a job run once, and then three times
CHANNELS = [f"channel {number}" for number in range(10)]


def ten_channels(engine: Engine, size: int) -> Job:
    """One node, `size` times, that writes ten channels and a counter each time."""

    def node(state: dict[str, Any]) -> dict[str, Any]:
        step = state["step"] + 1
        return {"step": step, **dict.fromkeys(CHANNELS, step)}

    graph = ring(engine, size, node, schema=_schema(), key="step").compile()
    return Job(size, lambda: graph.invoke(_start(), limit(size)))


def busy_node(engine: Engine, size: int) -> Job:
    """The same with a node that works for about a millisecond: it hashes a megabyte and more."""
    block = bytes(1_500_000)

    def node(state: dict[str, Any]) -> dict[str, Any]:
        step = state["step"] + sha256(block).digest_size // 32
        return {"step": step, **dict.fromkeys(CHANNELS, step)}

    graph = ring(engine, size, node, schema=_schema(), key="step").compile()
    return Job(size, lambda: graph.invoke(_start(), limit(size)))


def all_frames(engine: Engine, size: int) -> Job:
    """All frames of a recording of `size` supersteps of ten channels; each run is of another recording."""
    return _looked_at(
        engine, size, lambda rec: [getattr(rec, name) for name in import_module("workbench.frames").COLUMNS]
    )


def summary(engine: Engine, size: int) -> Job:
    """What a notebook shows of such a recording."""
    return _looked_at(engine, size, lambda rec: rec._repr_mimebundle_())


def _looked_at(engine: Engine, size: int, look: Callable[[Any], Any]) -> Job:
    workbench, job = import_module("workbench"), ten_channels(engine, size)
    fresh = []
    for _ in range(_RUNS):
        with workbench.recording() as rec:
            job.run()
        fresh.append(rec)

    def run() -> Any:
        rec = fresh.pop()
        look(rec)
        return rec.output

    return Job(size, run)


def _schema() -> Any:
    return state_class("Ten", {"step": int, **dict.fromkeys(CHANNELS, int)})


def _start() -> dict[str, int]:
    return {"step": 0, **dict.fromkeys(CHANNELS, 0)}
