"""Decisions about a failed or repeated task: whether to try again and when, and where its writes are cached."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from runtime._context import digest
from runtime._words import CACHE_NS_WRITES
from runtime.types import CacheKey, CachePolicy, RetryPolicy


def matching(policies: Sequence[RetryPolicy], error: Exception) -> RetryPolicy | None:
    """The first policy that takes this error. TypeError for a `retry_on` of the wrong kind."""
    return next((policy for policy in policies if should_retry_on(policy, error)), None)


def should_retry_on(policy: RetryPolicy, error: Exception) -> bool:
    """Whether the policy's `retry_on` (a class, a sequence of them, or a predicate) takes the error."""
    rule = policy.retry_on
    if isinstance(rule, type) and issubclass(rule, BaseException):
        return isinstance(error, rule)
    if isinstance(rule, (list, tuple, set, frozenset)):
        return isinstance(error, tuple(rule))
    if callable(rule) and not isinstance(rule, type):
        return bool(rule(error))
    raise TypeError(
        f"RetryPolicy.retry_on is an exception class, a sequence of them, or a function of the error, not {rule!r}."
    )


def wait_before_next(policy: RetryPolicy, attempt: int) -> float:
    """Seconds to wait after the attempt of this number (from 1); jitter comes on top of the cap."""
    wait = min(policy.max_interval, policy.initial_interval * policy.backoff_factor ** (attempt - 1))
    return wait + random.uniform(0, 1) if policy.jitter else wait


def cache_key(policy: CachePolicy[Any], namespace: Sequence[str], *args: Any, **kwargs: Any) -> CacheKey:
    """Where the writes for these arguments are kept. The policy's function gives text or bytes."""
    made = policy.key_func(*args, **kwargs)
    text = made if isinstance(made, str) else bytes(made).hex()
    return CacheKey(tuple(namespace), digest(text), policy.ttl)


def task_namespace(node: Any) -> tuple[str, ...]:
    """Where the results of a called function are cached."""
    return (CACHE_NS_WRITES, identity_of(code_of(node)))


def node_namespace(name: str, node: Any) -> tuple[str, ...]:
    """Where the writes of a node are cached."""
    return (*task_namespace(node), name)


def code_of(node: Any) -> Any:
    """The user's own function in a node."""
    bound = node.bound
    return getattr(bound, "source", None) or getattr(bound, "func", None) or getattr(bound, "afunc", None) or bound


def identity_of(func: Callable[..., Any] | Any) -> str:
    """A name for a function that is the same in every process; "__dynamic__" for what has none."""
    module, name = getattr(func, "__module__", None), getattr(func, "__qualname__", None)
    return f"{module}.{name}" if module and name and module != "__main__" else "__dynamic__"
