import re

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.graph import START, StateGraph
from runtime.types import Command, interrupt
from tests.workbench.events_of import Story, literature, long, task
from workbench import record
from workbench.recording import Recording


@pytest.fixture(scope="module")
def rec():
    return Recording(literature().events)


def failed() -> Recording:
    run = Story({"branch:to:refund": "EphemeralValue"}, saver=False)
    run.starts(input={"order": 7})
    run.input({"branch:to:refund": None})
    error = ConnectionError("no line to 0x7f00")
    run.superstep(task("refund", wakes="branch:to:refund", status="failed", error=error))
    run.ends("failed", error=error)
    return Recording(run.events)


def test_a_recording_shows_the_verdict_first(rec):
    assert str(rec).startswith("Waits at check: “Publish?”\n5 supersteps, 8 tasks (1 cached)\n")


def test_the_summary_is_a_table_of_the_visible_supersteps(rec):
    assert str(rec.summary()).splitlines()[3:10] == [
        "step  tasks               updated          status",
        "────  ──────────────────  ───────────────  ───────────",
        "   1  plan                queries          ok",
        "   2  outline, search \N{MULTIPLICATION SIGN}3  outline, papers  ok",
        "   3  rank                papers           ok",
        "   4  write               draft            ok",
        "   5  check                                interrupted",
    ]


def test_the_text_has_no_times_and_no_ids(rec):
    text = rec._repr_mimebundle_()["text/plain"]
    assert text == repr(rec)
    assert not re.search(r"\d s\b|0x|c\d|t1", text)


def test_the_html_says_the_same_with_times_and_the_thread(rec):
    html = rec._repr_mimebundle_()["text/html"]
    for words in ("Waits at check: “Publish?”", "8 tasks (1 cached)", "thread t1", "6.30 s", "2.30"):
        assert words in html
    assert "<script" not in html


def test_a_failed_run_says_where_and_with_what():
    rec = failed()
    assert str(rec).startswith("Failed at refund: ConnectionError\n")
    assert "0x7f00" not in str(rec)
    assert "no line" in rec.summary().fragment()
    assert (rec.status, type(rec.error)) == ("failed", ConnectionError)
    assert rec.supersteps.iloc[-1].status == "failed"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("done", "Ended after 1 superstep"),
        ("out_of_steps", "Stopped after 1 superstep: the recursion limit was reached"),
        ("drained", "Stopped after 1 superstep, as asked; the thread can go on"),
        ("cancelled", "Cancelled after 1 superstep"),
    ],
)
def test_a_verdict_for_each_end(status, words):
    run = Story({"x": "LastValue"})
    run.starts()
    run.input({"x": 1})
    run.superstep(task("a", writes=[("x", 2)]))
    run.ends(status)
    assert Recording(run.events).summary().verdict == words


def test_a_run_that_goes_on_says_what_runs():
    run = Story({"x": "LastValue"})
    run.starts()
    run.input({"x": 1})
    run.plans(task("a"), task("b"))
    rec = Recording(run.events)
    assert (rec.status, rec.summary().verdict) == ("running", "Runs a, b, 0 of 2 done")


def test_an_empty_recording_shows_itself_and_has_all_frames():
    rec = Recording()
    assert str(rec) == "No run yet"
    assert len(rec.tasks) == len(rec.values) == 0
    assert (rec.graph, rec.thread, rec.output, rec.error, rec.interrupts_pending) == (None, None, None, None, ())
    assert str(rec.timeline()) == "No task ran."
    assert str(rec.story()) == "No run yet."


def test_a_recording_knows_its_questions(rec):
    (asked,) = rec.interrupts_pending
    assert (asked.node, asked.interrupt.value) == ("check", "Publish?")
    assert (rec.status, rec.thread, rec.output) == ("interrupted", "t1", {"topic": "coffee"})


def test_recordings_are_joined_and_taken_apart(rec):
    both = rec + failed()
    assert both.status == "failed"
    assert [one.status for one in both.runs] == ["interrupted", "failed"]
    assert both.events == rec.events + failed().events[:0] + both.events[len(rec.events) :]
    assert Recording.join().events == ()
    with pytest.raises(TypeError):
        rec + 1


def test_a_long_run_is_folded_in_the_middle():
    text = str(Recording(long(100, 1).events))
    assert "76 supersteps more" in text
    assert len(text.splitlines()) < 35


def test_a_step_shows_plan_execute_and_update(rec):
    text = str(rec.step(2))
    assert text.startswith("Superstep 2\nPlan\n  outline: branch:to:outline none → v3 by plan in superstep 1")
    assert "Execute\n  outline: cached\n  search: ok" in text
    assert "Update\n  outline none → v4" in text
    assert "no update" in str(rec.step(5))
    with pytest.raises(LookupError, match="It has -1 to 5"):
        rec.step(9)


def test_a_strip_has_a_column_for_each_superstep(rec):
    lines = str(rec.strip()).splitlines()
    assert lines[0].split() == ["superstep", "1", "2", "3", "4", "5"]
    assert any(re.fullmatch(r"papers +none → v4 +v4 → v5", line) for line in lines)
    assert rec.strip().fragment().count('class="passed cell"') == 4 * len(rec.strip().versions())


def test_the_timeline_knows_who_waited_for_whom(rec):
    bars = {(bar.node, bar.place): bar for bar in rec.timeline().bars}
    assert bars["search", 1].waited_for == 3
    assert bars["search", 0].waits == pytest.approx(1.2)
    assert bars["check", 0].status == "interrupted"
    assert [(one.step, one.passed) for one in rec.timeline().barriers][-2:] == [(4, True), (5, False)]
    picture = rec.timeline().svg
    assert "3 others waited for this one" in picture
    assert "waits for you" in picture


def test_the_timeline_leaves_out_the_time_between_two_runs():
    run = Story({"x": "LastValue"})
    run.starts()
    run.input({"x": 1})
    run.superstep(task("a", writes=[("x", 2)]))
    run.ends()
    run.at += 3600
    run.starts()
    run.superstep(task("b", writes=[("x", 2)]))
    run.ends()
    assert Recording(run.events).timeline().length == pytest.approx(2.0)


def test_a_story_tells_the_run_in_sentences(rec):
    story = rec.story().sentences
    assert story[0] == "Waits at check: “Publish?”."
    assert story[1] == 'It was given {topic: "coffee"}.'
    assert story[-1] == "5: check ran; check asks “Publish?”."


def test_a_report_is_one_page_without_a_script(rec, tmp_path):
    path = rec.report(tmp_path / "run.html")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert not re.search(r"<script|<link|https?://(?!www\.w3\.org)", page)
    for words in ("Waits at check", "What happened", "Superstep 2", "supersteps: 7 rows", "&lt;NA&gt;"):
        assert words in page


def asking(thread: str) -> Recording:
    """A graph that asks once and is answered by the id of its question."""

    def approve(case: dict) -> dict:
        return {"refunded": 84 if interrupt({"item": "teapot", "question": "Give the money back?"}) else 0}

    builder = StateGraph(dict).add_node(approve).add_edge(START, "approve")
    graph = builder.compile(checkpointer=InMemorySaver())
    before = record(graph, {"item": "teapot"}, thread=thread)
    (question,) = before.interrupts_pending
    return before + record(graph, Command(resume={question.interrupt.id: True}), thread=thread)


def test_a_question_is_told_by_its_words_not_by_what_it_carries():
    first = asking("a").runs[0]
    assert first.summary().verdict == "Waits at approve: “Give the money back?”"
    assert "approve asks “Give the money back?”" in str(first.story())


def test_a_story_of_a_resumed_run_tells_who_was_answered_without_ids():
    both, other = asking("a"), asking("b")
    assert str(both.story()) == str(other.story())
    assert "It was answered True at approve." in both.story().sentences
    assert "It was answered True." in both.runs[1].story().sentences
