"""Going back: replay, fork, edits, and what a cancelled or failed run leaves behind."""

import asyncio
import operator
import re
from typing import Annotated, Literal, TypedDict

import pytest

from runtime.errors import InvalidUpdateError
from runtime.graph import START
from runtime.types import Command, StateUpdate, interrupt
from tests.runtime.scenarios.build import Log, builder, says, thread


def history_of(colour, graph, **more):
    return colour.get_state_history(graph, thread(**more))


def test_each_run_from_an_earlier_checkpoint_is_a_branch_of_its_own(colour, saver):
    count = [0]

    def think(state):
        count[0] += 1
        return {"log": [f"answer {count[0]}"]}

    app = builder({"think": think}, [(START, "think")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["q"]}, thread())
    start = next(s for s in history_of(colour, app) if s.next == ("think",)).config
    for _ in range(3):
        colour.invoke(app, None, start)
    history = history_of(colour, app)
    ids = [snapshot.config["configurable"]["checkpoint_id"] for snapshot in history]
    assert len(set(ids)) == len(ids)
    assert sorted(s.values["log"] for s in history if not s.next) == [["q", f"answer {i}"] for i in (1, 2, 3, 4)]
    assert colour.get_state(app, thread()).values["log"] == ["q", "answer 4"]


def test_an_edit_keeps_where_a_command_wanted_to_go(colour, saver):
    class Topic(TypedDict, total=False):
        topic: str
        text: str

    def choose(state) -> Command[Literal["write"]]:
        return Command(update={"topic": "milk"}, goto="write")

    nodes = {"choose": choose, "write": lambda s: {"text": f"about {s['topic']}"}}
    app = builder(nodes, [(START, "choose")], Topic).compile(checkpointer=saver)
    colour.invoke(app, {}, thread())
    before_write = next(s for s in history_of(colour, app) if s.next == ("write",))
    fork = colour.update_state(app, before_write.config, {"topic": "hens"})
    assert colour.get_state(app, fork).next == ("write",)
    assert colour.invoke(app, None, fork)["text"] == "about hens"


def test_seeding_a_thread_twice_before_anything_ran_adds_up(colour, saver):
    app = builder({"one": says("one"), "two": says("two")}, [(START, "one"), ("one", "two")]).compile(
        checkpointer=saver
    )
    colour.update_state(app, thread(), {"log": ["seed"]}, START)
    colour.update_state(app, thread(), {"log": ["more"]})
    state = colour.get_state(app, thread())
    assert (state.values, state.next) == ({"log": ["seed", "more"]}, ("one",))


def test_an_update_in_the_name_of_a_node_runs_what_follows_it(colour, saver):
    app = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    start = next(s for s in history_of(colour, app) if s.next == ("a",))
    fork = colour.update_state(app, start.config, {"log": ["edited"]}, "a")
    assert colour.invoke(app, None, fork)["log"] == ["edited", "b"]


def test_an_update_starts_from_the_checkpoint_and_not_from_what_has_finished_since(colour, saver):
    edges = [(START, "a"), ("a", "b"), ("a", "stops")]
    nodes = {"a": says("a"), "b": says("b"), "stops": lambda state: {"log": [interrupt("go?")]}}
    app = builder(nodes, edges).compile(checkpointer=saver)
    assert colour.invoke(app, {"log": []}, thread())["log"] == ["a", "b"]
    colour.update_state(app, thread(), {"log": ["edited"]})
    state = colour.get_state(app, thread())
    assert (state.values["log"], state.next) == (["a", "edited"], ("b", "stops"))


def test_a_clone_of_a_checkpoint_counts_one_step_more(colour, saver):
    app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    clone = colour.get_state(app, colour.update_state(app, thread(), None, "__copy__"))
    assert (clone.values["log"], clone.metadata["source"], clone.metadata["step"]) == (["a"], "fork", 2)


def test_a_first_failure_stays_told_in_the_history_beside_the_result_that_came_later(colour, saver):
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("no")
        return {"log": ["yes"]}

    app = builder({"flaky": flaky}, [(START, "flaky")]).compile(checkpointer=saver)
    with pytest.raises(ValueError, match="no"):
        colour.invoke(app, {"log": []}, thread())
    colour.invoke(app, None, thread())
    task = next(s for s in history_of(colour, app) if s.next == ("flaky",)).tasks[0]
    assert (task.error, task.result) == ("ValueError('no')", {"log": ["yes"]})


def test_a_lasting_graph_in_a_graph_that_is_called_twice_keeps_a_state_for_each_call(colour, saver):
    inner = builder({"says": says("x")}, [(START, "says")]).compile(checkpointer=True)
    child = builder({"inner": inner}, [(START, "inner")]).compile()
    lengths = []

    def sync(state):
        lengths.extend(len(child.invoke({"log": []})["log"]) for _ in range(2))

    async def awaits(state):
        lengths.extend([len((await child.ainvoke({"log": []}))["log"]) for _ in range(2)])

    node = sync if colour.name == "sync" else awaits
    app = builder({"calls": node}, [(START, "calls")]).compile(checkpointer=saver)
    for _ in range(2):
        colour.invoke(app, {"log": []}, thread())
    assert lengths == [1, 1, 2, 2]


@pytest.mark.parametrize(("lasting", "place"), [(None, "child:#|inner:#"), (True, "child|inner")])
def test_a_graph_that_never_saves_hands_the_saver_on_to_those_inside_of_it(colour, saver, lasting, place):
    inner = builder({"asks": lambda state: {"log": [interrupt("go?")]}}, [(START, "asks")]).compile(
        checkpointer=lasting
    )
    child = builder({"inner": inner}, [(START, "inner")]).compile(checkpointer=False)
    app = builder({"child": child}, [(START, "child")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    places = {item.config["configurable"]["checkpoint_ns"] for item in saver.list(thread())}
    assert {re.sub(":[-0-9a-f]+", ":#", ns) for ns in places} == {"", place}


def test_a_graph_that_never_saves_has_an_id_for_each_superstep_all_the_same(colour, saver):
    inner = builder({"a": says("a")}, [(START, "a")]).compile()
    child = builder({"one": inner, "two": inner}, [(START, "one"), ("one", "two")]).compile(checkpointer=False)
    app = builder({"child": child}, [(START, "child")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    above = {}
    for item in saver.list(thread()):
        *_, ns = ["", *item.metadata["parents"]]
        if ns.startswith("child:"):
            node = item.config["configurable"]["checkpoint_ns"].split("|")[1].split(":")[0]
            above.setdefault(node, set()).add(item.metadata["parents"][ns])
    assert {node: len(ids) for node, ids in above.items()} == {"one": 1, "two": 1}
    assert above["one"] != above["two"]


def test_an_update_that_two_nodes_could_have_made_asks_for_as_node(colour, saver):
    app = builder({"a": says("a"), "b": says("b")}, [(START, "a"), (START, "b")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    with pytest.raises(InvalidUpdateError, match="ambiguous: a, b wrote last.*as_node"):
        colour.update_state(app, thread(), {"log": ["x"]})
    with pytest.raises(InvalidUpdateError, match="'nobody' is no node.*a, b"):
        colour.update_state(app, thread(), {"log": ["x"]}, "nobody")


def test_several_updates_at_once_are_one_superstep(colour, saver):
    app = builder({"a": says("a"), "b": says("b")}, [(START, "a"), (START, "b")]).compile(checkpointer=saver)
    updates = [StateUpdate({"log": ["x"]}, "a"), StateUpdate({"log": ["y"]}, "b")]
    colour.bulk_update_state(app, thread(), [[StateUpdate({"log": ["i"]}, START)], updates])
    assert [s.values["log"] for s in history_of(colour, app)] == [["i", "x", "y"], ["i"]]


@pytest.mark.parametrize(
    ("supersteps", "said"),
    [
        ([], "^No supersteps provided"),
        ([[StateUpdate({"log": ["a"]}, "a")], []], "^No updates provided for superstep 2 of 2"),
    ],
)
def test_an_edit_without_updates_is_refused_and_changes_nothing(colour, saver, supersteps, said):
    app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver)
    with pytest.raises(ValueError, match=said):
        colour.bulk_update_state(app, thread(), supersteps)
    assert colour.get_state_history(app, thread()) == []


def test_a_subgraphs_edited_state_is_what_it_goes_on_with(colour, saver):
    child = builder({"x": says("x"), "y": says("y")}, [(START, "x"), ("x", "y")]).compile(interrupt_before=["y"])

    class Parent(TypedDict):
        log: Annotated[list, lambda old, new: new]

    app = builder({"child": child}, [(START, "child")], Parent).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    inside = colour.get_state(app, thread(), subgraphs=True).tasks[0].state
    assert inside.next == ("y",)
    colour.update_state(app, inside.config, {"log": ["edited"]})
    assert colour.invoke(app, None, thread())["log"] == ["x", "edited", "y"]


@pytest.mark.parametrize("durability", ["async", "sync", "exit"])
def test_a_cancelled_run_keeps_what_was_done_and_marks_what_was_cut_off(saver, durability):
    class Out(TypedDict):
        log: Annotated[list, operator.add]

    runs = {"fast": 0, "slow": 0}
    begun = asyncio.Event()

    async def fast(state):
        runs["fast"] += 1
        return {"log": ["fast"]}

    async def slow(state):
        runs["slow"] += 1
        if runs["slow"] == 1:
            begun.set()
            await asyncio.sleep(30)
        return {"log": ["slow"]}

    app = builder({"fast": fast, "slow": slow}, [(START, "fast"), (START, "slow")], Out).compile(checkpointer=saver)

    async def scenario():
        run = asyncio.create_task(app.ainvoke({"log": []}, thread(), durability=durability))
        await begun.wait()
        await asyncio.sleep(0.02)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        marked = [task.name for task in (await app.aget_state(thread())).tasks if task.error]
        return marked, await app.ainvoke(None, thread())

    assert asyncio.run(scenario()) == (["slow"], {"log": ["fast", "slow"]})
    assert runs == {"fast": 1, "slow": 2}


@pytest.mark.parametrize("durability", ["async", "sync", "exit"])
def test_a_failure_leaves_the_last_barrier_with_what_had_finished_beside_it(colour, saver, durability):
    fails = [True]

    def shaky(state):
        if fails:
            raise OSError("disk")
        return {"log": ["b"]}

    app = builder({"a": says("a"), "b": shaky}, [(START, "a"), ("a", "b")]).compile(checkpointer=saver)
    with pytest.raises(OSError, match="disk") as failure:
        colour.invoke(app, {"log": []}, thread(), durability=durability)
    assert "'b'" in "".join(failure.value.__notes__)
    state = colour.get_state(app, thread())
    assert (state.values, state.next) == ({"log": ["a"]}, ("b",))
    assert "disk" in str(state.tasks[0].error)
    fails.clear()
    assert colour.invoke(app, None, thread()) == {"log": ["a", "b"]}


def test_in_a_running_event_loop_sync_nodes_run_and_async_ones_say_what_to_call():
    async def lookup(state):
        return {"log": ["found"]}

    plain = builder({"a": says("a")}, [(START, "a")], Log).compile()
    mixed = builder({"a": says("a"), "lookup": lookup}, [(START, "a"), ("a", "lookup")], Log).compile()

    async def cell():
        assert plain.invoke({"log": []}) == {"log": ["a"]}
        with pytest.raises(TypeError, match="'lookup' is async.*ainvoke"):
            mixed.invoke({"log": []})
        assert await mixed.ainvoke({"log": []}) == {"log": ["a", "found"]}

    asyncio.run(cell())


def test_a_stream_that_is_closed_early_leaves_the_thread_at_its_last_barrier(saver):
    app = builder({n: says(n) for n in "abc"}, [(START, "a"), ("a", "b"), ("b", "c")]).compile(checkpointer=saver)
    stream = app.stream({"log": []}, thread())
    assert next(stream) == {"a": {"log": ["a"]}}
    stream.close()
    assert app.invoke(None, thread()) == {"log": ["a", "b", "c"]}


def test_a_nested_graph_that_has_no_checkpoint_yet_is_named_without_the_map_of_those_around_it(colour, saver):
    inner = builder({"ask": lambda s: {"log": [interrupt("?")]}}, [(START, "ask")]).compile()
    middle = builder({"inner": inner}, [(START, "inner")]).compile()
    app = builder({"middle": middle}, [(START, "middle")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    inside = colour.get_state(app, thread(), subgraphs=True).tasks[0].state.config
    edited = colour.update_state(app, inside, {"log": ["edit"]}, START)
    task = colour.get_state(app, edited, subgraphs=True).tasks[0]
    assert task.state.config["configurable"].keys() == {"thread_id", "checkpoint_ns"}


@pytest.mark.parametrize(("edits", "log"), [(1, ["in", "e"]), (2, ["in", "in", "e", "e"])])
def test_a_replay_from_an_edit_takes_a_lasting_graph_back_to_before_the_checkpoint_edited(colour, saver, edits, log):
    seen = []

    def looks(state):
        seen.append(state["log"])
        interrupt("go on?")

    child = builder({"looks": looks}, [(START, "looks")]).compile(checkpointer=True)
    app = builder({"child": child}, [(START, "child")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    for _ in range(edits):
        edited = colour.update_state(app, thread(), {"log": ["e"]}, START)
    colour.invoke(app, None, edited)
    assert seen == [["in"], log]
