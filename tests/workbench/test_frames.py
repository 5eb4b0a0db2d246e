import time

import pandas as pd
import pytest

from tests.workbench.events_of import Story, literature, long, task
from workbench import frames
from workbench.frames import COLUMNS
from workbench.index import Index
from workbench.recording import Recording

NAMES = list(COLUMNS)
WIDE = ("versions", "values")

ASKED = {
    "supersteps": "ns, step, source, tasks, updated, status, planned_at, duration, checkpoint_id, parent_id",
    "tasks": ("ns, step, task_id, node, path, kind, status, attempts, started_at, duration, input, result, error"),
    "triggers": "ns, step, task_id, node, channel, version, seen",
    "reads": "ns, step, task_id, node, channel, version, value",
    "writes": "ns, step, order, task_id, node, channel, value",
    "channels": "ns, step, channel, kind, version_before, version, updated, value, writers",
    "checkpoints": "ns, checkpoint_id, parent_id, step, source, next, created_at, thread_id",
    "interrupts": "ns, step, task_id, node, interrupt_id, value, resumed, answer",
    "stream": "ns, step, task_id, node, mode, value, at",
}


@pytest.fixture(scope="module")
def rec():
    return Recording(literature().events)


@pytest.mark.parametrize("name", ASKED)
def test_a_frame_has_its_columns_in_order(rec, name):
    assert ", ".join(getattr(rec, name).columns) == ASKED[name]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("events", [[], literature().events], ids=["empty", "full"])
def test_a_frame_has_the_dtypes_that_are_documented(name, events):
    found = getattr(Recording(events), name).dtypes
    for column in COLUMNS[name]:
        assert str(found[column.name]) == column.dtype, column.name


@pytest.mark.parametrize("name", NAMES)
def test_a_frame_is_sorted_and_its_index_counts_from_zero(rec, name):
    frame = getattr(rec, name)
    assert list(frame.index) == list(range(len(frame)))
    pd.testing.assert_frame_equal(
        frame[["ns", "step"]], frame[["ns", "step"]].sort_values(["ns", "step"], kind="stable")
    )


def test_every_column_is_described(rec):
    described = rec.describe()
    assert set(described.frame) == set(NAMES)
    assert described.meaning.str.endswith(".").all()
    assert list(rec.describe("tasks").column) == ASKED["tasks"].split(", ")
    with pytest.raises(KeyError, match="supersteps"):
        rec.describe("nothing")


def test_supersteps_name_their_tasks_and_what_they_updated(rec):
    second = rec.supersteps.query("step == 2").iloc[0]
    assert second.tasks == "outline, search \N{MULTIPLICATION SIGN}3"
    assert second.updated == "branch:to:rank, outline, papers"
    assert second.status == "ok"
    assert second.duration == pytest.approx(2.3)
    assert (second.checkpoint_id, second.parent_id) == ("c2", "c1")


def test_the_input_is_a_superstep_without_tasks(rec):
    first = rec.supersteps.iloc[0]
    assert (first.step, first.source, first.tasks) == (-1, "input", "")
    assert pd.isna(first.planned_at)
    assert pd.isna(first.duration)


def test_a_superstep_that_waits_has_no_duration(rec):
    last = rec.supersteps.iloc[-1]
    assert (last.tasks, last.status) == ("check", "interrupted")
    assert pd.isna(last.duration)


def test_the_hidden_start_is_in_the_frames(rec):
    assert list(rec.tasks.query("step == 0").node) == ["__start__"]


def test_a_task_has_its_input_and_what_it_wrote_to_the_state(rec):
    search = rec.tasks.query("node == 'search'").iloc[1]
    assert (search.kind, search.path, search.input) == ("push", "__pregel_push, 2, False", "b")
    assert search.result == {"papers": ["b"]}
    assert pd.isna(rec.tasks.query("node == 'check'").iloc[0].result)


def test_a_cached_task_was_never_begun(rec):
    outline = rec.tasks.query("node == 'outline'").iloc[0]
    assert (outline.status, outline.attempts) == ("cached", 0)
    assert pd.isna(outline.started_at)


def test_a_trigger_is_newer_than_what_was_seen(rec):
    row = rec.triggers.query("node == 'write'").iloc[0]
    assert (row.channel, row.version) == ("join:rank+outline:write", 5)
    assert pd.isna(row.seen)


def test_a_read_has_the_value_at_the_time_of_the_plan(rec):
    row = rec.reads.query("node == 'rank'").iloc[0]
    assert (row.channel, row.version, row.value) == ("papers", 4, ["a", "b", "c"])


def test_writes_are_in_the_order_applied(rec):
    papers = rec.writes.query("step == 2 and channel == 'papers'")
    assert list(papers.order) == [3, 5, 7]
    assert list(papers.value) == [["a"], ["b"], ["c"]]


def test_a_channel_has_its_versions_value_and_writers_after_a_superstep(rec):
    row = rec.channels.query("step == 3 and channel == 'papers'").iloc[0]
    assert (row.version_before, row.version, row.updated) == (4, 5, True)
    assert (row.value, row.writers, row.kind) == (["a", "b", "c", "z"], "rank", "BinaryOperatorAggregate")


def test_an_empty_channel_has_no_value_but_none_is_one(rec):
    after = rec.channels.query("step == 1").set_index("channel")
    assert after.value["branch:to:outline"] is None
    assert after.value["draft"] is pd.NA
    assert after.value["__start__"] is pd.NA


def test_versions_are_wide_with_a_row_for_each_superstep(rec):
    assert list(rec.versions.columns[:4]) == ["ns", "step", "topic", "queries"]
    assert rec.versions.set_index("step").papers.to_list() == [pd.NA, pd.NA, pd.NA, 4, 5, 5]
    assert rec.versions.dtypes["papers"] == "Int64"


def test_values_are_wide_and_hold_what_the_state_was(rec):
    assert rec.values.set_index("step").papers[3] == ["a", "b", "c", "z"]


def test_a_channel_named_like_a_key_column_keeps_both():
    run = Story({"step": "LastValue"})
    run.starts()
    run.input({"step": "dance"})
    values = Recording(run.events).values
    assert list(values.columns) == ["ns", "step", "step (channel)"]
    assert values["step (channel)"][0] == "dance"


def test_an_interrupt_waits_until_its_answer_comes(rec):
    row = rec.interrupts.iloc[0]
    assert (row.node, row.value, row.resumed) == ("check", "Publish?", False)
    assert row.answer is pd.NA


def test_an_answered_interrupt_has_its_answer_in_the_joined_recording():
    run = Story({"branch:to:ask": "EphemeralValue"})
    run.starts()
    run.input({"branch:to:ask": None})
    run.superstep(task("ask", wakes="branch:to:ask", status="interrupted", asks=("Name?",), id="t"))
    run.ends("interrupted")
    first = Recording(run.events)
    run.events = []
    run.starts(kind="command")
    run.superstep(task("ask", wakes="branch:to:ask", answers=("Ann",), id="t"))
    run.ends()
    second = Recording(run.events)
    both = (first + second).interrupts
    assert list(both.columns) == ASKED["interrupts"].split(", ")
    assert [(row.value, row.resumed, row.answer) for row in both.itertuples()] == [("Name?", True, "Ann")]
    assert pd.isna(second.interrupts.iloc[0].interrupt_id)
    assert len((first + second).tasks.query("node == 'ask'")) == 2


def test_a_version_that_is_a_text_is_shown_as_its_count():
    run = Story({"x": "LastValue", "y": "LastValue"})
    run.starts()
    run.input({"x": 1, "y": 2})
    text = "00000000000000000000000000000002.0.638"
    run.events[1] = run.events[1]._replace(
        changes=tuple(change._replace(version=text) for change in run.events[1].changes)
    )
    assert Recording(run.events).versions.x[0] == 2


def test_a_frame_that_is_changed_does_not_change_the_recording(rec):
    frame = rec.tasks
    frame["node"] = "changed"
    frame["more"] = 1
    assert "changed" not in set(rec.tasks.node)
    assert "more" not in rec.tasks


def test_lists_of_one_length_stay_lists():
    run = Story({"x": "LastValue"})
    run.starts()
    run.input({"x": [1, 2]})
    run.input({"x": [3, 4]})
    assert Recording(run.events).values.x.to_list() == [[1, 2], [3, 4]]


@pytest.mark.slow
def test_ten_thousand_supersteps_of_ten_channels_are_framed_in_about_a_second():
    events = long(10_000, 10).events
    began = time.process_time()
    index = Index(events)
    for name in NAMES:
        frames.frame(name, index)
    assert time.process_time() - began < 2.5  # about 0.8 where nothing else runs
