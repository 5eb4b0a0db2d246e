"""Stores of every kind and both colours, behind one face, so that a behaviour is tested once for all.

`open_store` opens a store of the kind at hand, `open_sql` one in a database; `store` is one without an index. All that
a test opens is closed at its end.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest

from runtime.store.memory import InMemoryStore
from runtime.store.postgres import AsyncPostgresStore, PostgresStore
from runtime.store.sqlite import AsyncSqliteStore, SqliteStore
from tests.postgres import Server

STORES: dict[str, tuple[Any, Any] | None] = {
    "memory": None,
    "sqlite": (SqliteStore, AsyncSqliteStore),
    "postgres": (PostgresStore, AsyncPostgresStore),
}
SQL = ("sqlite-sync", "sqlite-async", "postgres-sync", "postgres-async")
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

    def __init__(self, kind: str, address: str, stack: ExitStack) -> None:
        where, colour = kind.split("-")
        self._stores = STORES[where]
        self._address = address
        self._stack = stack
        self._runner = stack.enter_context(asyncio.Runner()) if colour == "async" else None

    def __call__(self, **config: Any) -> Any:
        if self._stores is None:
            store = InMemoryStore(**config)
            return store if self._runner is None else AsyncFace(store, self._runner)
        sync_store, async_store = self._stores
        if self._runner is None:
            face = self._stack.enter_context(sync_store.from_conn_string(self._address, **config))
        else:
            face = self._entered(async_store.from_conn_string(self._address, **config), self._runner)
        face.setup()
        return face

    def rows(self, statement: str) -> list[Any]:
        """What a statement finds in the database, through a connection of its own."""
        connect: Any = psycopg.connect if "://" in self._address else sqlite3.connect
        with closing(connect(self._address)) as db:
            cursor = db.execute(statement)
            found = cursor.fetchall() if cursor.description else []
            db.commit()
            return found

    def _entered(self, made: Any, runner: asyncio.Runner) -> AsyncFace:
        face = AsyncFace(runner.run(made.__aenter__()), runner)
        self._stack.callback(lambda: runner.run(made.__aexit__(None, None, None)))
        return face


@pytest.fixture(scope="session")
def store_database(postgres_server: Server) -> Iterator[psycopg.Connection]:
    """A connection to a PostgreSQL database for all tests of stores: making one takes longer than most tests."""
    with postgres_server.database() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        yield connection


@pytest.fixture
def store_address(store_database: psycopg.Connection) -> str:
    """The address of a PostgreSQL database without a store's tables."""
    store_database.execute("DROP TABLE IF EXISTS store, store_vectors, store_migrations, vector_migrations, hidden")
    info = store_database.info
    return f"postgresql://{info.user}:{info.password}@{info.host}:{info.port}/{info.dbname}"


def opened(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """The opener for the kind of the test at hand, with an empty place where it needs one."""
    with ExitStack() as stack:
        if request.param.startswith("postgres"):
            address = request.getfixturevalue("store_address")
        else:
            address = str(request.getfixturevalue("tmp_path") / "store.db")
        yield Opener(request.param, address, stack)


@pytest.fixture(params=KINDS)
def open_store(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens a store of the kind at hand, with the arguments given; the test runs once with each kind."""
    yield from opened(request)


@pytest.fixture(params=SQL)
def open_sql(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens a store in a database, with the arguments given; all that a test opens share the database."""
    yield from opened(request)


@pytest.fixture
def store(open_store: Opener) -> Any:
    """An empty store of the kind at hand."""
    return open_store()
