"""How runs of LangGraph are watched: what is told where they tell little, and that they stay as they were."""

import threading
from typing import Any, TypedDict

import pytest

from workbench import guests, record, recording
from workbench.chronicle import Chronicle

pytest.importorskip("langgraph")
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt


class State(TypedDict, total=False):
    x: int


def line(*nodes: Any, **options: Any) -> Any:
    graph = StateGraph(State)
    before = "__start__"
    for number, node in enumerate(nodes):
        graph.add_node(f"n{number}", node)
        graph.add_edge(before, f"n{number}")
        before = f"n{number}"
    return graph.compile(**options)


def add(state: State) -> State:
    return {"x": state["x"] + 1}


def test_langgraph_is_as_it_was_when_nobody_watches_any_more():
    before = (Pregel.stream, Pregel.astream)
    with recording(), recording():
        assert Pregel.stream is not before[0]
    assert (Pregel.stream, Pregel.astream) == before


def test_a_graph_without_a_saver_keeps_none():
    graph = line(add)
    assert record(graph, {"x": 1}).thread is None
    assert graph.checkpointer is None


def test_what_langgraph_does_not_tell_is_missing_and_not_made_up():
    rec = record(line(add), {"x": 1})
    assert rec.missing == (guests.ATTEMPTS, guests.UNSEEN)
    assert rec.tasks.attempts.isna().all()


def test_a_run_that_saves_at_its_end_tells_its_tasks_but_not_the_versions_between():
    rec = record(line(add, add, checkpointer=InMemorySaver()), {"x": 1}, thread="t", durability="exit")
    assert list(rec.tasks.node) == ["n0", "n1"]
    assert list(rec.tasks.status) == ["ok", "ok"]
    assert rec.output == {"x": 3}
    assert guests.LATE in rec.missing


def test_a_nested_graph_that_wants_no_saver_gets_none_and_is_told():
    inner = line(lambda state: {"x": interrupt("?")}, checkpointer=False)
    saver = InMemorySaver()
    graph = line(lambda state: inner.invoke(state), checkpointer=saver)
    first = record(graph, {"x": 1}, thread="t")
    assert first.summary().verdict == "Waits at n0: “?”"
    assert {one.config["configurable"]["checkpoint_ns"] for one in saver.list(None)} == {""}
    second = record(graph, Command(resume=7), thread="t")
    assert second.output == {"x": 7}
    assert list(second.tasks.query("ns != ''").node) == ["__start__", "n0"]


def test_a_stream_has_only_the_modes_that_were_asked_for():
    graph = line(add)
    with recording() as rec:
        assert list(graph.stream({"x": 1}, stream_mode="updates")) == [{"n0": {"x": 2}}]
        assert list(graph.stream({"x": 1}, stream_mode=["values"], subgraphs=True)) == [
            ((), "values", {"x": 1}),
            ((), "values", {"x": 2}),
        ]
        assert [one["type"] for one in graph.stream({"x": 1}, stream_mode="checkpoints", version="v2")] == []
    assert len(rec.runs) == 3


def test_a_stream_that_is_left_early_is_told_as_cancelled():
    with recording() as rec:
        for _ in line(add, add).stream({"x": 1}, stream_mode="updates"):
            break
    assert rec.status == "cancelled"


def test_a_resume_without_a_saver_is_refused_as_before():
    with pytest.raises(RuntimeError, match="checkpointer"):
        record(line(add), Command(resume=1))


def test_what_cannot_be_told_does_not_break_the_run(monkeypatch, caplog):
    monkeypatch.setattr("workbench.chronicle.Chronicle.planned", lambda *_: 1 / 0)
    rec = record(line(add), {"x": 1})
    assert rec.output == {"x": 2}
    assert guests.BROKEN in rec.missing
    assert "could not be told" in caplog.text


def test_writes_may_come_before_the_checkpoint_on_which_their_task_ran(monkeypatch):
    """LangGraph hands both to its saver from threads of its own, so either may come first."""
    told, tell = threading.Event(), Chronicle.wrote

    def wrote(*given: Any) -> None:
        tell(*given)
        told.set()

    class Slow(InMemorySaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            assert metadata["step"] >= 0 or told.wait(20)
            return super().put(config, checkpoint, metadata, new_versions)

    monkeypatch.setattr(Chronicle, "wrote", wrote)
    rec = record(line(add, checkpointer=Slow()), {"x": 1}, thread="t")
    assert [*zip(rec.tasks.step, rec.tasks.node, rec.tasks.status, strict=True)] == [
        (0, "__start__", "ok"),
        (1, "n0", "ok"),
    ]
