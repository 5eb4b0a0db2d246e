from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from runtime.types import Interrupt, Send
from workbench.freeze import Freezer, NotCopied, freeze


class Colour(Enum):
    RED = 1


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Order:
    items: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sealed:
    items: list[str]


class Basket(BaseModel):
    items: list[str] = []
    note: dict[str, Any] = {}


class Plain:
    def __init__(self) -> None:
        self.items: list[str] = ["tea"]


@pytest.mark.parametrize("atom", [None, True, 3, 2.5, "tea", b"tea", date(2026, 1, 1), Colour.RED, int, len])
def test_an_atom_is_kept_as_it_is(atom):
    assert freeze(atom) is atom


@pytest.mark.parametrize(
    "value",
    [
        ["tea", ["milk"]],
        {"tea": ["milk"]},
        ("tea", ["milk"]),
        {"tea", "milk"},
        deque([["milk"]], maxlen=3),
        OrderedDict(tea=["milk"]),
        defaultdict(list, tea=["milk"]),
        bytearray(b"tea"),
        Point(1, ["milk"]),
        Order(["milk"]),
        Sealed(["milk"]),
        Basket(items=["milk"], note={"a": [1]}),
        Send("node", {"a": [1]}),
        Interrupt({"a": [1]}, "id"),
    ],
)
def test_a_container_is_copied_and_keeps_its_class(value):
    frozen = freeze(value)
    assert frozen == value
    assert type(frozen) is type(value)
    assert frozen is not value


def test_a_change_in_place_does_not_reach_the_copy():
    value = {"list": [1], "model": Basket(items=["milk"]), "data": Order(["tea"]), "plain": Plain()}
    frozen = freeze(value)
    value["list"].append(2)
    value["model"].items.append("sugar")
    value["data"].items.clear()
    value["plain"].items.clear()
    assert frozen["list"] == [1]
    assert frozen["model"].items == ["milk"]
    assert frozen["data"].items == ["tea"]
    assert frozen["plain"].items == ["tea"]


def test_a_message_is_copied_deep_enough():
    message = AIMessage("hi", additional_kwargs={"a": [1]}, tool_calls=[{"name": "f", "args": {"x": 1}, "id": "1"}])
    frozen = freeze([message])[0]
    message.additional_kwargs["a"].append(2)
    message.tool_calls[0]["args"]["x"] = 2
    assert frozen.additional_kwargs == {"a": [1]}
    assert frozen.tool_calls[0]["args"] == {"x": 1}


def test_arrays_and_frames_are_copied():
    array, frame = np.zeros(2), pd.DataFrame({"a": [1]})
    frozen_array, frozen_frame = freeze([array, frame])
    array[0] = 9
    frame.loc[0, "a"] = 9
    assert frozen_array[0] == 0
    assert frozen_frame.loc[0, "a"] == 1


def test_what_cannot_be_copied_is_kept_as_its_text():
    freezer = Freezer()
    frozen = freezer({"lock": Lock()})
    assert isinstance(frozen["lock"], NotCopied)
    assert repr(frozen["lock"]).startswith("<unlocked _thread.lock")
    assert freezer.failures == 1


def test_a_value_whose_repr_raises_does_not_harm():
    class Rude:
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError

        def __repr__(self) -> str:
            raise ValueError

    assert "whose repr raised ValueError" in repr(freeze(Rude()))


def test_a_value_that_holds_itself_is_copied():
    loop: list[Any] = [1]
    loop.append(loop)
    frozen = freeze(loop)
    assert frozen is not loop
    assert frozen[1] is frozen


def test_an_unchanged_object_is_copied_once():
    freezer = Freezer()
    messages = [HumanMessage(f"message {n}", id=str(n)) for n in range(3)]
    before = freezer(list(messages))
    freezer.others_ran()
    after = freezer([*messages, AIMessage("more")])
    assert all(a is b for a, b in zip(before, after, strict=False))


def test_an_object_that_was_changed_in_place_is_copied_again():
    freezer = Freezer()
    inner, message = [1], AIMessage("draft")
    first = freezer([inner, message])
    inner.append(2)
    message.content = "final"
    freezer.others_ran()
    second = freezer([inner, message])
    assert (first[0], first[1].content) == ([1], "draft")
    assert (second[0], second[1].content) == ([1, 2], "final")


def test_one_and_true_are_not_the_same():
    freezer = Freezer()
    value: list[Any] = [1]
    freezer(value)
    value[0] = True
    freezer.others_ran()
    assert freezer(value)[0] is True


def test_an_error_is_kept_itself():
    error = ValueError("no")
    assert freeze([error])[0] is error
