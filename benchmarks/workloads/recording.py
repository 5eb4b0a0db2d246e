"""What is run once as it is and once recorded, and what is looked at afterwards."""

from hashlib import sha256
from typing import Any

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import limit, ring, state_class

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


def _schema() -> Any:
    return state_class("Ten", {"step": int, **dict.fromkeys(CHANNELS, int)})


def _start() -> dict[str, int]:
    return {"step": 0, **dict.fromkeys(CHANNELS, 0)}
