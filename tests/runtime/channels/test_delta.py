"""Delta channels: what they reduce, and that stored writes give the same value again."""

from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.channels import DeltaChannel
from runtime.channels.base import MISSING
from runtime.channels.delta import DeltaSnapshot
from runtime.errors import EmptyChannelError, InvalidUpdateError
from runtime.types import Overwrite


def extend(value: list[Any], writes: Sequence[Any]) -> list[Any]:
    return [*value, *writes]


def in_place(value: list[Any], writes: Sequence[Any]) -> list[Any]:
    value.extend(writes)
    return value


def log(reducer: Any = extend, typ: Any = None) -> DeltaChannel[Any]:
    channel = DeltaChannel(reducer, typ)
    channel.key = "log"
    return channel


def stored(*writes: Any) -> list[tuple[str, str, Any]]:
    return [("task", "log", write) for write in writes]


def test_a_channel_is_empty_until_its_first_write():
    channel = log()
    with pytest.raises(EmptyChannelError, match="'log' is empty"):
        channel.get()
    assert (channel.update([]), channel.is_available()) == (False, False)
    assert (channel.update([1]), channel.get()) == (True, [1])


def test_the_reducer_is_called_once_with_all_writes_of_a_superstep():
    calls = []
    channel = log(lambda value, writes: calls.append((value, writes)) or extend(value, writes))
    channel.update((1, 2))
    channel.update([3])
    assert calls == [([], [1, 2]), ([1, 2], [3])]


def test_nothing_but_the_engines_snapshots_is_stored():
    channel = log()
    channel.update([1])
    assert channel.checkpoint() is MISSING


@pytest.mark.parametrize(
    ("typ", "kind", "start"),
    [
        (None, list, []),
        (dict, dict, {}),
        (Sequence[int], list, []),
        (Annotated[list[int], "x"], list, []),
        (int, int, 0),
    ],
)
def test_nothing_stored_gives_the_types_empty_value(typ, kind, start):
    channel = log(typ=typ)
    assert channel.typ is kind
    assert channel.from_checkpoint(MISSING).get() == channel.from_checkpoint(None).get() == start


@pytest.mark.parametrize(("checkpoint", "value"), [(DeltaSnapshot([2]), [2]), (DeltaSnapshot(None), None), ([1], [1])])
def test_a_snapshot_is_unwrapped_and_an_old_plain_value_is_taken(checkpoint, value):
    assert log().from_checkpoint(checkpoint).get() == value


@pytest.mark.parametrize("overwrite", [Overwrite([9]), {"__overwrite__": [9]}, {"type": "__overwrite__", "value": [9]}])
def test_an_overwrite_replaces_the_value_and_drops_the_other_writes(overwrite):
    channel = log()
    channel.update([1])
    channel.update([2, overwrite, 3])
    assert channel.get() == [9]


def test_an_overwrite_with_none_empties_the_value():
    channel = log(typ=dict)
    channel.update([Overwrite(None)])
    assert channel.get() == {}


def test_an_overwritten_value_is_the_channels_own():
    mine = [9]
    channel = log(in_place)
    channel.update([Overwrite(mine)])
    channel.update([1])
    assert (channel.get(), mine) == ([9, 1], [9])


def test_two_overwrites_in_a_superstep_are_refused():
    with pytest.raises(InvalidUpdateError, match="'log' took 2 overwrites in one superstep"):
        log().update([Overwrite([1]), Overwrite([2])])


def test_replayed_writes_are_reduced_in_one_call_from_the_last_overwrite_on():
    calls = []
    channel = log(lambda value, writes: calls.append(writes) or extend(value, writes)).from_checkpoint([0])
    channel.replay_writes(stored(1, Overwrite([8]), 2, Overwrite([9]), 3, 4))
    assert (channel.get(), calls) == ([9, 3, 4], [[3, 4]])


@pytest.mark.parametrize(
    ("writes", "value"),
    [((), [0]), ((1, 2), [0, 1, 2]), ((1, Overwrite([5])), [5]), ((Overwrite(None),), [])],
)
def test_a_replay_goes_on_from_the_restored_value(writes, value):
    channel = log().from_checkpoint([0])
    channel.replay_writes(stored(*writes))
    assert channel.get() == value


def test_a_replay_on_a_new_channel_starts_from_the_types_empty_value():
    channel = log()
    channel.replay_writes(stored())
    assert not channel.is_available()
    channel.replay_writes(stored(1))
    assert channel.get() == [1]


def test_a_copy_is_safe_from_a_reducer_that_works_in_place():
    channel = log(in_place)
    channel.update([1])
    copy = channel.copy()
    copy.update([2])
    assert (channel.get(), copy.get()) == ([1], [1, 2])


def test_a_type_without_an_empty_value_says_the_way_out():
    channel = log(typ=list | None)
    assert not channel.from_checkpoint(MISSING).is_available()
    with pytest.raises(TypeError, match="'log' has no value to start from.*make the first write an Overwrite"):
        channel.update([1])
    channel.update([Overwrite([1])])
    channel.update([2])
    assert channel.get() == [1, 2]


def test_a_failing_reducer_is_named():
    def broken(value: Any, writes: Any) -> Any:
        raise KeyError("x")

    with pytest.raises(KeyError) as caught:
        log(broken).update([1])
    assert caught.value.__notes__ == ["Channel 'log': its reducer 'broken' failed on the value [] and the write [1]."]


@pytest.mark.parametrize("frequency", [0, -1])
def test_a_snapshot_needs_an_update(frequency):
    with pytest.raises(ValueError, match=f"snapshot_frequency is {frequency}"):
        DeltaChannel(extend, snapshot_frequency=frequency)


def test_a_snapshot_is_due_every_hundred_updates_unless_said_otherwise():
    assert log().snapshot_frequency == 100
    assert DeltaChannel(extend, list, snapshot_frequency=7).copy().snapshot_frequency == 7


def test_channels_differ_by_reducer_and_frequency_only():
    assert log() == log(typ=dict) == log(lambda value, writes: value)
    assert log() != log(in_place)
    assert log() != DeltaChannel(extend, snapshot_frequency=2)


overwrites = st.lists(st.integers(), max_size=3).map(lambda value: [Overwrite(value)])
superstep = st.lists(st.integers(), max_size=4) | overwrites


@given(st.lists(superstep, max_size=6), st.integers(0, 6))
def test_a_replay_from_any_snapshot_gives_the_same_value(supersteps, cut):
    live, restored = log().from_checkpoint(MISSING), log().from_checkpoint(MISSING)
    tail: list[Any] = []
    for number, writes in enumerate(supersteps):
        live.update(writes)
        if number < cut:
            restored.update(writes)
        else:
            tail += writes
    again = log().from_checkpoint(DeltaSnapshot(restored.get()))
    again.replay_writes(stored(*tail))
    assert again.get() == live.get()
