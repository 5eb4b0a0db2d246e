"""What a JSON schema forbids, said in sentences."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from widgets.schema import Fault, complaints, faults, resolve


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "integer"}, "x", "“x” is not a whole number. Enter a whole number."),
        ({"type": "integer"}, True, "true is not a whole number. Enter a whole number."),
        ({"type": "integer"}, 1.5, "1.5 is not a whole number. Enter a whole number."),
        ({"type": ["string", "null"]}, 3, "3 is not a text or nothing. Enter a text or nothing."),
        ({"maximum": 84}, 120.0, "120 is over the limit of 84 in the schema. Enter 84 or less."),
        ({"minimum": 1}, 0, "0 is under the limit of 1 in the schema. Enter 1 or more."),
        ({"exclusiveMaximum": 5}, 5, "5 is not below 5. Enter less than 5."),
        ({"exclusiveMinimum": 5}, 5, "5 is not above 5. Enter more than 5."),
        ({"multipleOf": 0.5}, 0.7, "0.7 is not a multiple of 0.5."),
        ({"enum": ["a", "b"]}, "c", "“c” is not one of “a” or “b”."),
        ({"enum": [1]}, True, "true is not one of 1."),
        ({"const": "a"}, "b", "“b” is not “a”, which the schema asks for."),
        ({"minLength": 3}, "ab", "It has 2 characters, and needs 3 or more."),
        ({"maxLength": 1}, "ab", "It has 2 characters, and may have 1 or fewer."),
        ({"minItems": 1}, [], "It has 0 items, and needs 1 or more."),
        ({"uniqueItems": True}, [1, 1], "An item stands twice in the list. Keep each one once."),
        ({"pattern": "^a"}, "b", "“b” does not have the form ^a."),
        ({"format": "date"}, "soon", "“soon” is not a date such as 2026-11-30."),
        ({"required": ["a"]}, {}, "a: This value is missing."),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"b": 1},
            "b: The schema knows no “b”. It has a.",
        ),
        ({"items": {"type": "string"}}, ["a", 2], "1: 2 is not a text. Enter a text."),
        ({"anyOf": [{"type": "string"}, {"maximum": 3}]}, 5, "5 is not a text. Enter a text."),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 5, "5 is over the limit of 3 in the schema. Enter 3 or less."),
        (False, 1, "Nothing is allowed here."),
    ],
)
def test_a_fault_is_one_sentence(schema: Any, value: Any, words: str) -> None:
    assert complaints(schema, value) == [words]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, object()),
        ({"type": "number"}, 3),
        ({"type": "integer"}, 3.0),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ({"unknown keyword": 1}, "x"),
        ({"pattern": "(?<bad"}, "x"),
        ({"format": "email"}, "x"),
        ({"multipleOf": 2}, float("inf")),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ({"additionalProperties": {"type": "string"}}, {"a": "b"}),
        ({"prefixItems": [{"type": "string"}]}, ["a", 1]),
    ],
)
def test_what_is_not_forbidden_fits(schema: Any, value: Any) -> None:
    assert complaints(schema, value) == []


def test_references_are_followed_and_loops_end() -> None:
    class Tree(BaseModel):
        size: int
        children: list[Tree] = []

    schema = Tree.model_json_schema()
    assert complaints(schema, {"size": 1, "children": [{"size": 2}]}) == []
    assert faults(schema, {"size": 1, "children": [{"size": "x"}]}) == [
        Fault(("children", 0, "size"), "“x” is not a whole number. Enter a whole number.")
    ]
    assert resolve({"$ref": "#/a"}, {"a": {"$ref": "#/a"}}) == {"$ref": "#/a"}
    assert resolve({"$ref": "https://example.org/other"}, {}) == {}


def test_long_and_hostile_values_stay_short_in_a_sentence(hostile: str) -> None:
    (words,) = complaints({"type": "integer"}, hostile)
    assert len(words) < 200
    assert "\n" not in words
