from typing import Any

import pytest

from runtime.events import TaskFinished
from runtime.types import Send
from tests.workbench.events_of import Story, literature, task
from workbench import html
from workbench.recording import Recording


class Channel:
    """A reducer channel, as a graph has it."""

    operator = staticmethod(lambda a, b: a + b)

    def __init__(self, value: Any = None) -> None:
        self.value = [] if value is None else value

    def copy(self) -> "Channel":
        return Channel(list(self.value))

    def from_checkpoint(self, value: Any) -> "Channel":
        return Channel(value)

    def update(self, values: list[Any]) -> bool:
        for value in values:
            self.value = self.value + value
        return True

    def get(self) -> Any:
        return self.value


class Node:
    def __init__(self, *triggers: str, channels: Any = ()) -> None:
        self.triggers = list(triggers)
        self.channels = list(channels)


class Graph:
    """What a compiled graph without declared edges shows of itself."""

    def __init__(self, nodes: dict[str, Node], channels: dict[str, Any] | None = None) -> None:
        self.nodes = nodes
        self.channels = channels or {}


@pytest.fixture(scope="module")
def rec():
    return Recording(literature().events)


def greenhouse(*inputs: dict[str, float]) -> Recording:
    """Two sensors and an actor that listens to one of them; a run for each input."""
    nodes = {"vent": Node("temperature", channels=["temperature", "humidity"])}
    run = Story({"temperature": "LastValue", "humidity": "LastValue", "vent": "LastValue"})
    for given in inputs:
        run.starts(input=given, graph=Graph(nodes))
        run.input(given)
        if "temperature" in given:
            run.superstep(task("vent", wakes="temperature", reads=["humidity"], writes=[("vent", "open")]))
        run.ends()
    return Recording(run.events)


# -- why


def test_why_names_the_channel_its_versions_and_its_writer(rec):
    answer = rec.why("rank", 3)
    (cause,) = answer.triggers
    assert (cause.channel, cause.version, cause.seen) == ("branch:to:rank", 4, None)
    (writer,) = cause.writers
    assert (writer.step, writer.version_before, writer.version) == (2, None, 4)
    assert set(writer.nodes) == {"search"}


def test_why_is_a_sentence(rec):
    assert str(rec.why("check")) == (
        "check ran in superstep 5 (interrupted).\n"
        "  branch:to:check none → v6 by write in superstep 4; check had never seen it"
    )


def test_why_without_a_step_is_about_the_last_time():
    run = Story({"branch:to:a": "EphemeralValue"})
    run.starts()
    run.input({"branch:to:a": None})
    for _ in range(3):
        run.superstep(task("a", wakes="branch:to:a", writes=[("branch:to:a", None)]))
    answer = Recording(run.events).why("a")
    assert answer.step == 2
    assert str(answer).endswith("branch:to:a v2 → v3 by a in superstep 1; a had last seen v2")


def test_why_of_a_join_names_each_member_as_it_came(rec):
    assert "none → v4 by outline in superstep 2, then v4 → v5 by rank in superstep 3" in str(rec.why("write"))


def test_why_of_sent_tasks_counts_them(rec):
    answer = rec.why("search")
    assert answer.sent == 3
    assert "search ran 3 times in superstep 2" in str(answer)
    assert "3 tasks, one for each Send in __pregel_tasks, none → v3 by plan in superstep 1" in str(answer)


def test_why_says_that_the_input_woke_the_first_node(rec):
    assert "__start__ none → v1 by the input" in str(rec.why("__start__"))


def test_why_finds_the_writer_in_an_earlier_recording():
    run = Story({"branch:to:a": "EphemeralValue", "branch:to:b": "EphemeralValue"})
    run.starts()
    run.input({"branch:to:a": None})
    run.superstep(task("a", wakes="branch:to:a", writes=[("branch:to:b", None)]))
    run.superstep(task("b", wakes="branch:to:b", status="interrupted", asks=("?",)))
    run.ends("interrupted")
    first = Recording(run.events)
    run.events = []
    run.starts(kind="command")
    run.superstep(task("b", wakes="branch:to:b", answers=("yes",)))
    run.ends()
    second = Recording(run.events)
    assert "v2, written before this recording began" in str(second.why("b"))
    assert "none → v2 by a in superstep 0" in str((first + second).why("b"))


def test_why_of_an_error_handler_names_the_failure():
    run = Story({"branch:to:east": "EphemeralValue"})
    run.starts()
    run.input({"branch:to:east": None})
    run.superstep(task("east", wakes="branch:to:east", status="failed", error=ConnectionError("no line")))
    path = ("__pregel_pull", "east", "node_error_handler", False)
    failed = next(event for event in run.events if isinstance(event, TaskFinished))
    run.events.append(failed._replace(task_id="h", node="mend", status="ok", error=None, path=path))
    rec = Recording(run.events)
    assert str(rec.why("mend")) == (
        "mend ran in superstep 0.\n  it handles the error of east, which failed with ConnectionError"
    )
    assert rec.tasks.set_index("node").kind["mend"] == "push"


def test_why_of_a_called_task():
    run = Story({"__start__": "EphemeralValue"})
    run.starts()
    run.input({"__start__": 1})
    run.superstep(task("job", wakes="__start__"))
    done = next(event for event in run.events if isinstance(event, TaskFinished))
    path = ("__pregel_push", ("__pregel_pull", "job"), 0, True)
    run.events.insert(-2, done._replace(task_id="c", node="fetch", path=path))
    rec = Recording(run.events)
    assert "1 task called by another task" in str(rec.why("fetch"))
    assert rec.tasks.set_index("node").path["fetch"] == "__pregel_push, (__pregel_pull, job), 0, True"


def test_why_of_a_node_that_did_not_run_then_says_when_it_did(rec):
    with pytest.raises(
        LookupError, match=r"plan did not run in superstep 3; it ran in 1\. Ask rec\.why_not\('plan', 3\)"
    ):
        rec.why("plan", 3)


def test_an_unknown_node_is_answered_with_the_nodes(rec):
    with pytest.raises(LookupError, match="It has check, outline, plan, rank, search and write"):
        rec.why("nobody")
    with pytest.raises(LookupError, match="There is no node 'nobody'"):
        rec.why_not("nobody")


# -- why not


def test_why_not_compares_the_versions():
    answer = greenhouse({"temperature": 20.0, "humidity": 0.4}, {"humidity": 0.5}).why_not("vent")
    assert [reason.kind for reason in answer.reasons] == ["equal", "reads"]
    assert "temperature is v1, and vent has seen v1: nothing newer" in str(answer)
    assert "humidity was written in superstep 1, but vent only reads it" in str(answer)


def test_why_not_names_the_members_of_a_join_that_are_missing(rec):
    answer = rec.why_not("write", 3)
    assert answer.reasons[0].nodes == ("rank",)
    assert "waits for rank: 1 of 2 has come (outline in superstep 2)" in str(answer)
    assert "rank runs in superstep 3; its writes count only after that barrier" in str(answer)


def test_why_not_of_a_member_that_never_ran():
    run = Story({"join:egg+toast:serve": "NamedBarrierValue", "branch:to:toast": "EphemeralValue"})
    run.starts(graph=Graph({"egg": Node("branch:to:egg"), "serve": Node("join:egg+toast:serve"), "toast": Node()}))
    run.input({"branch:to:toast": None})
    run.superstep(task("toast", wakes="branch:to:toast", writes=[("join:egg+toast:serve", "toast")]))
    run.ends()
    text = str(Recording(run.events).why_not("serve"))
    assert text.startswith("serve did not run after superstep 0.")
    assert "waits for egg: 1 of 2 has come (toast in superstep 0)" in text
    assert "egg never ran" in text


def test_why_not_after_a_failure_says_that_its_edges_were_not_taken():
    run = Story({"join:a+b:c": "NamedBarrierValue", "branch:to:a": "EphemeralValue"})
    run.starts(graph=Graph({"a": Node(), "b": Node(), "c": Node("join:a+b:c")}))
    run.input({"branch:to:a": None})
    run.superstep(
        task("a", wakes="branch:to:a", status="failed", error=ConnectionError("no line"), seconds=2.0), task("b")
    )
    run.ends("failed", error=ConnectionError("no line"))
    text = str(Recording(run.events).why_not("c"))
    assert "a failed with ConnectionError in superstep 0, so its edges were not taken" in text


def test_why_not_of_a_deferred_node():
    run = Story({"branch:to:late": "LastValueAfterFinish", "branch:to:a": "EphemeralValue"})
    run.starts(graph=Graph({"late": Node("branch:to:late"), "a": Node("branch:to:a")}))
    run.input({"branch:to:late": None, "branch:to:a": None})
    update = run.events[-2]
    closed = tuple(
        change._replace(available=False) if change.channel == "branch:to:late" else change for change in update.changes
    )
    run.events[-2] = update._replace(changes=closed)
    run.superstep(task("a", wakes="branch:to:a"))
    assert "late is deferred: it waits until nothing else runs, and in superstep 0 ran a" in str(
        Recording(run.events).why_not("late", 0)
    )


def test_why_not_of_a_node_that_did_run_points_to_why(rec):
    with pytest.raises(LookupError, match=r"Ask rec\.why\('plan', 1\)"):
        rec.why_not("plan", 1)


def test_why_not_in_a_superstep_that_is_not_there(rec):
    with pytest.raises(LookupError, match="They go from 0 to 5"):
        rec.why_not("plan", 99)


# -- who


def test_who_lists_the_writes_in_order(rec):
    answer = rec.who("papers", 2)
    assert [(write.order, write.node, write.value) for write in answer.writes] == [
        (1, "search", ["a"]),
        (2, "search", ["b"]),
        (3, "search", ["c"]),
    ]
    assert (answer.version_before, answer.version, answer.value) == (None, 4, ["a", "b", "c"])


def test_who_without_a_step_is_behind_the_last_value(rec):
    assert (rec.who("papers").step, rec.who("papers").before) == (3, ["a", "b", "c"])


def test_who_of_a_step_that_did_not_write_finds_the_one_before(rec):
    assert rec.who("outline", 4).step == 2


def test_who_shows_the_fold_where_the_channel_is_known():
    run = Story({"dishes": "BinaryOperatorAggregate"})
    run.starts(graph=Graph({}, {"dishes": Channel()}))
    run.input({"dishes": ["salt"]})
    run.superstep(task("bakery", writes=[("dishes", ["bread"])]), task("dairy", writes=[("dishes", ["cheese"])]))
    answer = Recording(run.events).who("dishes")
    assert [write.after for write in answer.writes] == [["salt", "bread"], ["salt", "bread", "cheese"]]
    assert str(answer) == (
        "dishes v1 → v2 by bakery and dairy in superstep 0 (BinaryOperatorAggregate, a lambda).\n"
        '  before: ["salt"]\n'
        '  1. bakery wrote ["bread"], makes ["salt", "bread"]\n'
        '  2. dairy wrote ["cheese"], makes ["salt", "bread", "cheese"]\n'
        '  after: ["salt", "bread", "cheese"]'
    )


def test_who_leaves_out_a_fold_that_leads_elsewhere():
    run = Story({"dishes": "LastValue"})
    run.starts(graph=Graph({}, {"dishes": Channel()}))
    run.input({"dishes": ["salt"]})
    run.superstep(task("a", writes=[("dishes", ["x"])]))
    assert not any(write.known for write in Recording(run.events).who("dishes").writes)


def test_who_of_an_unknown_channel_lists_the_channels(rec):
    with pytest.raises(LookupError, match=r"no channel 'nothing'.*topic"):
        rec.who("nothing")


def test_who_of_a_channel_that_nobody_wrote(rec):
    with pytest.raises(LookupError, match="Nobody wrote draft in this recording up to superstep 2"):
        rec.who("draft", 2)


# -- diff


def test_diff_of_one_superstep_is_what_it_changed(rec):
    assert [(one.op, one.path, one.after) for one in rec.diff(3)] == [("append", ("papers", 3), "z")]


def test_diff_between_two_supersteps(rec):
    assert rec.diff(1, 4).channels == ("outline", "papers", "draft")


def test_diff_with_another_recording_or_a_mapping_or_a_checkpoint(rec):
    other = greenhouse({"temperature": 20.0})
    assert "temperature" in rec.diff(other).channels
    assert rec.diff(rec, rec).operations == ()
    assert "replaced: “coffee” by “tea”" in str(rec.diff(4, {"topic": "tea"}))
    assert rec.diff("c1", "c4").channels == rec.diff(1, 4).channels


def test_diff_of_something_that_is_no_state(rec):
    with pytest.raises(TypeError, match="A float is no state"):
        rec.diff(1.5, 2)


def test_a_superstep_that_waits_has_no_state_after_it(rec):
    with pytest.raises(LookupError, match="Superstep 5 has not passed its barrier"):
        rec.diff(4, 5)


# -- how answers show themselves


@pytest.mark.parametrize(
    "ask", [lambda r: r.why("rank"), lambda r: r.why_not("write", 3), lambda r: r.who("papers", 2)]
)
def test_text_and_html_say_the_same(rec, ask):
    answer = ask(rec)
    bundle = answer._repr_mimebundle_()
    assert bundle["text/plain"] == str(answer) == repr(answer)
    for word in str(answer.head()[0]).split():
        assert html.escape(word) in bundle["text/html"] or word.startswith("Code")


def test_what_a_user_wrote_is_escaped_in_every_answer():
    bad = "<script>alert(1)</script>"
    run = Story({bad: "LastValue", f"branch:to:{bad}": "EphemeralValue"})
    run.starts(input=bad)
    run.input({bad: bad, f"branch:to:{bad}": None})
    run.superstep(task(bad, wakes=f"branch:to:{bad}", writes=[(bad, bad), ("__pregel_tasks", Send(bad, bad))]))
    run.ends(output=bad)
    rec = Recording(run.events)
    shown = [rec.why(bad), rec.why_not(bad), rec.who(bad), rec.diff(0), rec.summary(), rec.timeline(), rec.story()]
    shown += [rec.step(0), rec.strip()]
    for one in shown:
        assert "<script" not in one.fragment()
