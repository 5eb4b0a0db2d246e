"""Nothing is lost: a process that is killed at random moments, and others that go on with its thread.

What may run again: a task that was killed before its writes were kept. So a side effect that must not happen twice
belongs behind a key that the other side knows, such as the task's id, which stays the same when a task runs again.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from runtime.checkpoint.sqlite import SqliteSaver
from runtime.graph import START
from tests.conftest import cannot_run
from tests.postgres import MISSING, installed
from tests.runtime.scenarios.build import builder, says, thread
from tests.runtime.survival.__main__ import DURABILITIES
from tests.runtime.survival.judge import Kept, Outcome, faults_of_end, faults_of_life
from tests.runtime.survival.lives import SAVERS, Thread
from tests.runtime.survival.program import Line

IN_FILES = ("sqlite", "aiosqlite")
ON_SERVER = ("postgres", "apostgres")


def tallies(savers: tuple[str, ...], kills: int) -> dict[tuple[str, str], Any]:
    """What each saver and durability went through, in a process of its own, since this one may have threads."""
    command = [sys.executable, "-m", "tests.runtime.survival", "--kills", str(kills), "--seed", "1", "--json"]
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    ran = subprocess.run(
        [*command, "--savers", *savers], cwd=root, env=environment, capture_output=True, text=True, timeout=120
    )
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(savers) * len(DURABILITIES), ran.stderr
    return {(each["saver"], each["durability"]): each for each in found}


@pytest.fixture(scope="module")
def in_files() -> Any:
    return tallies(IN_FILES, 6)


@pytest.fixture(scope="module")
def on_server() -> Any:
    if installed() is None:
        cannot_run(MISSING)
    return tallies(ON_SERVER, 6)


@pytest.mark.timeout(150)
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("saver", [*IN_FILES, *ON_SERVER])
def test_a_killed_thread_ends_as_if_nobody_had_killed_it(request: Any, saver: str, durability: str):
    tally = request.getfixturevalue("in_files" if saver in IN_FILES else "on_server")[saver, durability]
    assert tally["faults"] == {}
    assert tally["kills"] >= 6
    assert tally["pairs"] == 5


def began(id: str, step: int) -> Line:
    return Line("began", ("a", "", id, str(step)))


class Stored:
    """A checkpoint as a saver gives it, as far as the judge looks."""

    def __init__(self, id: str, step: int, parent: str | None = None) -> None:
        self.checkpoint = {"id": id}
        self.metadata = {"step": step}
        self.config = {"configurable": {"checkpoint_ns": ""}}
        self.parent_config = parent and {"configurable": {"checkpoint_id": parent}}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (began("task", 1), "task 'a' ran again, though its end was kept"),
        (began("other", 3), "began in superstep 3 of '' before the checkpoint before it was kept"),
        (Line("told", ("other",)), "task other was told to have finished before its writes were kept"),
        (Line("kept", ("2",)), "checkpoint 2 was told of as kept, and is not"),
        (Line("failed", ("OSError",)), "a process failed by itself: OSError"),
    ],
)
def test_the_judge_sees_what_a_life_did_wrong(line: Line, fault: str):
    thread = Thread(SAVERS["sqlite"], "", "t", "sync", "")
    kept = Kept({"1": Stored("1", 1)}, frozenset({"task"}))
    assert list(faults_of_life(thread, kept, kept, [began("other", 2)])) == []
    (found,) = faults_of_life(thread, kept, kept, [line])
    assert fault in found


def test_the_judge_sees_what_is_gone():
    thread = Thread(SAVERS["sqlite"], "", "t", "exit", "")
    before = Kept({"1": Stored("1", 1)}, frozenset({"task"}))
    after = Kept({"2": Stored("2", 2, "1")}, frozenset())
    found = "; ".join(faults_of_life(thread, before, after, []))
    assert found == "checkpoint 1 is gone; the writes of task task are gone; checkpoint 2 has no parent: 1 is not there"


def test_the_judge_sees_what_is_lost_and_what_is_doubled():
    outcome = Outcome({"log": ["a", "a"], "total": 1}, [("loop", 1, {})])
    found = "; ".join(faults_of_end(outcome, Outcome({"log": ["a", "b"], "total": 2}, [("loop", 1, {"x": 1})])))
    assert "log lacks ['b'] and has ['a'] too often" in found
    assert "total is 1 and should be 2" in found
    assert "its course is" in found


def test_a_task_that_has_ended_is_kept_while_its_sibling_goes_on(tmp_path: Path):
    kept = threading.Event()

    class Telling(SqliteSaver):
        def keep_writes(self, shelf: Any, written: Any) -> None:
            super().keep_writes(shelf, written)
            kept.set()

    def slow(state: Any) -> dict[str, Any]:
        return {"log": ["slow" if kept.wait(20) else "nothing was kept"]}

    with Telling.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        app = builder({"a": slow, "b": says("quick")}, [(START, "a"), (START, "b")]).compile(checkpointer=saver)
        assert app.invoke({"log": []}, thread(), durability="sync") == {"log": ["slow", "quick"]}
