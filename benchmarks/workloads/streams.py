"""Each mode of streaming, read to its end."""

from typing import Any

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import CASE, Count, case_ring, new_thread, ring


def stream_values(engine: Engine, size: int) -> Job:
    """The whole state after each step."""
    return _case_streamed(engine, size, "values")


def stream_updates(engine: Engine, size: int) -> Job:
    """What each task returned."""
    return _case_streamed(engine, size, "updates")


def stream_debug(engine: Engine, size: int) -> Job:
    """All that there is to tell."""
    return _case_streamed(engine, size, "debug")


def stream_custom(engine: Engine, size: int) -> Job:
    """One chunk a step from inside the node, handed over while the node is still running."""
    writer_of_run = engine.config.get_stream_writer

    def tell(state: Count) -> dict[str, Any]:
        writer_of_run()({"at": state["x"]})
        return {"x": state["x"] + 1}

    graph = ring(engine, size, tell).compile()
    return Job(size, lambda: list(graph.stream({"x": 0}, new_thread(), stream_mode="custom")))


def _case_streamed(engine: Engine, size: int, mode: str) -> Job:
    graph = case_ring(engine, size).compile()
    return Job(size, lambda: sum(1 for _ in graph.stream(CASE, new_thread(), stream_mode=mode)))
