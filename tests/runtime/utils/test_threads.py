"""Functions side by side: order, overlap, limits, errors."""

import threading
from contextvars import ContextVar
from functools import partial

import pytest

from runtime._context import interrupt_id
from runtime.checkpoint.memory import InMemorySaver
from runtime.graph import START
from runtime.types import interrupt
from runtime.utils.threads import side_by_side
from tests.runtime.scenarios.build import builder, thread

here: ContextVar[str] = ContextVar("here", default="nowhere")


def test_results_come_in_the_order_of_the_functions():
    assert side_by_side([partial(int, n) for n in range(20)]) == list(range(20))
    assert side_by_side([]) == []


def test_functions_that_wait_overlap():
    all_are_here = threading.Barrier(6)
    assert len(side_by_side([partial(all_are_here.wait, 10) for _ in range(6)])) == 6


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_than_the_limit_run_at_a_time(limit):
    lock, running, most = threading.Lock(), [], []

    def function():
        with lock:
            running.append(1)
            most.append(len(running))
        threading.Event().wait(0.002)
        with lock:
            running.pop()

    side_by_side([function] * 10, limit)
    assert max(most) <= limit


def test_each_has_its_own_copy_of_the_callers_context():
    def function():
        found = here.get()
        here.set("changed")
        return found

    token = here.set("caller")
    assert side_by_side([function] * 5) == ["caller"] * 5
    assert here.get() == "caller"
    here.reset(token)


def test_the_first_error_is_raised_when_all_have_ended():
    ended = []

    def fail(error):
        raise error

    with pytest.raises(ValueError, match="first"):
        side_by_side([partial(ended.append, 1), partial(fail, ValueError("first")), partial(fail, KeyError())])
    assert ended == [1]
    with pytest.raises(KeyError):
        side_by_side([partial(fail, KeyError()), partial(ended.append, 2)])
    assert ended == [1, 2]


def test_one_may_run_others():
    assert side_by_side([lambda: side_by_side([lambda: 1, lambda: 2]), lambda: [3]]) == [[1, 2], [3]]


def test_they_ask_a_human_in_their_order_whoever_comes_to_it_first():
    about_to_ask = threading.Event()

    def first():
        about_to_ask.wait()
        interrupt("first")

    def second():
        about_to_ask.set()
        interrupt("second")

    graph = builder({"node": lambda state: side_by_side([first, second])}, [(START, "node")]).compile(InMemorySaver())
    graph.invoke({"log": []}, thread())
    task = graph.get_state(thread()).tasks[0]
    assert [(item.value, item.id) for item in task.interrupts] == [("first", interrupt_id(f"node:{task.id}", 0))]
