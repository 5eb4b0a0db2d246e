"""What an interrupt asks, as values: its words, what it shows, and the answers that fit. Pure; nothing here draws.

An interrupt's value is free, so its shape is read, the clearest first:

- With `answers={label: value}` from the notebook's author: those buttons, which send their values.
- With a response schema: Yes and No, an enum's values, or a typed form; sent is what the schema describes.
- `{"action_requests": […]}`, as LangChain's approval middleware asks: Approve, Edit, Reject for each; sent is
  `{"decisions": […]}`.
- A `HumanInterrupt`, alone or in a list of one: what its config allows; sent is `{"type": "accept", …}`, as it came.
- A tool call, `{"name" or "action" or "tool", "args"}`: Approve sends True, Reject False, and Edit arguments the call
  with its new arguments.
- A question with its `options` or `choices`: those; sent is the one chosen.
- A question that Yes or No answers: True or False.
- Another text, or a question that asks what, who, which …: a text.
- Anything else: JSON.

Every one can be answered as JSON as well, which is sent as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from widgets.forms import Form, answer_form
from widgets.schema import resolve
from widgets.standing import Pending
from widgets.typeforms import value_form
from workbench import text

__all__ = ["Answers", "Ask", "Call", "Choice", "Question", "question"]

Answers = Mapping[str, Any] | Callable[[Pending], Mapping[str, Any] | None]
"""The buttons of a notebook's author and what each sends; or a function that gives them for a question, or None."""


class Choice(NamedTuple):
    """A button, and the answer that it sends."""

    label: str
    answer: Any


class Call(NamedTuple):
    """A tool call that is to be judged."""

    name: str
    arguments: Mapping[str, Any]


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Ask:
    """One thing to be answered: what it says and shows, and the ways to answer it.

    `shown` is a value to look at (None: the words say it all). `form` is there at once; `edit` behind its button;
    `words` says that a text will do. `edited` and `said` make the answer of a form's values and of a text.
    """

    title: str
    text: str = ""
    call: Call | None = None
    shown: Any = None
    choices: tuple[Choice, ...] = ()
    form: Form | None = None
    edit: Form | None = None
    words: bool = False
    words_label: str = "Answer in words"
    edited: Callable[[Any], Any] = _as_it_is
    said: Callable[[str], Any] = _as_it_is

    @property
    def first(self) -> str:
        """The way that is open at first: choice, form, words or json."""
        if self.choices:
            return "choice"
        return "form" if self.form is not None else "words" if self.words else "json"


@dataclass(frozen=True)
class Question:
    """A pending interrupt as asks, and `join`, which makes its answer of theirs."""

    pending: Pending
    asks: tuple[Ask, ...]
    join: Callable[[Sequence[Any]], Any]


def question(pending: Pending, answers: Answers | None = None) -> Question:
    """How to ask for the answer of an interrupt."""
    asks, join = _asks(pending.value)
    schema = pending.response_schema
    if schema:
        asks, join = (_with_schema(_one(pending.value), schema),), _only
    given = answers(pending) if callable(answers) else answers
    if given:
        buttons = tuple(Choice(str(label), answer) for label, answer in given.items())
        asks = (replace(_one(pending.value), choices=buttons, form=None, edit=None, words=False),)
        join = _only
    named = f"{pending.node} asks"
    return Question(pending, tuple(replace(one, title=named) if one.title == _UNTITLED else one for one in asks), join)


def _only(answers: Sequence[Any]) -> Any:
    return answers[0]


def _asks(value: Any) -> tuple[tuple[Ask, ...], Callable[[Sequence[Any]], Any]]:
    requests = value.get("action_requests") if isinstance(value, Mapping) else None
    if isinstance(requests, list) and requests and all(isinstance(one, Mapping) for one in requests):
        configs = value.get("review_configs")
        allowed = [one for one in configs if isinstance(one, Mapping)] if isinstance(configs, list) else []
        return tuple(_review(one, allowed) for one in requests), lambda answers: {"decisions": list(answers)}
    if isinstance(value, list) and len(value) == 1 and _is_human_interrupt(value[0]):
        return (_human_interrupt(value[0]),), list
    if _is_human_interrupt(value):
        return (_human_interrupt(value),), _only
    return (_one(value),), _only


# -- the shapes -------------------------------------------------------------------------------------------------------

_NAME: Final = ("name", "action", "tool", "tool_name")
_ARGUMENTS: Final = ("args", "arguments", "tool_input", "action_input")
_OPTIONS: Final = ("options", "choices")
_OPEN: Final = re.compile(r"(?i)^\W*(?:and |so |but |please )?(?:what|who|whom|whose|which|where|when|why|how)\b")
_TITLE: Final = 120
_UNTITLED: Final = "An answer is needed"


def _one(value: Any) -> Ask:
    """What one value asks, whatever its shape."""
    messages = getattr(value, "tool_calls", None)
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], Mapping):
        value = dict(messages[0])
    if isinstance(value, str):
        return _spoken(value, None)
    if isinstance(value, Mapping):
        found = _call(value)
        return found or _mapping(value)
    if text.message(value) is not None:
        return Ask("Answer this message", shown=value, words=True)
    return Ask(_UNTITLED, shown=value)


def _spoken(words: str, shown: Any) -> Ask:
    """A question in words: its first line is the title, the rest stands below."""
    head, _, rest = words.strip().partition("\n")
    title, body = (head, rest.strip()) if 0 < len(head) <= _TITLE else (_UNTITLED, words.strip())
    closed = (head if rest else words.strip()).rstrip().endswith(("?", "？")) and not _OPEN.match(words)  # noqa: RUF001
    choices = (Choice("Yes", True), Choice("No", False)) if closed else ()
    return Ask(title, body, shown=shown, choices=choices, words=True)


def _call(value: Mapping[Any, Any]) -> Ask | None:
    name = next((value[key] for key in _NAME if isinstance(value.get(key), str)), None)
    key = next((key for key in _ARGUMENTS if isinstance(value.get(key), Mapping)), None)
    if name is None or key is None:
        return None
    told = text.question(value) or ""
    title, body = (told, "") if told.endswith("?") and len(told) <= _TITLE else ("Run this tool?", told)
    return Ask(
        title,
        body,
        Call(name, value[key]),
        choices=(Choice("Approve", True), Choice("Reject", False)),
        edit=value_form(value[key]) if value[key] else None,
        edited=lambda arguments: {**value, key: {**value[key], **arguments}},
    )


def _mapping(value: Mapping[Any, Any]) -> Ask:
    """A mapping with a question in it, or with nothing that we know: shown as a table, the question as title."""
    key = text.question_key(value)
    options_key = next((word for word in _OPTIONS if _are_options(value.get(word))), None)
    rest = {name: one for name, one in value.items() if name not in (key, options_key)}
    found = _spoken(value[key], rest or None) if key else Ask(_UNTITLED, shown=value if not options_key else rest)
    if options_key is not None:
        return replace(found, choices=tuple(Choice(text.value(one), one) for one in value[options_key]))
    return found


def _are_options(value: Any) -> bool:
    plain = isinstance(value, list | tuple) and 0 < len(value) <= 12
    return plain and all(isinstance(one, str | int | float | bool) for one in value)


def _review(request: Mapping[str, Any], configs: Sequence[Mapping[str, Any]]) -> Ask:
    """One action of LangChain's approval middleware."""
    name = str(request.get("name") or request.get("action") or "action")
    given = request.get("args") or request.get("arguments")
    arguments = given if isinstance(given, Mapping) else {}
    config = next((one for one in configs if one.get("action_name") == name), {})
    allowed = config.get("allowed_decisions") or ("approve", "edit", "reject")
    decisions = {"approve": "Approve", "reject": "Reject"}
    return Ask(
        "Run this tool?",
        str(request.get("description") or ""),
        Call(name, arguments),
        choices=tuple(Choice(label, {"type": kind}) for kind, label in decisions.items() if kind in allowed),
        edit=value_form(arguments) if arguments and "edit" in allowed else None,
        edited=lambda new: {"type": "edit", "edited_action": {"name": name, "args": {**arguments, **new}}},
        words="reject" in allowed,
        words_label="Reject with a reason",
        said=lambda words: {"type": "reject", "message": words},
    )


def _is_human_interrupt(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("action_request"), Mapping) and "config" in value


def _human_interrupt(value: Mapping[str, Any]) -> Ask:
    request = value["action_request"]
    given = value["config"] if isinstance(value["config"], Mapping) else {}
    name, arguments = str(request.get("action", "action")), request.get("args")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    choices = []
    if given.get("allow_accept", True):
        choices.append(Choice("Approve", {"type": "accept", "args": None}))
    if given.get("allow_ignore"):
        choices.append(Choice("Ignore", {"type": "ignore", "args": None}))
    return Ask(
        "Run this tool?",
        str(value.get("description") or ""),
        Call(name, arguments),
        choices=tuple(choices),
        edit=value_form(arguments) if arguments and given.get("allow_edit") else None,
        edited=lambda new: {"type": "edit", "args": {"action": name, "args": {**arguments, **new}}},
        words=bool(given.get("allow_respond")),
        said=lambda words: {"type": "response", "args": words},
    )


def _with_schema(found: Ask, given: Mapping[str, Any]) -> Ask:
    """The same words with the ways to answer that a schema leaves."""
    schema = resolve(given, given)
    options = schema.get("enum")
    if schema.get("type") == "boolean":
        labels = ("Approve", "Reject") if found.call else ("Yes", "No")
        choices: tuple[Choice, ...] = (Choice(labels[0], True), Choice(labels[1], False))
    elif isinstance(options, list) and 0 < len(options) <= 5:
        choices = tuple(Choice(text.value(one), one) for one in options)
    else:
        title = schema.get("title")
        if found.title == _UNTITLED and isinstance(title, str) and " " in title:
            found = replace(found, title=title)
        return replace(found, choices=(), edit=None, words=False, form=answer_form(given))
    return replace(found, choices=choices, edit=None, words=False, form=None)
