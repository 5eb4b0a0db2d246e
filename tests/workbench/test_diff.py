from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from workbench.comparison import Comparison, where
from workbench.diff import ABSENT, Operation, diff


@dataclass
class Order:
    state: str
    price: float


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [Operation("replace", ("a",), 1, 2)]),
        ({"a": 1}, {}, [Operation("remove", ("a",), 1, ABSENT)]),
        ({}, {"a": None}, [Operation("add", ("a",), ABSENT, None)]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [Operation("replace", ("a", "b"), 1, 2)]),
        ({"a": [1]}, {"a": [1, 2]}, [Operation("append", ("a", 1), ABSENT, 2)]),
        ({"a": [1, 3]}, {"a": [1, 2, 3]}, [Operation("add", ("a", 1), ABSENT, 2)]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, [Operation("remove", ("a", 1), 2, ABSENT)]),
        ({"a": [1, 2]}, {"a": [1, 5]}, [Operation("replace", ("a", 1), 2, 5)]),
        ({"a": {1}}, {"a": {1, 2}}, [Operation("add", ("a",), ABSENT, 2)]),
        ({"a": 1}, {"a": True}, [Operation("replace", ("a",), 1, True)]),
        ({"a": Order("new", 1)}, {"a": Order("whole", 1)}, [Operation("replace", ("a", "state"), "new", "whole")]),
    ],
)  # fmt: skip
def test_a_difference_is_a_list_of_operations(before, after, operations):
    assert diff(before, after) == operations


def test_messages_are_matched_by_their_id():
    before = [HumanMessage("hi", id="1"), AIMessage("draft", id="2")]
    after = [HumanMessage("hi", id="1"), AIMessage("final", id="2"), AIMessage("more", id="3")]
    assert [(one.op, one.path) for one in diff({"m": before}, {"m": after})] == [
        ("replace", ("m", 1)),
        ("append", ("m", 2)),
    ]


def test_a_removed_message_does_not_touch_the_others():
    before = [HumanMessage("hi", id="1"), AIMessage("a", id="2"), AIMessage("b", id="3")]
    assert [(one.op, one.path) for one in diff({"m": before}, {"m": before[1:]})] == [("remove", ("m", 0))]


def test_arrays_are_compared_as_a_whole():
    assert diff({"a": np.zeros(2)}, {"a": np.zeros(2)}) == []
    assert [one.op for one in diff({"a": np.zeros(2)}, {"a": np.ones(2)})] == ["replace"]


def test_a_path_reads_as_one_would_type_it():
    assert where(("order", "items", 3, "name")) == "order.items[3].name"


def test_a_comparison_says_how_many_parts_are_unchanged():
    found = Comparison({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": 4}, ("before", "after"))
    assert str(found) == "before → after: 1 difference.\n  c replaced: 3 by 4\n  2 unchanged"
    assert found.channels == ("c",)
    assert found.unchanged == ("a", "b")


def test_an_empty_comparison_is_false_and_says_so():
    found = Comparison({"a": 1}, {"a": 1}, ("before", "after"))
    assert not found
    assert str(found) == "before and after: nothing differs."


def test_a_long_text_is_compared_by_line():
    old = "\n".join(f"line {n}" for n in range(20))
    new = old.replace("line 10", "another line")
    found = Comparison({"text": old}, {"text": new}, ("before", "after"))
    assert "text replaced: 1 line by 1 line" in str(found)
    html = found.fragment()
    assert '<div class="old">line 10</div>' in html
    assert '<div class="new">another line</div>' in html
    assert "line 3<" not in html


def test_what_a_user_wrote_is_escaped():
    bad: Any = "<script>alert(1)</script>"
    html = Comparison({bad: 1}, {bad: bad}, (bad, "after")).fragment()
    assert "<script" not in html
