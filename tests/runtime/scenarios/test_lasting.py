"""A nested graph that remembers (`checkpointer=True`), and what it remembers where a run stopped on its way."""

from typing import TypedDict

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.graph import START
from runtime.types import Command, interrupt
from tests.runtime.scenarios.build import Log, asked, builder, says, thread


class Turns(TypedDict):
    turn: str
    log: list


class Refusing(InMemorySaver):
    """Keeps no checkpoint of the root graph whose superstep is in `refused`, as if the process had been killed then."""

    refused: tuple[int, ...] = ()

    def put(self, config, checkpoint, metadata, new_versions):
        if metadata["step"] in self.refused and not config["configurable"]["checkpoint_ns"]:
            raise OSError("The disk is gone.")
        return super().put(config, checkpoint, metadata, new_versions)


def remembering(colour, saver, before=None, **nodes):
    """A graph whose node gives its turn to a graph that remembers them all; `before` comes first in that node."""
    inner = builder(nodes or {"hear": says("heard")}, [(START, name) for name in nodes or ("hear",)], Log)
    inner = inner.compile(checkpointer=True)

    def give(state):
        if before:
            before()
        return {"log": inner.invoke({"log": [state["turn"]]})["log"]}

    async def agive(state):
        if before:
            before()
        return {"log": (await inner.ainvoke({"log": [state["turn"]]}))["log"]}

    node = give if colour.name == "sync" else agive
    return builder({"give": node}, [(START, "give")], Turns).compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_turn_that_failed_before_it_came_to_a_remembering_graph_is_heard_when_the_run_goes_on(
    colour, saver, durability
):
    failures = [None, ValueError("not yet"), None]

    def before():
        failure = failures.pop(0)
        if failure:
            raise failure

    app = remembering(colour, saver, before)
    colour.invoke(app, {"turn": "one"}, thread(), durability=durability)
    with pytest.raises(ValueError, match="not yet"):
        colour.invoke(app, {"turn": "two"}, thread(), durability=durability)
    assert colour.invoke(app, None, thread(), durability=durability)["log"] == ["one", "heard", "two", "heard"]


def test_what_a_remembering_graph_made_of_a_superstep_that_is_lost_does_not_count(colour):
    saver = Refusing()
    app = remembering(colour, saver)
    colour.invoke(app, {"turn": "one"}, thread(), durability="exit")
    saver.refused = (4,)
    with pytest.raises(OSError, match="disk"):
        colour.invoke(app, {"turn": "two"}, thread(), durability="exit")
    saver.refused = ()
    result = colour.invoke(app, {"turn": "two"}, thread(), durability="exit")
    assert result["log"] == ["one", "heard", "two", "heard"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_remembering_graph_that_asked_goes_on_with_its_answer(colour, saver, durability):
    app = remembering(colour, saver, None, ask=lambda state: {"log": [interrupt("more?")]})
    for turn in ("one", "two"):
        assert asked(colour.invoke(app, {"turn": turn}, thread(), durability=durability)) == ["more?"]
        result = colour.invoke(app, Command(resume="yes"), thread(), durability=durability)
    assert result["log"] == ["one", "yes", "two", "yes"]


def test_a_remembering_graph_that_asked_goes_on_also_where_the_thread_was_edited_meanwhile(colour, saver):
    app = remembering(colour, saver, None, ask=lambda state: {"log": [interrupt("more?")]})
    colour.invoke(app, {"turn": "one"}, thread())
    colour.update_state(app, thread(), {"turn": "edited"}, START)
    assert colour.invoke(app, Command(resume="yes"), thread())["log"] == ["one", "yes"]


@pytest.mark.parametrize("mode", ["values", "updates"])
def test_a_superstep_that_has_wholly_finished_is_next_until_its_checkpoint_is_kept(colour, mode):
    saver = Refusing()
    saver.refused = (1,)
    app = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")]).compile(checkpointer=saver)
    with pytest.raises(OSError, match="disk"):
        colour.stream(app, {"log": []}, thread(), stream_mode=mode)
    state = colour.get_state(app, thread())
    assert (state.values, state.next) == ({"log": ["a"]}, ("a",))
    saver.refused = ()
    assert colour.invoke(app, None, thread()) == {"log": ["a", "b"]}
