"""The threads that runs share: how many there are, how long they stay, and that they never keep a process alive."""

import asyncio
import operator
import os
import threading
from contextvars import ContextVar
from typing import Annotated, TypedDict

import pytest

from runtime._workers import Workers, in_thread, workers
from runtime.graph import START, StateGraph
from tests.runtime.concurrency.programs import run_python

here: ContextVar[str] = ContextVar("here", default="nowhere")


def threads() -> list[threading.Thread]:
    """The threads that are the workers'."""
    return [thread for thread in threading.enumerate() if thread.name == "runtime"]


def test_functions_that_wait_for_each_other_all_get_a_thread():
    meet = threading.Barrier(21)
    for _ in range(20):
        workers.submit(meet.wait, 10)
    meet.wait(10)


def test_no_more_than_the_most_run_at_a_time_and_the_others_wait():
    few, go, begun, done = Workers(2, 2, 0.01), threading.Event(), [], threading.Barrier(2)

    def work(last):
        begun.append(threading.current_thread())
        if last:
            done.wait(10)
        else:
            go.wait(10)

    for last in (False, False, False, True):
        few.submit(work, last)
    go.set()
    done.wait(10)
    assert len(begun) == 4
    assert len(set(begun)) <= 2


def test_a_thread_that_has_rested_long_enough_ends():
    few, found = Workers(4, 4, 0.01), []
    ended = threading.Event()
    few.submit(lambda: found.append(threading.current_thread()) or ended.set())
    ended.wait(10)
    found[0].join(10)
    assert not found[0].is_alive()


def test_where_none_may_rest_a_thread_ends_with_its_work():
    few, meet, found = Workers(10, 0, 60.0), threading.Barrier(4), []

    def work():
        found.append(threading.current_thread())
        meet.wait(10)

    for _ in range(3):
        few.submit(work)
    meet.wait(10)
    for thread in found:
        thread.join(10)
        assert not thread.is_alive()


def test_a_thousand_runs_leave_no_more_threads_than_may_rest():
    class Sum(TypedDict):
        total: Annotated[int, operator.add]

    graph = StateGraph(Sum)
    for name in "abcd":
        graph.add_node(name, lambda state: {"total": 1}).add_edge(START, name)
    app = graph.compile()
    before, most = {*threads()}, 0
    for _ in range(1000):
        assert app.invoke({"total": 0}) == {"total": 4}
        most = max(most, len({*threads()} - before))
    assert most <= workers.kept
    assert all(thread.daemon for thread in threads())


def test_a_function_runs_in_a_copy_of_the_callers_context():
    def function(word):
        found = here.get(), word
        here.set("changed")
        return found

    async def scenario():
        here.set("caller")
        return await in_thread(function, word="x"), here.get()

    assert asyncio.run(scenario()) == (("caller", "x"), "caller")


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError()], ids=["error", "cancelled"])
def test_what_a_function_raises_comes_out_of_its_thread(error):
    def fail():
        raise error

    with pytest.raises(type(error)):
        asyncio.run(in_thread(fail))


def test_a_stop_iteration_is_told_as_a_runtime_error():
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(in_thread(next, iter(())))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_makes_threads_of_its_own():
    told = run_python("""
        import os, threading, warnings
        warnings.simplefilter("ignore")  # since 3.12 a fork beside threads is warned of
        from runtime._workers import workers

        meet = threading.Barrier(2)
        workers.submit(meet.wait)
        meet.wait()
        child = os.fork()
        if child == 0:
            meet = threading.Barrier(2)
            workers.submit(meet.wait)
            meet.wait(10)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert (told.stdout, told.stderr) == ("7\n", "")


def test_a_function_that_never_ends_does_not_keep_the_process():
    told = run_python("""
        import threading
        from runtime._workers import workers

        begun = threading.Event()
        workers.submit(lambda: (begun.set(), threading.Event().wait()))
        begun.wait()
        print("end")
    """)
    assert (told.returncode, told.stdout, told.stderr) == (0, "end\n", "")
