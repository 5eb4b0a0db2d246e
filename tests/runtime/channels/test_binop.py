"""Reducer channels: where they start, how they fold, what an overwrite does."""

import copy
import functools
import operator
import threading
from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence, Set
from typing import Annotated, Any, Literal, NotRequired, Optional, Required

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.channels import BinaryOperatorAggregate
from runtime.channels.base import MISSING
from runtime.channels.delta import DeltaSnapshot
from runtime.errors import EmptyChannelError, InvalidUpdateError
from runtime.types import Overwrite


class Needs:
    """A type that has no empty value."""

    def __init__(self, size: int) -> None: ...


class Fails:
    """A type whose constructor fails in its own way."""

    def __init__(self) -> None:
        raise RuntimeError


OPTIONAL = Optional[int]  # noqa: UP045  # the older form is a class of its own

STARTS = [
    (int, 0),
    (str, ""),
    (list[int], []),
    (Sequence[int], []),
    (MutableSequence, []),
    (Set[int], set()),
    (MutableSet, set()),
    (Mapping[str, int], {}),
    (MutableMapping[str, int], {}),
    (tuple[int, ...], ()),
    (Annotated[Sequence[int], operator.add], []),
    (Required[list], []),
    (NotRequired[Annotated[list, operator.add]], []),
    (Annotated[NotRequired[list], operator.add], []),
]


def total(typ: Any = int, fold: Any = operator.add, **kw: Any) -> BinaryOperatorAggregate[Any]:
    channel = BinaryOperatorAggregate(typ, fold, **kw)
    channel.key = "total"
    return channel


@pytest.mark.parametrize(("typ", "start"), STARTS)
def test_a_channel_starts_with_its_types_empty_value(typ, start):
    channel = total(typ)
    assert (channel.get(), channel.from_checkpoint(MISSING).get()) == (start, start)
    assert channel.ValueType is typ


@pytest.mark.parametrize("typ", [Needs, Fails, Any, OPTIONAL, int | None, Literal[1], Iterable[int], "list", None])
def test_a_channel_without_an_empty_value_starts_empty(typ):
    assert not total(typ).is_available()
    with pytest.raises(EmptyChannelError, match="'total' is empty"):
        total(typ).get()


def test_two_channels_never_share_an_empty_value():
    channel = total(list)
    assert channel.get() is not channel.from_checkpoint(MISSING).get()


def test_writes_are_folded_from_the_left():
    channel = total(str)
    assert (channel.update(["a", "b"]), channel.update([]), channel.update(["c"])) == (True, False, True)
    assert channel.get() == "abc"


def test_the_first_write_of_an_empty_channel_is_its_value():
    channel = total(Needs)
    channel.update([1, 2])
    assert channel.get() == 3


@pytest.mark.parametrize("typ", [int, Needs])
@pytest.mark.parametrize(
    "overwrite",
    [Overwrite(5), {"__overwrite__": 5}, {"type": "__overwrite__", "value": 5}],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_overwrite_replaces_the_value_and_drops_the_other_writes(typ, overwrite, place):
    channel = total(typ)
    writes: list[Any] = [1, 2]
    writes.insert(place, overwrite)
    channel.update(writes)
    assert channel.get() == 5
    channel.update([1])
    assert channel.get() == 6


@pytest.mark.parametrize(
    "write", [{"__overwrite__": 1, "more": 2}, {"type": "__overwrite__"}, {"type": [], "value": 1}]
)
def test_other_dicts_are_plain_writes(write):
    channel = total(dict, operator.or_)
    channel.update([write])
    assert channel.get() == write


@pytest.mark.parametrize("typ", [int, Needs])
def test_two_overwrites_in_a_superstep_are_refused_and_change_nothing(typ):
    channel = total(typ)
    before = channel.checkpoint()
    message = "(?s)'total' took 2 overwrites in one superstep.*: 5 and 6.*INVALID_CONCURRENT_GRAPH_UPDATE$"
    with pytest.raises(InvalidUpdateError, match=message):
        channel.update([Overwrite(5), 1, Overwrite(6)])
    assert channel.checkpoint() == before


def test_only_the_outer_overwrite_is_unwrapped():
    channel = total()
    channel.update([Overwrite(Overwrite(3))])
    assert channel.get() == Overwrite(3)


def test_a_failing_reducer_is_named_and_changes_nothing():
    channel = total()
    with pytest.raises(TypeError) as caught:
        channel.update([1, "x"])
    assert caught.value.__notes__ == ["Channel 'total': its reducer 'add' failed on the value 1 and the write 'x'."]
    assert channel.get() == 0


@pytest.mark.parametrize("stored", [None, 3, (1, 2)])
def test_a_stored_value_comes_back_as_it_was(stored):
    assert total().from_checkpoint(stored).get() == stored


def test_a_snapshot_of_a_delta_channel_is_unwrapped():
    assert total().from_checkpoint(DeltaSnapshot(4)).get() == 4


def test_a_default_is_what_the_reducer_starts_from():
    channel = total(default=10)
    assert channel.get() == 10
    channel.update([5])
    assert channel.get() == 15


def test_a_default_factory_is_called_for_each_start():
    channel = total(list, default_factory=lambda: ["seed"])
    assert channel.get() == channel.from_checkpoint(MISSING).get() == ["seed"]
    assert channel.get() is not channel.from_checkpoint(MISSING).get()


def test_a_default_is_copied_for_each_start():
    default = [["seed"]]
    channel = total(list, default=default)
    channel.get()[0].append("spoilt")
    assert (default, channel.from_checkpoint(MISSING).get()) == ([["seed"]], [["seed"]])


def test_a_default_that_cannot_be_copied_is_shared():
    lock = threading.Lock()
    assert total(Needs, default=lock).get() is lock


def test_none_is_a_default():
    assert total(int | None, default=None).get() is None


def test_a_default_and_a_factory_exclude_each_other():
    with pytest.raises(TypeError, match="not both"):
        total(default=1, default_factory=int)


def test_an_input_takes_the_place_of_the_default():
    channel = total(default=10)
    channel.set_default_aside()
    channel.update([100])
    assert channel.get() == 100


@pytest.mark.parametrize("change", [lambda c: c.update([5]), lambda c: None])
def test_a_default_is_set_aside_only_while_nothing_was_written(change):
    channel = total(default=10).from_checkpoint(20)
    change(channel)
    before = channel.get()
    channel.set_default_aside()
    assert channel.get() == before


def test_a_channel_without_default_has_none_to_set_aside():
    channel = total()
    channel.update([3])
    channel.set_default_aside()
    assert (channel.get(), channel.has_default, total(default=0).has_default) == (3, False, True)


def one(a: Any, b: Any) -> Any: ...
def other(a: Any, b: Any) -> Any: ...


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (one, one, True),
        (one, other, False),
        (one, lambda a, b: a, True),
        (lambda a, b: a, lambda a, b: b, True),
        (functools.partial(one), functools.partial(one), False),
        (functools.partial(one), lambda a, b: a, True),
    ],
)
def test_channels_are_equal_when_their_reducers_are(left, right, equal):
    assert (total(int, left) == total(str, right)) is equal


supersteps = st.lists(st.lists(st.lists(st.integers(), max_size=2), max_size=3), max_size=6)


@given(supersteps)
def test_the_fold_is_the_writes_in_order(updates):
    channel = total(list)
    for writes in updates:
        channel.update(writes)
    assert channel.get() == [item for writes in updates for write in writes for item in write]


@given(supersteps)
def test_each_supersteps_copy_stays_what_it_was(updates):
    history = [total(list)]
    for writes in updates:
        history.append(history[-1].copy())
        history[-1].update(writes)
    remembered = [copy.deepcopy(channel.get()) for channel in history]
    history[-1].update([[0]])
    assert [channel.get() for channel in history[:-1]] == remembered[:-1]


@given(supersteps, st.integers(0, 5))
def test_a_channel_goes_on_from_any_stored_superstep(updates, cut):
    straight, stored = total(list), total(list)
    for writes in updates:
        straight.update(writes)
    for writes in updates[:cut]:
        stored.update(writes)
    resumed = total(list).from_checkpoint(stored.checkpoint())
    for writes in updates[cut:]:
        resumed.update(writes)
    assert resumed.get() == straight.get()
