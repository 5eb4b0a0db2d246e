"""What a tool may give back, and how it becomes the node's answer."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage

from runtime.prebuilt.tool_node import ToolNode, msg_content_output
from runtime.prebuilt.tool_results import Shape
from runtime.types import Command, Send

CALL: Any = {"name": "act", "args": {}, "id": "1", "type": "tool_call"}
AS_DICT, AS_LIST = Shape(False, "messages"), Shape(True, "messages")
EMPTY = RemoveMessage(id="__remove_all__")


def done(id: str = "1", name: str | None = None) -> ToolMessage:
    return ToolMessage("done", tool_call_id=id, name=name)


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("text", "text"),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
        ([{"type": "unknown"}], '[{"type": "unknown"}]'),
        (["a"], '["a"]'),
        ({"é": 1}, '{"é": 1}'),
        (None, "null"),
        ({1}, "{1}"),
    ],
)
def test_text_and_blocks_stay_and_all_else_is_written_out(output, content):
    assert msg_content_output(output) == content


def test_a_message_of_the_tools_own_keeps_its_name(ask):
    def act() -> Any:
        """Answer with a message."""
        return done(name=None)

    assert [message.name for message in ask(ToolNode([act]), CALL)] == [None]


# -- commands ---------------------------------------------------------------------------------------------------------


def test_the_answer_in_a_command_is_named_after_the_tool():
    given = Command(update={"messages": [done(name="other"), done("2")], "x": 1}, goto="next")
    checked = AS_DICT.checked(given, CALL)
    assert [message.name for message in checked.update["messages"]] == ["act", None]
    assert (checked.update["x"], checked.goto) == (1, "next")
    assert given.update["messages"][0].name == "other"


@pytest.mark.parametrize(
    "command",
    [
        Command(goto="next"),
        Command(update={"messages": [EMPTY]}),
        Command(update={"messages": [EMPTY, done()]}),
        Command(update={"messages": {"role": "tool", "content": "done", "tool_call_id": "1"}}),
        Command(update={"x": 1}, graph=Command.PARENT),
    ],
    ids=["no update", "marker", "marker and answer", "message as a dict", "for the parent"],
)
def test_a_command_that_answers_or_leaves_is_good(command):
    assert AS_DICT.checked(command, CALL).goto == command.goto


@pytest.mark.parametrize(
    "update", [{}, {"x": 1}, {"messages": [done("2")]}, {"messages": [EMPTY, HumanMessage("x")]}], ids=str
)
def test_a_command_that_leaves_the_call_unanswered_is_an_error(update):
    with pytest.raises(ValueError, match=r"'act'.*no ToolMessage for the call '1'.*InjectedToolCallId"):
        AS_DICT.checked(Command(update=update), CALL)


def test_an_update_must_be_of_the_kind_that_the_node_was_given():
    assert AS_LIST.checked(Command(update=[done()]), CALL).update[0].name == "act"
    with pytest.raises(ValueError, match="a list as update"):
        AS_DICT.checked(Command(update=[done()]), CALL)
    with pytest.raises(ValueError, match="a dict as update"):
        AS_LIST.checked(Command(update={"messages": [done()]}), CALL)


@pytest.mark.parametrize("output", [5, {"x": 1}, HumanMessage("x"), ["x"]])
def test_anything_else_is_an_error(output):
    with pytest.raises(TypeError, match="'act'"):
        AS_DICT.checked(output, CALL)


def test_a_list_holds_exactly_one_answer():
    mixed = [done(), Command(update={"x": 1}), done("2")]
    assert AS_DICT.checked(mixed, CALL) == mixed
    in_command = [Command(update={"messages": [done(name="act")]}), Command(goto="next")]
    assert AS_DICT.checked(in_command, CALL) == in_command
    for wrong, count in (([Command(update={"x": 1})], 0), ([done(), done()], 2)):
        with pytest.raises(ValueError, match=f"{count} messages answer the call '1'"):
            AS_DICT.checked(wrong, CALL)


# -- together ---------------------------------------------------------------------------------------------------------


def test_messages_alone_are_one_update():
    assert AS_DICT.together([done(), [done("2"), done("3")]]) == {"messages": [done(), done("2"), done("3")]}
    assert AS_LIST.together([done()]) == [done()]


def test_beside_a_command_each_message_is_a_piece_of_its_own():
    command = Command(goto="next")
    assert AS_DICT.together([done(), command]) == [{"messages": [done()]}, command]
    assert AS_LIST.together([command, done()]) == [command, [done()]]


def test_sends_to_the_parent_become_one_command():
    first = Command(graph=Command.PARENT, goto=[Send("a", 1)], update={"x": 1})
    second = Command(graph=Command.PARENT, goto=[Send("a", 2)])
    assert AS_DICT.together([first, done(), second]) == [
        {"messages": [done()]},
        Command(graph=Command.PARENT, goto=[Send("a", 1), Send("a", 2)], update=[("x", 1)]),
    ]
