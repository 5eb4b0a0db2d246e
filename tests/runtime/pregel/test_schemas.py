"""JSON schemas and pydantic models of what goes in and what comes out."""

import dataclasses
import operator
from typing import Annotated, Any, NotRequired, Required

import pydantic
import pytest
from typing_extensions import TypedDict

from runtime.channels import LastValue, Topic
from runtime.graph import START, StateGraph
from runtime.pregel import NodeBuilder, Pregel, schemas


class Typed(TypedDict):
    a: int
    b: NotRequired[str]


class Loose(TypedDict, total=False):
    a: int
    b: Required[str | None]


@dataclasses.dataclass
class Data:
    a: int
    b: Annotated[list[str], operator.add] = dataclasses.field(default_factory=list)
    c: Annotated[int | None, "a note"] = 3


class Model(pydantic.BaseModel):
    """A model."""

    a: int = 5


class Plain:
    a: int
    b: Annotated[str | None, "a note"]


def node(value):
    return {}


def graph(schema, **settings):
    return StateGraph(schema, **settings).add_node("x", node).add_edge(START, "x").compile(name="Shop")


def shape(schema):
    """The properties' types and defaults, and what is required."""
    properties = {k: p.get("default", p.get("type", "any")) for k, p in schema["properties"].items()}
    return schema["title"], properties, schema.get("required", [])


INPUTS = [
    (Typed, ("Typed", {"a": "integer", "b": "string"}, ["a"])),
    (Loose, ("Loose", {"a": "integer", "b": "any"}, ["b"])),
    (Data, ("ShopInput", {"a": "integer", "b": [], "c": 3}, ["a"])),
    (Model, ("Model", {"a": 5}, [])),
    (Plain, ("ShopInput", {"a": "integer", "b": None}, ["a"])),
]


@pytest.mark.parametrize(("schema", "expected"), INPUTS)
def test_the_json_schema_of_an_input(schema, expected):
    assert shape(graph(schema).get_input_jsonschema()) == expected


def test_a_bare_state_has_the_schema_of_its_value():
    compiled = graph(Annotated[list[int], operator.add])
    expected = {"default": None, "items": {"type": "integer"}, "title": "ShopOutput", "type": "array"}
    assert compiled.get_output_jsonschema() == expected
    assert (compiled.InputType, compiled.OutputType) == (Annotated[list[int], operator.add],) * 2


def test_input_and_output_have_their_own_schemas():
    compiled = graph(Data, input_schema=Plain, output_schema=Model)
    assert (compiled.get_input_jsonschema()["title"], compiled.get_output_jsonschema()["title"]) == (
        "ShopInput",
        "Model",
    )
    assert (compiled.get_output_schema(), compiled.InputType, compiled.OutputType) == (Model, Plain, None)


def test_a_models_fields_may_bear_any_key():
    made = graph(TypedDict("T", {"_private": int, "schema": str, "model_x": int, "copy": NotRequired[int]}))
    model = made.get_input_schema()
    assert list(model.model_json_schema()["properties"]) == ["_private", "schema", "model_x", "copy"]
    assert model(_private=1, schema="s", model_x=2).model_dump(by_alias=True)["schema"] == "s"


def test_channels_of_a_raw_graph_make_a_schema():
    one = NodeBuilder().subscribe_only("in").do(node).write_to("out")
    channels = {"in": LastValue(int), "out": Topic(int)}
    single = Pregel(nodes={"one": one}, channels=channels, input_channels="in", output_channels="out", name="Raw")
    assert single.get_input_jsonschema() == {"title": "RawInput", "type": "integer"}
    assert single.get_output_jsonschema() == {"items": {"type": "integer"}, "title": "RawOutput", "type": "array"}
    model = schemas.model_of_channels(channels, ["in", "out"], "Both", written=False)
    assert shape(model.model_json_schema()) == ("Both", {"in": None, "out": None}, [])


def test_a_context_has_a_schema_or_none():
    assert schemas.context_json_schema(None) is None
    assert shape(schemas.context_json_schema(Data)) == ("Data", {"a": "integer", "b": "array", "c": 3}, ["a"])
    assert shape(schemas.context_json_schema(Typed))[0] == "Typed"
    assert shape(schemas.context_json_schema(Model)) == ("Model", {"a": 5}, [])
    with pytest.raises(ValueError, match="context schema 'dict'"):
        schemas.context_json_schema(dict)


def test_a_config_has_a_schema_with_the_context_in_it():
    model = schemas.config_model("ShopConfig", Typed, ["recursion_limit", "configurable"])
    assert list(model.model_json_schema()["properties"]) == ["configurable", "recursion_limit"]


def test_a_model_makes_an_instance_and_a_dict_schema_makes_nothing():
    assert schemas.mapper_of(Data)({"a": 1}) == Data(a=1)
    assert schemas.mapper_of(Model)({}) == Model()
    assert [schemas.mapper_of(x) for x in (Typed, Plain, str, Any)] == [None] * 4


def test_annotations_that_could_not_be_read_are_read_again_and_those_that_could_are_not():
    class Late(TypedDict):
        part: "LaterDefined"  # noqa: F821 - that is the point

    with pytest.raises(NameError, match="LaterDefined"):
        schemas.hints_of(Late)
    Late.__annotations__["part"] = int
    assert schemas.hints_of(Late) == {"part": int}
    assert schemas.hints_of(Late) is schemas.hints_of(Late)
