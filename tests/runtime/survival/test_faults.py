"""A disk that is full, a file that can only be read, a lock that another process holds: one clear error, and the run
goes on once the cause is gone, as if it had never been."""

import asyncio
import itertools
import os
import re
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiosqlite
import pytest

from runtime.checkpoint.sqlite import SqliteSaver, SqliteSaverError
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.graph import START
from tests.runtime.scenarios.build import builder, says, thread

NODES = "abcdef"
BIG = "x" * 9000
IN_T = "of thread 't'"
END = {"log": ["in", *(f"{name}{BIG}" for name in NODES for _ in range(2))]}

durabilities = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


def graph_of(saver: Any) -> Any:
    """Two tasks a superstep, each with much to store."""
    nodes = {f"{name}{twin}": says(f"{name}{BIG}") for name in NODES for twin in (1, 2)}
    edges: list[Any] = [(START, "a1"), (START, "a2")]
    edges += [([f"{a}1", f"{a}2"], f"{b}{twin}") for a, b in itertools.pairwise(NODES) for twin in (1, 2)]
    return builder(nodes, edges).compile(checkpointer=saver)


def go_on(colour: Any, file: str, durability: str, pages: int | None = None, timeout: float = 5) -> Any:
    """Open the file, and bring its thread to the end; with `pages`, it may grow by no more than so many."""
    if colour.name == "async":
        return asyncio.run(_ago_on(file, durability, pages, timeout))
    with closing(sqlite3.connect(file, timeout=timeout, check_same_thread=False)) as conn:
        saver = SqliteSaver(conn)
        saver.setup()
        if pages is not None:
            (size,) = conn.execute("PRAGMA page_count").fetchone()
            conn.execute(f"PRAGMA max_page_count = {size + pages}")
        graph = graph_of(saver)
        return graph.invoke(next_input(graph.get_state(thread())), thread(), durability=durability)


async def _ago_on(file: str, durability: str, pages: int | None, timeout: float) -> Any:
    async with aiosqlite.connect(file, timeout=timeout) as conn:
        saver = AsyncSqliteSaver(conn)
        await saver.setup()
        if pages is not None:
            (size,) = await (await conn.execute("PRAGMA page_count")).fetchone()
            await conn.execute(f"PRAGMA max_page_count = {size + pages}")
        graph = graph_of(saver)
        return await graph.ainvoke(next_input(await graph.aget_state(thread())), thread(), durability=durability)


def next_input(state: Any) -> Any:
    return None if state.next else {"log": ["in"]}


def course(file: str) -> list[tuple[int, list[str]]]:
    """Superstep and log of each checkpoint, oldest first; each is complete."""
    with SqliteSaver.from_conn_string(file) as saver:
        states = list(graph_of(saver).get_state_history(thread()))[::-1]
    return [(state.metadata["step"], state.values["log"]) for state in states]


def said(error: BaseException) -> str:
    return "; ".join([str(error), *getattr(error, "__notes__", [])])


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "threads.sqlite")


@durabilities
def test_a_full_disk_stops_the_run_at_a_superstep_and_it_goes_on_from_there(
    colour: Any, durability: str, tmp_path: Path
):
    undisturbed = str(tmp_path / "undisturbed.sqlite")
    assert go_on(colour, undisturbed, durability) == END
    full = 0
    for pages in itertools.count(0, 9):
        file = str(tmp_path / f"{pages}.sqlite")
        told = ""
        try:
            result = go_on(colour, file, durability, pages)
        except SqliteSaverError as error:
            told = said(error)
            result = go_on(colour, file, durability)
        if told:
            full += 1
            assert re.search(f"Can't save .*{IN_T}.* full. Make room .*file: {file}.*; .* of superstep -?[0-9]+", told)
        assert result == END
        assert course(file) == course(undisturbed)
        if full and pages > 100:
            break
    assert full > 2


@durabilities
def test_a_file_that_may_not_grow_is_as_good_as_a_full_disk(colour: Any, durability: str, file: str):
    with files_of(80_000), pytest.raises(SqliteSaverError) as caught:
        go_on(colour, file, durability)
    assert re.search(f"Can't save .* file: {file}.*of superstep -?[0-9]+ {IN_T} was not stored", said(caught.value))
    assert go_on(colour, file, durability) == END


@contextmanager
def files_of(most: int) -> Iterator[None]:
    """No file may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@durabilities
def test_a_lock_of_another_process_stops_the_run_until_it_is_gone(colour: Any, durability: str, file: str):
    with SqliteSaver.from_conn_string(file) as saver:
        saver.setup()
    with locked(file), pytest.raises(SqliteSaverError) as caught:
        go_on(colour, file, durability, timeout=0.05)
    told = said(caught.value)
    assert re.search(f"Can't save .*: another connection holds the database.*longer timeout.*file: {file}", told)
    assert re.search("of superstep -?[0-9]+ of thread 't' was not stored", told)
    assert course(file) == []
    assert go_on(colour, file, durability) == END


@contextmanager
def locked(file: str) -> Iterator[None]:
    """Another process writes to the database all the while."""
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute('BEGIN IMMEDIATE');"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that anybody may enter."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o777)
        yield Path(name)
        os.chmod(name, 0o777)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Permissions do not bind root; here they do."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@durabilities
def test_a_file_that_can_only_be_read_is_read_and_not_written(colour: Any, durability: str, folder: Path):
    file = str(folder / "threads.sqlite")
    with SqliteSaver.from_conn_string(file) as saver:
        graph_of(saver).update_state(thread(), {"log": ["in"]}, START)
    os.chmod(file, 0o444)
    before = course(file)
    with as_nobody(), pytest.raises(SqliteSaverError) as caught:
        go_on(colour, file, durability)
    assert re.search(f"{IN_T}: the database can only be read.*file: {file}.*of superstep", said(caught.value))
    assert course(file) == before
    os.chmod(file, 0o666)
    assert go_on(colour, file, durability) == END


def test_a_folder_that_can_only_be_read_says_so(colour: Any, folder: Path):
    file = str(folder / "threads.sqlite")
    with SqliteSaver.from_conn_string(file) as saver:
        graph_of(saver).update_state(thread(), {"log": ["in"]}, START)
    os.chmod(folder, 0o555)
    with as_nobody(), pytest.raises(SqliteSaverError) as caught:
        go_on(colour, file, "sync")
    assert "its folder" in said(caught.value)
    assert file in said(caught.value)
    os.chmod(folder, 0o777)
    assert go_on(colour, file, "sync") == END
