"""What holds for every channel."""

import operator
from collections.abc import Sequence
from typing import Any, Self

import pytest

import runtime.channels as channels
from runtime.channels import (
    AnyValue,
    BaseChannel,
    BinaryOperatorAggregate,
    DeltaChannel,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    Topic,
    UntrackedValue,
)
from runtime.channels.base import MISSING
from runtime.errors import EmptyChannelError


def extend(value: list[Any], writes: Sequence[Any]) -> list[Any]:
    return [*value, *writes]


MAKERS = {
    "LastValue": lambda: LastValue(str),
    "LastValueAfterFinish": lambda: LastValueAfterFinish(str),
    "AnyValue": lambda: AnyValue(str),
    "EphemeralValue": lambda: EphemeralValue(str),
    "UntrackedValue": lambda: UntrackedValue(str),
    "BinaryOperatorAggregate": lambda: BinaryOperatorAggregate(str, operator.add),
    "DeltaChannel": lambda: DeltaChannel(extend),
    "Topic": lambda: Topic(str),
    "NamedBarrierValue": lambda: NamedBarrierValue(str, {"a"}),
    "NamedBarrierValueAfterFinish": lambda: NamedBarrierValueAfterFinish(str, {"a"}),
}
every_channel = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


class Latest(BaseChannel[str, str, str]):
    """A user's channel: the least that can be written."""

    held: str | None = None

    def from_checkpoint(self, checkpoint: Any) -> Self:
        channel = type(self)(self.typ, self.key)
        channel.held = None if checkpoint is MISSING else checkpoint
        return channel

    def update(self, values: Sequence[str]) -> bool:
        if values:
            self.held = values[-1]
        return bool(values)

    def get(self) -> str:
        if self.held is None:
            raise EmptyChannelError
        return self.held


class Tagged(LastValue[str]):
    """A subclass with an attribute of its own."""

    def __init__(self, typ: Any, key: str = "", tag: str = "none") -> None:
        super().__init__(typ, key)
        self.tag = tag


class Counted(LastValue[int]):
    def update(self, values: Sequence[int]) -> bool:
        self.value = len(values)
        return True


class MixIn:
    def finish(self) -> bool:
        return True


class Finishing(MixIn, LastValue[int]):
    pass


def test_the_package_offers_each_channel_and_no_other():
    assert sorted(channels.__all__) == sorted([*MAKERS, "BaseChannel"])


@every_channel
def test_a_copy_is_updated_apart_from_its_original(make):
    channel = make()
    copy = channel.copy()
    before = channel.checkpoint()
    copy.update(["a"])
    assert (channel.checkpoint(), channel.is_available()) == (before, make().is_available())


@every_channel
def test_a_stored_form_does_not_change_when_its_channel_does(make):
    channel = make()
    stored = channel.checkpoint()
    remembered = stored.copy() if isinstance(stored, (list, set)) else stored
    channel.update(["a"])
    assert stored == remembered


@every_channel
def test_a_copy_and_a_restored_channel_keep_the_key(make):
    channel = make()
    channel.key = "log"
    assert channel.copy().key == channel.from_checkpoint(MISSING).key == "log"


@every_channel
def test_get_raises_exactly_when_the_channel_is_not_available(make):
    for channel in (make(), make()):
        channel.update(["a"])
        channel.finish()
        for state in (channel, channel.from_checkpoint(MISSING)):
            if state.is_available():
                state.get()
            else:
                with pytest.raises(EmptyChannelError):
                    state.get()


@every_channel
def test_silence_changes_only_a_channel_that_says_so(make):
    channel = make()
    channel.update(["a"])
    assert channel.update([]) <= channel.reacts_to_silence


@every_channel
def test_finish_and_consume_change_only_a_channel_that_says_so(make):
    channel = make()
    channel.update(["a"])
    assert channel.finish() == channel.may_finish
    assert channel.consume() == channel.may_consume


@every_channel
def test_a_channel_equals_another_of_its_make_and_nothing_else(make):
    assert make() == make()
    assert [name for name, other in MAKERS.items() if other() == make()] == [type(make()).__name__]


def test_channels_that_react_to_silence():
    assert {name for name, make in MAKERS.items() if make().reacts_to_silence} == {
        "AnyValue",
        "EphemeralValue",
        "Topic",
    }


def test_channels_that_may_finish_or_be_consumed():
    after_finish = {"LastValueAfterFinish", "NamedBarrierValueAfterFinish"}
    assert {name for name, make in MAKERS.items() if make().may_finish} == after_finish
    assert {name for name, make in MAKERS.items() if make().may_consume} == after_finish | {"NamedBarrierValue"}


def test_a_users_channel_copies_itself_through_its_stored_form():
    channel = Latest(str, "x")
    assert (channel.checkpoint(), channel.is_available()) == (MISSING, False)
    channel.update(["a"])
    assert (channel.copy().get(), channel.copy().key, channel.checkpoint()) == ("a", "x", "a")


def test_a_users_channel_is_asked_at_every_silence_but_finishes_only_by_its_own_method():
    assert (Latest.reacts_to_silence, Latest.may_finish, Latest.may_consume) == (True, False, False)


def test_a_subclass_with_its_own_update_is_asked_at_every_silence():
    assert (Counted.reacts_to_silence, Tagged.reacts_to_silence) == (True, False)


def test_a_method_that_comes_from_a_mixin_counts_too():
    assert (Finishing.may_finish, Finishing.may_consume) == (True, False)


def test_a_copy_keeps_what_a_subclass_added():
    channel = Tagged(str, "x", tag="mine")
    channel.update(["a"])
    assert (channel.copy().tag, channel.copy().get()) == ("mine", "a")
    assert channel.from_checkpoint("b").tag == "mine"


def test_a_channel_that_is_not_complete_cannot_be_made():
    with pytest.raises(TypeError):
        BaseChannel(str)  # type: ignore[abstract]


def test_a_value_type_is_the_declared_type():
    assert (LastValue(int).ValueType, LastValue(int).UpdateType) == (int, int)
