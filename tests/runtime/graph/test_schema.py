"""State classes read as channels: what each form of annotation makes."""

import dataclasses
import operator
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Required

import pydantic
import pytest
from typing_extensions import ReadOnly, TypedDict

from runtime._words import MISSING
from runtime.channels import BinaryOperatorAggregate, DeltaChannel, LastValue, Topic, UntrackedValue
from runtime.graph.schema import fields_of
from runtime.managed import IsLastStep, RemainingSteps
from runtime.managed.is_last_step import IsLastStepManager, RemainingStepsManager


def keep_both(value: list, writes: Any) -> list:
    return [*value, *writes]


ADDED = Annotated[list[str], operator.add]

# annotation, the channel's class, its type
TABLE = [
    (int, LastValue, int),
    (int | None, LastValue, int | None),
    (Annotated[int, "a note"], LastValue, Annotated[int, "a note"]),
    (Required[int], LastValue, int),
    (NotRequired[ReadOnly[int]], LastValue, int),
    (ADDED, BinaryOperatorAggregate, ADDED),
    (Annotated[list, "a note", operator.add], BinaryOperatorAggregate, Annotated[list, "a note", operator.add]),
    (NotRequired[ADDED], BinaryOperatorAggregate, ADDED),
    (Annotated[int, UntrackedValue], UntrackedValue, int),
    (Annotated[str, Topic(str), "a note"], Topic, str),
    (Annotated[list, DeltaChannel(keep_both)], DeltaChannel, list),
]


@pytest.mark.parametrize(("annotation", "kind", "typ"), TABLE)
def test_what_an_annotation_makes(annotation, kind, typ):
    channel = fields_of(TypedDict("S", {"key": annotation}))["key"]
    assert (type(channel), channel.typ, channel.key) == (kind, typ, "key")


MANAGED = [
    (IsLastStep, IsLastStepManager),
    (NotRequired[RemainingSteps], RemainingStepsManager),
    (Annotated[RemainingSteps, "a note"], RemainingStepsManager),
    (Required[Annotated[NotRequired[RemainingSteps], "a note"]], RemainingStepsManager),
]


@pytest.mark.parametrize(("annotation", "managed"), MANAGED)
def test_a_managed_value_is_found_inside_of_wrappers(annotation, managed):
    assert fields_of(TypedDict("S", {"key": annotation}))["key"] is managed


@pytest.mark.parametrize("annotation", [NotRequired[ADDED], Annotated[NotRequired[list], operator.add]])
def test_a_reduced_list_starts_empty_however_it_is_wrapped(annotation):
    assert fields_of(TypedDict("S", {"key": annotation}))["key"].get() == []


@pytest.mark.parametrize("schema", [str, dict, list[str], int | None, ADDED, Any, Literal["a"]])
def test_a_type_without_annotations_makes_one_bare_value(schema):
    assert list(fields_of(schema)) == ["__root__"]


def test_inherited_keys_come_first_and_class_variables_are_none():
    class Base:
        a: int
        __slots__: tuple = ()

    class Child(Base):
        b: ADDED
        shared: ClassVar[int] = 3

    assert list(fields_of(Child)) == ["a", "b"]


def test_a_class_that_declares_the_root_itself_is_one_bare_value():
    assert list(fields_of(TypedDict("S", {"__root__": ADDED}))) == ["__root__"]


def test_a_channel_shared_by_two_keys_is_copied_for_the_second():
    log = Annotated[str, Topic(str)]
    fields = fields_of(TypedDict("S", {"a": log, "b": log}))
    assert (fields["a"].key, fields["b"].key) == ("a", "b")


def test_an_empty_class_has_no_keys():
    assert fields_of(TypedDict("S", {})) == {}


# -- reducers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reducer", [lambda a: a, lambda a, b, c: a, lambda *values: values])
def test_a_reducer_that_does_not_take_two_arguments_is_refused(reducer):
    with pytest.raises(ValueError, match="Invalid reducer.*key 'total' of state schema 'S'"):
        fields_of(TypedDict("S", {"total": Annotated[int, reducer]}))


def test_a_reducer_without_a_readable_signature_is_refused_by_name_of_its_key():
    with pytest.raises(ValueError, match="Invalid reducer.*key 'total'.*Wrap it"):
        fields_of(TypedDict("S", {"total": Annotated[int, max]}))


class Unweighable:
    """Neither hashed nor referenced weakly."""

    __slots__ = ()
    __hash__ = None

    def __call__(self, a: int, b: int) -> int:
        return max(a, b)


@pytest.mark.parametrize(
    "reducer", [lambda a, b, *rest: a, lambda a, b, *, c=1: a, Unweighable(), Unweighable().__call__]
)
def test_a_reducer_of_two_positional_arguments_is_taken(reducer):
    channel = fields_of(TypedDict("S", {"total": Annotated[int, reducer]}))["total"]
    assert channel.operator is reducer


# -- defaults ---------------------------------------------------------------------------------------------------------


def defaults(**fields: Any) -> list[Any]:
    """The same fields as a dataclass and as a pydantic model, each read."""
    models = pydantic.create_model("P", **{key: (hint, given) for key, (hint, given) in fields.items()})
    given = [
        (
            key,
            hint,
            dataclasses.field(default_factory=value.default_factory) if value.default_factory else value.default,
        )
        for key, (hint, value) in fields.items()
    ]
    return [fields_of(models), fields_of(dataclasses.make_dataclass("D", given))]


def test_a_reduced_field_starts_from_its_declared_default():
    field = pydantic.Field
    for fields in defaults(
        n=(Annotated[int, operator.add], field(10)), log=(ADDED, field(default_factory=lambda: ["a"]))
    ):
        assert (fields["n"].get(), fields["log"].get()) == (10, ["a"])
        assert fields["n"].has_default


def test_a_default_that_is_the_empty_value_anyway_is_none_for_the_channel():
    field = pydantic.Field
    for fields in defaults(n=(Annotated[int, operator.add], field(0)), log=(ADDED, field(default_factory=list))):
        assert not fields["n"].has_default
        assert not fields["log"].has_default


def test_a_default_of_none_leaves_a_reducer_to_start_from_its_first_write():
    for fields in defaults(n=(Annotated[int | None, operator.add], pydantic.Field(None))):
        assert fields["n"].checkpoint() is MISSING


def test_an_annotation_that_cannot_be_read_is_reported_with_its_schema():
    class Later:
        a: "NobodyKnowsThis"  # noqa: F821 - that is the point

    with pytest.raises(NameError) as caught:
        fields_of(Later)
    assert "state schema 'Later'" in caught.value.__notes__[0]
