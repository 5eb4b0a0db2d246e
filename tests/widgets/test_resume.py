"""The Resume widget, driven as its front end drives it. On both engines."""

import json
import threading
from typing import Any

import pytest
from pydantic import BaseModel, Field

from widgets import Resume, Session
from widgets.parts import tree


def drawn(widget: Any) -> str:
    """What the front end is given, as text."""
    return json.dumps(widget.view, ensure_ascii=False)


def place(widget: Resume, node: str | None = None, part: int = 0) -> dict[str, Any]:
    """The address of a card."""
    found = {one.node: one.id for one in widget.session.pending}
    return {"id": found[node] if node else next(iter(found.values())), "part": part}


@pytest.fixture
def single(asks: Any) -> Resume:
    session = Session(asks, "order-1042")
    session.run({"total": 0})
    return Resume(session)


@pytest.fixture
def several(fans: Any) -> Resume:
    session = Session(fans, "cake")
    session.run({"total": 0})
    return Resume(session)


def test_a_single_question_is_answered_with_one_press(single: Resume, press: Any) -> None:
    press(single, "choose", {**place(single), "choice": 0})
    assert single.session.values["log"] == ["draft", "sent: True"]
    assert "Ended after 3 supersteps" in drawn(single)


def test_of_several_each_answer_waits_for_the_one_resume(several: Resume, press: Any) -> None:
    press(several, "save", place(several, "icing"), {"0": "lemon"})
    assert len(several.session.pending) == 2
    assert "1 of 2 answered. The other keeps waiting." in drawn(several)
    press(several, "save", place(several, "filling"), {"0": "plum"})
    assert "Resume with 2 answers" in drawn(several)
    press(several, "resume")
    assert sorted(several.session.values["log"]) == ["bake", "filling plum", "icing lemon"]


def test_some_answers_may_go_before_the_others(several: Resume, press: Any) -> None:
    press(several, "save", place(several, "icing"), {"0": "lemon"})
    press(several, "resume")
    assert several.words() == "Waits for your answer at filling: Which filling?"


def test_an_answer_may_be_changed_before_it_is_sent(several: Resume, press: Any) -> None:
    press(several, "save", place(several, "icing"), {"0": "lemon"})
    press(several, "change", place(several, "icing"))
    assert several.answered == {}
    press(several, "resume")
    assert "No answer was given" in several.problem
    assert len(several.session.pending) == 2


def test_an_answer_in_json_goes_as_it_is(single: Resume, press: Any) -> None:
    press(single, "open", {**place(single), "way": "json"})
    press(single, "save", place(single), {"0": '{"a": 1}'})
    assert single.session.values["log"][-1] == "sent: {'a': 1}"


def test_broken_json_is_refused_in_its_place(single: Resume, press: Any) -> None:
    press(single, "open", {**place(single), "way": "json"})
    press(single, "save", place(single), {"0": "{"})
    assert "This is not JSON" in drawn(single)
    assert '"aria-invalid": "true"' in drawn(single)
    assert len(single.session.pending) == 1
    press(single, "close", place(single))
    assert "This is not JSON" not in drawn(single)


class Credit(BaseModel):
    amount: float = Field(le=84)
    note: str | None = None


def test_a_typed_form_refuses_and_then_takes_an_answer(compiled: Any, engine: Any, press: Any) -> None:
    def ask(state: Any) -> Any:
        return {"mood": repr(engine.types.interrupt("Fill it in", response_schema=Credit))}

    session = Session(compiled(ask=ask), "t")
    session.run({"total": 0})
    widget = Resume(session)
    press(widget, "save", place(widget), {"0": "120.00"})
    assert "120 is over the limit of 84 in the schema" in drawn(widget)
    assert len(session.pending) == 1
    press(widget, "save", place(widget), {"0": "80"})
    assert session.values["mood"] == "Credit(amount=80.0, note=None)"


def test_arguments_are_edited_before_they_are_approved(compiled: Any, engine: Any, press: Any) -> None:
    def ask(state: Any) -> Any:
        return {"mood": json.dumps(engine.types.interrupt({"name": "pay", "args": {"amount": 84.0, "to": "me"}}))}

    session = Session(compiled(ask=ask), "t")
    session.run({"total": 0})
    widget = Resume(session)
    press(widget, "open", {**place(widget), "way": "edit"})
    press(widget, "save", place(widget), {"0": "much", "1": "me"})
    assert "is not a number" in drawn(widget)
    press(widget, "save", place(widget), {"0": "20", "1": "me"})
    assert json.loads(session.values["mood"]) == {"name": "pay", "args": {"amount": 20.0, "to": "me"}}


def test_two_actions_in_one_question_are_answered_together(compiled: Any, engine: Any, press: Any) -> None:
    calls = [{"name": "pay", "args": {"n": 1}}, {"name": "mail", "args": {}}]

    def ask(state: Any) -> Any:
        return {"mood": json.dumps(engine.types.interrupt({"action_requests": calls, "review_configs": []}))}

    session = Session(compiled(ask=ask), "t")
    session.run({"total": 0})
    widget = Resume(session)
    press(widget, "choose", {**place(widget, part=0), "choice": 0})
    assert widget.answered == {}
    press(widget, "choose", {**place(widget, part=1), "choice": 1})
    press(widget, "resume")
    assert json.loads(session.values["mood"]) == {"decisions": [{"type": "approve"}, {"type": "reject"}]}


def test_the_author_names_the_buttons(asks: Any, press: Any) -> None:
    session = Session(asks, "t")
    session.run({"total": 0})
    widget = Resume(session, answers={"Ship it": "yes!", "Stop": "no"})
    assert "Ship it" in drawn(widget)
    press(widget, "choose", {**place(widget), "choice": 0})
    assert session.values["log"][-1] == "sent: yes!"


MOVED = "The thread moved on since you opened this. Reload to see checkpoint 2; your text is kept."


def test_a_question_that_was_answered_elsewhere_is_told_and_what_was_typed_is_kept(single: Resume, press: Any) -> None:
    old = place(single)
    press(single, "open", {**old, "way": "words"})
    config = {"configurable": {"thread_id": "order-1042"}}
    single.session.graph.update_state(config, {"mood": "x"}, as_node="approve")
    press(single, "save", old, {"0": "tell <b>them</b>"})
    assert (single.problem, single.session.values["log"]) == (MOVED, ["draft"])
    assert "An answer is needed" in drawn(single)
    assert "tell <b>them</b>" in drawn(single)
    press(single, "refresh")
    assert "Stopped before send" in drawn(single)
    assert "tell <b>them</b>" in drawn(single)
    press(single, "go on")
    assert "tell" not in drawn(single).replace("moved on", "")


def test_a_run_elsewhere_is_told_before_it_is_gone_on_with(single: Resume, press: Any) -> None:
    single.session.fork(None, {"mood": "x"}, "approve")
    single.session.graph.invoke(None, {"configurable": {"thread_id": "order-1042"}})
    press(single, "go on")
    assert single.problem == MOVED.replace("2", "3")
    single.session.fork(2, {"mood": "y"})
    assert "Reload to see checkpoint 3" in drawn(single)
    press(single, "refresh")
    assert "moved on" not in drawn(single)


def test_a_question_is_answered_as_soon_as_it_is_drawn(single: Resume, press: Any) -> None:
    single.session.graph.update_state({"configurable": {"thread_id": "order-1042"}}, {"mood": "x"}, as_node="draft")
    press(single, "refresh")
    pressed = []

    def on_view(change: Any) -> None:
        if "Send it?" in drawn(single) and not pressed:
            pressed.append(place(single))
            single._receive(single, {"n": 99, "do": "choose", "with": {**place(single), "choice": 0}, "form": {}}, [])

    single.observe(on_view, "view")
    press(single, "go on")
    assert (single.wait(20), len(pressed)) == (True, 1)
    assert single.session.words == "Ended after 3 supersteps"


def test_two_widgets_on_one_thread_agree(asks: Any, press: Any) -> None:
    Session(asks, "t").run({"total": 0})
    one, other = Resume(asks, "t"), Resume(asks, "t")
    press(one, "choose", {**place(one), "choice": 0})
    assert "Ended" in drawn(other)
    one.close()
    other.session.replay(1)
    assert "An answer is needed" in drawn(other)


def test_a_node_that_raises_is_shown_and_can_be_tried_again(compiled: Any, engine: Any, press: Any) -> None:
    broken = [True]

    def ask(state: Any) -> Any:
        answer = engine.types.interrupt("Sure?")
        if broken:
            raise ConnectionError("no <b>route</b>")
        return {"log": [f"{answer}"]}

    session = Session(compiled(ask=ask), "t")
    session.run({"total": 0})
    widget = Resume(session)
    press(widget, "choose", {**place(widget), "choice": 0})
    assert "Failed at ask, superstep 1: ConnectionError: no <b>route</b>" in drawn(widget)
    broken.clear()
    press(widget, "go on")
    assert session.values["log"] == ["True"]


def test_nothing_raised_leaves_the_widget(single: Resume, press: Any) -> None:
    for do, given, form in (
        ("choose", {}, {}),
        ("choose", {"id": "nope", "part": "x"}, {}),
        ("choose", {**place(single), "choice": 99}, {}),
        ("save", place(single, part=0), {"7": "x"}),
        ("open", {**place(single), "way": "nowhere"}, {}),
        ("nonsense", {}, {}),
    ):
        press(single, do, given, form)
    single._receive(single, "no mapping", [])
    single._receive(single, {"do": 3, "with": [], "form": "x"}, [])
    assert len(single.session.pending) == 1


def test_a_run_shows_its_progress_and_can_be_stopped(compiled: Any, engine: Any, says: Any, press: Any) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(state: Any) -> Any:
        inside.set()
        assert go_on.wait(20)
        return {"log": ["slow"]}

    nodes = {"ask": lambda state: {"mood": engine.types.interrupt("Go?")}, "slow": slow, "last": says("last")}
    session = Session(compiled(**nodes), "t")
    session.run({"total": 0})
    widget = Resume(session)
    widget._receive(widget, {"n": 1, "do": "choose", "with": {**place(widget), "choice": 0}}, [])
    assert inside.wait(20)
    widget.refresh()
    assert "Running slow" in drawn(widget)
    assert '"Stop"' in drawn(widget)
    assert '"choose"' not in drawn(widget)
    widget._receive(widget, {"n": 2, "do": "stop"}, [])
    go_on.set()
    assert widget.wait(20)
    assert "Stopped before last" in drawn(widget)
    press(widget, "go on")
    assert session.values["log"] == ["slow", "last"]


def test_a_breakpoint_asks_nobody_and_can_be_passed(engine: Any, steps: Any, press: Any) -> None:
    graph = steps.builder.compile(checkpointer=engine.memory.InMemorySaver(), interrupt_before=["b"])
    widget = Resume(graph, "t")
    assert widget.words() == "No run yet"
    widget.session.run({"total": 1})
    assert "Nobody is asked here" in drawn(widget)
    press(widget, "go on")
    assert widget.words() == "Ended after 3 supersteps"


def test_the_text_says_what_waits_and_is_the_same_each_time(single: Resume, several: Resume) -> None:
    assert single.words() == "Waits for your answer at approve: Send it?"
    assert several.words().splitlines() == [
        "Waits for your answer at icing and filling",
        "  icing: Which icing?",
        "  filling: Which filling?",
    ]


def test_the_static_form_reads_without_a_kernel(single: Resume) -> None:
    data, _ = single._repr_mimebundle_()
    assert data["text/plain"] == "Waits for your answer at approve: Send it?"
    assert "Send it?" in data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data
    for word in ("<script", "<button", "onclick", "data-wb-do"):
        assert word not in data["text/html"]


def test_hostile_questions_are_shown_as_they_are(compiled: Any, engine: Any, hostile: str, press: Any) -> None:
    value = {"name": hostile, "args": {hostile: hostile, "list": [hostile]}, "question": hostile}
    session = Session(compiled(ask=lambda state: {"mood": str(engine.types.interrupt(value))}), hostile)
    session.run({"total": 0, "log": [hostile]})
    widget = Resume(session)
    assert session.thread == hostile
    texts = json.dumps(tree(widget.draw()), ensure_ascii=True)
    assert "script" not in _tags(widget.view)
    assert json.dumps(hostile[:40])[1:-1] in texts
    still = widget._repr_mimebundle_()[0]["text/html"]
    assert "<script>" not in still
    assert "<b>" not in still.replace("<b>Run", "")
    press(widget, "choose", {**place(widget), "choice": 0})
    assert session.values["mood"] == "True"


def _tags(nodes: list[Any]) -> list[str]:
    """The names of all elements."""
    found = []
    for node in nodes:
        if isinstance(node, list):
            found += [node[0], *_tags(node[2:])]
    return found
