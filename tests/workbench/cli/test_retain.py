"""`workbench retain`: what a scheduled job forgets of a database, and what it says."""

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from runtime.checkpoint.postgres import PostgresSaver
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.graph import START
from tests.postgres import execute
from tests.runtime.scenarios.build import builder, says, thread
from workbench.cli import main

GRAPH = builder({"a": says("a")}, [(START, "a")])


def call(*words):
    return CliRunner().invoke(main, ["retain", *words])


def fill(saver):
    """A thread of nine checkpoints, and one of three."""
    app = GRAPH.compile(checkpointer=saver)
    for name, turns in (("long", 3), ("short", 1)):
        for turn in range(turns):
            app.invoke({"log": [str(turn)]}, thread(name))


@pytest.fixture(params=["ours", "theirs", "postgres"])
def database(request, tmp_path):
    """The name of a database with two threads in it."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
            fill(saver)
        return url
    file = str(tmp_path / "threads.db")
    if request.param == "theirs":
        with pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver.from_conn_string(file) as made:
            made.setup()
    with SqliteSaver.from_conn_string(file) as saver:
        fill(saver)
    return file


def kept(database):
    """How many checkpoints each thread has, as another process sees it."""
    found = CliRunner().invoke(main, ["threads", database, "--json"])
    return {row["thread"]: row["checkpoints"] for row in json.loads(found.stdout)}


def test_old_checkpoints_are_forgotten_and_told(database):
    done = call(database, "--newest", "2")
    assert (done.exit_code, done.stderr) == (0, "")
    assert [row.split() for row in done.stdout.splitlines()] == [
        ["thread", "namespace", "checkpoints"],
        ["long", "7"],
        ["short", "1"],
        [],
        ["8", "checkpoints", "were", "forgotten."],
    ]
    assert kept(database) == {"long": 2, "short": 2}
    assert call(database, "--newest", "2").stdout == "0 checkpoints were forgotten.\n"


def test_a_dry_run_forgets_nothing_and_says_what_it_would(database):
    dry = call(database, "--newest", "2", "--dry-run", "--json")
    assert kept(database) == {"long": 9, "short": 3}
    done = call(database, "--newest", "2", "--json")
    assert json.loads(done.stdout) == json.loads(dry.stdout) | {"dry_run": False}
    told = json.loads(dry.stdout)
    assert (told["newest"], told["days"], told["dry_run"], told["failed"]) == (2, None, True, {})
    assert [(each["thread"], len(each["checkpoints"])) for each in told["forgotten"]] == [("long", 7), ("short", 1)]


def test_either_rule_keeps_a_checkpoint(database):
    assert call(database, "--newest", "1", "--days", "1").stdout == "0 checkpoints were forgotten.\n"
    assert call(database, "--days", "0").stdout.endswith("10 checkpoints were forgotten.\n")
    assert kept(database) == {"long": 1, "short": 1}


def test_only_the_threads_that_are_named_are_touched(database):
    assert call(database, "--newest", "1", "--thread", "short").exit_code == 0
    assert kept(database) == {"long": 9, "short": 1}


def test_a_thread_that_cannot_be_read_is_told_and_the_others_are_done(database):
    if database.startswith("postgresql:"):
        execute(database, "UPDATE checkpoints SET metadata = '[]' WHERE thread_id = 'long'")
    else:
        with sqlite3.connect(database) as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            table = "pregel_checkpoints" if "pregel_checkpoints" in tables else "checkpoints"
            db.execute(f"UPDATE {table} SET checkpoint = x'c1' WHERE thread_id = 'long'")
    done = call(database, "--newest", "1")
    assert done.exit_code == 1
    assert "of thread 'long' can't be read" in " ".join(done.stdout.split())
    assert "2 checkpoints were forgotten." in done.stdout
    assert list(json.loads(call(database, "--newest", "1", "--json").stdout)["failed"]) == ["long"]


def test_wrong_use_is_told_and_exits_with_2(tmp_path: Path):
    assert "What stays? Pass --newest N" in call("no.db").stderr
    done = call("no.db", "--newest", "1")
    assert (done.exit_code, "There is no database 'no.db'" in done.stderr) == (2, True)
    assert call("no.db", "--newest", "-1").exit_code == 2


def test_a_database_that_is_no_savers_is_left_alone(tmp_path: Path):
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE mine (a)")
    before = file.read_bytes()
    done = call(str(file), "--newest", "1")
    assert (done.exit_code, "cannot be read" in done.stderr) == (2, True)
    assert file.read_bytes() == before
