"""A session: run, step, resume, go to, fork, replay; and all that it refuses. On both engines."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from widgets import (
    Busy,
    EditRefused,
    NoCheckpointer,
    NothingToRun,
    RunFailed,
    Session,
    SessionError,
    UnknownCheckpoint,
    WrongAnswer,
)


def test_a_run_gives_what_invoke_gives(steps: Any) -> None:
    assert Session(steps, "t").run({"total": 1}) == {"total": 4, "log": ["a", "b", "c"]}


def test_checkpoints_come_in_the_order_of_time(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    found = session.checkpoints
    assert [(one.step, one.source, one.next, one.current) for one in found] == [
        (-1, "input", ("__start__",), False),
        (0, "loop", ("a",), False),
        (1, "loop", ("b",), False),
        (2, "loop", ("c",), False),
        (3, "loop", (), True),
    ]
    assert [one.parent_id for one in found] == [None, *(one.id for one in found[:-1])]
    assert found[2].values == {"total": 2, "log": ["a"]}


def test_a_step_runs_one_superstep_and_keeps_its_checkpoint(steps: Any) -> None:
    session = Session(steps, "t")
    stood = [session.step({"total": 1}), session.step(), session.step()]
    assert [(one.step, one.next) for one in stood if one] == [(1, ("b",)), (2, ("c",)), (3, ())]
    assert len(session.checkpoints) == 5
    assert len(session.branches) == 1


def test_steps_pass_breakpoints_of_the_graph(engine: Any, steps: Any) -> None:
    graph = steps.builder.compile(checkpointer=engine.memory.InMemorySaver(), interrupt_before=["b"])
    session = Session(graph, "t")
    session.run({"total": 1})
    assert session.words == "Stopped before b"
    assert session.step().next == ("c",)
    assert session.step().next == ()


def test_start_plans_the_first_superstep_and_runs_nothing(steps: Any) -> None:
    session = Session(steps, "t")
    assert session.start({"total": 1}).next == ("a",)
    assert session.values == {"total": 1, "log": []}
    assert session.run()["log"] == ["a", "b", "c"]


def test_run_goes_on_from_where_the_thread_stands(steps: Any) -> None:
    session = Session(steps, "t")
    session.step({"total": 1})
    assert session.run() == {"total": 4, "log": ["a", "b", "c"]}


def test_a_thread_without_name_is_new_each_time(steps: Any) -> None:
    assert Session(steps).thread != Session(steps).thread


def test_a_config_may_stand_for_the_thread(steps: Any) -> None:
    session = Session(steps, {"configurable": {"thread_id": "t", "checkpoint_id": "old"}, "tags": ["x"]})
    session.run({"total": 1})
    assert session.thread == "t"
    assert Session(steps, "t").current.step == 3


def test_a_config_without_a_thread_is_refused(steps: Any) -> None:
    with pytest.raises(SessionError, match="names no thread"):
        Session(steps, {"configurable": {}})


def test_a_context_reaches_the_nodes(engine: Any) -> None:
    graph = engine.graph.StateGraph(dict, context_schema=dict)
    seen = []
    graph.add_node("a", lambda state, runtime: seen.append(runtime.context))
    graph.add_edge(engine.graph.START, "a")
    Session(graph.compile(checkpointer=engine.memory.InMemorySaver()), "t", context={"who": "me"}).run({"x": 1})
    assert seen == [{"who": "me"}]


# -- questions --------------------------------------------------------------------------------------------------------


def test_pending_says_who_asks_what_and_when(asks: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    (one,) = session.pending
    assert (one.value, one.node, one.step, one.path) == ("Send it?", "approve", 2, ("approve",))
    assert session.words == "Waits for your answer at approve"


@pytest.mark.parametrize("answer", [True, False, 0, "", None, {}, {"a": 1}, "a" * 32])
def test_one_question_takes_any_plain_answer(asks: Any, answer: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    assert session.resume(answer)["log"] == ["draft", f"sent: {answer}"]


def test_one_question_may_be_answered_by_id(asks: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    assert session.resume({session.pending[0].id: "yes"})["log"][-1] == "sent: yes"


def test_of_several_questions_some_may_be_answered(fans: Any) -> None:
    session = Session(fans, "t")
    session.run({"total": 0})
    asked = {one.node: one.id for one in session.pending}
    session.resume({asked["icing"]: "lemon"})
    assert [one.node for one in session.pending] == ["filling"]
    assert sorted(session.resume("plum")["log"]) == ["bake", "filling plum", "icing lemon"]


def test_one_answer_to_several_questions_is_refused_with_their_ids(fans: Any) -> None:
    session = Session(fans, "t")
    session.run({"total": 0})
    before = session.checkpoints
    with pytest.raises(WrongAnswer, match="2 questions wait") as caught:
        session.resume("lemon")
    assert set(caught.value.pending) == {one.id for one in session.pending}
    assert all(one.id in str(caught.value) for one in session.pending)
    assert session.checkpoints == before
    assert len(session.pending) == 2


def test_an_unknown_id_is_refused(asks: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    with pytest.raises(WrongAnswer, match=f"No question with the id {'0' * 32} waits"):
        session.resume({"0" * 32: "yes"})
    assert len(session.pending) == 1


def test_an_answer_where_nothing_waits_is_refused(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    with pytest.raises(WrongAnswer, match="Nothing waits for an answer on thread 't': ended after 3 supersteps"):
        session.resume("yes")


def test_an_answer_that_its_schema_forbids_is_refused_before_the_node_runs(compiled: Any, engine: Any) -> None:
    starts: list[Any] = []

    def ask(state: Any) -> Any:
        starts.append(1)
        return {"total": engine.types.interrupt("How many?", response_schema=int)}

    session = Session(compiled(ask=ask), "t")
    session.run({"total": 0})
    with pytest.raises(WrongAnswer, match="“many” is not a whole number") as caught:
        session.resume("many")
    assert list(caught.value.reasons) == [session.pending[0].id]
    assert len(starts) == 1
    assert session.resume(3) == {"total": 3, "log": []}


def test_an_answer_that_the_node_refuses_leaves_the_question(compiled: Any, engine: Any) -> None:
    from pydantic import BaseModel, field_validator

    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            assert n % 2 == 0, "must be even"
            return n

    def ask(state: Any) -> Any:
        return {"total": engine.types.interrupt("Even?", response_schema=Even).n}

    session = Session(compiled(ask=ask), "t")
    session.run({"total": 0})
    with pytest.raises(WrongAnswer, match="must be even.*still waits"):
        session.resume({"n": 3})
    assert session.resume({"n": 4})["total"] == 4


def test_a_question_in_a_nested_graph_names_its_path(engine: Any, compiled: Any) -> None:
    inner = engine.graph.StateGraph(dict)
    inner.add_node("ask", lambda state: {"__root__": engine.types.interrupt("Deep?")})
    inner.add_edge(engine.graph.START, "ask")
    outer = engine.graph.StateGraph(dict)
    outer.add_node("child", inner.compile())
    outer.add_edge(engine.graph.START, "child")
    session = Session(outer.compile(checkpointer=engine.memory.InMemorySaver()), "t")
    session.run({"x": 1})
    assert [(one.node, one.path) for one in session.pending] == [("ask", ("child", "ask"))]


# -- what is refused, and what fails ----------------------------------------------------------------------------------


def test_a_graph_without_a_checkpointer_is_refused(steps: Any) -> None:
    with pytest.raises(NoCheckpointer, match="compile\\(checkpointer=InMemorySaver"):
        Session(steps.builder.compile(), "t")


def test_a_builder_is_refused_with_the_way_out(steps: Any) -> None:
    with pytest.raises(TypeError, match="Compile it first"):
        Session(steps.builder, "t")


def test_a_step_on_a_thread_that_waits_is_refused(asks: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    with pytest.raises(NothingToRun, match="waits for your answer at approve. Use resume"):
        session.step()


def test_going_on_with_a_thread_that_ended_or_never_began_is_refused(steps: Any) -> None:
    session = Session(steps, "t")
    with pytest.raises(NothingToRun, match="has not begun"):
        session.run()
    session.run({"total": 1})
    with pytest.raises(NothingToRun, match="has ended"):
        session.step()
    assert len(session.checkpoints) == 5


def test_a_node_that_raises_is_named_and_nothing_is_lost(compiled: Any, says: Any) -> None:
    broken = [True]

    def shaky(state: Any) -> Any:
        if broken:
            raise ConnectionRefusedError("no route <b>")
        return {"log": ["mended"]}

    session = Session(compiled(a=says("a"), shaky=shaky), "t")
    with pytest.raises(RunFailed, match="Failed at shaky, superstep 2: ConnectionRefusedError: no route <b>") as caught:
        session.run({"total": 0})
    assert (caught.value.node, caught.value.step) == ("shaky", 2)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)
    assert session.words.startswith("Failed at shaky")
    broken.clear()
    assert session.run()["log"] == ["a", "mended"]


def test_a_second_verb_while_one_runs_is_refused(compiled: Any) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(state: Any) -> Any:
        inside.set()
        assert go_on.wait(20)
        return {"log": ["slow"]}

    session = Session(compiled(slow=slow), "t")
    worker = threading.Thread(target=session.run, args=({"total": 0},))
    worker.start()
    assert inside.wait(20)
    try:
        with pytest.raises(Busy, match=r"run\(\) is going on: Running slow"):
            session.resume("yes")
        assert session.busy == "Running slow"
    finally:
        go_on.set()
        worker.join(20)
    assert session.busy is None
    assert session.values["log"] == ["slow"]


def test_a_stop_ends_the_run_at_the_next_barrier(steps: Any) -> None:
    session = Session(steps, "t")
    session.observe(lambda notice: session.pause() if "Running a" in notice.words else None)
    session.run({"total": 1})
    assert session.words == "Stopped before b"
    assert session.current.values["log"] == ["a"]
    assert session.run()["log"] == ["a", "b", "c"]


# -- time travel ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_found_by_itself_its_id_its_config_and_its_step(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    wanted = session.checkpoints[2]
    for way in (wanted, wanted.id, wanted.config, 1):
        assert session.checkpoint(way).id == wanted.id
    assert session.checkpoint(None).step == 3


def test_an_unknown_checkpoint_is_refused(steps: Any) -> None:
    session = Session(steps, "t")
    with pytest.raises(UnknownCheckpoint, match="has no checkpoint yet"):
        session.checkpoint(0)
    session.run({"total": 1})
    with pytest.raises(UnknownCheckpoint, match="no step 9 on its current branch. It goes from -1 to 3"):
        session.goto(9)
    with pytest.raises(UnknownCheckpoint, match="no checkpoint 'nope'"):
        session.fork("nope", {})
    with pytest.raises(UnknownCheckpoint, match="could mean"):
        session.goto("1")


def test_going_to_a_checkpoint_shows_its_state_and_writes_nothing(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    session.goto(1)
    assert session.values == {"total": 2, "log": ["a"]}
    assert session.words == "Ended after 3 supersteps"
    session.goto(None)
    assert session.values["total"] == 4
    assert len(session.checkpoints) == 5


def test_only_supersteps_that_ran_are_counted(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    session.fork(2, {"mood": "good"})
    session.run()
    assert (session.current.step, session.words) == (4, "Ended after 3 supersteps")
    session.run({"total": 1})
    assert (session.current.step, session.words) == (9, "Ended after 6 supersteps")
    session.replay(1)
    assert session.words == "Ended after 3 supersteps"


def test_supersteps_without_a_checkpoint_are_counted(steps: Any) -> None:
    session = Session(steps, "t")
    steps.invoke({"total": 1}, {"configurable": {"thread_id": "t"}}, durability="exit")
    assert (len(session.checkpoints), session.words) == (1, "Ended after 3 supersteps")


def test_a_step_from_an_earlier_checkpoint_begins_a_branch(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    session.goto(1)
    made = session.step()
    assert (made.branch, made.next, made.values["log"]) == ("fork 1", ("c",), ["a", "b"])
    assert session.at is None
    assert session.branches[0].tip.step == 3


def test_a_replay_runs_again_as_a_branch_and_both_stay(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    session.replay(0)
    assert [(one.name, one.tip.values["log"], one.current) for one in session.branches] == [
        ("main", ["a", "b", "c"], False),
        ("fork 1", ["a", "b", "c"], True),
    ]


def test_a_replay_asks_again_and_takes_another_answer(asks: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    session.resume("yes")
    session.replay(1)
    session.resume("no")
    assert [one.tip.values["log"][-1] for one in session.branches] == ["sent: yes", "sent: no"]


def test_a_fork_writes_through_the_reducers_and_both_branches_stay(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    edit = session.fork(1, {"total": 10, "mood": "good"})
    assert (edit.as_node, edit.next, edit.checkpoint.branch) == ("a", ("b",), "fork 1")
    assert edit.changes[0] == (("total",), 2, 12, "2 + 10")
    assert session.run() == {"total": 14, "log": ["a", "b", "c"], "mood": "good"}
    assert session.branches[0].tip.values == {"total": 4, "log": ["a", "b", "c"]}


def test_forks_of_one_checkpoint_are_siblings(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    first = session.checkpoint(1)
    for mood in ("good", "bad", "odd"):
        session.fork(first, {"mood": mood})
    assert [one.name for one in session.branches] == ["main", "fork 1", "fork 2", "fork 3"]
    assert {one.forked_from for one in session.branches[1:]} == {first.id}


def test_a_dry_run_tells_the_same_and_writes_nothing(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    before = list(steps.checkpointer.list(None))
    dry = session.fork(1, {"total": 10}, dry_run=True)
    assert list(steps.checkpointer.list(None)) == before
    made = session.fork(1, {"total": 10})
    assert (dry.changes, dry.next, dry.checkpoint) == (made.changes, made.next, None)


def test_branches_and_checkpoints_are_compared(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    session.fork(2, {"mood": "good"})
    session.run()
    found = session.compare("main", "fork 1")
    assert [(one.op, one.path, one.after) for one in found] == [("add", ("mood",), "good")]
    assert found.unchanged == ("total", "log")
    assert not session.compare(1, 1)
    assert session.compare(session.branches[0], 0).names == ("main", "main, step 0")


def test_the_tree_shows_each_branch_and_what_an_edit_changed(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    session.fork(1, {"mood": "good"})
    assert session.current.label == "mood"
    assert str(session.tree()).splitlines()[0] == "thread t, 6 checkpoints"
    assert "  fork 1 (from 1, mood): next b" in str(session.tree())


def test_what_a_verb_ran_is_recorded(steps: Any) -> None:
    session = Session(steps, "t")
    session.step({"total": 1})
    assert list(session.recording.tasks.node) == ["__start__", "a"]
    session.run()
    assert list(session.recording.tasks.node) == ["b", "c"]


def test_a_question_that_was_answered_waits_no_more_in_the_list(asks: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    assert session.current.stands == "waits at approve"
    session.resume("yes")
    assert session.checkpoint(1).stands == "next approve"


def test_an_edit_that_does_not_fit_is_refused_and_nothing_is_written(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    for values, words in (
        ({"nope": 1}, "no channel 'nope'"),
        ({"total": "many", "mood": "good"}, "Channel 'total' cannot take “many”: TypeError"),
        ({"mood": 3}, "Channel 'mood' is declared as str and cannot hold 3"),
        (7, "Written as a, this fails"),
    ):
        with pytest.raises(EditRefused, match=words):
            session.fork(1, values)
    assert len(session.checkpoints) == 5


def test_listeners_hear_of_each_verb_and_a_broken_one_harms_nothing(steps: Any) -> None:
    session = Session(steps, "t")
    heard: list[Any] = []

    def broken(notice: Any) -> None:
        raise ValueError

    session.observe(broken)
    end = session.observe(heard.append)
    session.step({"total": 1})
    assert [(one.kind, one.verb) for one in heard] == [
        ("began", "step"),
        ("progress", "step"),
        ("progress", "step"),
        ("moved", "step"),
    ]
    end()
    session.step()
    assert len(heard) == 4


def test_sessions_on_one_thread_hear_of_each_other_and_take_turns(steps: Any) -> None:
    one, other = Session(steps, "t"), Session(steps.builder.compile(checkpointer=steps.checkpointer), "t")
    heard: list[Any] = []
    refused: list[Any] = []

    def while_it_runs(notice: Any) -> None:
        heard.append(notice.kind)
        if notice.kind == "progress" and not refused:
            with pytest.raises(Busy) as caught:
                other.run({"total": 1})
            refused.append(caught.value.verb)

    other.observe(while_it_runs)
    Session(steps, "u").run({"total": 1})
    assert heard == []
    one.run({"total": 1})
    assert (heard[0], heard[-1], refused) == ("began", "moved", ["run"])


def test_a_session_needs_the_name_of_a_thread(steps: Any) -> None:
    session = Session(steps, "t")
    assert Session.of(session) is session
    with pytest.raises(SessionError, match="Say which thread: give a Session, or the graph and a thread"):
        Session.of(steps)
    session.run({"total": 1})
    with pytest.raises(SessionError, match="or the graph and one of 't'"):
        Session.of(steps)


def test_a_state_that_is_no_mapping_can_be_forked(engine: Any) -> None:
    import operator
    from typing import Annotated

    graph = engine.graph.StateGraph(Annotated[list, operator.add])
    graph.add_node("a", lambda state: ["a"])
    graph.add_node("b", lambda state: ["b"])
    graph.add_edge(engine.graph.START, "a")
    graph.add_edge("a", "b")
    session = Session(graph.compile(checkpointer=engine.memory.InMemorySaver()), "t")
    session.run(["x"])
    edit = session.fork(1, ["new"])
    assert [(one.label, one.after) for one in edit.changes] == [("state[2]", "new")]
    assert session.run() == ["x", "a", "new", "b"]
