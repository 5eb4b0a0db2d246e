"""What the `checkpoints`, `tasks` and `debug` streams tell of a run that goes on."""

from types import SimpleNamespace

from runtime.events import observe
from runtime.func import entrypoint, task
from runtime.graph import START
from runtime.types import Command, interrupt
from tests.runtime.scenarios.build import builder, says, thread

MODES = ["checkpoints", "tasks"]


def ask(state):
    return {"log": [interrupt("which?")]}


def asking(saver, **how):
    return builder({"ask": ask, "sib": says("s")}, [(START, "ask"), (START, "sib")]).compile(checkpointer=saver, **how)


def told(chunks):
    """The steps of checkpoints, and the names of tasks as they begin and end."""
    return [
        payload["metadata"]["step"]
        if mode == "checkpoints"
        else ("ends" if "result" in payload else "begins", payload["name"])
        for mode, payload in chunks
    ]


def test_a_run_that_goes_on_shows_its_checkpoint_once_more_and_each_task_that_is_next(colour, saver):
    app = asking(saver)
    colour.invoke(app, {"log": []}, thread())
    chunks = colour.stream(app, Command(resume="a"), thread(), stream_mode=MODES)
    assert told(chunks) == [0, ("begins", "ask"), ("begins", "sib"), ("ends", "ask"), 1]


def test_that_checkpoint_comes_with_what_was_stored_beside_it(colour, saver):
    app = asking(saver)
    colour.invoke(app, {"log": []}, thread())
    first = colour.stream(app, Command(resume="a"), thread(), stream_mode="checkpoints")[0]
    ask, sib = first["tasks"]
    assert [item["value"] for item in ask["interrupts"]] == ["which?"]
    assert sib["result"] == {"log": ["s"]}
    assert first["config"] == next(
        s.config for s in colour.get_state_history(app, thread()) if s.next == ("ask", "sib")
    )


def test_a_finished_thread_shows_its_checkpoint_and_runs_nothing(colour, saver):
    app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver)
    colour.invoke(app, {"log": []}, thread())
    assert told(colour.stream(app, None, thread(), stream_mode=MODES)) == [1]


def test_a_checkpoint_that_waits_for_the_end_is_shown_with_the_parent_of_the_one_the_run_started_from(colour, saver):
    app = builder({"a": says("a")}, [(START, "a")]).compile(checkpointer=saver)
    for _ in range(2):
        chunks = colour.stream(app, {"log": []}, thread(), stream_mode="checkpoints", durability="exit")
    assert [chunk["parent_config"] for chunk in chunks] == [None, None, None]
    assert len(colour.get_state_history(app, thread())) == 2


def test_a_call_whose_result_was_stored_begins_again_in_streams_and_ends_only_for_observers(colour, saver):
    @task
    def look():
        return False

    @entrypoint(checkpointer=saver)
    def flow(x):
        look().result()
        return interrupt("go on?")

    @entrypoint(checkpointer=saver)
    async def aflow(x):
        await look()
        return interrupt("go on?")

    app = flow if colour.name == "sync" else aflow
    colour.invoke(app, 1, thread())
    node = next(iter(app.nodes))
    seen = []
    with observe(SimpleNamespace(task_finished=lambda event: seen.append((event.node, event.status)))):
        again = told(colour.stream(app, Command(resume=True), thread(), stream_mode=MODES))
    assert seen == [("look", "cached"), (node, "ok")]
    assert again == [-1, ("begins", node), ("begins", "look"), ("ends", node), 0]
