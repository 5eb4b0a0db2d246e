"""Savers by themselves: what a superstep puts, a task writes, and a reader gets or lists.

The size says which state: of so many kB below 100, of so many keys from 100, and from 1,000 again of so many kB, but in
one list that gains an item with each checkpoint. Of each state a few values change, as they do in a run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.job import Engine, Job

PAST = 30
"""Checkpoints that a thread has before anything is timed."""


def memory_put(engine: Engine, size: int) -> Job:
    """Checkpoints, each after the one before."""
    return _puts(_in_memory(engine), size)


def memory_writes(engine: Engine, size: int) -> Job:
    """What tasks wrote beside a checkpoint."""
    return _writes(_in_memory(engine), size)


def memory_get(engine: Engine, size: int) -> Job:
    """The newest checkpoint with its writes."""
    return _gets(_in_memory(engine), size)


def memory_list(engine: Engine, size: int) -> Job:
    """The newest checkpoints of a thread."""
    return _lists(_in_memory(engine), size)


def sqlite_put(engine: Engine, size: int) -> Job:
    """Checkpoints, each after the one before."""
    return _puts(_on_disk(engine), size)


def sqlite_writes(engine: Engine, size: int) -> Job:
    """What tasks wrote beside a checkpoint."""
    return _writes(_on_disk(engine), size)


def sqlite_get(engine: Engine, size: int) -> Job:
    """The newest checkpoint with its writes."""
    return _gets(_on_disk(engine), size)


def sqlite_list(engine: Engine, size: int) -> Job:
    """The newest checkpoints of a thread."""
    return _lists(_on_disk(engine), size)


def aiosqlite_put(engine: Engine, size: int) -> Job:
    """Checkpoints, each after the one before."""
    return _puts(_awaited(engine), size)


def aiosqlite_writes(engine: Engine, size: int) -> Job:
    """What tasks wrote beside a checkpoint."""
    return _writes(_awaited(engine), size)


def aiosqlite_get(engine: Engine, size: int) -> Job:
    """The newest checkpoint with its writes."""
    return _gets(_awaited(engine), size)


def aiosqlite_list(engine: Engine, size: int) -> Job:
    """The newest checkpoints of a thread."""
    return _lists(_awaited(engine), size)


def postgres_put(engine: Engine, size: int) -> Job:
    """Checkpoints, each after the one before."""
    return _puts(_on_server(engine), size)


def postgres_writes(engine: Engine, size: int) -> Job:
    """What tasks wrote beside a checkpoint."""
    return _writes(_on_server(engine), size)


def postgres_get(engine: Engine, size: int) -> Job:
    """The newest checkpoint with its writes."""
    return _gets(_on_server(engine), size)


def postgres_list(engine: Engine, size: int) -> Job:
    """The newest checkpoints of a thread."""
    return _lists(_on_server(engine), size)


def aiopostgres_put(engine: Engine, size: int) -> Job:
    """Checkpoints, each after the one before."""
    return _puts(_server_awaited(engine), size)


def aiopostgres_writes(engine: Engine, size: int) -> Job:
    """What tasks wrote beside a checkpoint."""
    return _writes(_server_awaited(engine), size)


def aiopostgres_get(engine: Engine, size: int) -> Job:
    """The newest checkpoint with its writes."""
    return _gets(_server_awaited(engine), size)


def aiopostgres_list(engine: Engine, size: int) -> Job:
    """The newest checkpoints of a thread."""
    return _lists(_server_awaited(engine), size)


class Opened(NamedTuple):
    """A saver, the package that it is of, how its async methods are run, and what closes it."""

    engine: Engine
    saver: Any
    run: Callable[[Awaitable[Any]], Any] | None
    close: Callable[[], None]

    def call(self, method: str, *args: Any) -> Any:
        """What a method gives, in the saver's colour."""
        if self.run is None:
            return getattr(self.saver, method)(*args)
        return self.run(getattr(self.saver, f"a{method}")(*args))

    def listed(self, config: Any, limit: int) -> list[Any]:
        """What a list gives."""
        if self.run is None:
            return list(self.saver.list(config, limit=limit))
        return list(self.run(_all(self.saver.alist(config, limit=limit))))


async def _all(found: Any) -> list[Any]:
    return [each async for each in found]


def _in_memory(engine: Engine) -> Opened:
    return Opened(engine, engine.memory.InMemorySaver(), None, lambda: None)


def _on_disk(engine: Engine) -> Opened:
    stack = ExitStack()
    path = Path(stack.enter_context(TemporaryDirectory()), "threads.db")
    return Opened(engine, stack.enter_context(engine.sqlite.SqliteSaver.from_conn_string(str(path))), None, stack.close)


def _awaited(engine: Engine) -> Opened:
    place = ExitStack()
    path = Path(place.enter_context(TemporaryDirectory()), "threads.db")
    return _opened_async(engine, place, engine.sqlite_aio.AsyncSqliteSaver.from_conn_string(str(path)))


def _database(stack: ExitStack) -> str:
    """The address of an empty database of a PostgreSQL server that runs as long as the stack is open."""
    from tests.postgres import MISSING, installed, server

    programs = installed()
    assert programs is not None, MISSING
    return stack.enter_context(stack.enter_context(server(programs)).database())


def _on_server(engine: Engine) -> Opened:
    stack = ExitStack()
    saver = stack.enter_context(engine.postgres.PostgresSaver.from_conn_string(_database(stack)))
    saver.setup()
    return Opened(engine, saver, None, stack.close)


def _server_awaited(engine: Engine) -> Opened:
    place = ExitStack()
    address = _database(place)
    return _opened_async(engine, place, engine.postgres_aio.AsyncPostgresSaver.from_conn_string(address))


def _opened_async(engine: Engine, place: ExitStack, opening: Any) -> Opened:
    """The saver in an event loop of its own; its place goes after it."""
    stack, runner = AsyncExitStack(), asyncio.Runner()

    async def enter() -> Any:
        saver = await stack.enter_async_context(opening)
        await saver.setup()
        return saver

    saver: Any = runner.run(enter())

    def close() -> None:
        runner.run(stack.aclose())
        runner.close()
        place.close()

    return Opened(engine, saver, runner.run, close)  # type: ignore[arg-type]  # it takes coroutines


def _states(size: int) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """The states of a thread, each with the names of what changes in it."""
    if size >= 1000:
        state: dict[str, Any] = {"items": ["x" * 1000] * size, "count": 0, "title": "t" * 100}
        changing = ["items", "count"]
    elif size >= 100:
        state = {f"key {number}": f"value {number:020}" for number in range(size)}
        changing = ["key 1", "key 50", "key 99"]
    else:
        state = {f"key {number}": "x" * 100 * size for number in range(8)} | {"count": 0, "note": ""}
        changing = ["count", "note"]
    yield state, list(state)
    turn = 0
    while True:
        turn += 1
        for name in changing:
            old = state[name]
            state[name] = (
                [*old, f"{turn:01000}"] if isinstance(old, list) else turn if name == "count" else f"turn {turn}"
            )
        yield state, changing


class Thread:
    """A thread in a saver, and its checkpoints so far."""

    def __init__(self, opened: Opened, size: int) -> None:
        self.opened = opened
        self.config: Any = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}
        self._states = _states(size)
        self._versions: dict[str, Any] = {}
        self._last: Any = None
        self._count = 0

    def put(self) -> None:
        """One checkpoint more."""
        state, changed = next(self._states)
        self._last = self.opened.saver.get_next_version(self._last, None)
        new = dict.fromkeys(changed, self._last)
        self._versions = {**self._versions, **new}
        self._count += 1
        checkpoint = {
            "v": 4,
            "id": f"{self._count:036}",
            "ts": "2026-11-30T12:00:00+00:00",
            "channel_values": dict(state),
            "channel_versions": self._versions,
            "versions_seen": {"node": {"count": self._last}},
            "updated_channels": changed,
        }
        metadata = {"source": "loop", "step": self._count, "parents": {}}
        self.config = self.opened.call("put", self.config, checkpoint, metadata, new)


def _thread(opened: Opened, size: int) -> Thread:
    thread = Thread(opened, size)
    for _ in range(PAST if size < 1000 else 5):
        thread.put()
    return thread


def _times(size: int) -> int:
    return 5 if size >= 1000 else 100


def _puts(opened: Opened, size: int) -> Job:
    thread, times = _thread(opened, size), _times(size)

    def run() -> int:
        for _ in range(times):
            thread.put()
        return len(opened.call("get_tuple", thread.config).checkpoint["channel_values"])

    return Job(times, run, opened.close)


def _writes(opened: Opened, size: int) -> Job:
    thread, times = _thread(opened, size), _times(size)
    state, changing = next(_states(size))
    writes = [(name, state[name]) for name in changing[:3]]
    ran = [0]

    def run() -> int:
        thread.put()
        for _ in range(times):
            ran[0] += 1
            opened.call("put_writes", thread.config, writes, f"task {ran[0]}", "path")
        return times

    return Job(times, run, opened.close)


def _gets(opened: Opened, size: int) -> Job:
    thread, times = _thread(opened, size), _times(size)
    opened.call("put_writes", thread.config, [("count", 1)], "task", "path")
    config = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}

    def run() -> int:
        for _ in range(times):
            found = opened.call("get_tuple", config)
        return len(found.checkpoint["channel_values"])

    return Job(times, run, opened.close)


def _lists(opened: Opened, size: int) -> Job:
    _thread(opened, size)
    limit, times = (3, 2) if size >= 1000 else (10, 20)
    config = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}

    def run() -> int:
        return sum(len(opened.listed(config, limit)) for _ in range(times))

    return Job(limit * times, run, opened.close)


ALL = (
    memory_put, memory_writes, memory_get, memory_list, sqlite_put, sqlite_writes, sqlite_get, sqlite_list,
    aiosqlite_put, aiosqlite_writes, aiosqlite_get, aiosqlite_list,
)  # fmt: skip
ON_SERVER = (
    postgres_put, postgres_writes, postgres_get, postgres_list,
    aiopostgres_put, aiopostgres_writes, aiopostgres_get, aiopostgres_list,
)  # fmt: skip
