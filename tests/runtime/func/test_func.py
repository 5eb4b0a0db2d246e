"""Entrypoints and tasks: plain control flow whose calls are stored."""

import asyncio

import pytest

from runtime.cache.memory import InMemoryCache
from runtime.func import entrypoint, task
from runtime.types import CachePolicy, Command, RetryPolicy, interrupt
from tests.runtime.scenarios.build import thread


@task
def double(x):
    return x * 2


def test_tasks_run_side_by_side_and_give_futures(colour):
    @entrypoint()
    def main(xs):
        return [future.result() for future in [double(x) for x in xs]]

    assert colour.invoke(main, [1, 2, 3]) == [2, 4, 6]


def test_async_tasks_are_awaited():
    @task
    async def triple(x):
        await asyncio.sleep(0)
        return x * 3

    @entrypoint()
    async def main(xs):
        return await asyncio.gather(*[triple(x) for x in xs])

    assert asyncio.run(main.ainvoke([1, 2])) == [3, 6]


def test_a_stream_shows_each_tasks_result_and_then_the_entrypoints():
    @entrypoint()
    def main(x):
        return double(x).result() + 1

    assert list(main.stream(5)) == [{"double": 10}, {"main": 11}]


def test_after_an_answer_the_stored_results_are_found_and_nothing_runs_twice(colour, saver):
    runs = []

    @task
    def costly(x):
        runs.append(x)
        return x + 1

    @entrypoint(checkpointer=saver)
    def main(x):
        return costly(x).result(), interrupt("go on?")

    colour.invoke(main, 1, thread())
    assert colour.invoke(main, Command(resume="yes"), thread()) == (2, "yes")
    assert runs == [1]


def test_a_question_in_a_task_is_shown_once_and_answered_there(colour, saver):
    @task
    def ask(name):
        return interrupt(f"{name}?")

    @entrypoint(checkpointer=saver)
    def main(name):
        return ask(name).result()

    result = colour.invoke(main, "tea", thread())
    assert [item.value for item in result["__interrupt__"]] == ["tea?"]
    assert colour.invoke(main, Command(resume="yes"), thread()) == "yes"


def test_the_thread_keeps_what_was_returned_or_what_final_says(colour, saver):
    @entrypoint(checkpointer=saver)
    def count(step, *, previous=None):
        return entrypoint.final(value=f"was {previous}", save=(previous or 0) + step)

    assert [colour.invoke(count, n, thread()) for n in (1, 2, 3)] == ["was None", "was 1", "was 3"]


def test_a_tasks_error_may_be_caught_and_an_uncaught_one_ends_the_run(colour, saver):
    fails = [True]

    @task
    def shaky():
        if fails:
            raise OSError("disk")
        return "fine"

    @entrypoint(checkpointer=saver)
    def main(caught):
        try:
            return shaky().result()
        except OSError:
            if caught:
                return "caught"
            raise

    assert colour.invoke(main, True, thread("a")) == "caught"
    with pytest.raises(OSError, match="disk"):
        colour.invoke(main, False, thread("b"))
    fails.clear()
    assert colour.invoke(main, None, thread("b")) == "fine"


def test_a_task_is_tried_again_and_taken_from_the_cache(colour):
    runs = []

    @task(retry_policy=RetryPolicy(initial_interval=0.001, jitter=False), cache_policy=CachePolicy())
    def flaky(x):
        runs.append(x)
        if len(runs) == 1:
            raise ConnectionError("again")
        return x

    @entrypoint(cache=InMemoryCache())
    def main(x):
        return flaky(x).result()

    assert [colour.invoke(main, 7) for _ in range(2)] == [7, 7]
    assert runs == [7, 7]


def test_a_task_outside_of_a_run_and_wrong_entrypoints_say_what_is_wrong():
    with pytest.raises(RuntimeError, match="'double' was called outside of a running graph"):
        double(1)
    with pytest.raises(ValueError, match="takes no parameter"):
        entrypoint()(lambda: None)
    with pytest.raises(NotImplementedError, match="generator"):

        @entrypoint()
        def streams(x):
            yield x

    with pytest.raises(ValueError, match="timeout.*sync"):
        task(timeout=1)(lambda x: x)


def test_a_tasks_question_has_no_end_in_the_stream_but_its_callers_has(colour, saver):
    @task
    def asks(x):
        return interrupt("go?")

    @entrypoint(checkpointer=saver)
    def main(x):
        return asks(x).result()

    chunks = colour.stream(main, 1, thread(), stream_mode="tasks")
    assert [chunk["name"] for chunk in chunks if "result" in chunk] == ["main"]


def test_a_function_that_asks_has_an_empty_value_in_version_2(colour, saver):
    main = entrypoint(checkpointer=saver)(lambda x: interrupt("go?"))
    result = colour.invoke(main, 1, thread(), version="v2")
    assert (result.value, [question.value for question in result.interrupts]) == ({}, ["go?"])
