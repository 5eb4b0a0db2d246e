"""What every test may ask for: one scenario in both colours, a saver, a PostgreSQL database, a browser.

`colour` runs a scenario twice, through the sync methods of a graph and through their async twins, so that a test is
written once:

    def test_a_node_writes_its_key(colour):
        assert colour.invoke(graph, {"x": 1}) == {"x": 2}

`engine` is our runtime, then LangGraph, by the names that both share: what is seen of a graph, and done with it, must
not depend on who compiled it.

A test that asks for `postgres` gets the address of an empty database, on a server that the test run starts; one that
is marked `browser` needs chromium. Where there is none it is skipped, with the reason; with CI=true it fails, because a
check that nobody runs is no check.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

from tests.engines import Engine, engine_of
from tests.postgres import MISSING, Server, installed, server

# The same examples on every run, and no deadline: the machine may be busy.
settings.register_profile("project", derandomize=True, deadline=None)
settings.load_profile("project")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Sync:
    """A graph's methods, called as they are. Whatever streams comes back as a list."""

    name = "sync"

    def invoke(self, graph: Any, input: Any, config: Any = None, **kw: Any) -> Any:
        return graph.invoke(input, config, **kw)

    def stream(self, graph: Any, input: Any, config: Any = None, **kw: Any) -> list[Any]:
        return list(graph.stream(input, config, **kw))

    def get_state(self, graph: Any, config: Any, **kw: Any) -> Any:
        return graph.get_state(config, **kw)

    def get_state_history(self, graph: Any, config: Any, **kw: Any) -> list[Any]:
        return list(graph.get_state_history(config, **kw))

    def update_state(self, graph: Any, config: Any, values: Any, as_node: str | None = None, **kw: Any) -> Any:
        return graph.update_state(config, values, as_node, **kw)

    def bulk_update_state(self, graph: Any, config: Any, supersteps: Any) -> Any:
        return graph.bulk_update_state(config, supersteps)


class Async:
    """The async twins, each call in an event loop of its own."""

    name = "async"

    def invoke(self, graph: Any, input: Any, config: Any = None, **kw: Any) -> Any:
        return asyncio.run(graph.ainvoke(input, config, **kw))

    def stream(self, graph: Any, input: Any, config: Any = None, **kw: Any) -> list[Any]:
        return asyncio.run(_collect(graph.astream(input, config, **kw)))

    def get_state(self, graph: Any, config: Any, **kw: Any) -> Any:
        return asyncio.run(graph.aget_state(config, **kw))

    def get_state_history(self, graph: Any, config: Any, **kw: Any) -> list[Any]:
        return asyncio.run(_collect(graph.aget_state_history(config, **kw)))

    def update_state(self, graph: Any, config: Any, values: Any, as_node: str | None = None, **kw: Any) -> Any:
        return asyncio.run(graph.aupdate_state(config, values, as_node, **kw))

    def bulk_update_state(self, graph: Any, config: Any, supersteps: Any) -> Any:
        return asyncio.run(graph.abulk_update_state(config, supersteps))


async def _collect(chunks: Any) -> list[Any]:
    return [chunk async for chunk in chunks]


@pytest.fixture(params=[Sync(), Async()], ids=lambda colour: colour.name)
def colour(request: pytest.FixtureRequest) -> Sync | Async:
    """The way to run a graph; the test runs once with each."""
    return request.param


@pytest.fixture
def saver() -> Any:
    """An empty checkpointer that lives in memory and serves both colours."""
    from runtime.checkpoint.memory import InMemorySaver

    return InMemorySaver()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The PostgreSQL server of this test run. A test that stops it starts it again."""
    programs = installed()
    if programs is None:
        cannot_run(MISSING)
    with server(programs) as running:
        yield running


@pytest.fixture
def postgres(postgres_server: Server) -> Iterator[str]:
    """The address of a PostgreSQL database with nothing in it."""
    with postgres_server.database() as url:
        yield url


def cannot_run(reason: str) -> NoReturn:
    """Skip the test for this reason; with CI=true fail it."""
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def find_browser() -> str | None:
    """The path of the system's chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a chromium to launch, for tests marked `browser`."""
    path = find_browser()
    assert path, "only a test marked `browser` may ask for chromium"
    return path


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("browser") is None or find_browser():
        return
    cannot_run(
        f"no browser: none of {', '.join(BROWSERS)} is on PATH (Debian: apt-get install chromium fonts-dejavu-core)"
    )


@pytest.fixture(scope="session", autouse=True)
def _jupyter_stays_inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels and servers that a test starts neither read nor write the user's own Jupyter folders."""
    home = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        for folder in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(folder, str(home / folder.lower()))
        yield


@pytest.fixture(params=["runtime", "langgraph"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Our runtime, then LangGraph, which is skipped where it is not installed."""
    return engine_of(request.param)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def own_saver(request: pytest.FixtureRequest, engine: Engine, tmp_path: Path) -> Iterator[Any]:
    """An empty saver of the engine's own: in memory, on a file, on a server."""
    if request.param == "memory":
        yield engine.memory.InMemorySaver()
        return
    module = pytest.importorskip(f"{engine.name}.checkpoint.{request.param}")
    if request.param == "sqlite":
        opened = module.SqliteSaver.from_conn_string(str(tmp_path / "runs.db"))
    else:
        opened = module.PostgresSaver.from_conn_string(request.getfixturevalue("postgres"))
    with opened as found:
        found.setup()
        yield found
