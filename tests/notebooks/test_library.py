"""The notebook on databases without a browser: its cells run as they stand, and its questions and exercise judge."""

from __future__ import annotations

import logging
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import pytest

from workbench import savers

FOLDER = Path(__file__).parents[2] / "notebooks"
MODULES = ("course", "lending", "library")


@pytest.fixture(scope="module")
def names() -> Iterator[dict[str, Any]]:
    """What the notebook's cells, run from top to bottom, have made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.chdir(FOLDER)
        notebook = nbformat.read(FOLDER / "11_checkpoint_databases.ipynb", as_version=4)  # type: ignore[no-untyped-call]  # nbformat says no types
        made: dict[str, Any] = {"display": lambda shown: None}
        for cell in notebook.cells:
            if cell.cell_type == "code":
                lines = [line for line in cell.source.splitlines() if not line.startswith("%")]
                exec(compile("\n".join(lines), cell.id, "exec", dont_inherit=True), made)
        yield made
        made["reading"].__exit__(None, None, None)
        made["folder"].cleanup()
        logging.getLogger("runtime.checkpoint.serde").setLevel(logging.NOTSET)
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture
def library(names: dict[str, Any]) -> Any:
    return names["library"]


@pytest.mark.parametrize(("answer", "passed"), [(3, True), (0, False), (..., False)])
def test_three_threads_wait_though_their_process_has_ended(names, library, answer, passed):
    assert library.threads_that_wait(answer, names["loans"]).passed is passed


@pytest.mark.parametrize(("answer", "passed"), [(3, True), (1, False)])
def test_each_barrier_of_a_thread_is_a_checkpoint(names, library, answer, passed):
    verdict = library.checkpoints_of_atlas(answer, names["loans"])
    assert verdict.passed is passed
    assert "one node has finished" in str(verdict).lower() or passed


def test_the_exercise_wants_the_file_as_it_was(names, library):
    desk = import_module("lending").desk(names["Overlay"](names["base"]))
    judged = [library.answered(desk, names["loans"], names["before"])]
    library.answer(desk, "atlas", True)
    library.answer(desk, "map", False)
    judged += [library.answered(desk, names["loans"], before) for before in (names["before"], "another")]
    assert [verdict.passed for verdict in judged] == [False, True, False]
    assert "the file has changed" in str(judged[-1])


def test_the_recording_from_the_file_is_that_of_the_run(names):
    assert list(names["rec"].tasks.node) == ["__start__", "ask", "lend"]
    assert names["rec"].interrupts_pending[0].interrupt.value == "May Ada take the atlas home?"


def test_the_branchs_file_is_what_langgraph_writes(tmp_path):
    pytest.importorskip("langgraph.checkpoint.sqlite")
    from tests.notebooks import branch

    branch.make(tmp_path / "branch.sqlite")
    assert _content(tmp_path / "branch.sqlite") == _content(branch.FILE)


def _content(file: Path) -> Any:
    with closing(sqlite3.connect(file)) as connection:
        schema = sorted(connection.execute("SELECT name, sql FROM sqlite_master"))
    with savers.opened(str(file)) as saver:
        threads = sorted((one.id, one.checkpoints, one.newest.values, one.newest.asks) for one in savers.threads(saver))
    return schema, threads
