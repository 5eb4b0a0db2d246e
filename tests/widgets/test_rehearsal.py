"""What an edit would do, tried on a copy. On both engines."""

import operator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from widgets import EditRefused, Session
from widgets.rehearsal import last_writers, version, writers
from workbench.diff import ABSENT


def test_the_node_that_wrote_last_is_the_one_to_write_as(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    assert [last_writers(steps, one) for one in session.checkpoints] == [
        ("__start__",),
        ("__start__",),
        ("a",),
        ("b",),
        ("c",),
    ]
    assert writers(steps) == ("a", "b", "c")


def test_two_that_wrote_last_must_be_chosen_from(fans: Any) -> None:
    session = Session(fans, "t")
    session.run({"total": 0})
    session.resume({one.id: "x" for one in session.pending})
    base = next(one for one in session.checkpoints if one.next == ("bake",))
    with pytest.raises(EditRefused, match="icing and filling both wrote last. Choose one: as_node='icing'") as caught:
        session.fork(base, {"mood": "good"})
    assert caught.value.candidates == ("icing", "filling")
    assert session.fork(base, {"mood": "good"}, "icing", dry_run=True).as_node == "icing"


def test_an_unknown_node_is_refused_with_those_there_are(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    with pytest.raises(EditRefused, match="no node 'nope' to write as. It has a, b and c"):
        session.fork(1, {}, "nope")


def test_the_edges_of_the_node_decide_what_runs_next(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    assert session.fork(1, {"mood": "x"}, "b", dry_run=True).next == ("c",)
    assert session.fork(1, {"mood": "x"}, "c", dry_run=True).next == ()


def test_what_wakes_a_node_is_told_with_its_versions(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    (one,) = session.fork(2, {"mood": "x"}, "a", dry_run=True).woken
    assert (one.node, one.channel, one.before, one.after) == ("b", "branch:to:b", "v4", "v5")


def test_an_edit_before_anything_ran_is_an_input(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    edit = session.fork(-1, {"total": 5})
    assert (edit.as_node, edit.next) == ("__start__", ("a",))
    assert session.run()["log"] == ["a", "b", "c"]


@pytest.mark.parametrize("wrapped", ["mark", "object"])
def test_an_overwrite_is_told_as_such(steps: Any, engine: Any, wrapped: str) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    value = {"__overwrite__": ["z"]} if wrapped == "mark" else engine.types.Overwrite(["z"])
    edit = session.fork(2, {"log": value})
    assert {one.how for one in edit.changes} == {"overwritten"}
    assert edit.checkpoint.values["log"] == ["z"]


def test_a_channel_that_held_nothing_is_new(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    (one,) = session.fork(1, {"mood": "good"}, dry_run=True).changes
    assert (one.before, one.after, one.how) == (ABSENT, "good", "new")


def test_a_model_is_told_member_by_member(engine: Any, compiled: Any) -> None:
    class Order(BaseModel):
        id: int
        total: float

    class Shop(TypedDict):
        order: Order

    session = Session(compiled(Shop, a=lambda state: {}), "t")
    session.run({"order": Order(id=1, total=84.0)})
    (one,) = session.fork(1, {"order": Order(id=1, total=20.0)}, dry_run=True).changes
    assert (one.label, one.before, one.after) == ("order.total", 84.0, 20.0)


def test_a_reducer_that_is_no_sum_is_named(compiled: Any) -> None:
    def highest(a: int, b: int) -> int:
        return max(a, b)

    class Best(TypedDict):
        best: Annotated[int, highest]

    session = Session(compiled(Best, a=lambda state: {}), "t")
    session.run({"best": 3})
    assert session.fork(1, {"best": 7}, dry_run=True).changes[0].how == "by highest"
    assert session.fork(1, {"best": 2}, dry_run=True).changes == ()


def test_messages_are_appended_or_replaced_by_id(engine: Any, compiled: Any) -> None:
    session = Session(compiled(engine.graph.MessagesState, a=lambda state: {}), "t")
    session.run({"messages": [("human", "Hello")]})
    (old,) = session.values["messages"]
    (added,) = session.fork(1, {"messages": [("ai", "Hi")]}, dry_run=True).changes
    assert (added.label, added.how, added.after.content) == ("messages[1]", "appended", "Hi")
    (swapped,) = session.fork(1, {"messages": [old.model_copy(update={"content": "Bye"})]}, dry_run=True).changes
    assert (swapped.label, swapped.how) == ("messages[0]", "replaced")


def test_a_router_that_raises_refuses_the_edit(engine: Any) -> None:
    def route(state: Any) -> str:
        if state.get("mood") == "bad":
            raise KeyError("mood")
        return "b"

    class Mood(TypedDict, total=False):
        mood: str

    graph = engine.graph.StateGraph(Mood)
    graph.add_node("a", lambda state: {"mood": "good"})
    graph.add_node("b", lambda state: {})
    graph.add_edge(engine.graph.START, "a")
    graph.add_conditional_edges("a", route, ["b"])
    session = Session(graph.compile(checkpointer=engine.memory.InMemorySaver()), "t")
    session.run({})
    with pytest.raises(EditRefused, match="KeyError"):
        session.fork(1, {"mood": "bad"})
    assert len(session.branches) == 1


def test_a_wrong_type_that_was_there_before_stays_allowed(engine: Any, compiled: Any) -> None:
    class Loose(TypedDict, total=False):
        mood: str

    session = Session(compiled(Loose, a=lambda state: {}), "t")
    session.run({"mood": 3})
    assert session.fork(1, {"mood": 4}, dry_run=True).changes[0].after == 4


def test_an_edit_shows_itself_as_text_and_as_html(steps: Any) -> None:
    session = Session(steps, "t")
    session.run({"total": 1})
    edit = session.fork(1, {"mood": "<b>"}, dry_run=True)
    assert str(edit).splitlines()[0] == "Would be written on checkpoint 1 as a; next b."
    shown = edit._repr_mimebundle_()
    assert "&lt;b&gt;" in shown["text/html"]
    assert "<b>" in shown["text/plain"]


def test_channels_kept_as_differences_are_copied_with_their_forebears(engine: Any) -> None:
    import importlib

    delta = importlib.import_module(f"{engine.name}.channels.delta").DeltaChannel

    def fold(state: list[str], writes: list[list[str]]) -> list[str]:
        return [*state, *(word for write in writes for word in write)]

    class Long(TypedDict):
        log: Annotated[list[str], delta(fold)]

    graph = engine.graph.StateGraph(Long)
    for name in ("a", "b", "c"):
        graph.add_node(name, lambda state, name=name: {"log": [name]})
    graph.add_edge(engine.graph.START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("b", "c")
    session = Session(graph.compile(checkpointer=engine.memory.InMemorySaver()), "t")
    session.run({"log": ["in"]})
    before = session.checkpoint(2)
    dry = session.fork(before, {"log": ["new"]}, dry_run=True)
    made = session.fork(before, {"log": ["new"]}).checkpoint
    assert [one.after for one in dry.changes] == made.values["log"][len(before.values["log"]) :]


@pytest.mark.parametrize(
    ("given", "words"), [("0" * 31 + "4.0.123", "v4"), (7, "v7"), (None, None), ("", None), (0, None), (2.5, "v2")]
)
def test_versions_are_read_as_people_say_them(given: Any, words: str | None) -> None:
    assert version(given) == words


def test_savers_with_other_versions_and_files_serve_too(engine: Any, steps: Any, tmp_path: Any) -> None:
    import importlib
    import sqlite3

    sqlite = pytest.importorskip(f"{engine.name}.checkpoint.sqlite")
    assert importlib.import_module(f"{engine.name}.checkpoint.base")
    saver = sqlite.SqliteSaver(sqlite3.connect(tmp_path / "t.db", check_same_thread=False))
    session = Session(steps.builder.compile(checkpointer=saver), "t")
    session.run({"total": 1})
    before = (tmp_path / "t.db").read_bytes()
    assert session.fork(1, {"total": 1}, dry_run=True).next == ("b",)
    assert (tmp_path / "t.db").read_bytes() == before
    session.fork(1, {"total": 1})
    assert session.run()["total"] == 5
    saver.conn.close()


def test_reducers_from_operator_are_told_as_sums_and_joins(compiled: Any) -> None:
    class Both(TypedDict):
        words: Annotated[str, operator.add]
        total: Annotated[float, operator.add]

    session = Session(compiled(Both, a=lambda state: {}), "t")
    session.run({"words": "ab", "total": 1.5})
    found = {one.label: one.how for one in session.fork(1, {"words": "c", "total": -1}, dry_run=True).changes}
    assert found == {"words": "appended", "total": "1.5 − 1"}  # noqa: RUF001 - a minus sign for people
