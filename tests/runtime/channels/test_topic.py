"""Topics: what they collect, and for how long."""

import pytest

from runtime.channels import Topic
from runtime.errors import EmptyChannelError

# accumulate, updates, what each update returns, what is held after it
TABLE = [
    (False, [[1, [2, 3]], [4], [], []], [True, True, True, False], [[1, 2, 3], [4], [], []]),
    (True, [[1, [2, 3]], [4], [], [[]]], [True, True, False, False], [[1, 2, 3], [1, 2, 3, 4]] + 2 * [[1, 2, 3, 4]]),
    (False, [[[]], [[[5]]], [(6, 7)], [None]], [False, True, True, True], [[], [[5]], [(6, 7)], [None]]),
]


@pytest.mark.parametrize(("accumulate", "updates", "changed", "values"), TABLE)
def test_what_each_update_leaves(accumulate, updates, changed, values):
    topic = Topic(int, accumulate)
    assert [(topic.update(update), topic.checkpoint()) for update in updates] == list(zip(changed, values, strict=True))


def test_an_empty_topic_is_not_available():
    with pytest.raises(EmptyChannelError):
        Topic(int).get()
    assert not Topic(int).is_available()


def test_each_get_gives_a_list_of_its_own():
    topic = Topic(int)
    topic.update([1])
    topic.get().append(2)
    assert topic.get() == [1]


def test_a_restored_topic_leaves_the_stored_list_alone():
    stored = [1]
    topic = Topic(int, accumulate=True).from_checkpoint(stored)
    topic.update([2])
    assert (topic.get(), stored) == ([1, 2], [1])


def test_an_old_stored_pair_gives_its_list():
    assert Topic(int).from_checkpoint(({1}, [1, 2])).get() == [1, 2]


def test_topics_differ_by_accumulate_only():
    assert Topic(int) == Topic(str)
    assert Topic(int) != Topic(int, accumulate=True)


@pytest.mark.parametrize("typ", [int, "Later", None])
def test_the_types_of_a_topic(typ):
    topic = Topic(typ)
    assert topic.ValueType.__args__ == (typ,)
    assert topic.UpdateType.__args__[1] == list[typ]
