"""What a retention keeps, and that whatever is kept can be read, forked and gone on with."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.channels import DeltaChannel
from runtime.checkpoint.base import Outline
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.overlay import Overlay
from runtime.checkpoint.postgres import PostgresSaver
from runtime.checkpoint.postgres.aio import AsyncPostgresSaver
from runtime.checkpoint.retention import Removed, Retention
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.graph import START
from runtime.types import Command, interrupt
from tests.postgres import Server, execute
from tests.runtime.scenarios.build import builder, says, thread


class Delta(TypedDict):
    log: Annotated[list, DeltaChannel(lambda value, writes: [*value, *itertools.chain(*writes)], snapshot_frequency=4)]


GRAPH = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")])
DELTA = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")], Delta)


class Kept:
    """A saver with threads in it, and a retention applied to it in one colour, by an async saver of the same place."""

    def __init__(self, saver: Any, opened: Callable[[], Any], colour: Any) -> None:
        self.saver = saver
        self.opened = opened
        self.colour = colour.name

    def apply(self, retention: Retention, *args: Any, **kw: Any) -> list[Removed]:
        if self.colour == "sync":
            return retention.apply(self.saver, *args, **kw)

        async def applied() -> list[Removed]:
            async with self.opened() as saver:
                return await retention.aapply(saver, *args, **kw)

        return asyncio.run(applied())

    def run(self, times: int, graph: Any = GRAPH, name: str = "t") -> Any:
        app = graph.compile(checkpointer=self.saver)
        for turn in range(times):
            app.invoke({"log": [str(turn)]}, thread(name))
        return app


@pytest.fixture(scope="module")
def server_tables(postgres_server: Server) -> Iterator[str]:
    """A database of PostgreSQL with a saver's tables, which the module's tests share."""
    with postgres_server.database() as url, PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield url


@pytest.fixture(params=["memory", "ours", "theirs", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path, colour: Any) -> Iterator[Kept]:
    if request.param == "memory":
        memory = InMemorySaver()
        yield Kept(memory, lambda: nullcontext(memory), colour)
        return
    if request.param == "postgres":
        place: str = request.getfixturevalue("server_tables")
        execute(place, "DELETE FROM checkpoints; DELETE FROM checkpoint_blobs; DELETE FROM checkpoint_writes")
        savers: Any = (PostgresSaver, AsyncPostgresSaver)
    else:
        place, savers = str(tmp_path / "threads.db"), (SqliteSaver, AsyncSqliteSaver)
    if request.param == "theirs":
        with pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver.from_conn_string(place) as made:
            made.setup()
    with savers[0].from_conn_string(place) as saver:
        yield Kept(saver, lambda: savers[1].from_conn_string(place), colour)


def ids(saver: Any, name: str = "t") -> list[str]:
    return [each.checkpoint["id"] for each in saver.list(thread(name))]


def test_the_newest_stay_and_the_rest_is_told(kept: Kept):
    app = kept.run(3)
    before, states = ids(kept.saver), [s.values for s in app.get_state_history(thread())]
    removed = kept.apply(Retention(keep=5))
    assert removed == [Removed("t", "", tuple(sorted(before[5:])))]
    assert ids(kept.saver) == before[:5]
    assert [s.values for s in app.get_state_history(thread())] == states[:5]
    assert app.invoke({"log": ["more"]}, thread())["log"][-3:] == ["more", "a", "b"]


def test_a_second_time_nothing_is_left_to_forget(kept: Kept):
    kept.run(2)
    kept.apply(Retention(keep=3))
    assert kept.apply(Retention(keep=3)) == []


def test_the_young_stay_too(kept: Kept):
    kept.run(2)
    at = [datetime.fromisoformat(each.checkpoint["ts"]) for each in kept.saver.list(thread())]
    assert [*kept.apply(Retention(keep=1, days=1), now=at[3] + timedelta(days=1))[0].checkpoint_ids][-1] < ids(
        kept.saver
    )[-1]
    assert len(ids(kept.saver)) == 4
    kept.apply(Retention(days=1), now=datetime.now(UTC) + timedelta(days=2))
    assert len(ids(kept.saver)) == 1


def test_only_the_threads_that_are_named_are_touched(kept: Kept):
    for name in "tuv":
        kept.run(1, name=name)
    assert [each.thread_id for each in kept.apply(Retention(keep=1), ["u"])] == ["u"]
    assert [len(ids(kept.saver, name)) for name in "tuv"] == [4, 1, 4]
    assert {each.thread_id for each in kept.apply(Retention(keep=1))} == {"t", "v"}


@pytest.mark.parametrize("keep", range(1, 9))
def test_what_a_delta_channel_is_made_of_stays(kept: Kept, keep: int):
    app = kept.run(3, DELTA)
    states = [s.values for s in app.get_state_history(thread())][:keep]
    kept.apply(Retention(keep=keep))
    assert [s.values for s in app.get_state_history(thread())][:keep] == states
    assert app.invoke({"log": ["more"]}, thread())["log"] == [*states[0]["log"], "more", "a", "b"]


def test_a_checkpoint_that_a_question_waits_in_stays(kept: Kept):
    nodes = {"ask": lambda state: {"log": [interrupt("go?")]}}
    app = builder(nodes, [(START, "ask")]).compile(checkpointer=kept.saver)
    app.invoke({"log": []}, thread())
    waiting = app.get_state(thread())
    app.invoke({"log": ["passed over"]}, thread())
    kept.apply(Retention(keep=1))
    assert len(ids(kept.saver)) == 2
    assert app.invoke(Command(resume="yes"), waiting.config)["log"] == [
        "yes"
    ]  # beside the words that passed the question over


def test_what_a_nested_graph_kept_for_one_task_goes_with_the_tasks_checkpoint(kept: Kept):
    inner = builder({"x": says("x"), "y": says("y")}, [(START, "x"), ("x", "y")]).compile(checkpointer=None)
    app = kept.run(3, builder({"inner": inner, "end": says("end")}, [(START, "inner"), ("inner", "end")]))
    spaces = {each.config["configurable"]["checkpoint_ns"] for each in kept.saver.list(thread(checkpoint_ns=None))} - {
        ""
    }
    assert len(spaces) == 3
    kept.apply(Retention(keep=4))
    left = {each.checkpoint_ns for each in kept.saver.outline("t")}
    assert len(left) == 2
    assert app.invoke({"log": ["more"]}, thread())["log"][-1] == "end"


def test_a_nested_graph_with_a_memory_of_its_own_keeps_it(kept: Kept):
    inner = builder({"x": says("x")}, [(START, "x")]).compile(checkpointer=True)
    app = kept.run(3, builder({"inner": inner}, [(START, "inner")]))
    state = app.get_state({"configurable": {"thread_id": "t", "checkpoint_ns": "inner"}}).values
    kept.apply(Retention(keep=1))
    assert app.get_state({"configurable": {"thread_id": "t", "checkpoint_ns": "inner"}}).values == state


def test_a_saver_that_cannot_forget_single_checkpoints_is_refused():
    theirs = pytest.importorskip("langgraph.checkpoint.memory").InMemorySaver()
    with pytest.raises(TypeError, match="langgraph.checkpoint.memory.InMemorySaver can't forget single checkpoints"):
        Retention(keep=1).apply(theirs)


def test_an_overlay_forgets_above_only():
    base = InMemorySaver()
    GRAPH.compile(checkpointer=base).invoke({"log": []}, thread())
    both = Overlay(base)
    GRAPH.compile(checkpointer=both).invoke({"log": []}, thread())
    Retention(keep=2).apply(both, ["t"])
    assert (len(ids(both)), len(ids(base))) == (2, 4)


@pytest.mark.parametrize("rule", [{}, {"keep": -1}, {"days": -0.5}])
def test_a_rule_that_cannot_be_meant_is_refused(rule: Any):
    with pytest.raises(ValueError, match="Retention"):
        Retention(**rule)


# -- the choice by itself ----------------------------------------------------------------------------------------------

OUTLINES = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12)


@given(rows=OUTLINES, keep=st.integers(0, 4))
def test_no_kept_checkpoint_lacks_what_it_is_made_of(rows: list[Any], keep: int):
    """Each row says of a checkpoint: does it hold its delta channel, does it ask, and how far back is its parent."""
    space: dict[str, Outline] = {}
    for place, (holds, asks, back) in enumerate(rows):
        parent = f"{place - 1 - back:02}" if place - 1 - back >= 0 else None
        metadata: Any = {} if holds else {"counters_since_delta_snapshot": {"x": (1, 1)}}
        held = frozenset({"x"} if holds else ())
        space[f"{place:02}"] = Outline("", f"{place:02}", parent, "2026-01-01T00:00:00+00:00", metadata, held, asks)
    gone = {id for _, ids in Retention(keep=keep).chosen(space.values()) for id in ids}
    stays = [space[id] for id in sorted(space.keys() - gone)]
    assert stays[-max(keep, 1) :] == [*space.values()][-max(keep, 1) :]
    assert not any(space[id].asks for id in gone)
    for each in [each for each in stays if each.asks or each in [*space.values()][-max(keep, 1) :]]:
        walk: Callable[[Outline], Outline | None] = lambda at: space.get(at.parent_id or "")  # noqa: E731
        while each is not None and "x" not in each.held:
            assert each.id not in gone
            each = walk(each)
        assert each is None or each.id not in gone
