"""Several commands for one graph as one."""

from runtime.types import Command, Send
from runtime.utils.commands import merged


def up(**fields):
    return Command(graph=Command.PARENT, **fields)


def test_none_and_one_are_left_as_they_are():
    assert merged([]) == []
    assert merged([up(update={"x": 1})]) == [up(update={"x": 1})]


def test_all_updates_arrive_and_each_destination_is_named_once():
    commands = [up(update={"x": 1}, goto="a"), up(goto=["b", "a"]), up(update={"x": 2, "y": 3}, goto="a")]
    assert merged(commands) == [up(update=[("x", 1), ("x", 2), ("y", 3)], goto=["a", "b"])]


def test_every_send_stays():
    assert merged([up(goto=Send("a", 1)), up(goto=[Send("a", 1)])]) == [up(goto=[Send("a", 1), Send("a", 1)])]


def test_lists_follow_each_other():
    assert merged([up(update=["a"]), up(update=["b"])]) == [up(update=["a", "b"], goto=[])]


def test_updates_of_different_kinds_stay_apart():
    commands = [up(update={"x": 1}), up(update=["a"])]
    assert merged(commands) == commands
