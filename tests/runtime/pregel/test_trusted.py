"""Strict mode: of what was stored, only what a graph declares comes back as more than plain data."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import pytest
from pydantic import BaseModel

from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.func import entrypoint
from runtime.graph import START
from runtime.pregel.trusted import types_in
from runtime.types import Command, interrupt
from tests.runtime.scenarios.build import builder, thread

T = TypeVar("T")


class Colour(Enum):
    RED = "red"


@dataclass
class Leaf:
    colour: Colour = Colour.RED


@dataclass
class Tree:
    leaf: Leaf = field(default_factory=Leaf)
    above: "Tree | None" = None


class Form(BaseModel):
    leaves: dict[str, Leaf] = {}


class Pair(NamedTuple):
    one: Leaf


class Box(TypedDict, Generic[T]):
    held: T


@dataclass
class Lost:
    elsewhere: "NoSuchName"  # noqa: F821


@dataclass
class Unlisted:
    x: int = 0


class State(TypedDict, total=False):
    tree: Annotated[Tree, "note"]
    anything: Any


@pytest.mark.parametrize(
    ("hint", "types"),
    [
        (int, set()),
        (Any, set()),
        (Literal["a", 1], set()),
        (list[Colour | None], {Colour}),
        (Tree, {Tree, Leaf, Colour}),
        (Form, {Form, Leaf, Colour}),
        (Pair, {Pair, Leaf, Colour}),
        (Box[Leaf], {Leaf, Colour}),
        (State, {Tree, Leaf, Colour}),
        (Lost, {Lost}),
    ],
)
def test_a_type_names_the_classes_that_its_values_may_be_made_of(hint, types):
    assert types_in(hint) == types


@pytest.fixture
def strict(monkeypatch):
    """A saver made in strict mode, which lasts as long as the test."""
    monkeypatch.setenv("RUNTIME_STRICT_MSGPACK", "true")
    return InMemorySaver(serde=JsonPlusSerializer())


def writes(state):
    return {"tree": Tree(), "anything": Unlisted(3)}


def test_what_the_state_declares_comes_back_and_what_it_does_not_is_plain_data(colour, strict):
    app = builder({"a": writes}, [(START, "a")], State).compile(checkpointer=strict)
    colour.invoke(app, {}, thread())
    assert colour.get_state(app, thread()).values == {"tree": Tree(), "anything": {"x": 3}}


def test_a_nested_graph_finds_its_own_types(colour, strict):
    found = []

    def looks(state):
        interrupt("go on?")
        found.append(state["tree"])

    inner = builder({"a": writes, "looks": looks}, [(START, "a"), ("a", "looks")], State).compile()
    app = builder({"inner": inner}, [(START, "inner")], TypedDict("Outer", {"x": int})).compile(checkpointer=strict)
    colour.invoke(app, {"x": 1}, thread())
    colour.invoke(app, Command(resume=True), thread())
    assert found == [Tree()]


def test_an_entrypoint_finds_what_its_annotations_name(strict):
    @entrypoint(checkpointer=strict)
    def flow(x: int) -> Tree:
        return Tree()

    flow.invoke(1, thread())
    assert flow.get_state(thread()).values == Tree()


def test_outside_of_strict_mode_the_saver_is_the_one_given(saver):
    assert builder({"a": writes}, [(START, "a")], State).compile(checkpointer=saver).checkpointer is saver


def test_in_strict_mode_the_saver_that_was_given_is_not_changed(strict):
    serde = strict.serde
    app = builder({"a": writes}, [(START, "a")], State).compile(checkpointer=strict)
    assert app.checkpointer is not strict
    assert strict.serde is serde
