"""A node's answers as writes."""

import dataclasses
from typing import NamedTuple

import pydantic
import pytest
from typing_extensions import TypedDict

from runtime._words import TASKS
from runtime.errors import InvalidUpdateError, ParentCommand
from runtime.graph.writes import RootWrites, StateWrites, Wake
from runtime.types import Command, Overwrite, Send

WRITES = StateWrites("node", frozenset({"a", "b", "steps"}), ("a", "b"), frozenset({"node", "next"}))
ROOT = RootWrites("node", frozenset({"__root__"}), ("__root__",), frozenset({"node", "next"}))


@dataclasses.dataclass
class Both:
    a: int = 1
    b: None = None
    c: int = 3


class Model(pydantic.BaseModel):
    a: int | None = None
    b: int | None = None


class Pair(NamedTuple):
    a: int


class Plain:
    a: int

    def __init__(self) -> None:
        self.a, self.b = 1, 2

    def __repr__(self) -> str:
        return "Plain()"


WAKE = ("branch:to:next", None)

# answer, writes
TABLE = [
    (None, []),
    ({}, []),
    ({"a": 1, "z": 2, "b": None}, [("a", 1), ("b", None)]),
    ({"steps": 1}, [("steps", 1)]),
    (Both(), [("a", 1), ("b", None)]),
    (Model(b=None), [("b", None)]),
    (Model(a=2), [("a", 2)]),
    (Pair(7), [("a", 7)]),
    (Plain(), [("a", 1), ("b", 2)]),
    (Command(update={"a": 1, "z": 2}), [("a", 1)]),
    (Command(update=[("a", 1), ("a", 2), ("z", 3)]), [("a", 1), ("a", 2)]),
    (Command(update=Both()), [("a", 1), ("b", None)]),
    (Command(update=Pair(7)), [("a", 7)]),
    (Command(goto="next"), [WAKE]),
    (Command(goto="__end__", update={"a": 1}), [("a", 1)]),
    (Command(goto=["next", Send("next", 1)]), [WAKE, (TASKS, Send("next", 1))]),
    (Command(graph="other", update={"a": 1}), [("a", 1)]),
    (Send("next", 5), [(TASKS, Send("next", 5))]),
    ([Command(update={"a": 1}, goto="next"), {"b": 2}, None], [("a", 1), ("b", 2), WAKE]),
    ((Command(update={"a": 1}), Both(a=2)), [("a", 1), ("a", 2), ("b", None)]),
]


@pytest.mark.parametrize(("answer", "writes"), TABLE, ids=[repr(row[0])[:60] for row in TABLE])
def test_what_an_answer_writes(answer, writes):
    assert list(WRITES(answer)) == writes


ROOTS = [
    (None, []),
    ([1], [("__root__", [1])]),
    ({"a": 1}, [("__root__", {"a": 1})]),
    (Command(update={"a": 1}), [("__root__", {"a": 1})]),
    (Command(update={"__root__": 5}), [("__root__", 5)]),
    (Command(goto="next"), [WAKE]),
    ([Command(update=[2]), [3], None], [("__root__", [2]), ("__root__", [3])]),
    (Send("next", 5), [(TASKS, Send("next", 5))]),
]


@pytest.mark.parametrize(("answer", "writes"), ROOTS, ids=[repr(row[0])[:60] for row in ROOTS])
def test_what_an_answer_writes_to_a_bare_state(answer, writes):
    assert list(ROOT(answer)) == writes


@pytest.mark.parametrize("answer", ["text", 5, [], [{"a": 1}], {"a"}, object(), Both, [Command(), 5]])
def test_an_answer_that_is_no_update_is_refused_by_name_of_the_node(answer):
    with pytest.raises(InvalidUpdateError, match=r"Node 'node' answered .*\n.*INVALID_GRAPH_NODE_RETURN_VALUE"):
        WRITES(answer)


def test_a_list_of_sends_is_told_the_way_out():
    with pytest.raises(InvalidUpdateError, match=r"Command\(goto="):
        WRITES([Send("next", 1), Send("next", 2)])


def test_an_input_that_is_no_state_is_called_an_input():
    with pytest.raises(InvalidUpdateError, match="The input 'text' of type str is no state"):
        StateWrites("__start__", frozenset({"a"}), ("a",), frozenset())("text")


def test_a_command_for_the_graph_around_is_raised():
    command = Command(graph=Command.PARENT, update={"a": 1})
    with pytest.raises(ParentCommand) as caught:
        WRITES([{"a": 1}, command])
    assert caught.value.args == (command,)


def test_an_unknown_goal_is_dropped_with_a_warning(caplog):
    assert list(WRITES(Command(goto=["nowhere", Send("nowhere", 1)]))) == []
    assert len(caplog.records) == 2
    assert all("Node 'node'" in record.message and "'nowhere'" in record.message for record in caplog.records)


def test_an_overwrite_is_a_value_like_any_other():
    assert list(WRITES({"a": Overwrite([])})) == [("a", Overwrite([]))]


def test_the_writer_of_an_edge_does_not_look_at_the_answer():
    assert list(Wake((WAKE,))(TypedDict)) == [WAKE]
