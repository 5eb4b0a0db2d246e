"""Retry and cache decisions, and the copies that protect the state: tables of pure functions."""

import pytest

from runtime.pregel.isolate import isolate
from runtime.pregel.policy import cache_key, matching, should_retry_on, wait_before_next
from runtime.types import CachePolicy, RetryPolicy


class ServerError(Exception):
    pass


@pytest.mark.parametrize(
    ("retry_on", "error", "expected"),
    [
        (ServerError, ServerError(), True),
        (ServerError, ValueError(), False),
        ((ServerError, KeyError), KeyError(), True),
        ((), ServerError(), False),
        (lambda error: "again" in str(error), ServerError("again"), True),
    ],
)
def test_retry_on_is_a_class_a_sequence_or_a_predicate(retry_on, error, expected):
    assert should_retry_on(RetryPolicy(retry_on=retry_on), error) is expected


@pytest.mark.parametrize("error", [ValueError(), TypeError(), RuntimeError(), OSError(), KeyError()])
def test_by_default_plain_mistakes_are_not_tried_again(error):
    assert not should_retry_on(RetryPolicy(), error)


@pytest.mark.parametrize("error", [ConnectionError(), Exception(), AssertionError(), ServerError()])
def test_by_default_lost_connections_and_unknown_errors_are(error):
    assert should_retry_on(RetryPolicy(), error)


def test_anything_else_as_retry_on_is_refused():
    with pytest.raises(TypeError, match="retry_on.*not 5"):
        should_retry_on(RetryPolicy(retry_on=5), ValueError())


def test_the_first_policy_that_fits_is_taken():
    first, second = RetryPolicy(retry_on=KeyError), RetryPolicy(retry_on=ValueError)
    assert matching([first, second], ValueError()) is second
    assert matching([first], ValueError()) is None


def test_the_wait_grows_up_to_its_cap_and_jitter_comes_on_top():
    plain = RetryPolicy(initial_interval=1, backoff_factor=2, max_interval=5, jitter=False)
    assert [wait_before_next(plain, attempt) for attempt in (1, 2, 3, 4)] == [1, 2, 4, 5]
    assert 5 <= wait_before_next(plain._replace(jitter=True), 9) <= 6


def test_equal_inputs_have_one_cache_key_whatever_the_order_of_their_keys():
    policy = CachePolicy(ttl=5)
    one, same = cache_key(policy, ("n",), {"a": 1, "b": [2]}), cache_key(policy, ("n",), {"b": [2], "a": 1})
    assert one == same
    assert one.ttl == 5
    assert cache_key(policy, ("n",), {"a": 2}) != one


def test_isolate_copies_every_container_and_nothing_else():
    leaf = object()
    value = {"list": [[1], {"x": {2}}], "tuple": ([3],), "leaf": leaf}
    copy = isolate(value)
    assert copy == value
    assert copy["leaf"] is leaf
    copy["list"][0].append(9)
    copy["list"][1]["x"].add(9)
    copy["tuple"][0].append(9)
    assert value == {"list": [[1], {"x": {2}}], "tuple": ([3],), "leaf": leaf}
