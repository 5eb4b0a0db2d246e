"""The comparison sees what it should, and nothing else."""

import pytest

from runtime.pregel import projections
from tests.parity.calls import ENDLESS, run
from tests.parity.compare import difference
from tests.parity.engines import engine_of
from tests.parity.spec import Graph, Node, Program, Run, To, source
from tests.parity.streams import Line
from tests.parity.sweep import differ, kind

A, B, C, D = (f"{digit * 8}-0000-0000-0000-000000000000" for digit in "abcd")


def lines(*texts):
    return [Line((index,), text) for index, text in enumerate(texts)]


def test_ids_may_be_others_as_long_as_they_play_the_same_parts():
    assert not difference(lines(f"parent {A}", f"child {B} of {A}"), lines(f"parent {C}", f"child {D} of {C}"))


def test_an_id_that_should_be_another_is_seen():
    assert difference(lines(f"parent {A}", f"child {B} of {A}"), lines(f"parent {C}", f"child {D} of {D}"))
    assert difference(lines(f"task {A}", f"end {A}"), lines(f"task {C}", f"end {D}"))


def test_lines_of_one_place_have_no_order_and_all_others_have():
    assert not difference([Line((1,), "a"), Line((1,), "b")], [Line((1,), "b"), Line((1,), "a")])
    assert difference(lines("a", "b"), lines("b", "a"))


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_an_engine_that_loses_a_chunk_is_found_out(monkeypatch, colour):
    program = Program(Graph((Node("a"),), (("__start__", "a"),)), (Run(modes=("updates", "tasks")),), colour=colour)
    assert differ(program) is None
    monkeypatch.setattr(projections, "update_of", lambda writes, names: None)
    found = differ(program)
    assert found is not None
    assert kind(found) == "+updates, -updates"


@pytest.mark.parametrize("engine", ["langgraph", "runtime"])
def test_a_program_that_makes_more_and_more_work_comes_to_an_end_and_nothing_is_told_of_it(engine):
    node = Node("a", gives="command", goto=(To("a", sends=2), To("a", sends=2), To("a", sends=2)))
    assert run(engine_of(engine), Program(Graph((node,), (("__start__", "a"),)), colour="async")) == [ENDLESS]


def test_a_program_prints_as_the_python_that_makes_it():
    program = Program(Graph((Node("a", asks=1), Node("b")), (("__start__", "a"), (("a", "b"), "b")), before=("a",)))
    assert eval(source(program), {"Program": Program, "Graph": Graph, "Node": Node}) == program
