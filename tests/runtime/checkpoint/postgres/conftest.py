"""PostgreSQL's savers, each on every kind of connection and in both colours, behind the same few calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from runtime.checkpoint.postgres import PostgresSaver
from runtime.checkpoint.postgres.aio import AsyncPostgresSaver
from tests.postgres import Server, execute

WAYS = ("connection", "pool", "pipeline")


class Sync:
    """A saver of the sync colour, and graphs run on it."""

    def __init__(self, url: str, way: str, cls: Any = PostgresSaver) -> None:
        self.stack = ExitStack()
        if way == "pool":
            pool = self.stack.enter_context(ConnectionPool(url, min_size=2, max_size=4, kwargs={"autocommit": True}))
            self.saver = cls(pool)
        else:
            self.saver = self.stack.enter_context(cls.from_conn_string(url, pipeline=way == "pipeline"))

    def close(self) -> None:
        self.stack.close()

    def setup(self) -> None:
        self.saver.setup()

    def invoke(self, graph: Any, *args: Any, **kw: Any) -> Any:
        return graph.invoke(*args, **kw)

    def history(self, graph: Any, config: Any) -> list[Any]:
        return list(graph.get_state_history(config))

    def update(self, graph: Any, *args: Any, **kw: Any) -> Any:
        return graph.update_state(*args, **kw)


class Async:
    """A saver of the async colour, whose loop runs in a thread, so that its sync methods serve this one."""

    def __init__(self, url: str, way: str, cls: Any = AsyncPostgresSaver) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.stack = AsyncExitStack()
        try:
            self.saver = self.wait(self._opened(url, way, cls))
        except BaseException:
            self._stop()
            raise

    async def _opened(self, url: str, way: str, cls: Any) -> Any:
        if way == "pool":
            pool = AsyncConnectionPool(url, min_size=2, max_size=4, open=False, kwargs={"autocommit": True})
            return cls(await self.stack.enter_async_context(pool))
        return await self.stack.enter_async_context(cls.from_conn_string(url, pipeline=way == "pipeline"))

    def wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def close(self) -> None:
        try:
            self.wait(self.stack.aclose())
        finally:
            self._stop()

    def _stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def setup(self) -> None:
        self.wait(self.saver.setup())

    def invoke(self, graph: Any, *args: Any, **kw: Any) -> Any:
        return self.wait(graph.ainvoke(*args, **kw))

    def history(self, graph: Any, config: Any) -> list[Any]:
        async def collected() -> list[Any]:
            return [each async for each in graph.aget_state_history(config)]

        found: list[Any] = self.wait(collected())
        return found

    def update(self, graph: Any, *args: Any, **kw: Any) -> Any:
        return self.wait(graph.aupdate_state(*args, **kw))


Driver = Sync | Async


@contextmanager
def driver(cls: Callable[..., Driver], url: str, way: str = "connection", *more: Any) -> Iterator[Driver]:
    """A driver of that colour and way, closed in the end."""
    made = cls(url, way, *more)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(params=[Sync, Async], ids=["sync", "async"], scope="module")
def colour(request: pytest.FixtureRequest) -> Any:
    """The colour of a driver; the test runs once with each."""
    return request.param


@pytest.fixture(params=WAYS, scope="module")
def way(request: pytest.FixtureRequest) -> Any:
    """The kind of connection."""
    return request.param


@pytest.fixture(scope="module")
def opened(postgres_server: Server, colour: Any, way: str) -> Iterator[tuple[str, Driver]]:
    """A saver of a database, its tables made, and the database's address; a module's tests share them."""
    with postgres_server.database() as url, driver(colour, url, way) as made:
        made.setup()
        yield url, made


@pytest.fixture
def driven(opened: tuple[str, Driver], rows: Callable[[str], list[Any]]) -> Driver:
    """That saver, with nothing in its tables."""
    rows("DELETE FROM checkpoints; DELETE FROM checkpoint_blobs; DELETE FROM checkpoint_writes")
    return opened[1]


@pytest.fixture
def saver(driven: Driver) -> Any:
    """That saver; its sync methods work in both colours."""
    return driven.saver


@pytest.fixture
def rows(opened: tuple[str, Driver]) -> Callable[[str], list[Any]]:
    """Look at the database past the saver."""
    return partial(execute, opened[0])
