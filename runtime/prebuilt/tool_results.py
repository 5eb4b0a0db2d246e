"""What tools gave back, checked and put together into the answer of their node.

Every tool call needs a `ToolMessage` that answers it, or the model's provider refuses the conversation. So a tool that
gives a `Command` must put one into the command's update, unless the command leaves this graph.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage, convert_to_messages

from runtime.graph.message import REMOVE_ALL_MESSAGES
from runtime.types import Command, Send
from runtime.utils.commands import merged

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall

__all__ = ("Shape", "msg_content_output")

_BLOCKS = frozenset(
    {"text", "image_url", "image", "json", "search_result", "custom_tool_call_output", "document", "file"}
)


def msg_content_output(output: Any) -> str | list[Any]:
    """A tool's output as a message's content: text and lists of content blocks as they are, else JSON, else `str`."""
    if isinstance(output, str):
        return output
    if isinstance(output, list) and all(isinstance(block, dict) and block.get("type") in _BLOCKS for block in output):
        return output
    try:
        return json.dumps(output, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(output)


class Shape(NamedTuple):
    """How a tool node was asked, and so how it answers: by a list, or by a dict under `messages_key`."""

    as_list: bool
    messages_key: str

    def checked(self, output: Any, call: ToolCall) -> Any:
        """A tool's output, fit for the node's answer.

        Raises TypeError for what is neither message nor command, and ValueError where the call stays unanswered.
        """
        if isinstance(output, list):
            return self._checked_list(output, call)
        if isinstance(output, Command):
            command, answers = self._checked_command(output, call)
            if command.graph is None and isinstance(command.update, (dict, list)) and answers == 0:
                raise ValueError(self._unanswered(command, call))
            return command
        if isinstance(output, ToolMessage):
            output.content = msg_content_output(output.content)
            return output
        raise TypeError(
            f"Tool '{call['name']}' gave {type(output).__name__}. A tool gives plain data, a ToolMessage, a Command, "
            f"or a list of the last two."
        )

    def _checked_list(self, outputs: list[Any], call: ToolCall) -> list[Any]:
        checked: list[Any] = []
        terminating = 0
        for output in outputs:
            if isinstance(output, Command):
                command, answers = self._checked_command(output, call, marker_answers=False)
                checked.append(command)
                terminating += answers
            else:
                checked.append(self.checked(output, call))
                terminating += getattr(output, "tool_call_id", None) == call["id"]
        if terminating != 1:
            raise ValueError(
                f"Tool '{call['name']}' gave a list in which {terminating} messages answer the call '{call['id']}'. "
                f"Exactly one ToolMessage must answer it."
            )
        return checked

    def _checked_command(
        self, command: Command[Any], call: ToolCall, *, marker_answers: bool = True
    ) -> tuple[Command[Any], int]:
        """The command, its answers named after the tool, and how many they are; a lone remove-all marker is one."""
        update = command.update
        if isinstance(update, dict):
            if self.as_list:
                raise ValueError(
                    f"Tool '{call['name']}' gave a Command with a dict as update, but its tool node was given a list "
                    f"of messages. Use a list of messages as update, or give the node a dict with "
                    f"'{self.messages_key}'."
                )
            found = update.get(self.messages_key, [])
        elif isinstance(update, list):
            if not self.as_list:
                raise ValueError(
                    f"Tool '{call['name']}' gave a Command with a list as update, but its tool node was not given a "
                    f"list of messages. Use a dict as update: {{'{self.messages_key}': [...]}}."
                )
            found = update
        else:
            return command, 0
        messages = convert_to_messages(found if isinstance(found, list) else [found])
        if marker_answers and len(messages) == 1 and _is_marker(messages[0]):
            return command, 1
        named = [_named(message, call) for message in messages]
        answers = sum(_answers(message, call) for message in named)
        if answers:
            with_names = {**update, self.messages_key: named} if isinstance(update, dict) else named
            command = replace(command, update=with_names)
        return command, answers

    def _unanswered(self, command: Command[Any], call: ToolCall) -> str:
        message = 'ToolMessage("Done", tool_call_id=tool_call_id)'
        update = f"[{message}, ...]" if self.as_list else f'{{"{self.messages_key}": [{message}], ...}}'
        return (
            f"Tool '{call['name']}' gave a Command whose update holds no ToolMessage for the call '{call['id']}': "
            f"{command.update!r}. Every tool call needs one. Let the tool ask for its call's id, "
            f"`tool_call_id: Annotated[str, InjectedToolCallId]`, and give Command(update={update})."
        )

    def together(self, outputs: Sequence[Any]) -> Any:
        """The node's answer: messages in the order of the calls; a list of pieces where a command is among them."""
        flat: list[Any] = []
        for output in outputs:
            flat.extend(output if isinstance(output, list) else [output])
        if not any(isinstance(output, Command) for output in flat):
            return flat if self.as_list else {self.messages_key: flat}
        pieces: list[Any] = []
        sending: list[Command[Any]] = []
        for output in flat:
            if not isinstance(output, Command):
                pieces.append([output] if self.as_list else {self.messages_key: [output]})
            elif _sends_to_parent(output):
                sending.append(output)
            else:
                pieces.append(output)
        return [*pieces, *merged(sending)]


def _named(message: BaseMessage, call: ToolCall) -> BaseMessage:
    return message.model_copy(update={"name": call["name"]}) if _answers(message, call) else message


def _answers(message: BaseMessage, call: ToolCall) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id == call["id"]


def _sends_to_parent(command: Command[Any]) -> bool:
    goto = command.goto
    return (
        command.graph == Command.PARENT
        and isinstance(goto, (list, tuple))
        and len(goto) > 0
        and all(isinstance(target, Send) for target in goto)
    )


def _is_marker(message: BaseMessage) -> bool:
    return isinstance(message, RemoveMessage) and message.id == REMOVE_ALL_MESSAGES
