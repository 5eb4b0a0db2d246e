"""Lives of a process: it opens a saver, goes on with the thread, and is killed or comes to the thread's end.

The processes are forked from one that has imported everything and runs no thread, so a life begins within a
millisecond. The kill is SIGKILL, sent from outside: nothing of the process can react to it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, NoReturn

from runtime.checkpoint.postgres import PostgresSaver
from runtime.checkpoint.postgres.aio import AsyncPostgresSaver
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from tests.runtime.survival.program import Diary, next_input, program


@contextmanager
def looking_on(url: str) -> Iterator[PostgresSaver]:
    """A saver that looks on, once the server has ended what a killed process had sent it."""
    with PostgresSaver.from_conn_string(url) as saver:
        others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        while saver.conn.execute(others).fetchone():
            time.sleep(0.001)
        yield saver


class Saver(NamedTuple):
    """A kind of saver: its graph's colour, how it is opened, how a sync one that looks on is, and who keeps it."""

    asynchronous: bool
    open: Callable[[str], Any]
    read: Callable[[str], Any]
    on_server: bool = False


SAVERS = {
    "sqlite": Saver(False, SqliteSaver.from_conn_string, SqliteSaver.from_conn_string),
    "aiosqlite": Saver(True, AsyncSqliteSaver.from_conn_string, SqliteSaver.from_conn_string),
    "postgres": Saver(False, PostgresSaver.from_conn_string, looking_on, True),
    "pipeline": Saver(False, partial(PostgresSaver.from_conn_string, pipeline=True), looking_on, True),
    "apostgres": Saver(True, AsyncPostgresSaver.from_conn_string, looking_on, True),
}


class Thread(NamedTuple):
    """A thread that is gone on with: where it is kept, in which durability it runs, and its diary."""

    saver: Saver
    address: str
    id: str
    durability: str
    diary: str

    @property
    def config(self) -> Any:
        """What a graph is called with."""
        return {"configurable": {"thread_id": self.id}, "recursion_limit": 100}


def live(thread: Thread, streamed: bool, seconds: float | None) -> tuple[bool, float]:
    """One life, killed after so many seconds, or as long as it takes: whether it was killed, and how long it lasted.

    With `streamed` the graph is read as a stream, and the diary holds what that told. A process that failed by itself
    says so in the diary; ChildProcessError where it could not even do that.
    """
    assert threading.active_count() == 1, "a process with threads must not be forked"
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        if thread.saver.asynchronous:
            ended_with(thread, lambda: asyncio.run(_ago_on(thread, streamed)))
        ended_with(thread, lambda: _go_on(thread, streamed))
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)  # it may have ended: it is there as long as nobody has waited for it
    _, status = os.waitpid(child, 0)
    lasted = time.perf_counter() - began
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True, lasted
    if status:
        raise ChildProcessError(f"A process that went on with {thread.address} failed with status {status}.")
    return False, lasted


def ended_with(thread: Thread, work: Callable[[], None]) -> NoReturn:
    """What a child does: its work, and no more. What goes wrong stands in the diary."""
    status = 1
    try:
        Diary.open(thread.diary)
        work()
        status = 0
    except BaseException as error:
        Diary.note("failed", "; ".join(traceback.format_exception(error)).replace("\n", "; "))
        status = 0
    finally:
        os._exit(status)


def _go_on(thread: Thread, streamed: bool) -> None:
    with thread.saver.open(thread.address) as saver:
        graph = program(saver, asynchronous=False)
        while True:
            state = graph.get_state(thread.config)
            more, input = next_input(state)
            _tell_kept(state)
            if not more:
                return
            if streamed:
                for chunk in graph.stream(input, thread.config, **_streaming(thread)):
                    _tell_finished(chunk)
            else:
                graph.invoke(input, thread.config, durability=thread.durability)


async def _ago_on(thread: Thread, streamed: bool) -> None:
    async with thread.saver.open(thread.address) as saver:
        graph = program(saver, asynchronous=True)
        while True:
            state = await graph.aget_state(thread.config)
            more, input = next_input(state)
            _tell_kept(state)
            if not more:
                return
            if streamed:
                async for chunk in graph.astream(input, thread.config, **_streaming(thread)):
                    _tell_finished(chunk)
            else:
                await graph.ainvoke(input, thread.config, durability=thread.durability)


def _streaming(thread: Thread) -> dict[str, Any]:
    return {"stream_mode": "tasks", "subgraphs": True, "durability": thread.durability}


def _tell_finished(chunk: Any) -> None:
    _, payload = chunk
    if "result" in payload and not payload["error"] and not payload["interrupts"]:
        Diary.note("told", payload["id"])


def _tell_kept(state: Any) -> None:
    """A call has returned, or a life begins: what the saver gives now, it must give ever after."""
    if state.config["configurable"].get("checkpoint_id"):
        Diary.note("kept", state.config["configurable"]["checkpoint_id"])
