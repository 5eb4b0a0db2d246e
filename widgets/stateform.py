"""A state as a form: one block of fields for each channel, and how to read back what was changed. Pure.

A channel without a reducer shows its value, and a field that was not touched is not written. A channel with a reducer
starts empty, for what is typed is added to what is there; the block says so, and can be switched to overwrite.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, message_to_dict
from langchain_core.messages.utils import convert_to_messages
from pydantic_core import to_jsonable_python

from widgets import engine
from widgets.fields import Field, clean, convert, read_json
from widgets.typeforms import fields_of
from workbench import text
from workbench.diff import ABSENT

__all__ = ["ROLES", "ChannelForm", "channel_forms", "message_words"]

ROLES: Final = ("human", "ai", "system")
_MESSAGES: Final[dict[str, type[BaseMessage]]] = {"human": HumanMessage, "ai": AIMessage, "system": SystemMessage}


@dataclass(frozen=True)
class ChannelForm:
    """The block of one channel.

    `words` says what it holds, `lead` what becomes of what is typed; `switch` are the two words of its switch, which
    stands at the second when `overwrite` is set. `messages` are those there are, for a channel of chat messages.
    """

    channel: str
    value: Any
    annotation: Any
    fields: tuple[Field, ...]
    words: str
    lead: str
    reducer: str | None = None
    switch: tuple[str, str] | None = None
    overwrite: bool = False
    messages: tuple[Any, ...] | None = None

    @property
    def adds_message(self) -> bool:
        """True where the block is a role and a text instead of fields."""
        return self.messages is not None and not self.overwrite

    def label(self, one: Field) -> str:
        """The name of a field: the channel's, with the path inside it."""
        name = "state" if self.channel == engine.ROOT else self.channel
        return ".".join((name, *one.path))

    def read(self, raw: Mapping[str, str]) -> Any:
        """What to write to the channel; `ABSENT` where nothing was changed.

        Raises `FieldFault` with a sentence, and the field it stands at.
        """
        if self.adds_message:
            found = self._read_message(raw)
        elif self.reducer is not None and not self.overwrite:
            found = self._read_added(raw)
        else:
            found = self._read_changed(raw)
        return engine.overwrite(found) if self.overwrite and found is not ABSENT else found

    def target(self, raw: Mapping[str, str]) -> int | None:
        """Which message is to be replaced, counted from 0; None for a new one."""
        wanted = raw.get("target", "new")
        known = len(self.messages or ())
        return int(wanted) if wanted.isdigit() and int(wanted) < known else None

    def _read_message(self, raw: Mapping[str, str]) -> Any:
        words, at = raw.get("text", ""), self.target(raw)
        old = (self.messages or ())[at] if at is not None else None
        if old is not None:
            same = words == "" or words == clean(message_words(old))
            return ABSENT if same else [old.model_copy(update={"content": words})]
        role = raw.get("role", ROLES[0])
        return ABSENT if words == "" else [_MESSAGES.get(role, HumanMessage)(words)]

    def _read_added(self, raw: Mapping[str, str]) -> Any:
        one = self.fields[0]
        typed = raw.get("0", "")
        if typed == "" or (one.kind == "lines" and not typed.strip()):
            return ABSENT
        return _read(one, 0, typed)

    def _read_changed(self, raw: Mapping[str, str]) -> Any:
        typed = {i: raw.get(str(i), one.initial).replace("\r\n", "\n") for i, one in enumerate(self.fields)}
        touched = [i for i, one in enumerate(self.fields) if typed[i] != one.initial]
        if self.overwrite and self.value is not ABSENT and not touched:
            return ABSENT
        if not touched:
            return ABSENT
        if self.messages is not None:
            return _read_messages(typed[0])
        whole = self.value
        if whole is ABSENT and any(one.path for one in self.fields):
            whole, touched = {}, [i for i, one in enumerate(self.fields) if typed[i] != "" or not one.optional]
        for i in touched:
            one = self.fields[i]
            found = _read(one, i, typed[i])
            whole = _put(whole, one.path, found)
        if self.value is ABSENT:
            try:
                return convert(self.annotation, whole)
            except ValueError as error:
                raise FieldFault(-1, str(error)) from None
        return whole


class FieldFault(ValueError):
    """What was typed cannot be read: the field's place in its block (-1: the block as a whole), and a sentence."""

    def __init__(self, place: int, words: str) -> None:
        super().__init__(words)
        self.place = place


def channel_forms(graph: Any, values: Any, overwrite: Sequence[str] = ()) -> tuple[ChannelForm, ...]:
    """The blocks of a graph's state, in its order, for the values of one checkpoint."""
    declared = engine.declared(graph)
    held = engine.by_channel(values)
    return tuple(
        _block(name, channel, declared.get(name, Any), held.get(name, ABSENT), name in overwrite)
        for name, channel in engine.channels(graph).items()
    )


def message_words(message: Any) -> str:
    """The text of a message, as one edits it."""
    said = text.message(message)
    return said.words if said is not None else text.value(message)


def _block(name: str, channel: Any, annotation: Any, value: Any, overwrite: bool) -> ChannelForm:
    function = engine.reducer(channel)
    present = value is not ABSENT
    messages = _messages(annotation, function, value)
    kind = engine.reducer_name(function) if function is not None else None
    if kind is None:
        held = "" if type(channel).__name__ == "LastValue" else f", {_spaced(type(channel).__name__)}"
        fields = fields_of(annotation, value if present else None, present)
        lead = f"replaces {_before(value)}" if present else "holds nothing yet"
        return ChannelForm(name, value, annotation, fields, _words(fields) + (held or ", last value"), lead)
    if messages is not None:
        shown = json.dumps([_message_dict(one) for one in messages], ensure_ascii=False, indent=2)
        fields = (Field((), "json", "JSON", clean(shown)),)
        lead, switch, words = "", ("Add to the list", "Overwrite it"), "list of messages"
    else:
        fields = fields_of(annotation, value if present else None, present and overwrite)
        fields = fields if overwrite or len(fields) == 1 else (Field((), "json", "JSON", annotation=annotation),)
        fields = fields if overwrite else (replace(fields[0], initial=""),)
        words = _words(fields)
        lead, switch = _lead(function, value, kind)
    if overwrite:
        lead = f"replaces {_before(value)}" if present else "holds nothing yet"
    return ChannelForm(name, value, annotation, fields, words, lead, kind, switch, overwrite, messages)


def _lead(function: Any, value: Any, kind: str) -> tuple[str, tuple[str, str]]:
    """What becomes of what is typed, and the two words of the switch."""
    adds = function in (operator.add, operator.iadd)
    if adds and isinstance(value, list | tuple):
        return f"is added to the list of {text.count(len(value), 'item')}", ("Add to the list", "Overwrite it")
    if value is ABSENT:
        return "holds nothing yet; the first value is taken as it is", ("First value", "Overwrite it")
    if adds:
        return f"is added to {_before(value)}", ("Add to it", "Overwrite it")
    return f"is combined with {_before(value)} by {kind}", ("Combine", "Overwrite it")


def _before(value: Any) -> str:
    return text.shorten(text.summary(value), 60) if isinstance(value, list | dict) else text.value(value, 60)


def _words(fields: Sequence[Field]) -> str:
    if len(fields) == 1 and not fields[0].path:
        return fields[0].words
    return text.count(len(fields), "value")


def _spaced(name: str) -> str:
    return "".join(f" {one.lower()}" if one.isupper() else one for one in name).strip()


def _messages(annotation: Any, function: Any, value: Any) -> tuple[Any, ...] | None:
    """The messages of a channel that keeps a chat; None for any other."""
    if function is None:
        return None
    items = tuple(value) if isinstance(value, list) else ()
    chat = engine.reducer_name(function) == "add_messages"
    if chat or (items and all(isinstance(one, BaseMessage) for one in items) and function is not operator.add):
        return items if all(isinstance(one, BaseMessage) for one in items) else None
    return None


def _message_dict(message: BaseMessage) -> dict[str, Any]:
    """A message as one writes it: role, content, and what else it carries."""
    found = message_to_dict(message)
    kept = {key: one for key, one in found["data"].items() if one not in (None, {}, []) and key != "type"}
    plain: dict[str, Any] = to_jsonable_python({"role": found["type"], **kept}, fallback=str)
    return plain


def _read_messages(raw: str) -> list[AnyMessage]:
    try:
        found = read_json(raw)
        if not isinstance(found, list):
            raise ValueError('Give a list of messages, as in [{"role": "human", "content": "Hello"}].')
        return list(convert_to_messages(found))  # type: ignore[arg-type]  # every message is one of AnyMessage
    except Exception as error:
        first = str(error).split("\n", 1)[0].strip().rstrip(".")
        raise FieldFault(0, f"{first}.") from None


def _read(one: Field, place: int, typed: str) -> Any:
    try:
        return one.read(typed)
    except ValueError as error:
        raise FieldFault(place, str(error)) from None


def _put(whole: Any, path: tuple[str, ...], value: Any) -> Any:
    """The whole with one member changed; the original stays as it is."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(whole, Mapping):
        return {**whole, head: _put(whole.get(head, {}), rest, value)}
    inner = _put(getattr(whole, head, {}), rest, value)
    if dataclasses.is_dataclass(whole) and not isinstance(whole, type):
        return dataclasses.replace(whole, **{head: inner})
    if hasattr(whole, "model_copy"):
        return whole.model_copy(update={head: inner})
    changed = copy.copy(whole)
    setattr(changed, head, inner)
    return changed
