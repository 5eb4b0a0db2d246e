"""Forms from JSON schemas, from values and from types, and reading them back."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import BaseModel
from pydantic import Field as Limit
from typing_extensions import TypedDict

from widgets.fields import Field
from widgets.forms import Form, answer_form
from widgets.typeforms import fields_of, value_form


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Order(BaseModel):
    id: int
    total: Annotated[float, Limit(le=100)]
    colour: Colour = Colour.RED


@dataclass
class Point:
    x: int
    name: str | None = None


class Nested(TypedDict):
    order: Order
    when: NotRequired[datetime.date]


class Credit(BaseModel):
    amount: float = Limit(le=84, description="in euros")
    reason: Literal["broken", "late"]
    note: str | None = None
    booked_on: datetime.date
    tags: list[str] = []


def shape(fields: tuple[Field, ...]) -> list[tuple[str, str, str]]:
    return [(one.label, one.kind, one.initial) for one in fields]


# -- answers ----------------------------------------------------------------------------------------------------------


def test_a_model_gives_a_field_for_each_of_its_values() -> None:
    form = answer_form(Credit.model_json_schema())
    assert [(one.label, one.kind, one.words) for one in form.fields] == [
        ("amount", "number", "number"),
        ("reason", "choice", "one of 2"),
        ("note", "text", "text, optional"),
        ("booked_on", "date", "date"),
        ("tags", "lines", "list, one item on each line, optional"),
    ]
    assert form.fields[0].about == "in euros"


def test_what_was_typed_is_read_as_its_type() -> None:
    raw = {"0": " 80 ", "1": "0", "2": "", "3": "2026-11-30", "4": "a\n\nb"}
    value, wrong = answer_form(Credit.model_json_schema()).read(raw)
    assert value == {"amount": 80.0, "reason": "broken", "booked_on": "2026-11-30", "tags": ["a", "b"]}
    assert wrong == {}


def test_each_wrong_field_has_its_own_sentence() -> None:
    wrong = answer_form(Credit.model_json_schema()).read({"0": "120.00", "1": "", "3": "soon"}).faults
    assert wrong == {
        0: "120 is over the limit of 84 in the schema. Enter 84 or less.",
        1: "A value is needed here.",
        3: "“soon” is not a date. Enter one as 2026-11-30.",
    }


def test_a_fault_of_the_whole_stands_at_no_field() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1, "required": ["b"]}
    assert answer_form(schema).read({"0": "x"}).faults == {-1: "This value is missing."}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "integer"}, "integer"),
        ({"type": "boolean"}, "choice"),
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"enum": [1, 2]}, "choice"),
        ({"const": 1}, "choice"),
        ({"type": "array", "items": {"type": "object"}}, "json"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "json"),
        ({"type": "object"}, "json"),
        ({}, "json"),
    ],
)
def test_a_single_value_is_one_field(schema: Any, kind: str) -> None:
    (one,) = answer_form(schema).fields
    assert (one.path, one.kind) == ((), kind)


def test_nested_objects_are_laid_out_flat_and_put_together_again() -> None:
    form = answer_form(_schema(Nested))
    assert [one.label for one in form.fields] == ["order.id", "order.total", "order.colour", "when"]
    value, wrong = form.read({"0": "1", "1": "2.5", "2": "1", "3": ""})
    assert (value, wrong) == ({"order": {"id": 1, "total": 2.5, "colour": "blue"}}, {})


def test_a_schema_with_too_many_values_is_answered_as_json() -> None:
    schema = {"type": "object", "properties": {f"a{i}": {"type": "string"} for i in range(40)}}
    assert [one.kind for one in answer_form(schema).fields] == ["json"]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("{", "This is not JSON: expecting property name enclosed in double quotes at line 1, column 2."),
        ("yes", "This is not JSON: expecting value at line 1, column 1."),
        ("NaN", "JSON has no NaN. Enter a number."),
        ("[" * 100_000, "This JSON is nested too deep."),
        ("", "A value is needed here."),
    ],
)
def test_broken_json_says_where(typed: str, words: str) -> None:
    assert Form((Field((), "json", "JSON"),)).read({"0": typed}).faults[0].startswith(words)


# -- values -----------------------------------------------------------------------------------------------------------


def test_arguments_keep_their_types() -> None:
    form = value_form({"id": 7, "total": 84.0, "why": "broken", "sure": True, "lines": [1, 2], "none": None})
    assert [one.kind for one in form.fields] == ["integer", "number", "text", "choice", "json", "json"]
    value, wrong = form.read({"1": "20", "2": "late", "3": "1"})
    assert wrong == {}
    assert value == {"id": 7, "total": 20.0, "why": "late", "sure": False, "lines": [1, 2], "none": None}


# -- types ------------------------------------------------------------------------------------------------------------


def test_a_model_is_laid_out_with_its_values() -> None:
    assert shape(fields_of(Order, Order(id=1, total=84.0), True)) == [
        ("id", "integer", "1"),
        ("total", "number", "84.0"),
        ("colour", "choice", "0"),
    ]


def test_a_dataclass_and_its_optional_values_are_laid_out() -> None:
    found = fields_of(Point, Point(1), True)
    assert shape(found) == [("x", "integer", "1"), ("name", "text", "")]
    assert found[1].read("") is None
    assert found[1].read("a") == "a"


@pytest.mark.parametrize(
    ("annotation", "value", "kind"),
    [
        (str, "a", "text"),
        (int, 3, "integer"),
        (float, 3, "number"),
        (bool, False, "choice"),
        (Literal["a", 1], 1, "choice"),
        (Colour, "red", "choice"),
        (datetime.date, datetime.date(2026, 1, 2), "date"),
        (datetime.datetime, datetime.datetime(2026, 1, 2), "datetime"),
        (list[str], ["a"], "lines"),
        (list[str], ["two\nlines"], "json"),
        (list[int], [1], "lines"),
        (list, ["a"], "lines"),
        (list[dict], [{}], "json"),
        (dict[str, list], {"a": [1]}, "json"),
        (tuple[int, str], (1, "a"), "json"),
        (set[int], {1}, "json"),
        (int | str, 1, "json"),
        (Annotated[int, "extra"], 1, "integer"),
        (int | None, None, "integer"),
        (int, "drifted", "json"),
        (Any, "a", "text"),
        (Any, 2.5, "number"),
        (Any, object(), "fixed"),
        (object, object(), "fixed"),
        (Any, "y" * 60_000, "text"),
        (Any, [["y" * 60_000]], "fixed"),
    ],
)
def test_each_type_has_its_control(annotation: Any, value: Any, kind: str) -> None:
    (one,) = fields_of(annotation, value, True)
    assert one.kind == kind


def test_a_plain_mapping_is_laid_out_by_its_keys() -> None:
    assert shape(fields_of(dict, {"item": "teapot", "price": 84.0}, True)) == [
        ("item", "text", "teapot"),
        ("price", "number", "84.0"),
    ]


@pytest.mark.parametrize(
    ("annotation", "typed", "value"),
    [
        (Colour, "1", Colour.BLUE),
        (bool, "0", True),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (int, " -3 ", -3),
        (float, "1e3", 1000.0),
        (int | None, "", None),
        (list[int], "1\n2", [1, 2]),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (set[int], "[1, 1]", {1}),
    ],
)
def test_what_is_read_has_the_declared_type(annotation: Any, typed: str, value: Any) -> None:
    (one,) = fields_of(annotation, None, False)
    found = one.read(typed)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "typed", "words"),
    [
        (int, "1.5", "“1.5” is not a whole number. Enter digits, as in 12."),
        (float, "nan", "“nan” is not a number. Enter one, as in 12.5."),
        (Annotated[float, Limit(le=84)], "120", "120 is over the limit of 84 in the schema. Enter 84 or less."),
        (bool, "", "A value is needed here."),
        (Literal["a", "b"], "9", "Choose one of a or b."),
        (dict[str, int], '{"a": "x"}', "x: Input should be a valid integer"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(annotation: Any, typed: str, words: str) -> None:
    (one,) = fields_of(annotation, None, False)
    with pytest.raises(ValueError, match=r".") as caught:
        one.read(typed)
    assert str(caught.value).startswith(words)


def test_hostile_texts_come_back_as_they_were(hostile: str) -> None:
    (one,) = fields_of(str, hostile, True)
    assert one.read(one.initial) == hostile


def _schema(kind: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind).json_schema()
