"""Real runs of both engines, recorded: each test once with `record` and once with `arecord`."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypedDict

import pandas as pd
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage

from tests.workbench.conftest import says
from workbench import arecord, record, recording
from workbench.freeze import DROPPED
from workbench.recorder import last
from workbench.recording import Recording

START = "__start__"

Run = Callable[..., Recording]


@pytest.fixture(params=["sync", "async"])
def run(request) -> Run:
    """`record`, or `arecord` in a loop of its own."""
    if request.param == "sync":
        return record
    return lambda *args, **kw: asyncio.run(arecord(*args, **kw))


def test_a_recording_has_the_answer_of_invoke(run, chain):
    graph = chain.compile()
    rec = run(graph, {"total": 1, "log": ["in"]})
    assert rec.output == {"total": 1, "log": ["in", "a", "b"]}
    assert (rec.status, rec.error, rec.graph) == ("done", None, graph)
    assert list(rec.tasks.node) == ["__start__", "a", "b"]
    assert rec.values.set_index("step").log[2] == ["in", "a", "b"]


def test_thread_makes_the_config(run, saver, chain):
    rec = run(chain.compile(checkpointer=saver), {"total": 1}, thread="tea")
    assert rec.thread == "tea"
    assert set(rec.checkpoints.thread_id) == {"tea"}
    assert list(rec.checkpoints.source) == ["input", "loop", "loop", "loop"]
    assert list(rec.checkpoints.next) == ["__start__", "a", "b", ""]
    assert list(rec.checkpoints.parent_id[1:]) == list(rec.checkpoints.checkpoint_id[:-1])
    assert rec.versions.total.dropna().is_monotonic_increasing


def test_two_names_for_the_thread_must_agree(run, saver, chain):
    graph = chain.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "coffee"}}
    assert run(graph, {"total": 1}, config, thread="coffee").thread == "coffee"
    with pytest.raises(ValueError, match="thread='tea', but the config names the thread 'coffee'"):
        run(graph, {"total": 1}, config, thread="tea")


def test_a_node_that_changes_its_input_in_place_does_not_rewrite_the_record(run, built):
    class Box:
        def __init__(self) -> None:
            self.items = ["first"]

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Box) and self.items == other.items

        __hash__ = None  # type: ignore[assignment]

    def spoil(state: Any) -> Any:
        state["total"].items.append("spoiled")
        return {"log": ["spoil"]}

    graph = built((START, "spoil"), spoil=spoil).compile()
    rec = run(graph, {"total": Box()})
    assert rec.values.set_index("step").total[0].items == ["first"]
    assert rec.tasks.set_index("node").input["spoil"]["total"].items == ["first"]


def test_an_interrupted_run_gives_its_recording_and_is_resumed(run, saver, engine, built):
    def ask(state: Any) -> Any:
        return {"log": [engine.types.interrupt("Name?")]}

    graph = built((START, "ask"), ("ask", "b"), ask=ask, b=says("b")).compile(checkpointer=saver)
    first = run(graph, {"total": 1}, thread="t")
    assert (first.status, first.summary().verdict) == ("interrupted", "Waits at ask: “Name?”")
    assert [(one.node, one.interrupt.value) for one in first.interrupts_pending] == [("ask", "Name?")]
    assert first.output["__interrupt__"][0].value == "Name?"
    second = run(graph, engine.types.Command(resume="Ann"), thread="t")
    assert second.status == "done"
    both = first + second
    assert [(row.value, row.resumed, row.answer) for row in both.interrupts.itertuples()] == [("Name?", True, "Ann")]
    assert list(both.tasks.query("node == 'ask'").status) == ["interrupted", "ok"]
    assert both.tasks.query("node == 'ask'").task_id.nunique() == 1
    assert "by __start__ in superstep 0" in str(both.why("ask"))


def test_two_questions_side_by_side_and_a_sibling_that_had_finished(run, saver, engine, built):
    ask = lambda state: {"log": [engine.types.interrupt("?")]}  # noqa: E731
    nodes = {"icing": ask, "filling": ask, "oven": says("oven")}
    graph = built(*((START, name) for name in nodes), **nodes).compile(checkpointer=saver)
    first = run(graph, {"total": 1}, thread="t")
    assert first.summary().verdict == "Waits at filling and icing: 2 questions"
    assert first.supersteps.iloc[-1].status == "interrupted"
    assert first.writes.query("step == 1").empty
    answers = {asked.interrupt.id: asked.node for asked in first.interrupts_pending}
    second = run(graph, engine.types.Command(resume=answers), thread="t")
    assert dict(zip(second.tasks.node, second.tasks.status, strict=True))["oven"] == "cached"
    assert sorted((first + second).interrupts.answer) == ["filling", "icing"]


def test_a_failed_run_carries_its_recording(run, built):
    def fail(state: Any) -> Any:
        raise ConnectionError("no line")

    graph = built((START, "fail"), fail=fail).compile()
    with pytest.raises(ConnectionError) as caught:
        run(graph, {"total": 1})
    rec = caught.value.recording  # type: ignore[attr-defined]
    assert rec is last()
    assert (rec.status, rec.error) == ("failed", caught.value)
    assert rec.summary().verdict == "Failed at fail: ConnectionError"
    assert list(rec.tasks.error.dropna()) == ["ConnectionError: no line"]


def test_a_failed_run_is_given_back_when_asked(run, built):
    graph = built((START, "a"), a=lambda state: 1 / 0).compile()
    rec = run(graph, {"total": 1}, raise_errors=False)
    assert isinstance(rec.error, ZeroDivisionError)
    assert rec.output is None


def test_an_input_that_is_refused_is_recorded_too(run, chain):
    rec = run(chain.compile(), None, raise_errors=False)
    assert rec.status == "failed"
    assert type(rec.error).__name__ in str(rec)


def test_a_loop_without_end_stops_at_its_limit(run, built):
    graph = built((START, "a"), ("a", "a"), a=says("a")).compile()
    rec = run(graph, {"total": 1}, {"recursion_limit": 5}, raise_errors=False)
    assert rec.status == "out_of_steps"
    assert rec.summary().verdict == "Stopped after 5 supersteps: the recursion limit was reached"
    assert len(rec.tasks.query("node == 'a'")) == 5


def test_sent_tasks_have_their_own_input(run, engine, built):
    graph = built(("send", "end"), send=says("send"), end=says("end"))
    graph.add_conditional_edges(START, lambda state: [engine.types.Send("send", n) for n in range(3)], ["send"])
    rec = run(graph.compile(), {"total": 1})
    sent = rec.tasks.query("node == 'send'")
    assert (list(sent.kind), list(sent.input)) == (["push"] * 3, [0, 1, 2])
    assert set(rec.triggers.query("node == 'send'").channel) == {"__pregel_tasks"}
    assert "3 tasks, one for each Send in __pregel_tasks" in str(rec.why("send"))
    assert len(rec.tasks.query("node == 'end'")) == 1


def test_a_barrier_waits_for_its_members(run, built):
    graph = built((START, "a"), (START, "b"), ("b", "c"), (["a", "c"], "d"), **{n: says(n) for n in "abcd"})
    rec = run(graph.compile(), {"total": 1})
    assert [write.step for write in rec.why("d").triggers[0].writers] == [1, 2]
    assert "waits for c: 1 of 2 has come (a in superstep 1)" in str(rec.why_not("d", 2))
    assert ("a", "join:a+c:d") in rec.step(3).drawing.lit


def test_a_router_that_chose_otherwise_is_named(run, built):
    graph = built((START, "ask"), (["egg", "toast"], "serve"), **{n: says(n) for n in ("ask", "egg", "toast", "serve")})
    graph.add_conditional_edges("ask", lambda state: ["toast"], ["egg", "toast"])
    rec = run(graph.compile(), {"total": 1})
    text = str(rec.why_not("serve"))
    assert "waits for egg: 1 of 2 has come (toast in superstep 2)" in text
    assert "egg never ran: ask chose toast in superstep 1" in text
    assert "ask chose toast in superstep 1" in str(rec.why_not("egg"))


def test_a_deferred_node_waits_until_nothing_else_runs(run, built):
    graph = built((START, "a"), ("a", "b"), ("b", "c"), **{n: says(n) for n in "abc"})
    graph.add_node("late", says("late"), defer=True)
    graph.add_edge(START, "late")
    rec = run(graph.compile(), {"total": 1})
    assert "late is deferred" in str(rec.why_not("late", 2))
    assert "when nothing else would run (deferred)" in str(rec.why("late"))


def test_a_cached_task_is_marked(run, engine, built):
    graph = built((START, "b"))
    graph.add_node("b", says("b"), cache_policy=engine.types.CachePolicy())
    compiled = graph.compile(cache=engine.cache.InMemoryCache())
    assert list(run(compiled, {"total": 1}).tasks.status) == ["ok", "ok"]
    assert list(run(compiled, {"total": 1}).tasks.status) == ["ok", "cached"]


def test_a_subgraph_is_in_the_same_recording_under_its_namespace(run, saver, built):
    inner = built((START, "x"), ("x", "y"), x=says("x"), y=says("y")).compile()
    graph = built((START, "desk"), ("desk", "b"), desk=inner, b=says("b")).compile(checkpointer=saver)
    rec = run(graph, {"total": 1}, thread="t")
    assert [ns.partition(":")[0] for ns in dict.fromkeys(rec.tasks.ns)] == ["", "desk"]
    assert list(rec.tasks.query("ns != ''").node) == ["__start__", "x", "y"]
    assert rec.supersteps.query("ns == ''").step.max() == 2
    assert "2 tasks in nested graphs" in rec.summary().counts
    assert rec.why("y").ns.startswith("desk:")
    assert len(rec.runs) == 1


def test_a_question_in_a_subgraph_is_one_row(run, saver, engine, built):
    inner = built((START, "x"), x=lambda state: {"log": [engine.types.interrupt("?")]}).compile()
    graph = built((START, "desk"), desk=inner).compile(checkpointer=saver)
    rec = run(graph, {"total": 1}, thread="t")
    assert [(row.node, row.ns.partition(":")[0]) for row in rec.interrupts.itertuples()] == [("x", "desk")]


def test_a_command_that_jumps_is_explained(run, engine, built):
    def jump(state: Any) -> engine.types.Command[Literal["b"]]:
        return engine.types.Command(goto="b", update={"log": ["jump"]})

    rec = run(built((START, "jump"), jump=jump, b=says("b")).compile(), {"total": 1})
    assert "branch:to:b none → v3 by jump in superstep 1" in str(rec.why("b"))
    assert ("jump", "b") in rec.step(2).drawing.lit


def test_custom_items_are_in_the_stream(run, engine, built):
    def talk(state: Any, writer: engine.types.StreamWriter) -> Any:
        writer({"progress": 1})
        return {"log": ["talk"]}

    rec = run(built((START, "talk"), talk=talk).compile(), {"total": 1})
    assert [(row.node, row.mode, row.value) for row in rec.stream.itertuples()] == [("talk", "custom", {"progress": 1})]


def test_keep_drops_values_but_no_row(run, built):
    graph = built((START, "a"), ("a", "b"), ("b", "c"), **{n: says(n) for n in "abc"}).compile()
    whole, short = run(graph, {"total": 1}), run(graph, {"total": 1}, keep=1)
    for name in ("supersteps", "tasks", "triggers", "reads", "writes", "channels", "versions", "values"):
        assert len(getattr(short, name)) == len(getattr(whole, name)), name
    values = short.values.set_index("step")
    assert (values.total[3], values.log[3]) == (1, ["a", "b", "c"])
    assert values.log[1] is DROPPED
    assert short.tasks.set_index("node").input["a"] is DROPPED
    dropped = "The values of 4 supersteps were dropped, as keep= asked."
    assert (dropped in short.missing, dropped in whole.missing) == (True, False)
    with pytest.raises(ValueError, match="keep is a number of supersteps"):
        run(graph, {"total": 1}, keep=-1)


def test_what_cannot_be_copied_is_named_in_missing(run, built):
    import threading

    rec = run(built((START, "a"), a=lambda state: {"total": threading.Lock()}).compile(), {"total": 1})
    assert "could not be copied; only the text is kept" in rec.missing[-1]


def test_a_block_records_every_graph_that_runs_in_it(built, chain):
    one, other = chain.compile(), built((START, "z"), z=says("z")).compile()
    with recording() as rec:
        one.invoke({"total": 1})
        assert len(rec.tasks) == 3
        other.invoke({"total": 1})
    one.invoke({"total": 1})
    assert [one.output["log"] for one in rec.runs] == [["a", "b"], ["z"]]
    assert len(rec.tasks) == 5
    assert last() is rec


def test_a_block_may_be_about_one_graph_and_those_inside_it(built, chain):
    inner = built((START, "x"), x=says("x")).compile()
    graph = built((START, "desk"), desk=inner).compile()
    with recording(graph) as rec:
        chain.compile().invoke({"total": 1})
        graph.invoke({"total": 1})
    assert list(rec.tasks.node) == ["__start__", "desk", "__start__", "x"]


def test_an_error_in_a_block_goes_on_and_carries_the_recording(built):
    with pytest.raises(ZeroDivisionError) as caught, recording() as rec:
        built((START, "a"), a=lambda state: 1 / 0).compile().invoke({"total": 1})
    assert caught.value.recording is rec  # type: ignore[attr-defined]
    assert rec.status == "failed"


def test_tokens_that_somebody_streams_are_in_the_stream(run, engine):
    model = FakeListChatModel(responses=["tea?"])
    graph = engine.graph.StateGraph(engine.graph.MessagesState)
    graph.add_node("talk", lambda state: {"messages": [model.invoke("hi")]})
    graph.add_edge("__start__", "talk")
    rec = run(graph.compile(), {"messages": []}, stream_mode="messages")
    assert [(row.node, row.mode, row.value[0].content) for row in rec.stream.itertuples()] == [
        ("talk", "messages", letter) for letter in "tea?"
    ]
    assert set(rec.stream.task_id) == set(rec.tasks.query("node == 'talk'").task_id)


def test_a_stream_that_is_read_in_a_block_is_recorded(chain):
    graph = chain.compile()
    with recording(graph) as rec:
        chunks = list(graph.stream({"total": 1}))
    assert len(chunks) == 2
    assert list(rec.tasks.node) == ["__start__", "a", "b"]


def test_messages_are_shared_between_supersteps_and_not_copied_again(engine, built):
    class Chat(TypedDict):
        messages: Annotated[list[Any], engine.message.add_messages]

    nodes = {name: lambda state, name=name: {"messages": [AIMessage(name, id=name)]} for name in ("one", "two")}
    graph = built((START, "one"), ("one", "two"), state=Chat, **nodes)
    rec = record(graph.compile(), {"messages": [HumanMessage("hi", id="0")]})
    values = rec.values.set_index("step").messages
    assert [message.content for message in values[2]] == ["hi", "one", "two"]
    assert values[1][0] is values[2][0]


def test_what_a_reducer_adds_to_a_message_is_in_the_values_after_its_barrier(run, engine, built):
    class Talk(TypedDict):
        messages: Annotated[list, engine.message.add_messages]

    graph = built((START, "talk"), state=Talk, talk=lambda state: {"messages": [AIMessage("tea")]}).compile()
    rec = run(graph, {"messages": []})
    (said,) = rec.values.messages.iloc[-1]
    assert said.id == rec.output["messages"][0].id is not None


def test_a_fork_is_a_second_branch(run, saver, chain):
    graph = chain.compile(checkpointer=saver)
    first = run(graph, {"total": 1}, thread="t")
    before = first.checkpoints.query("step == 1").checkpoint_id.iloc[0]
    place = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": before}
    config = graph.update_state({"configurable": place}, {"total": 9}, as_node="a")
    second = run(graph, None, config)
    assert (first + second).diff(first, second).channels == ("total",)
    assert second.values.total.iloc[-1] == 9
    tree = str((first + second).tree())
    assert "fork 1 (from 1, total = 9): ended" in tree
    assert "main: ended" in tree
    assert tree.count("you are here") == 1


def test_a_replay_runs_again_from_a_fork(run, saver, chain):
    graph = chain.compile(checkpointer=saver)
    first = run(graph, {"total": 1}, thread="t")
    before = first.checkpoints.query("step == 1").checkpoint_id.iloc[0]
    again = run(graph, None, {"configurable": {"thread_id": "t", "checkpoint_id": before}})
    assert list(again.supersteps.source) == ["fork", "loop"]
    assert list(again.tasks.node) == ["b"]
    assert "It ran again" in str(again.story())


def test_a_command_that_writes_is_told(run, saver, engine, chain):
    graph = chain.compile(checkpointer=saver, interrupt_before=["b"])
    run(graph, {"total": 1}, thread="t")
    rec = run(graph, engine.types.Command(update={"total": 7}, goto="a"), thread="t")
    assert rec.supersteps.source[0] == "resume"
    assert "by the command" in str(rec.who("total"))


def test_the_actors_of_a_bare_pregel_are_explained(run, engine):
    LastValue, Topic = engine.channels.LastValue, engine.channels.Topic
    posts = lambda name, to: (  # noqa: E731
        engine.pregel.NodeBuilder()
        .subscribe_to(f"{name} mail")
        .do(lambda seen: seen)
        .write_to(**{name: len, f"{to} mail": lambda _: []})
    )
    graph = engine.pregel.Pregel(
        nodes={"ann": posts("ann", "bob"), "bob": posts("bob", "ann")},
        channels={"ann": LastValue(int), "bob": LastValue(int), "ann mail": Topic(int), "bob mail": Topic(int)},
        input_channels=["ann mail", "bob mail"],
        output_channels=["ann", "bob"],
    )
    rec = run(graph, {"ann mail": 1, "bob mail": 2})
    assert set(rec.tasks.node) == {"ann", "bob"}
    assert str(rec.why("ann", 0)).endswith("ann mail none → v1 by the input; ann had never seen it")
    assert str(rec.why_not("bob")).endswith("bob mail is empty: what was written to it has been used")


def test_a_breakpoint_says_before_what_the_run_stopped(run, saver, chain):
    rec = run(chain.compile(checkpointer=saver, interrupt_before=["b"]), {"total": 1}, thread="t")
    assert (rec.status, rec.summary().verdict) == ("interrupted", "Stopped before b")
    assert rec.interrupts_pending == ()
    after = run(chain.compile(checkpointer=saver, interrupt_after=["a"]), {"total": 1}, thread="u")
    assert after.summary().verdict == "Stopped after a"


def test_every_view_of_a_real_run_shows_itself(run, saver, tmp_path, chain):
    rec = run(chain.compile(checkpointer=saver, name="<script>x</script>"), {"total": 1}, thread="t")
    for view in (rec, rec.step(1), rec.strip(), rec.timeline(), rec.story(), rec.why("b"), rec.who("log")):
        bundle = view._repr_mimebundle_()
        assert bundle["text/plain"]
        assert "<script" not in bundle["text/html"]
    assert rec.step(1).channels().words
    page = rec.report(tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<script" not in page


def test_a_replay_is_explained_at_the_barrier_before_the_superstep(run, saver, built):
    graph = built((START, "a"), ("a", "b"), ("b", "c"), **{n: says(n) for n in "abc"}).compile(checkpointer=saver)
    first = run(graph, {"total": 1}, thread="t")
    before = first.checkpoints.query("step == 1").checkpoint_id.iloc[0]
    again = run(graph, None, {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": before}})
    assert list(again.tasks.node) == ["b", "c"]
    assert "branch:to:b is empty" in str(again.why_not("b", again.tasks.step.iloc[-1]))


def test_a_side_of_a_comparison_may_be_a_checkpoints_config_or_a_branch(saver, chain):
    graph = chain.compile(checkpointer=saver)
    rec = record(graph, {"total": 1}, thread="t")
    place = {"configurable": {"thread_id": "t", "checkpoint_id": rec.checkpoints.checkpoint_id.iloc[1]}}
    assert rec.diff(place, rec).channels == ("log",)
    branch = SimpleNamespace(name="fork 1", tip=SimpleNamespace(values={"total": 1, "log": ["a"]}))
    assert str(rec.diff(branch)).startswith("the end, superstep 2 → fork 1: 1 difference.")


def test_values_have_the_dtype_that_fits_them_all(built):
    class Mixed(TypedDict, total=False):
        number: int
        words: str
        yes: bool
        large: int
        any: Any

    given = {"number": 1, "words": "节点", "yes": True, "large": 1, "any": 1}
    nodes = {"a": lambda state: {"number": 2, "large": 2**70, "any": "two", "words": "tea", "yes": False}}
    values = record(built((START, "a"), state=Mixed, **nodes).compile(), given).values
    dtypes = {name: str(values[name].dtype) for name in given}
    assert dtypes == {"number": "Int64", "words": "string", "yes": "boolean", "large": "object", "any": "object"}
    assert values.number.iloc[0] is pd.NA
    assert list(values.large[1:]) == [1, 2**70]
