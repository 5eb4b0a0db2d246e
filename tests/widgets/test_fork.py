"""The Fork widget, driven as its front end drives it. On both engines."""

import json
import operator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from widgets import Fork, Session


def drawn(widget: Any) -> str:
    return json.dumps(widget.view, ensure_ascii=False)


@pytest.fixture
def widget(steps: Any) -> Fork:
    """On three steps that have run, at the checkpoint after `a`. Its blocks: 0 total, 1 log, 2 mood."""
    session = Session(steps, "t")
    session.run({"total": 1})
    return Fork(session, checkpoint=1)


def test_it_begins_at_the_newest_checkpoint_or_the_one_wished_for(steps: Any, widget: Fork) -> None:
    assert widget.base.step == 1
    assert Fork(widget.session).base.current


def test_typing_is_tried_at_once_and_writes_nothing(widget: Fork, press: Any) -> None:
    before = list(widget.session.graph.checkpointer.list(None))
    press(widget, "edit", form={"0-0": "10", "1-0": "x\ny", "2-0": "", "as-node": "a"})
    assert [(one.label, one.how) for one in widget.edit.changes] == [
        ("total", "2 + 10"),
        ("log[1]", "appended"),
        ("log[2]", "appended"),
    ]
    for words in ("2 + 10 = 12", "The list then has 3 items.", "branch:to:b", "v3 → v4", "main"):
        assert words in drawn(widget)
    assert list(widget.session.graph.checkpointer.list(None)) == before


def test_fork_and_run_on_makes_a_branch_and_tells_how_it_differs(widget: Fork, press: Any) -> None:
    press(widget, "run", form={"0-0": "10", "as-node": "a"})
    assert widget.session.values == {"total": 14, "log": ["a", "b", "c"]}
    assert [one.name for one in widget.session.branches] == ["main", "fork 1"]
    assert widget.base.current
    assert "fork 1: Ended after 3 supersteps" in drawn(widget)
    assert "main → fork 1: 1 difference." in drawn(widget)


def test_fork_only_stops_there(widget: Fork, press: Any) -> None:
    press(widget, "fork", form={"2-0": "good", "as-node": "a"})
    assert widget.session.words == "Stopped before b"
    assert "Forked: fork 1 goes on with checkpoint 2, next b" in drawn(widget)


def test_without_an_edit_it_runs_again_from_there(widget: Fork, press: Any) -> None:
    press(widget, "run", form={"as-node": "a"})
    assert [one.tip.values["log"] for one in widget.session.branches] == [["a", "b", "c"]] * 2
    assert widget.session.branches[1].checkpoints[0].source == "fork"


def test_another_node_may_be_written_as(widget: Fork, press: Any) -> None:
    press(widget, "edit", form={"as-node": "b"})
    assert (widget.edit.as_node, widget.edit.next) == ("b", ("c",))
    press(widget, "run", form={"as-node": "b"})
    assert widget.session.values["log"] == ["a", "c"]


def test_what_cannot_be_read_is_said_beside_its_field_and_nothing_is_written(widget: Fork, press: Any) -> None:
    press(widget, "run", form={"0-0": "many", "as-node": "a"})
    assert "“many” is not a whole number" in drawn(widget)
    assert widget.edit is None
    assert len(widget.session.branches) == 1


def test_typing_moves_nothing_in_the_form(widget: Fork, press: Any) -> None:
    def lines() -> int:
        return drawn(widget).count("wb-note")

    before = lines()
    press(widget, "edit", form={"0-0": "10", "2-0": "good", "as-node": "a"})
    assert lines() == before == 3


def test_a_field_is_spoken_by_what_stands_over_it(compiled: Any) -> None:
    session = Session(compiled(Shop, a=lambda state: {}), "t")
    session.run({"order": Order(item="cup", total=84.0), "paid": 1.0})
    shown = drawn(Fork(session))
    assert '"aria-label": "paid, is added to 1.0"' in shown
    assert ('["label", {"for": "value-0-1"}, "total (number)"]' in shown, "order.total" in shown) == (True, False)


def test_reset_shows_the_checkpoint_as_it_is(widget: Fork, press: Any) -> None:
    press(widget, "edit", form={"0-0": "10", "2-0": "good", "as-node": "b"})
    press(widget, "reset")
    assert (widget.edit, widget.values) == (None, {})
    assert "Nothing changes yet." in drawn(widget)


def test_a_channel_may_be_overwritten(widget: Fork, press: Any) -> None:
    press(widget, "switch", {"channel": "log", "overwrite": True}, {"0-0": "5", "as-node": "a"})
    assert '"textarea"' in drawn(widget)
    assert widget.values == {"total": 5}
    press(widget, "fork", form={"1-0": "z", "as-node": "a"})
    assert widget.session.values["log"] == ["z"]


def test_another_checkpoint_is_picked_from_the_list_or_the_select(widget: Fork, press: Any) -> None:
    first, second = widget.session.checkpoints[:2]
    press(widget, "pick", {"id": second.id})
    assert widget.base.id == second.id
    press(widget, "pick", form={"checkpoint": first.id})
    assert widget.base.id == first.id
    assert "nothing has run yet, so this is written as the input" in drawn(widget)
    press(widget, "pick", {"id": "nope"})
    assert "has no checkpoint 'nope'" in drawn(widget)


def test_two_that_wrote_last_must_be_chosen_from(fans: Any, press: Any) -> None:
    session = Session(fans, "t")
    session.run({"total": 0})
    session.resume({one.id: "x" for one in session.pending})
    widget = Fork(session, checkpoint=1)
    press(widget, "edit", form={"2-0": "good"})
    assert "icing and filling both wrote last. Choose one." in drawn(widget)
    assert widget.edit is None
    press(widget, "edit", form={"2-0": "good", "as-node": "icing"})
    assert widget.edit.as_node == "icing"


class Order(BaseModel):
    item: str
    total: float


class Shop(TypedDict, total=False):
    order: Order
    paid: Annotated[float, operator.add]


def test_a_member_of_a_model_is_changed_alone(compiled: Any, press: Any) -> None:
    session = Session(compiled(Shop, a=lambda state: {}, b=lambda state: {}), "t")
    session.run({"order": Order(item="cup", total=84.0)})
    widget = Fork(session, checkpoint=1)
    press(widget, "edit", form={"0-0": "cup", "0-1": "20.00", "as-node": "a"})
    assert [(one.label, one.after) for one in widget.edit.changes] == [("order.total", 20.0)]
    assert "replaces 84.0" in drawn(widget)


def test_a_message_is_added_or_one_that_is_there_rewritten(compiled: Any, engine: Any, press: Any) -> None:
    session = Session(compiled(engine.graph.MessagesState, a=lambda state: {}, b=lambda state: {}), "t")
    session.run({"messages": [("human", "Hello")]})
    widget = Fork(session, checkpoint=1)
    assert "Will be message 2. A message with a known id would replace that one." in drawn(widget)
    press(widget, "edit", form={"0-target": "0", "0-role": "human", "0-text": "", "as-node": "a"})
    assert ("Replaces message 1, and keeps its id." in drawn(widget), '"value": "Hello"' in drawn(widget)) == (
        True,
        True,
    )
    press(widget, "run", form={"0-target": "0", "0-role": "human", "0-text": "Good day", "as-node": "a"})
    assert [one.content for one in session.values["messages"]] == ["Good day"]


def test_a_run_that_fails_after_the_fork_is_told_and_the_fork_stays(compiled: Any, says: Any, press: Any) -> None:
    def picky(state: Any) -> Any:
        if state.get("mood") == "bad":
            raise ValueError("too <b>bad</b>")
        return {}

    session = Session(compiled(a=says("a"), picky=picky), "t")
    session.run({"total": 0})
    widget = Fork(session, checkpoint=1)
    press(widget, "run", form={"2-0": "bad", "as-node": "a"})
    assert "Failed at picky, superstep 3: ValueError: too <b>bad</b>" in drawn(widget)
    assert [one.name for one in session.branches] == ["main", "fork 1"]


def test_a_fork_that_waits_says_how_to_answer(asks: Any, press: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    session.resume("yes")
    widget = Fork(session, checkpoint=1)
    press(widget, "run", form={"1-0": "more", "as-node": "draft"})
    assert "fork 1: Waits for your answer at approve" in drawn(widget)
    assert "Resume(session)" in drawn(widget)


def test_what_came_of_a_fork_follows_what_others_do_with_it(asks: Any, press: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    widget = Fork(session, checkpoint=1)
    press(widget, "run", form={"2-0": "good", "as-node": "draft"})
    waited = drawn(widget)
    Session(asks, "t").resume("yes")
    ended = drawn(widget)
    assert "fork 1: Waits for your answer at approve" in waited
    assert "fork 1: Ended after 3 supersteps" in ended
    assert ("Resume(session)" in waited, "Resume(session)" in ended) == (True, False)
    assert "main → fork 1: 1 difference." in waited
    assert "main → fork 1: 2 differences." in ended


def test_it_follows_what_others_do_on_the_thread(widget: Fork) -> None:
    widget.session.fork(2, {"mood": "good"})
    assert "fork 1" in drawn(widget)
    assert widget.base.step == 1


def test_a_run_elsewhere_is_told_before_a_fork_and_what_was_typed_is_kept(widget: Fork, press: Any) -> None:
    widget.session.graph.invoke({"total": 1}, {"configurable": {"thread_id": "t"}})
    press(widget, "run", form={"2-0": "good", "as-node": "a"})
    assert widget.problem == (
        "The thread moved on since you opened this. Reload to see checkpoint 8; your text is kept."
    )
    assert len(widget.session.branches) == 1
    press(widget, "refresh")
    assert ("moved on" in drawn(widget), widget.values) == (False, {"mood": "good"})
    press(widget, "run", form={"2-0": "good", "as-node": "a"})
    assert widget.session.values["mood"] == "good"


def test_a_thread_without_a_checkpoint_says_so(steps: Any, press: Any) -> None:
    widget = Fork(steps, "new")
    assert "No checkpoint yet" in drawn(widget)
    assert widget.words().startswith("Fork new: no checkpoint yet")
    press(widget, "run")
    steps.invoke({"total": 1}, {"configurable": {"thread_id": "new"}})
    press(widget, "refresh")
    assert widget.base.current


def test_nothing_raised_leaves_the_widget(widget: Fork, press: Any) -> None:
    for do, given, form in (
        ("switch", {"channel": "nope", "overwrite": True}, {}),
        ("edit", {}, {"9-9": "x", "as-node": "nope"}),
        ("run", {}, {"as-node": "nope"}),
        ("pick", {}, {}),
        ("nonsense", {}, {}),
    ):
        press(widget, do, given, form)
    assert len(widget.session.branches) == 1


def test_the_static_form_reads_without_a_kernel(widget: Fork) -> None:
    data, _ = widget._repr_mimebundle_()
    assert data["text/plain"].splitlines()[0] == "Fork t at checkpoint 1: next b"
    assert "Write as node" in data["text/html"]
    for word in ("<script", "<button", "data-wb-do"):
        assert word not in data["text/html"]


def test_hostile_values_and_names_are_shown_as_they_are(engine: Any, hostile: str, press: Any) -> None:
    if any(mark in hostile for mark in ":|"):
        pytest.skip("no engine takes a node of this name")
    graph = engine.graph.StateGraph(TypedDict("S", {"x": str, "d": dict}, total=False))
    graph.add_node(hostile, lambda state: {})
    graph.add_edge(engine.graph.START, hostile)
    session = Session(graph.compile(checkpointer=engine.memory.InMemorySaver()), hostile)
    session.run({"x": hostile, "d": {hostile: hostile}})
    widget = Fork(session, checkpoint=0)
    press(widget, "edit", form={"0-0": f"{hostile}!"})
    assert widget.edit.changes[0].after == f"{hostile}!"
    still = widget._repr_mimebundle_()[0]["text/html"]
    assert "<script>" not in still
    press(widget, "run", form={"0-0": f"{hostile}!"})
    assert session.values["x"] == f"{hostile}!"


class Anything(TypedDict, total=False):
    x: str
    many: list[str]
    d: dict
    n: Any


def test_an_untouched_form_writes_nothing_whatever_it_holds(compiled: Any, hostile: str, press: Any) -> None:
    session = Session(compiled(Anything, a=lambda state: {}), "t")
    session.run({"x": f"{hostile}\r\n\x1b", "many": [hostile, "b"], "d": {"k": hostile}, "n": {"a": [1, None]}})
    widget = Fork(session)
    form = {f"{i}-{k}": field.initial for i, block in enumerate(widget._forms) for k, field in enumerate(block.fields)}
    press(widget, "edit", form=form)
    assert (widget.values, widget.edit, widget._faults) == ({}, None, {})
