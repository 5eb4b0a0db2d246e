"""Classes read as schemas: their annotations, instances made of them, and their pydantic models and JSON schemas.

A schema is a class with annotations (TypedDict, dataclass, pydantic model, plain class), with one key for each of them,
or any other type, and then there is one bare value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from inspect import isclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    NotRequired,
    Required,
    get_args,
    get_origin,
    get_type_hints,
)
from weakref import WeakKeyDictionary

import pydantic
from langchain_core.runnables import RunnableConfig
from typing_extensions import ReadOnly, is_typeddict

from runtime._annotations import annotations_of
from runtime._words import ROOT

if TYPE_CHECKING:
    from runtime.channels.base import BaseChannel

__all__ = (
    "config_model",
    "context_json_schema",
    "hints_of",
    "is_annotated",
    "is_model",
    "json_schema_of",
    "mapper_of",
    "model_of",
    "model_of_channels",
    "name_of",
    "type_of_channels",
    "unwrapped",
)

WRAPPERS = (Required, NotRequired, ReadOnly)

# -- reading a class --------------------------------------------------------------------------------------------------


_hints: WeakKeyDictionary[Any, Mapping[str, Any]] = WeakKeyDictionary()


def hints_of(schema: Any) -> Mapping[str, Any] | None:
    """The annotations of a schema by key, inherited ones included; None for a schema that has none.

    They are read once for each class.
    """
    if not (is_typeddict(schema) or is_model(schema) or is_annotated(schema)):
        return None
    found = _hints.get(schema)
    if found is None:
        found = _hints[schema] = _read_hints(schema)
    return found


def _read_hints(schema: Any) -> Mapping[str, Any]:
    try:
        hints = get_type_hints(schema, include_extras=True)
    except NameError as error:
        error.add_note(
            f"This happened while the annotations of state schema '{name_of(schema)}' were read. Define the types that "
            "it names in its module, not in a function, or do not write the annotation as a string there."
        )
        raise
    return {key: hint for key, hint in hints.items() if not _is_dunder(key) and not _is_class_variable(hint)}


def is_annotated(hint: Any) -> bool:
    """Whether this is a class that declares at least one key, itself or by a base."""
    return isclass(hint) and any(not _is_dunder(key) for base in hint.__mro__[:-1] for key in annotations_of(base))


def is_model(schema: Any) -> bool:
    """Whether nodes get instances of this class: a dataclass or a pydantic model."""
    return isclass(schema) and (
        dataclasses.is_dataclass(schema) or issubclass(schema, pydantic.BaseModel) or hasattr(schema, "__fields__")
    )


def mapper_of(schema: Any) -> Callable[[Any], Any] | None:
    """What makes an instance of the values read, for a dataclass or a pydantic model; None where a dict will do."""
    if not is_model(schema):
        return None

    def instance(values: Mapping[str, Any]) -> Any:
        return schema(**values)

    return instance


def unwrapped(hint: Any) -> Any:
    """The annotation without an outer `Required`, `NotRequired` or `ReadOnly`."""
    while get_origin(hint) in WRAPPERS:
        hint = get_args(hint)[0]
    return hint


def name_of(schema: Any) -> str:
    """The schema's name for an error's sentence."""
    return getattr(schema, "__name__", None) or repr(schema)


def _is_dunder(key: str) -> bool:
    return key != ROOT and key.startswith("__") and key.endswith("__") and key != ROOT


def _is_class_variable(hint: Any) -> bool:
    return hint is ClassVar or get_origin(hint) is ClassVar


# -- models and JSON schemas ------------------------------------------------------------------------------------------

Field = tuple[Any, Any]
"""The type of a model's field, and its default, or `...` where it has none."""


def model_of(schema: Any, name: str) -> type[pydantic.BaseModel]:
    """A pydantic model of a schema: itself if it is one, one of this name with its keys, or one with a bare root."""
    if isclass(schema) and issubclass(schema, pydantic.BaseModel):
        return schema
    hints = hints_of(schema)
    if hints is None:
        return _root_model(name, (schema, None))
    return _model(name, {key: (unwrapped(hint), _default(schema, key, hint)) for key, hint in hints.items()})


def json_schema_of(schema: Any, name: str) -> dict[str, Any]:
    """The JSON schema of a schema."""
    if is_typeddict(schema):
        return pydantic.TypeAdapter(schema).json_schema()
    return model_of(schema, name).model_json_schema()


def context_json_schema(schema: Any) -> dict[str, Any] | None:
    """The JSON schema of a context, or None when there is none. ValueError for a type that has no keys."""
    if schema is None:
        return None
    if isclass(schema) and issubclass(schema, pydantic.BaseModel):
        return schema.model_json_schema()
    if is_typeddict(schema) or is_model(schema):
        return pydantic.TypeAdapter(schema).json_schema()
    raise ValueError(
        f"The context schema '{name_of(schema)}' is neither a pydantic model, nor a dataclass, nor a TypedDict, "
        "so it has no JSON schema."
    )


def type_of_channels(channels: Mapping[str, Any], names: str | Sequence[str], *, written: bool) -> Any:
    """The type of what one channel takes (`written`) or gives; None for several, which make a dict."""
    return _type(channels[names], written) if isinstance(names, str) else None


def model_of_channels(
    channels: Mapping[str, Any], names: str | Sequence[str], name: str, *, written: bool
) -> type[pydantic.BaseModel]:
    """A pydantic model of what these channels take (`written`) or give."""
    if isinstance(names, str):
        return _root_model(name, (_type(channels[names], written), ...))
    return _model(name, {key: (_type(channels[key], written), None) for key in names})


def config_model(name: str, context_schema: Any, include: Sequence[str] | None = None) -> type[pydantic.BaseModel]:
    """A pydantic model of a config with these keys of `RunnableConfig`, and the context as `configurable`."""
    hints = get_type_hints(RunnableConfig)
    fields: dict[str, Field] = {} if context_schema is None else {"configurable": (context_schema, None)}
    for key in include or ():
        if key != "configurable":
            fields[key] = (hints[key], None)
    return _model(name, fields)


def _type(channel: BaseChannel[Any, Any, Any], written: bool) -> Any:
    return channel.UpdateType if written else channel.ValueType


def _default(schema: Any, key: str, hint: Any) -> Any:
    """The default that a schema gives a key: declared, or None for what may be left out or be None; else `...`."""
    if dataclasses.is_dataclass(schema):
        field = schema.__dataclass_fields__.get(key)
        if field is not None and field.default is not dataclasses.MISSING:
            return field.default
        if field is not None and field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
    if key in getattr(schema, "__optional_keys__", ()) or get_origin(hint) is NotRequired:
        return None
    return None if type(None) in get_args(_bare(hint)) else ...


def _bare(hint: Any) -> Any:
    while get_origin(hint) in (*WRAPPERS, Annotated):
        hint = get_args(hint)[0]
    return hint


def _model(name: str, fields: Mapping[str, Field]) -> type[pydantic.BaseModel]:
    config = pydantic.ConfigDict(arbitrary_types_allowed=True, frozen=True, protected_namespaces=())
    named = dict(_named(key, hint, default) for key, (hint, default) in fields.items())
    return pydantic.create_model(name, __config__=config, **named)


def _named(key: str, hint: Any, default: Any) -> tuple[str, Any]:
    """A field under its key, or under an alias where the key is no name that a pydantic field may have."""
    if key.isidentifier() and not key.startswith("_") and not hasattr(pydantic.BaseModel, key):
        return key, (hint, default)
    title = key.replace("_", " ").strip().title()
    return f"field_{key.lstrip('_')}", (hint, pydantic.Field(default, alias=key, title=title))


def _root_model(name: str, root: Field) -> type[pydantic.BaseModel]:
    base: Any = pydantic.RootModel.__class_getitem__(root[0])
    made: type[pydantic.BaseModel] = pydantic.create_model(name, __base__=base, root=root)
    made.__doc__ = None
    return made
