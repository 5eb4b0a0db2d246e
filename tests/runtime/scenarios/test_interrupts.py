"""Questions: what is shown, who gets which answer, and what is never asked twice."""

import operator
from typing import Annotated, TypedDict

import pytest
from pydantic import ValidationError

from runtime.channels import UntrackedValue
from runtime.errors import EmptyInputError, InvalidUpdateError, UnknownInterruptError
from runtime.graph import END, START
from runtime.types import Command, Send, interrupt
from tests.runtime.scenarios.build import Log, asked, builder, says, thread


def ask(*questions):
    return lambda state: {"log": [interrupt(question) for question in questions]}


def test_a_run_stops_at_a_question_and_goes_on_with_the_answer(colour, saver):
    graph = builder({"gate": ask("go?")}, [(START, "gate")]).compile(checkpointer=saver)
    assert asked(colour.invoke(graph, {"log": []}, thread())) == ["go?"]
    assert colour.invoke(graph, Command(resume="yes"), thread()) == {"log": ["yes"]}


@pytest.mark.parametrize("answer", [False, 0, "", [], {}])
def test_a_false_answer_is_an_answer_but_an_empty_map_is_none(colour, saver, answer):
    graph = builder({"gate": ask("go?")}, [(START, "gate")]).compile(checkpointer=saver)
    colour.invoke(graph, {"log": []}, thread())
    result = colour.invoke(graph, Command(resume=answer), thread())
    assert asked(result) == (["go?"] if answer == {} else [])


def test_a_question_in_a_loop_is_asked_each_time_round(colour, saver):
    class Draft(TypedDict):
        n: int
        verdict: str

    graph = builder(
        {"write": lambda s: {"n": s["n"] + 1}, "review": lambda s: {"verdict": interrupt(f"draft {s['n']}")}},
        [(START, "write"), ("write", "review")],
        Draft,
    )
    graph.add_conditional_edges("review", lambda s: s["verdict"], {"ok": END, "redo": "write"})
    app = graph.compile(checkpointer=saver)
    stops = [asked(colour.invoke(app, {"n": 0, "verdict": ""}, thread()))]
    stops += [asked(colour.invoke(app, Command(resume=word), thread())) for word in ("redo", "redo", "ok")]
    assert stops == [["draft 1"], ["draft 2"], ["draft 3"], []]


def test_after_each_answer_only_the_questions_without_one_are_shown(colour, saver):
    graph = builder({"a": ask("a1", "a2"), "b": ask("b1")}, [(START, "a"), (START, "b")]).compile(checkpointer=saver)
    result, shown, said = colour.invoke(graph, {"log": []}, thread()), [], {"a1": 1, "b1": 3, "a2": 2}
    for question in said:
        shown.append(sorted(asked(result)))
        ids = {item.value: item.id for item in result["__interrupt__"]}
        result = colour.invoke(graph, Command(resume={ids[question]: said[question]}), thread())
    assert shown == [["a1", "b1"], ["a2", "b1"], ["a2"]]
    assert result == {"log": [1, 2, 3]}


def test_one_command_answers_the_questions_of_parallel_subgraphs_by_id(colour, saver):
    class Child(TypedDict):
        q: str
        log: Annotated[list, operator.add]

    child = builder({"ask": lambda s: {"log": [f"{s['q']}={interrupt(s['q'])}"]}}, [(START, "ask")], Child).compile()
    parent = builder({"child": child}, [])
    parent.add_conditional_edges(START, lambda s: [Send("child", {"q": q}) for q in ("colour", "size")], ["child"])
    app = parent.compile(checkpointer=saver)
    result = colour.invoke(app, {"log": []}, thread())
    answers = {"colour": "red", "size": "XL"}
    resume = {item.id: answers[item.value] for item in result["__interrupt__"]}
    assert colour.invoke(app, Command(resume=resume), thread()) == {"log": ["colour=red", "size=XL"]}


def test_an_update_in_the_name_of_a_node_that_finished_without_writes_is_kept_as_what_it_wrote(colour, saver):
    def silent(state):
        interrupt("go?")

    graph = builder({"silent": silent, "b": ask("b1", "b2")}, [(START, "silent"), (START, "b")])
    app = graph.compile(checkpointer=saver)
    result = colour.invoke(app, {"log": []}, thread())
    colour.invoke(app, Command(resume={item.id: "yes" for item in result["__interrupt__"]}), thread())
    colour.update_state(app, thread(), {"log": ["mine"]}, as_node="silent")
    stopped = colour.get_state_history(app, thread())[1]
    assert {task.name: task.result for task in stopped.tasks} == {"silent": {"log": ["mine"]}, "b": None}


def test_an_earlier_stop_can_be_answered_again_and_the_answer_given_now_counts(colour, saver):
    graph = builder({"gate": ask("how much?")}, [(START, "gate")]).compile(checkpointer=saver)
    colour.invoke(graph, {"log": []}, thread())
    stop = colour.get_state(graph, thread()).config
    assert [colour.invoke(graph, Command(resume=n), stop)["log"] for n in (10, 0, 20)] == [[10], [0], [20]]


def test_an_answer_is_not_used_up_twice_by_running_on_without_input(colour, saver):
    graph = builder({"a": ask("first", "second")}, [(START, "a")]).compile(checkpointer=saver)
    colour.invoke(graph, {"log": []}, thread())
    colour.invoke(graph, Command(resume=1), thread())
    assert asked(colour.invoke(graph, None, thread())) == ["second"]


def test_finished_siblings_of_a_question_are_shown_and_not_run_again(colour, saver):
    runs = []

    def quick(state):
        runs.append("quick")
        return {"log": ["quick"]}

    graph = builder({"gate": ask("go?"), "quick": quick}, [(START, "gate"), (START, "quick")])
    app = graph.compile(checkpointer=saver)
    assert colour.invoke(app, {"log": []}, thread())["log"] == ["quick"]
    assert colour.get_state(app, thread()).values == {"log": ["quick"]}
    assert colour.invoke(app, Command(resume="yes"), thread()) == {"log": ["yes", "quick"]}
    assert runs == ["quick"]


def test_an_answer_that_does_not_fit_is_refused_and_the_question_waits_on(colour, saver):
    typed = builder({"n": lambda s: {"log": [interrupt("n?", response_schema=int)]}}, [(START, "n")])
    app = typed.compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    with pytest.raises(ValidationError):
        colour.invoke(app, Command(resume="many"), thread())
    assert [item.value for item in colour.get_state(app, thread()).interrupts] == ["n?"]
    assert colour.invoke(app, Command(resume="7"), thread()) == {"log": [7]}


def test_one_plain_answer_to_several_questions_is_refused_and_names_them(colour, saver):
    graph = builder({"a": ask("a?"), "b": ask("b?")}, [(START, "a"), (START, "b")]).compile(checkpointer=saver)
    colour.invoke(graph, {"log": []}, thread())
    with pytest.raises(RuntimeError, match="interrupt id.*'a\\?'.*'b\\?'"):
        colour.invoke(graph, Command(resume=1), thread())


def test_an_unknown_id_is_ignored_and_in_strict_mode_refused(colour, saver):
    graph = builder({"a": ask("a?")}, [(START, "a")]).compile(checkpointer=saver)
    colour.invoke(graph, {"log": []}, thread())
    unknown = Command(resume={"0" * 32: 1})
    assert asked(colour.invoke(graph, unknown, thread())) == ["a?"]
    with pytest.raises(UnknownInterruptError, match="pending"):
        colour.invoke(graph, unknown, thread(__pregel_strict_resume=True))


def test_a_command_that_says_nothing_and_an_answer_without_a_saver_are_refused(colour, saver):
    kept = builder({"a": says("x")}, [(START, "a")])
    with pytest.raises(EmptyInputError, match="says nothing"):
        colour.invoke(kept.compile(checkpointer=saver), Command(), thread())
    with pytest.raises(RuntimeError, match="checkpointer"):
        colour.invoke(kept.compile(), Command(resume=1))


def test_a_breakpoint_stops_without_a_question_and_none_goes_on(colour, saver):
    graph = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")], Log)
    app = graph.compile(checkpointer=saver, interrupt_before=["b"])
    assert colour.invoke(app, {"log": []}, thread()) == {"log": ["a"]}
    assert colour.get_state(app, thread()).next == ("b",)
    assert colour.invoke(app, None, thread()) == {"log": ["a", "b"]}


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_what_finished_beside_a_question_is_stored_though_it_fits_no_superstep(colour, saver, durability):
    class State(Log):
        guarded: Annotated[str, UntrackedValue]

    twice = Command(update=[("log", ["a"]), ("guarded", "x"), ("guarded", "y")])
    graph = builder({"a": lambda state: twice, "asks": lambda state: {"log": [interrupt("go?")]}}, [], State)
    app = graph.add_edge(START, "a").add_edge(START, "asks").compile(checkpointer=saver)
    with pytest.raises(InvalidUpdateError, match="guarded"):
        colour.invoke(app, {"log": []}, thread(), durability=durability)
    assert colour.get_state(app, thread()).next == ("asks",)


def test_a_plain_answer_is_for_the_superstep_that_waits_and_not_for_a_later_question(colour, saver):
    nodes = {"a": says("a"), "asks": lambda state: {"log": [interrupt("go?")]}}
    app = builder(nodes, [(START, "a"), ("a", "asks")]).compile(checkpointer=saver, interrupt_before=["a"])
    colour.invoke(app, {"log": []}, thread())
    assert asked(colour.invoke(app, Command(resume="yes"), thread())) == ["go?"]


def test_a_node_whose_graph_stopped_at_a_breakpoint_has_no_end_in_the_stream(colour, saver):
    child = builder({"x": says("x")}, [(START, "x")]).compile(interrupt_before=["x"])
    app = builder({"child": child}, [(START, "child")]).compile(checkpointer=saver)
    chunks = colour.stream(app, {"log": []}, thread(), stream_mode="tasks")
    assert [("result" in chunk, chunk["name"]) for chunk in chunks] == [(False, "child")]


def test_a_run_that_goes_on_shows_the_checkpoint_it_goes_on_from_and_what_is_stored_beside_it(colour, saver):
    nodes = {"asks": lambda state: {"log": [interrupt("go?")]}, "done": says("done")}
    app = builder(nodes, [(START, "asks"), (START, "done")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    at = colour.get_state(app, thread()).config
    answer = Command(resume="yes")
    kinds = [mode for mode, _ in colour.stream(app, answer, thread(), stream_mode=["values", "checkpoints", "tasks"])]
    assert kinds[:4] == ["values", "checkpoints", "tasks", "tasks"]
    first, last = colour.stream(app, Command(resume="no"), at, stream_mode="checkpoints")
    asks, done = first["tasks"]
    assert (first["config"], first["next"]) == (at, ["asks", "done"])
    assert ([item["value"] for item in asks["interrupts"]], done["result"]) == (["go?"], {"log": ["done"]})
    assert last["next"] == []


def test_a_first_word_to_a_new_thread_is_taken_as_its_input_as_well(colour, saver):
    app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver)
    assert colour.invoke(app, Command(update={"log": ["in"]}), thread())["log"] == ["in", "in", "a"]


def test_what_was_said_to_a_thread_that_waits_adds_up_and_stays_said_in_a_replay(colour, saver):
    app = builder({"asks": lambda state: {"log": [interrupt("go?")]}}, [(START, "asks")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    for word in "ab":
        colour.invoke(app, Command(update={"log": [word]}), thread())
    at = colour.get_state(app, thread()).config
    assert colour.invoke(app, None, at)["log"] == ["a", "b"]
    assert colour.invoke(app, Command(resume="c"), thread())["log"] == ["a", "b", "c"]


def test_a_word_at_a_named_checkpoint_that_is_an_edit_stands_beside_it(colour, saver):
    app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver, interrupt_before=["a"])
    colour.invoke(app, {"log": []}, thread())
    edit = colour.update_state(app, thread(), {"log": ["edit"]}, "a")
    colour.invoke(app, Command(update={"log": ["word"]}), edit)
    state = colour.get_state(app, thread())
    assert (state.values["log"], state.metadata["source"]) == (["edit", "word"], "update")


def test_a_fork_tells_its_tasks_in_the_order_in_which_the_nodes_were_added(colour, saver):
    app = builder({name: says(name) for name in "ba"}, [(START, "b"), (START, "a")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread(), interrupt_before="*")
    at = colour.get_state(app, thread()).config
    colour.invoke(app, None, at, interrupt_before=["b"], interrupt_after=["b"])
    fork = next(item for item in saver.list(thread()) if item.metadata["source"] == "fork")
    assert fork.checkpoint["updated_channels"] is None


def test_a_word_at_a_named_checkpoint_begins_a_fork(colour, saver):
    graph = builder({"a": says("a")}, [(START, "a")])
    app = graph.compile(checkpointer=saver, interrupt_before=["a"])
    colour.invoke(app, {"log": []}, thread())
    at = colour.get_state(app, thread()).config
    assert colour.invoke(app, Command(update={"log": ["word"]}), at)["log"] == ["word", "a"]
    history = colour.get_state_history(app, thread())
    assert [(s.metadata["source"], s.values["log"]) for s in history[:3]] == [
        ("loop", ["word", "a"]), ("fork", ["word"]), ("loop", []),
    ]  # fmt: skip


def test_a_word_to_a_thread_at_a_breakpoint_adds_to_what_was_next(colour, saver):
    graph = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")], Log)
    app = graph.compile(checkpointer=saver, interrupt_before=["a"])
    colour.invoke(app, {"log": []}, thread())
    assert colour.invoke(app, Command(goto="b"), thread())["log"] == ["a", "b", "b"]
