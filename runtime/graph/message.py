"""A list of messages as state: merged by id, added to, and emptied by markers.

`add_messages` is called at every barrier of a conversation, and a conversation grows. So it keeps what it last knew of
a few long lists: which message has which id at which place. That is used only when every message of the list it is
given is still the very one it knows; otherwise the list is read again.
"""

from __future__ import annotations

import uuid
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any, Literal, overload

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessageChunk,
    HumanMessage,
    MessageLikeRepresentation,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
    message_chunk_to_message,
)
from typing_extensions import TypedDict

from runtime._context import task_of
from runtime._words import REMOVE_ALL
from runtime.config import get_config
from runtime.graph.state import StateGraph
from runtime.warnings import LangGraphDeprecatedSinceV10

__all__ = ("REMOVE_ALL_MESSAGES", "MessageGraph", "MessagesState", "add_messages", "push_message")

Messages = list[MessageLikeRepresentation] | MessageLikeRepresentation

REMOVE_ALL_MESSAGES = REMOVE_ALL
"""`RemoveMessage(id=REMOVE_ALL_MESSAGES)` empties the list; what follows it in the same update is kept."""


@overload
def add_messages(
    left: None = None, right: None = None, *, format: Literal["langchain-openai"] | None = None
) -> Callable[[Messages, Messages], list[AnyMessage]]: ...
@overload
def add_messages(
    left: Messages, right: Messages, *, format: Literal["langchain-openai"] | None = None
) -> list[AnyMessage]: ...
def add_messages(
    left: Messages | None = None,
    right: Messages | None = None,
    *,
    format: Literal["langchain-openai"] | None = None,
) -> list[AnyMessage] | Callable[[Messages, Messages], list[AnyMessage]]:
    """`left` with the messages of `right`: those with a known id replace, the others follow; a new list.

    Anything langchain-core can read as a message may stand for one. A message without id gets one, on the object
    itself. `RemoveMessage(id)` deletes, unless a message of that id follows it; ValueError when there is no such
    message. `RemoveMessage(id=REMOVE_ALL_MESSAGES)` drops all that was there before it. With
    `format="langchain-openai"` the contents of the result are blocks as OpenAI writes them.

    Without messages, gives the reducer with its format set: `Annotated[list, add_messages(format=...)]`.
    """
    if left is None or right is None:
        if left is None and right is None:
            return partial(add_messages, format=format)  # type: ignore[return-value]  # mypy binds the first overload
        given = "right" if left is None else "left"
        raise ValueError(
            f"add_messages takes both lists of messages, or neither (to make a reducer), not only '{given}'."
        )
    new = _read(right)
    start = _after_last_marker(new)
    if start:
        return new[start:]
    merged = _merge(_known(left), new)
    if not format:
        return merged
    if format != "langchain-openai":
        raise ValueError(f"The format of add_messages is 'langchain-openai' or None, not {format!r}.")
    return list[Any](convert_to_messages(convert_to_openai_messages(merged, include_id=True)))


class MessagesState(TypedDict):
    """A state of one key, `messages`. Subclass it to add more."""

    messages: Annotated[list[AnyMessage], add_messages]


class MessageGraph(StateGraph[list[AnyMessage]]):
    """Deprecated: use `StateGraph(MessagesState)`. A graph whose whole state is one list of messages."""

    def __init__(self) -> None:
        warnings.warn(
            "MessageGraph is deprecated. Use StateGraph with MessagesState, whose key is 'messages'.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        super().__init__(Annotated[list[AnyMessage], add_messages])  # type: ignore[arg-type]  # a reducer needs Annotated


def push_message(
    message: MessageLikeRepresentation | BaseMessageChunk, *, state_key: str | None = "messages"
) -> AnyMessage:
    """Show a message in the `messages` stream now, from inside a node, and write it to the state; gives the message.

    With `state_key=None` it is shown only. Raises ValueError for a message without an id (its reader knows it by that),
    and RuntimeError outside of a node.
    """
    config = get_config()
    task = task_of(config)
    if task is None:
        raise RuntimeError("push_message() was called outside of a graph's run. Call it in a node, a tool or a task.")
    pushed: Any = message if isinstance(message, BaseMessageChunk) else convert_to_messages([message])[0]
    if pushed.id is None:
        raise ValueError(
            "Message ID is required by push_message(): its reader knows the message by that. Give it an id."
        )
    task.run.stream(task, "messages", (pushed, dict(config.get("metadata", {}))))
    if state_key is not None:
        task.send([(state_key, pushed)])
    return pushed  # type: ignore[no-any-return]  # convert_to_messages gives messages of every kind


def _messages_delta_reducer(state: Any, writes: Sequence[Any]) -> list[AnyMessage]:
    """All writes of a superstep, merged into `state` at once: the reducer for a `DeltaChannel`.

    Each write is a list of messages or one message. As `add_messages`, but ids must have been given before, and
    removing a message that is not there does nothing: a replay may start after it.
    """
    new: list[Any] = []
    for write in writes:
        new.extend(convert_to_messages(write if isinstance(write, list) else [write]))
    start = _after_last_marker(new)
    known = _Known([]) if start else _recall(state) or _Known(convert_to_messages(state))
    return _merge(known, new[start:], strict=False)


def _prepared(write: Any) -> Any:
    return _read(write) if isinstance(write, list) else _read([write])[0]


_messages_delta_reducer.prepare = _prepared  # type: ignore[attr-defined]  # a write is stored as the messages that it is


# -- reading ----------------------------------------------------------------------------------------------------------

_WHOLE = frozenset({AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage})


def _read(messages: Messages) -> list[Any]:
    """The messages, whole and each with an id, in a new list."""
    given: list[Any] = list[Any](messages) if isinstance(messages, list) else [messages]
    if not all(type(message) in _WHOLE for message in given):
        given = [
            message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
            for message in convert_to_messages(given)
        ]
    for message in given:
        if message.id is None:
            message.id = str(uuid.uuid4())
    return given


def _after_last_marker(messages: Sequence[Any]) -> int:
    """Where that begins which the last remove-all marker keeps; 0 when there is no marker."""
    for index in range(len(messages) - 1, -1, -1):
        if type(messages[index]) is RemoveMessage and messages[index].id == REMOVE_ALL_MESSAGES:
            return index + 1
    return 0


# -- merging ----------------------------------------------------------------------------------------------------------


class _Known:
    """A list of messages, and the last place of each id in it. It belongs to one caller at a time."""

    __slots__ = ("messages", "places")

    def __init__(self, messages: Iterable[Any]) -> None:
        self.messages = list(messages)
        self.places: dict[str | None, int] = {message.id: place for place, message in enumerate(self.messages)}
        self.places.pop(None, None)


_KEPT = 8  # lists; each keeps its messages alive until so many others were longer ago
_WORTH_KEEPING = 32  # messages; shorter lists are read as quickly as they are compared
_recent: OrderedDict[int, _Known] = OrderedDict()  # by the identity of a list's first message


def _known(messages: Messages) -> _Known:
    """What is known of a list that add_messages may have made, or of any other when it is read."""
    return _recall(messages) or _Known(_read(messages))


def _recall(messages: Messages) -> _Known | None:
    """What was kept of this very list, or of one that grew out of it, cut back; the caller alone has it now."""
    if not isinstance(messages, list) or len(messages) < _WORTH_KEEPING:
        return None
    known = _recent.pop(id(messages[0]), None)
    if known is None:
        return None
    length = len(messages)
    if len(known.messages) > length:
        for message in known.messages[length:]:
            known.places.pop(message.id, None)
        del known.messages[length:]
    return known if known.messages == messages else None


def _keep(known: _Known) -> list[Any]:
    """The messages, as a list of the caller's own. When they are many, each with its id, what is known is kept."""
    if len(known.messages) < _WORTH_KEEPING or len(known.places) < len(known.messages):
        return known.messages
    _recent[id(known.messages[0])] = known
    if len(_recent) > _KEPT:
        _recent.popitem(last=False)
    return known.messages.copy()


def _merge(known: _Known, new: Sequence[Any], *, strict: bool = True) -> list[Any]:
    messages, places = known.messages, known.places
    removed: set[str | None] = set()
    for message in new:
        place = places.get(message.id)
        if type(message) is RemoveMessage:
            if place is not None:
                removed.add(message.id)
            elif strict:
                raise ValueError(
                    f"RemoveMessage(id={message.id!r}) names none of the {len(messages)} messages in the list. "
                    f"Give the id of one of them."
                )
        elif place is None:
            if message.id is not None:
                places[message.id] = len(messages)
            messages.append(message)
        else:
            messages[place] = message
            removed.discard(message.id)
    return _keep(_Known(message for message in messages if message.id not in removed) if removed else known)
