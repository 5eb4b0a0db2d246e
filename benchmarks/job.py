"""What a workload is given, an engine, and what it makes of it, a job to be timed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class Engine:
    """A package with LangGraph's module names: `engine.graph.StateGraph`. A module is imported when first asked for."""

    def __init__(self, package: str) -> None:
        self.package, _, recorded = package.partition(" ")
        self.recorded = bool(recorded)
        """True for "runtime recorded": its runs are recorded by the workbench, with all values kept."""

    def __getattr__(self, module: str) -> Any:
        return import_module(f"{self.package}.{module}")

    @property
    def memory(self) -> Any:
        """The module of the saver in memory."""
        return import_module(f"{self.package}.checkpoint.memory")

    @property
    def sqlite(self) -> Any:
        """The module of the saver in SQLite."""
        return import_module(f"{self.package}.checkpoint.sqlite")

    @property
    def sqlite_aio(self) -> Any:
        """The module of its async twin."""
        return import_module(f"{self.package}.checkpoint.sqlite.aio")

    @property
    def postgres(self) -> Any:
        """The module of the saver in PostgreSQL."""
        return import_module(f"{self.package}.checkpoint.postgres")

    @property
    def postgres_aio(self) -> Any:
        """The module of its async twin."""
        return import_module(f"{self.package}.checkpoint.postgres.aio")


class Job(NamedTuple):
    """What is timed, once the graph is built: `run()` does that many units and returns what both must agree on."""

    units: int
    run: Callable[[], Any]
    close: Callable[[], None] = lambda: None


def recorded(job: Job) -> Job:
    """The same job with all of its runs in a recording."""
    workbench = import_module("workbench")

    def run() -> Any:
        with workbench.recording():
            return job.run()

    return job._replace(run=run)


Maker = Callable[[Engine, int], Job]
