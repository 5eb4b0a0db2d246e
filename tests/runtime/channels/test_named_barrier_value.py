"""Barriers: when they open, and close again."""

import pytest

from runtime.channels import NamedBarrierValue, NamedBarrierValueAfterFinish
from runtime.channels.base import MISSING
from runtime.errors import EmptyChannelError, InvalidUpdateError

both_kinds = pytest.mark.parametrize("kind", [NamedBarrierValue, NamedBarrierValueAfterFinish])


def barrier(kind=NamedBarrierValue, *seen):
    channel = kind(str, {"a", "b"})
    channel.key = "join:a+b:c"
    channel.update(seen)
    return channel


def test_a_barrier_opens_when_every_name_has_come():
    channel = barrier()
    assert [(channel.update(names), channel.is_available()) for names in ([], ["a"], ["a"], ["b"], ["a"])] == [
        (False, False),
        (True, False),
        (False, False),
        (True, True),
        (False, True),
    ]
    assert channel.get() is None


def test_an_open_barrier_closes_once_consumed():
    channel = barrier(NamedBarrierValue, "a", "b")
    assert (channel.consume(), channel.is_available(), channel.checkpoint(), channel.consume()) == (
        True,
        False,
        set(),
        False,
    )


def test_a_deferred_barrier_opens_when_nothing_else_would_run():
    channel = barrier(NamedBarrierValueAfterFinish, "a")
    assert not channel.finish()
    channel.update(["b"])
    assert (channel.is_available(), channel.consume()) == (False, False)
    assert (channel.finish(), channel.finish(), channel.is_available()) == (True, False, True)
    assert (channel.consume(), channel.is_available(), channel.checkpoint()) == (True, False, (set(), False))


@both_kinds
def test_a_closed_barrier_says_whom_it_waits_for(kind):
    with pytest.raises(EmptyChannelError, match="'join:a.b:c' is still closed: it waits for 'b'"):
        barrier(kind, "a").get()


@both_kinds
def test_a_foreign_name_is_refused_and_changes_nothing(kind):
    channel = barrier(kind)
    with pytest.raises(InvalidUpdateError, match="'join:a.b:c' took the write 'z', but waits only for 'a' and 'b'"):
        channel.update(["a", "z"])
    assert channel.seen == set()


@both_kinds
@pytest.mark.parametrize("stored", [{"a", "b"}, ["a", "b"], ({"a", "b"}, False), [["a", "b"], False]])
def test_either_barrier_reads_the_stored_form_of_both(kind, stored):
    assert barrier(kind).from_checkpoint(stored).seen == {"a", "b"}


def test_a_deferred_barrier_comes_back_with_its_flag():
    assert barrier(NamedBarrierValueAfterFinish).from_checkpoint(({"a", "b"}, True)).is_available()


@both_kinds
def test_a_restored_barrier_leaves_the_stored_set_alone(kind):
    stored = {"a"}
    barrier(kind).from_checkpoint(stored).update(["b"])
    assert stored == {"a"}


@both_kinds
def test_nothing_stored_means_nobody_has_come(kind):
    assert barrier(kind, "a").from_checkpoint(MISSING).seen == set()


def test_names_of_an_earlier_graph_do_not_keep_a_barrier_closed():
    assert barrier().from_checkpoint({"a", "b", "gone"}).is_available()


@both_kinds
def test_barriers_differ_by_their_names(kind):
    assert kind(str, {"a"}) != kind(str, {"b"})
