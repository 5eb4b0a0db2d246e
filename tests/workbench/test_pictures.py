"""The drawings of answers, for graphs of both engines: what an answer names is laid on them, and nothing else."""

import operator
import re
from typing import Annotated, TypedDict

import pytest

from tests.workbench.conftest import says
from tests.workbench.events_of import literature
from workbench import Recording, record


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


@pytest.fixture
def rec(built):
    """`a` chooses `b`, beside which `c` runs; then a join of both, and `d`, which nobody chooses."""
    graph = built(
        ("__start__", "a"), ("a", "c"), (["b", "c"], "e"), state=Log, **{name: says(name) for name in "abcde"}
    )
    graph.add_conditional_edges("a", lambda state: "b", ["b", "d"])
    return record(graph.compile(), {"log": []})


def marked(answer):
    """The nodes with a status on them, and the edges that are lit, in the answer's drawing."""
    drawn = answer._repr_mimebundle_()["text/html"]
    nodes = re.findall(r'class="node ([^"]*)" data-kind="\w+" data-node="([^"]*)"', drawn)
    edges = re.findall(r'class="edge ([^"]*)" data-kind="\w+" data-source="([^"]*)" data-target="([^"]*)"', drawn)
    lit = [(source, target) for kind, source, target in edges if "lit" in kind.split()]
    return {name: kind.split()[-1] for kind, name in nodes if len(kind.split()) > 1}, lit


def test_why_shows_the_node_as_it_ran_and_the_edge_that_woke_it(rec):
    assert marked(rec.why("b")) == ({"b": "ran"}, [("a", "b")])


def test_why_shows_a_join_with_its_members(rec):
    join = "join:b+c:e"
    nodes, lit = marked(rec.why("e"))
    assert nodes == {"e": "ran"}
    assert sorted(lit) == [("b", join), ("c", join), (join, "e")]


def test_why_not_shows_what_had_run(rec):
    assert marked(rec.why_not("d", 2)) == ({"a": "ran", "b": "ran", "c": "ran"}, [])


def test_who_shows_those_that_wrote(rec):
    assert marked(rec.who("log", 2)) == ({"b": "ran", "c": "ran"}, [])


def test_an_answer_without_its_graph_is_words():
    bundle = Recording(literature().events).why("rank")._repr_mimebundle_()
    assert "<svg" not in bundle["text/html"]
    assert bundle["text/plain"].startswith("rank ran in superstep 3.")
