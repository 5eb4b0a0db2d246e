"""The tour without a browser: its cells run as they stand, and what a person does in between changes nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def props() -> Iterator[Any]:
    """The modules `tour` and `course`, as the notebook imports them from its own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield import_module("course"), import_module("tour")
        for name in ("course", "tour"):
            sys.modules.pop(name)


class Cells:
    """The notebook's code cells by their ids, run in one namespace. What they display is kept."""

    def __init__(self) -> None:
        self.shown: list[Any] = []
        self.names: dict[str, Any] = {"display": self.shown.append}
        notebook = nbformat.read(FOLDER / "00_tour.ipynb", as_version=4)  # type: ignore[no-untyped-call]  # nbformat says no types
        self.sources = {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}

    def run(self, *ids: str) -> dict[str, Any]:
        for id in ids:
            lines = [line for line in self.sources[id].splitlines() if not line.startswith("%")]
            exec(compile("\n".join(lines), id, "exec", dont_inherit=True), self.names)
        return self.names


@pytest.fixture
def cells(props: Any) -> Cells:
    """The notebook, run up to the recording of its first run."""
    found = Cells()
    found.run("load", "graph", "record")
    return found


@pytest.fixture
def answered(cells: Cells) -> Cells:
    cells.run("resume-card", "resume-code")
    return cells


def press(widget: Any, do: str, given: Any = None, form: Any = None) -> None:
    """What a click on a widget sends."""
    widget._receive(widget, {"n": widget.heard + 1, "do": do, "with": given or {}, "form": form or {}}, [])
    assert widget.wait(20)


def test_the_run_stops_at_approve_and_shows_what_it_is_about(cells: Cells) -> None:
    (asked,) = cells.names["rec"].interrupts_pending
    assert asked.node == "approve"
    assert asked.interrupt.value == {
        "question": "Give the money back?",
        "item": "teapot",
        "state": "in two pieces",
        "price": 84.0,
    }


def test_agent_runs_again_because_of_what_look_up_wrote(cells: Cells) -> None:
    (cause,) = cells.names["rec"].why("agent", 3).triggers
    assert [writer.nodes for writer in cause.writers] == [("look_up",)]


def test_without_a_click_the_whole_tour_says_yes_and_then_no(answered: Cells) -> None:
    assert answered.names["session"].values["refunded"] == 84.0
    names = answered.run("fork-form", "fork-code", "compare")
    assert [branch.tip.stands for branch in names["session"].branches] == ["ended", "ended"]
    assert names["session"].values["refunded"] == 0.0
    assert names["session"].compare("main", "fork 1").channels == ("messages", "order", "refunded")


def test_a_click_on_yes_leads_to_the_same(cells: Cells) -> None:
    cells.run("resume-card")
    session = cells.names["session"]
    widget = cells.names["Resume"](session)
    press(widget, "choose", {"id": session.pending[0].id, "part": 0, "choice": 0})
    whole = cells.run("resume-code")["whole"]
    assert list(whole.tasks.query("node == 'approve'").status) == ["interrupted", "ok"]
    assert session.values["refunded"] == 84.0


@pytest.mark.parametrize("button", ["run", "fork"])
def test_a_fork_by_the_form_leads_to_the_same(answered: Cells, button: str) -> None:
    session = answered.names["session"]
    widget = answered.names["Fork"](session, checkpoint=3)
    place = next(i for i, form in enumerate(widget._forms) if form.channel == "order")
    field = next(i for i, one in enumerate(widget._forms[place].fields) if one.path == ("state",))
    press(widget, button, form={f"{place}-{field}": "whole"})
    names = answered.run("fork-code", "compare")
    assert [branch.name for branch in session.branches] == ["main", "fork 1"]
    assert names["session"].compare("main", "fork 1").channels == ("messages", "order", "refunded")


def test_the_runs_report_is_one_file_of_less_than_2_mb(answered: Cells) -> None:
    names = answered.run("report")
    page = names["page"].read_text(encoding="utf-8")
    assert 100_000 < len(page.encode()) < 2_000_000
    assert "Give the money back?" in page
    names["folder"].cleanup()


def test_its_cells_can_be_run_twice(answered: Cells) -> None:
    answered.run("fork-form", "fork-code", "fork-form", "fork-code", "graph", "record", "resume-card", "resume-code")
    assert answered.names["session"].values["refunded"] == 84.0


# -- its questions ----------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(answered: Cells, props: Any) -> dict[str, tuple[Any, Any]]:
    """The tour's questions, each with the recording that it is asked about."""
    _, tour = props
    rec, whole = answered.names["rec"], answered.names["whole"]
    return {"first": (tour.first, rec), "tasks": (tour.tasks_of_approve, whole), "after": (tour.after_approve, whole)}


@pytest.mark.parametrize("name", ["first", "tasks", "after"])
def test_the_right_answer_passes_and_what_tempts_is_another_one(asked: Any, name: str) -> None:
    question, rec = asked[name]
    right = question.right(rec)
    assert question.check(right, rec).passed
    for tempts, reason in question.tempting.items():
        verdict = question.check(tempts(rec), rec)
        assert not verdict.passed
        assert reason in verdict.words
        assert verdict.evidence


@pytest.mark.parametrize("name", ["first", "tasks", "after"])
def test_no_answer_gives_nothing_away(asked: Any, name: str) -> None:
    question, rec = asked[name]
    assert str(question.check(..., rec)).splitlines() == [
        question.words,
        "  Write your answer in place of the dots, and run this cell again.",
    ]


def test_the_evidence_is_what_the_recording_says(asked: Any) -> None:
    question, rec = asked["first"]
    assert str(rec.why("agent", 1)).splitlines()[0] in str(question.check("agent", rec))
    assert str(rec.why_not("refund", 1)).splitlines()[0] in str(question.check("refund", rec))
    assert "No node has this name. There are agent, " in str(question.check("boss", rec))


@pytest.mark.parametrize("answer", ["agent, refund", ["refund", "agent"], {"agent", "refund"}, "refund,agent"])
def test_several_names_may_be_written_as_one_likes(asked: Any, answer: Any) -> None:
    question, rec = asked["after"]
    assert question.check(answer, rec).passed


@pytest.mark.parametrize("answer", [2, "2", " 2 ", 2.0])
def test_a_number_may_be_written_as_a_text(asked: Any, answer: Any) -> None:
    question, rec = asked["tasks"]
    assert question.check(answer, rec).passed


@pytest.mark.parametrize("answer", [None, "", [], {}, object(), "<b>agent</b>"])
def test_a_strange_answer_is_wrong_and_breaks_nothing(asked: Any, answer: Any) -> None:
    for question, rec in asked.values():
        verdict = question.check(answer, rec)
        assert not verdict.passed
        assert "<b>" not in verdict._repr_mimebundle_()["text/html"]


# -- its exercise -----------------------------------------------------------------------------------------------------


@pytest.fixture
def yours(answered: Cells) -> Any:
    return answered.run("yours")["yours"]


def new_price(session: Any) -> dict[str, Any]:
    return {"order": {**session.values["order"], "price": 60.0}}


def test_the_exercise_as_it_stands_says_what_is_missing(yours: Any, props: Any) -> None:
    assert "one branch" in str(props[1].another_price(yours))


def test_a_fork_before_look_up_does_not_pass(yours: Any, props: Any) -> None:
    yours.fork(1, new_price(yours), as_node="agent")
    yours.run()
    assert "still names 84.0" in str(props[1].another_price(yours))


def test_a_fork_that_does_not_run_on_is_not_enough(yours: Any, props: Any) -> None:
    yours.fork(3, new_price(yours), as_node="agent")
    assert "Run on to the question" in str(props[1].another_price(yours))


def test_a_fork_behind_look_up_passes(yours: Any, props: Any) -> None:
    yours.fork(3, new_price(yours), as_node="agent")
    yours.run()
    verdict = props[1].another_price(yours)
    assert verdict.passed
    assert "asks about 60.0" in str(verdict)


# -- its model --------------------------------------------------------------------------------------------------------


def test_the_model_answers_by_the_last_message_and_counts_its_replies(props: Any) -> None:
    course, _ = props
    model = course.ScriptedModel(script=[("tea", "milk?"), ("no", {"name": "pour", "args": {}})])
    first = model.invoke([("human", "tea, please")])
    second = model.invoke([("human", "tea, please"), first, ("human", "no")])
    assert (first.content, first.id) == ("milk?", "reply 1")
    assert [(one["name"], one["id"]) for one in second.tool_calls] == [("pour", "call 2")]


def test_the_model_says_what_its_script_lacks(props: Any) -> None:
    course, _ = props
    model = course.ScriptedModel(script=[("tea", "milk?")])
    with pytest.raises(LookupError, match="no reply to 'coffee'. It answers what says 'tea'."):
        model.invoke("coffee")
