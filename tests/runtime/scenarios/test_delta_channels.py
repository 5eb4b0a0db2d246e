"""Delta channels in a graph: what is stored of them, and that their value is always there."""

import itertools
from typing import Annotated, TypedDict

import pytest

from runtime.channels import DeltaChannel
from runtime.graph import START
from runtime.types import Overwrite
from tests.runtime.scenarios.build import builder, says, thread


def added(value, writes):
    return [*value, *(item for write in writes for item in write)]


def graph_of(names="abc", frequency=2):
    class State(TypedDict):
        log: Annotated[list, DeltaChannel(added, snapshot_frequency=frequency)]

    edges = [(START, names[0]), *itertools.pairwise(names)]
    return builder({name: says(name) for name in names}, edges, State)


def test_the_history_shows_the_whole_value_at_every_step(colour, saver):
    app = graph_of().compile(checkpointer=saver)
    assert colour.invoke(app, {"log": ["in"]}, thread()) == {"log": ["in", "a", "b", "c"]}
    values = [s.values.get("log") for s in colour.get_state_history(app, thread())]
    assert values[:-1] == [["in", "a", "b", "c"], ["in", "a", "b"], ["in", "a"], ["in"]]


def test_a_checkpoint_holds_the_value_only_every_so_many_updates(colour, saver):
    app = graph_of().compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    found = list(saver.list(thread()))[::-1]
    counters = [item.metadata.get("counters_since_delta_snapshot") for item in found]
    assert [c and tuple(c["log"]) for c in counters] == [(0, 1), (1, 2), None, (1, 1), None]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_thread_goes_on_with_the_value_it_had(colour, saver, durability):
    app = graph_of("ab", 100).compile(checkpointer=saver)
    for _ in range(2):
        result = colour.invoke(app, {"log": ["in"]}, thread(), durability=durability)
    assert result == {"log": ["in", "a", "b", "in", "a", "b"]}


def test_a_fork_from_an_older_checkpoint_has_a_value_of_its_own(colour, saver):
    app = graph_of("ab", 100).compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    before_b = next(s for s in colour.get_state_history(app, thread()) if s.next == ("b",))
    fork = colour.update_state(app, before_b.config, {"log": ["edit"]}, "a")
    assert colour.get_state(app, fork).values["log"] == ["in", "a", "edit"]
    assert colour.invoke(app, None, fork)["log"] == ["in", "a", "edit", "b"]


def test_an_overwrite_is_where_the_value_starts_from(colour, saver):
    graph = graph_of("a", 100)
    graph.add_node("anew", lambda state: {"log": Overwrite(["new"])}).add_edge("a", "anew")
    app = graph.compile(checkpointer=saver)
    colour.invoke(app, {"log": ["in"]}, thread())
    assert colour.get_state(app, thread()).values["log"] == ["new"]
