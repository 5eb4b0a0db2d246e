"""Stores of every kind and both colours, behind one face, so that a behaviour is tested once for all.

`open_store` opens a store of the kind at hand, `open_sql` one in a database; `store` is one without an index. All that
a test opens is closed at its end.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from runtime.store.memory import InMemoryStore
from runtime.store.sqlite import AsyncSqliteStore, SqliteStore

SQL = ("sqlite-sync", "sqlite-async")
KINDS = ("memory-sync", "memory-async", *SQL)


class AsyncFace:
    """A store's async methods, under the names of the sync ones; each is awaited in the loop of `runner`."""

    def __init__(self, store: Any, runner: asyncio.Runner) -> None:
        self.store = store
        self._runner = runner

    def await_(self, awaitable: Awaitable[Any]) -> Any:
        """The result of anything that is to run in the store's loop."""

        async def waiting() -> Any:
            return await awaitable

        return self._runner.run(waiting())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.store, f"a{name}", None) or getattr(self.store, name)
        return lambda *args, **kw: self.await_(method(*args, **kw))


class Opener:
    """Opens stores of one kind in one place, with the arguments given; the stack closes them."""

    def __init__(self, kind: str, folder: Path, stack: ExitStack) -> None:
        self._where, colour = kind.split("-")
        self._path = str(folder / "store.db")
        self._stack = stack
        self._runner = stack.enter_context(asyncio.Runner()) if colour == "async" else None

    def __call__(self, **config: Any) -> Any:
        if self._where == "memory":
            store = InMemoryStore(**config)
            return store if self._runner is None else AsyncFace(store, self._runner)
        if self._runner is None:
            return self._stack.enter_context(SqliteStore.from_conn_string(self._path, **config))
        return self._entered(AsyncSqliteStore.from_conn_string(self._path, **config), self._runner)

    def rows(self, statement: str) -> list[Any]:
        """What a statement finds in the database, through a connection of its own."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            return db.execute(statement).fetchall()

    def _entered(self, made: Any, runner: asyncio.Runner) -> AsyncFace:
        face = AsyncFace(runner.run(made.__aenter__()), runner)
        self._stack.callback(lambda: runner.run(made.__aexit__(None, None, None)))
        return face


@pytest.fixture(params=KINDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens a store of the kind at hand, with the arguments given; the test runs once with each kind."""
    with ExitStack() as stack:
        yield Opener(request.param, tmp_path, stack)


@pytest.fixture(params=SQL)
def open_sql(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens a store in a database, with the arguments given; all that a test opens share the database."""
    with ExitStack() as stack:
        yield Opener(request.param, tmp_path, stack)


@pytest.fixture
def store(open_store: Opener) -> Any:
    """An empty store of the kind at hand."""
    return open_store()
