"""Two savers as one: the lower one is only read."""

import asyncio
import hashlib
import itertools
import operator
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from runtime.channels import DeltaChannel
from runtime.checkpoint.base import BaseCheckpointSaver
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.overlay import Overlay
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.graph import START
from runtime.types import Command, interrupt
from tests.runtime.scenarios.build import asked, builder, says, thread

READS = {"get", "get_tuple", "list", "get_delta_channel_history"}


class Log(TypedDict):
    log: Annotated[list, operator.add]


class ReadOnly:
    """A saver whose writing methods raise."""

    def __init__(self, saver: Any) -> None:
        self._saver = saver

    def __getattr__(self, name: str) -> Any:
        if name.removeprefix("a") in READS or name in ("serde", "config_specs", "get_next_version"):
            return getattr(self._saver, name)
        raise AssertionError(f"the base was asked to {name}")


def gated(saver: Any, schema: Any = Log) -> Any:
    nodes = {"a": says("a"), "gate": lambda state: {"log": [interrupt("go?")]}, "z": says("z")}
    return builder(nodes, [(START, "a"), ("a", "gate"), ("gate", "z")], schema).compile(checkpointer=saver)


@pytest.fixture(params=["memory", "sqlite", "postgres", "their memory", "their sqlite", "their postgres"])
def saver(request: pytest.FixtureRequest) -> Any:
    """A saver with one waiting thread, which must not be written to any more."""
    match request.param:
        case "postgres" | "their postgres" as name:
            library = "runtime" if name == "postgres" else "langgraph"
            cls = pytest.importorskip(f"{library}.checkpoint.postgres").PostgresSaver
            made: Any = cls(psycopg.connect(request.getfixturevalue("postgres"), autocommit=True, row_factory=dict_row))
            made.setup()
        case "memory":
            made = InMemorySaver()
        case "sqlite":
            made = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
        case "their memory":
            made = pytest.importorskip("langgraph.checkpoint.memory").InMemorySaver()
        case _:
            theirs = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver
            made = theirs(sqlite3.connect(":memory:", check_same_thread=False))
    gated(made).invoke({"log": []}, thread())
    yield made
    if hasattr(made, "conn"):
        made.conn.close()


@pytest.fixture
def overlay(saver: Any) -> Overlay:
    return Overlay(ReadOnly(saver))


def test_a_thread_is_read_resumed_and_shown_whole(colour: Any, saver: Any, overlay: Overlay):
    app = gated(overlay)
    assert colour.get_state(app, thread()) == gated(saver).get_state(thread())
    assert colour.invoke(app, Command(resume="yes"), thread()) == {"log": ["a", "yes", "z"]}
    assert [s.metadata["step"] for s in colour.get_state_history(app, thread())] == [3, 2, 1, 0, -1]
    assert gated(saver).get_state(thread()).next == ("gate",)


def test_an_edit_and_a_fork_stay_above(colour: Any, saver: Any, overlay: Overlay):
    app = gated(overlay)
    start = colour.get_state_history(app, thread())[1]
    assert asked(colour.invoke(app, None, start.config)) == ["go?"]
    colour.update_state(app, thread(), {"log": ["edited"]}, as_node="gate")
    assert colour.invoke(app, None, thread())["log"] == ["a", "edited", "z"]
    assert len(list(saver.list(thread()))) == 3


def test_a_new_run_of_a_new_thread_stays_above(colour: Any, saver: Any, overlay: Overlay):
    colour.invoke(gated(overlay), {"log": []}, thread("new"))
    assert {each.config["configurable"]["thread_id"] for each in overlay.list(None)} == {"t", "new"}
    assert {each.config["configurable"]["thread_id"] for each in saver.list(None)} == {"t"}


def test_a_deleted_thread_is_gone_here_and_may_begin_again(colour: Any, saver: Any, overlay: Overlay):
    overlay.delete_thread("t")
    assert overlay.get_tuple(thread()) is None
    assert list(overlay.list(None)) == []
    colour.invoke(gated(overlay), {"log": ["anew"]}, thread())
    assert [each.metadata["step"] for each in overlay.list(thread())] == [1, 0, -1]
    assert len(list(saver.list(thread()))) == 3


def test_a_reverted_thread_is_the_bases_again(overlay: Overlay):
    app = gated(overlay)
    app.invoke(Command(resume="yes"), thread())
    overlay.revert("t")
    assert app.get_state(thread()).next == ("gate",)
    assert not [*overlay.top.list(None)]


def test_a_thread_is_live_until_it_is_written_to(saver: Any, overlay: Overlay):
    app, live = gated(overlay), gated(saver)
    live.update_state(thread(), {"log": ["live"]}, as_node="a")
    assert app.get_state(thread()).values["log"] == ["a", "live"]
    app.update_state(thread(), {"log": ["mine"]}, as_node="a")
    live.update_state(thread(), {"log": ["later"]}, as_node="a")
    assert app.get_state(thread()).values["log"] == ["a", "live", "mine"]
    assert [s.values["log"][1:] for s in app.get_state_history(thread())][:3] == [["live", "mine"], ["live"], []]


def test_a_list_is_merged_filtered_and_limited(overlay: Overlay):
    app = gated(overlay)
    app.invoke(Command(resume="yes"), thread())
    found = [*overlay.list(thread())]
    ids = [each.checkpoint["id"] for each in found]
    assert ids == sorted(set(ids), reverse=True)
    assert [each.checkpoint["id"] for each in overlay.list(thread(), before=found[1].config, limit=2)] == ids[2:4]
    assert [each.metadata["step"] for each in overlay.list(None, filter={"source": "loop"}, limit=2)] == [3, 2]
    assert [each.checkpoint["id"] for each in overlay.list(found[4].config)] == [ids[4]]
    assert [*overlay.list(thread(), limit=0)] == []


def test_what_was_done_above_is_there_in_the_next_process(tmp_path: Path, saver: Any, colour: Any):
    with SqliteSaver.from_conn_string(str(tmp_path / "top.db")) as top:
        colour.update_state(gated(Overlay(saver, top)), thread(), {"log": ["mine"]}, as_node="gate")
    with SqliteSaver.from_conn_string(str(tmp_path / "top.db")) as top:
        assert colour.invoke(gated(Overlay(saver, top)), None, thread())["log"] == ["a", "mine", "z"]


def test_the_top_may_be_anybodys(colour: Any):
    base, theirs = InMemorySaver(), pytest.importorskip("langgraph.checkpoint.memory").InMemorySaver()
    gated(base).invoke({"log": []}, thread())
    app = gated(Overlay(ReadOnly(base), theirs))
    assert colour.invoke(app, Command(resume="yes"), thread()) == {"log": ["a", "yes", "z"]}
    assert len(colour.get_state_history(app, thread())) == 5


def test_an_async_saver_serves_an_async_graph(tmp_path: Path):
    async def scenario() -> Any:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "base.db")) as base:
            await gated(base).ainvoke({"log": []}, thread())
            app = gated(Overlay(ReadOnly(base)))
            await app.ainvoke(Command(resume="yes"), thread())
            return [s.metadata["step"] async for s in app.aget_state_history(thread())]

    assert asyncio.run(scenario()) == [3, 2, 1, 0, -1]


def test_a_nested_graphs_question_is_answered_above(colour: Any):
    inner = builder({"ask": lambda state: {"log": [interrupt("in?")]}}, [(START, "ask")]).compile()
    base = InMemorySaver()
    outer = builder({"a": says("a"), "inner": inner}, [(START, "a"), ("a", "inner")])
    outer.compile(checkpointer=base).invoke({"log": []}, thread())
    before = [*base.list(None)]
    app = outer.compile(checkpointer=Overlay(ReadOnly(base)))
    assert colour.get_state(app, thread(), subgraphs=True).tasks[0].state.next == ("ask",)
    assert colour.invoke(app, Command(resume="yes"), thread())["log"] == ["a", "a", "yes"]
    assert [*base.list(None)] == before


def test_a_tasks_writes_keep_their_order_across_the_seam(colour: Any):
    class State(TypedDict):
        log: Annotated[list, DeltaChannel(lambda value, writes: [*value, *itertools.chain(*writes)])]

    nodes = {"a": lambda state: {"log": [interrupt("go?")]}, "b": says("b"), "c": says("c")}
    graph = builder(nodes, [(START, "a"), (START, "b"), (START, "c")], State)
    base = InMemorySaver()
    graph.compile(checkpointer=base).invoke({"log": ["in"]}, thread())
    app = graph.compile(checkpointer=Overlay(ReadOnly(base)))
    assert colour.invoke(app, Command(resume="yes"), thread())["log"] == ["in", "yes", "b", "c"]
    assert colour.get_state(app, thread()).values["log"] == ["in", "yes", "b", "c"]


def test_a_delta_channels_history_goes_on_in_the_base(colour: Any):
    class State(TypedDict):
        log: Annotated[list, DeltaChannel(lambda value, writes: [*value, *itertools.chain(*writes)])]

    base = InMemorySaver()
    gated(base, State).invoke({"log": ["in"]}, thread())
    app = gated(Overlay(ReadOnly(base)), State)
    assert colour.invoke(app, Command(resume="yes"), thread())["log"] == ["in", "a", "yes", "z"]
    logs = [s.values.get("log") for s in colour.get_state_history(app, thread())]
    assert logs == [["in", "a", "yes", "z"][:length] for length in (4, 3, 2, 1, 0)]


def test_runs_are_forgotten_and_threads_pruned_and_copied_above(saver: Any, overlay: Overlay):
    app = gated(overlay)
    app.invoke(Command(resume="yes"), {**thread(), "run_id": None, "metadata": {"run_id": "r"}})
    overlay.copy_thread("t", "u")
    assert [s.values for s in app.get_state_history(thread("u"))] == [s.values for s in app.get_state_history(thread())]
    overlay.prune(["u"])
    assert [s.metadata["step"] for s in app.get_state_history(thread("u"))] == [3]
    overlay.delete_for_runs(["r"])
    assert [s.metadata["step"] for s in app.get_state_history(thread())] == [1, 0, -1]
    assert len([*saver.list(None)]) == 3


def test_versions_go_on_in_the_bases_kind():
    class Counting(InMemorySaver):
        get_next_version = BaseCheckpointSaver.get_next_version

    base: Any = Counting()
    gated(base).invoke({"log": []}, thread())
    app = gated(Overlay(base))
    app.invoke(Command(resume="yes"), thread())
    versions = app.checkpointer.get_tuple(thread()).checkpoint["channel_versions"]
    assert {type(version) for version in versions.values()} == {int}


def test_an_allowlist_reaches_both():
    wider = Overlay(InMemorySaver()).with_allowlist([("a", "B")])
    assert ("a", "B") in wider.base.serde._trust.listed & wider.top.serde._trust.listed


# -- not a byte --------------------------------------------------------------------------------------------------------

GO_ON = """
import sys
from runtime.checkpoint.sqlite import SqliteSaver
from tests.runtime.checkpoint.test_overlay import gated, thread
with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    app = gated(saver)
    app.invoke({"log": []}, thread("live"))
    print("begun", flush=True)
    for line in sys.stdin:
        app.update_state(thread("live"), {"log": [line.strip()]}, as_node="a")
        print("done", flush=True)
"""


def digest(file: Path) -> list[str]:
    """The database's file and its log. Not its -shm, in which readers note themselves too."""
    log = Path(f"{file}-wal")
    return [hashlib.sha256(part.read_bytes() if part.exists() else b"").hexdigest() for part in (file, log)]


def explore(app: Any, colour: Any, name: str) -> None:
    colour.get_state_history(app, thread(name))
    start = colour.get_state_history(app, thread(name))[-1]
    colour.invoke(app, Command(resume="yes"), thread(name))
    colour.invoke(app, None, start.config)
    colour.update_state(app, thread(name), {"log": ["edited"]}, as_node="gate")
    colour.invoke(app, {"log": ["new"]}, thread("new"))
    app.checkpointer.delete_thread(name)


@pytest.mark.parametrize("options", ["", "?mode=ro", "?mode=ro&immutable=1"])
@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_not_a_byte_of_a_file_changes(tmp_path: Path, colour: Any, kind: str, options: str):
    file = tmp_path / "base.db"
    theirs = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver
    with (SqliteSaver if kind == "ours" else theirs).from_conn_string(str(file)) as made:
        gated(made).invoke({"log": []}, thread())
    before = digest(file)
    with SqliteSaver.from_conn_string(f"file:{file}{options}") as base:
        explore(gated(Overlay(base)), colour, "t")
        assert digest(file) == before
    assert digest(file) == before


def test_a_live_thread_is_explored_while_another_process_goes_on(tmp_path: Path, colour: Any):
    file = tmp_path / "base.db"
    command = [sys.executable, "-c", GO_ON, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as live:
        assert live.stdin
        assert live.stdout
        assert live.stdout.readline() == "begun\n"
        before = digest(file)
        with SqliteSaver.from_conn_string(f"file:{file}?mode=ro") as base:
            app = gated(Overlay(base))
            colour.get_state_history(app, thread("live"))
            assert digest(file) == before
            print("said", file=live.stdin, flush=True)
            assert live.stdout.readline() == "done\n"
            assert colour.get_state(app, thread("live")).values["log"] == ["a", "said"]
            before = digest(file)
            explore(app, colour, "live")
            assert digest(file) == before
        live.stdin.close()


# -- any course of events ----------------------------------------------------------------------------------------------

DOINGS = st.sampled_from(["run", "edit", "answer", "fork", "delete", "copy"])


@settings(max_examples=60)
@given(below=st.lists(DOINGS, max_size=5), above=st.lists(DOINGS, max_size=5))
def test_a_program_sees_what_it_would_see_of_one_saver(below: list[str], above: list[str]):
    alone, base = InMemorySaver(), InMemorySaver()
    for saver in (alone, base):
        for doing in below:
            do(doing, gated(saver))
    both = Overlay(ReadOnly(base))
    for doing in above:
        do(doing, gated(alone))
        do(doing, gated(both))
        assert shown(both) == shown(alone)


def do(doing: str, app: Any) -> None:
    waiting = app.get_state(thread())
    match doing:
        case "run":
            app.invoke({"log": ["in"]}, thread())
        case "edit":
            app.update_state(thread(), {"log": ["edited"]}, as_node="a")
        case "answer" if waiting.interrupts:
            app.invoke(Command(resume="yes"), thread())
        case "fork" if waiting.next:
            app.invoke(None, [*app.get_state_history(thread())][-1].config)
        case "delete":
            app.checkpointer.delete_thread("t")
        case "copy":
            app.checkpointer.copy_thread("t", "u")


def shown(saver: Any) -> list[Any]:
    """All that can be seen of two threads, without ids and times."""
    app = gated(saver)
    return [
        [(s.values, s.next, s.metadata["step"], len(s.interrupts)) for s in app.get_state_history(thread(name))]
        for name in "tu"
    ]
