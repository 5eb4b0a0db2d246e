"""The shapes of a question about a tool call, and of its answer, that some user interfaces know. Deprecated."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict, deprecated

from runtime.warnings import LangGraphDeprecatedSinceV10

__all__ = ("ActionRequest", "HumanInterrupt", "HumanInterruptConfig", "HumanResponse")

_OLD = "The types of runtime.prebuilt.interrupt are deprecated. Describe the question in a type of your own."


@deprecated(_OLD, category=LangGraphDeprecatedSinceV10)
class HumanInterruptConfig(TypedDict):
    """What whoever is asked may do: skip the step, answer in words, change the arguments, let it pass."""

    allow_ignore: bool
    allow_respond: bool
    allow_edit: bool
    allow_accept: bool


@deprecated(_OLD, category=LangGraphDeprecatedSinceV10)
class ActionRequest(TypedDict):
    """What is about to be done: the action's name, and its arguments."""

    action: str
    args: dict[str, Any]


@deprecated(_OLD, category=LangGraphDeprecatedSinceV10)
class HumanInterrupt(TypedDict):
    """The question: the action, the ways to answer, and words that explain it."""

    action_request: ActionRequest
    config: HumanInterruptConfig
    description: str | None


@deprecated(_OLD, category=LangGraphDeprecatedSinceV10)
class HumanResponse(TypedDict):
    """The answer. `args` is None for accept and ignore, text for a response, the new request for an edit."""

    type: Literal["accept", "ignore", "response", "edit"]
    args: str | ActionRequest | None
