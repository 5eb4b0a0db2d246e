"""The channels of one value: what each keeps, refuses and forgets."""

import pytest

from runtime.channels import AnyValue, EphemeralValue, LastValue, LastValueAfterFinish, UntrackedValue
from runtime.channels.base import MISSING, BaseChannel
from runtime.errors import EmptyChannelError, InvalidUpdateError

EMPTY = "empty"

# channel, updates, what each update returns, what is held after it
TABLE = [
    (LastValue(int), [[], [1], [], [2]], [False, True, False, True], [EMPTY, 1, 1, 2]),
    (AnyValue(int), [[], [1, 2], [], []], [False, True, True, False], [EMPTY, 2, EMPTY, EMPTY]),
    (EphemeralValue(int), [[], [1], [], []], [False, True, True, False], [EMPTY, 1, EMPTY, EMPTY]),
    (EphemeralValue(int, guard=False), [[1, 2], []], [True, True], [2, EMPTY]),
    (UntrackedValue(int), [[], [1], [], [2]], [False, True, False, True], [EMPTY, 1, 1, 2]),
    (UntrackedValue(int, guard=False), [[1, 2], []], [True, False], [2, 2]),
]


def held(channel: BaseChannel) -> object:
    return channel.get() if channel.is_available() else EMPTY


@pytest.mark.parametrize(("channel", "updates", "changed", "values"), TABLE)
def test_what_each_update_leaves(channel, updates, changed, values):
    channel = channel.copy()
    assert [(channel.update(update), held(channel)) for update in updates] == list(zip(changed, values, strict=True))


@pytest.mark.parametrize("channel", [LastValue(int), EphemeralValue(int), UntrackedValue(int)])
def test_two_writes_in_a_superstep_are_refused_and_change_nothing(channel):
    channel = channel.copy()
    channel.key = "total"
    channel.update([1])
    with pytest.raises(InvalidUpdateError, match="'total' took 2 writes in one superstep.*: 7 and 8"):
        channel.update([7, 8])
    assert channel.get() == 1


def test_the_refusal_of_a_last_value_says_the_way_out_and_its_code():
    with pytest.raises(InvalidUpdateError, match="(?s)Give it a reducer.*INVALID_CONCURRENT_GRAPH_UPDATE$"):
        LastValue(int, "total").update([7, 8])


def test_an_empty_channel_says_its_name():
    with pytest.raises(EmptyChannelError, match="'total' is empty"):
        LastValue(int, "total").get()


@pytest.mark.parametrize("channel", [LastValue(int), AnyValue(int), EphemeralValue(int), UntrackedValue(int)])
def test_none_is_a_value(channel):
    channel = channel.copy()
    assert channel.update([None])
    assert channel.is_available()
    assert channel.get() is None


@pytest.mark.parametrize("channel", [LastValue(int), AnyValue(int), EphemeralValue(int)])
@pytest.mark.parametrize("value", [None, 5, (5, True)])
def test_a_stored_value_comes_back_as_it_was(channel, value):
    restored = channel.from_checkpoint(value)
    assert (restored.get(), restored.checkpoint()) == (value, value)
    assert channel.checkpoint() is MISSING


def test_an_untracked_value_is_never_stored_nor_restored():
    channel = UntrackedValue(int)
    channel.update([1])
    assert channel.checkpoint() is MISSING
    assert channel.copy().get() == 1
    assert not channel.from_checkpoint(1).is_available()


@pytest.mark.parametrize("kind", [EphemeralValue, UntrackedValue])
def test_a_guard_makes_a_difference(kind):
    assert kind(int) != kind(int, guard=False)


def test_the_declared_type_makes_no_difference():
    assert LastValue(int) == LastValue(str)


def deferred(*values: int) -> LastValueAfterFinish[int]:
    channel = LastValueAfterFinish(int, "later")
    channel.update(values)
    return channel


def test_a_deferred_value_shows_when_nothing_else_would_run():
    channel = deferred(1, 2)
    assert not channel.is_available()
    assert (channel.finish(), channel.finish()) == (True, False)
    assert channel.get() == 2


def test_a_deferred_value_that_waits_says_so():
    with pytest.raises(EmptyChannelError, match="'later' holds a value, but"):
        deferred(1).get()


def test_a_deferred_value_is_gone_once_consumed():
    channel = deferred(1)
    assert not channel.consume()
    channel.finish()
    assert channel.consume()
    assert (channel.is_available(), channel.checkpoint(), channel.finish()) == (False, MISSING, False)


def test_a_new_write_defers_again():
    channel = deferred(1)
    channel.finish()
    assert (channel.update([]), channel.is_available()) == (False, True)
    assert (channel.update([3]), channel.is_available()) == (True, False)


@pytest.mark.parametrize("stored", [(1, True), [1, True]])
def test_a_deferred_value_comes_back_with_its_flag(stored):
    restored = deferred().from_checkpoint(stored)
    assert (restored.get(), restored.checkpoint()) == (1, (1, True))


@pytest.mark.parametrize("stored", [None, 5, "ab"])
def test_a_value_stored_before_its_node_was_deferred_waits(stored):
    assert deferred().from_checkpoint(stored).checkpoint() == (stored, False)
