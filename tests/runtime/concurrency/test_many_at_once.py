"""One compiled graph and one saver, used by many at the same time: every result and every history is its own."""

import asyncio
import operator
import sqlite3
import threading
from contextlib import closing
from contextvars import ContextVar
from typing import Annotated, NamedTuple, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig

from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.func import entrypoint, task
from runtime.graph import START, StateGraph
from runtime.runtime import Runtime
from runtime.types import Send

who: ContextVar[str] = ContextVar("who")


class Caller(NamedTuple):
    """The context of a run."""

    name: str


class Told(TypedDict):
    number: int
    seen: Annotated[list, operator.add]


def look(state: Told, config: RunnableConfig, runtime: Runtime[Caller]):
    """All that a node can know of its caller; it must agree."""
    name = config["configurable"]["thread_id"]
    return {"seen": [f"{name} {runtime.context.name} {who.get()} {config['metadata']['mark']} {state['number']}"]}


async def alook(state: Told, config: RunnableConfig, runtime: Runtime[Caller]):
    await asyncio.sleep(0)
    return look(state, config, runtime)


def graph(node, saver):
    """A fork, a join, and a Send: three supersteps."""
    builder = StateGraph(Told, context_schema=Caller)
    for name in ("left", "right", "join", "sent"):
        builder.add_node(name, node)
    builder.add_edge(START, "left").add_edge(START, "right").add_edge(["left", "right"], "join")
    builder.add_conditional_edges("join", lambda state: [Send("sent", {"number": state["number"]})], ["sent"])
    return builder.compile(checkpointer=saver)


def call_of(name, number):
    """The arguments of a run."""
    config = {"configurable": {"thread_id": name}, "metadata": {"mark": f"mark-{name}"}}
    return {"input": {"number": number}, "config": config, "context": Caller(name)}


def all_seen(name, runs, nodes):
    """What the nodes of a thread have seen after so many runs, where nothing of another's came between."""
    return [f"{name} {name} {name} mark-{name} {number}" for number in range(runs) for _ in range(nodes)]


def together(count, work):
    """Call the function in as many threads, all at once; what one raises is raised here."""
    meet, failures = threading.Barrier(count), []

    def begin(name):
        meet.wait(10)
        try:
            work(name)
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=begin, args=(f"t{index}",)) for index in range(count)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for failure in failures:
        raise failure


def run_in_threads(app, threads, runs):
    def work(name):
        who.set(name)
        for number in range(runs):
            assert len(app.invoke(**call_of(name, number))["seen"]) == 4 * (number + 1)

    together(threads, work)
    for index in range(threads):
        history = list(app.get_state_history({"configurable": {"thread_id": f"t{index}"}}))
        assert (history[0].values["seen"], len(history)) == (all_seen(f"t{index}", runs, 4), 5 * runs)


async def run_in_one_loop(app, tasks, runs):
    async def work(name):
        who.set(name)
        for number in range(runs):
            assert len((await app.ainvoke(**call_of(name, number)))["seen"]) == 4 * (number + 1)

    await asyncio.gather(*(work(f"t{index}") for index in range(tasks)))
    for index in range(tasks):
        history = [item async for item in app.aget_state_history({"configurable": {"thread_id": f"t{index}"}})]
        assert (history[0].values["seen"], len(history)) == (all_seen(f"t{index}", runs, 4), 5 * runs)


def test_a_hundred_threads_share_a_graph_and_a_saver_in_memory():
    run_in_threads(graph(look, InMemorySaver()), 100, 5)


def test_ten_threads_share_a_graph_and_a_database(tmp_path):
    with closing(sqlite3.connect(tmp_path / "d.sqlite", check_same_thread=False)) as conn:
        run_in_threads(graph(look, SqliteSaver(conn, synchronous="NORMAL")), 10, 5)


def test_a_hundred_tasks_of_one_loop_share_a_graph_and_a_saver_in_memory():
    asyncio.run(run_in_one_loop(graph(alook, InMemorySaver()), 100, 5))


def test_ten_tasks_of_one_loop_share_a_graph_and_a_database(tmp_path):
    async def scenario():
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "d.sqlite"), synchronous="NORMAL") as saver:
            await run_in_one_loop(graph(alook, saver), 10, 5)

    asyncio.run(scenario())


class Counted(TypedDict):
    number: int
    runs: Annotated[int, operator.add]
    seen: str


def counting(node):
    """A graph of one node, whose state stays small over many runs."""
    builder = StateGraph(Counted, context_schema=Caller).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=InMemorySaver())


def seen_last(name, number):
    """The state of a thread after this run."""
    return {"number": number, "runs": number + 1, "seen": f"{name} {name} {name} mark-{name} {number}"}


def check_histories(app):
    for name in [f"t{index}" for index in range(0, 100, 10)]:
        history = list(app.get_state_history({"configurable": {"thread_id": name}}))
        assert [item.values.get("runs") for item in history[::3]] == [*range(100, 0, -1)]
        assert len(history) == 300


@pytest.mark.slow
def test_a_hundred_threads_make_a_hundred_runs_each():
    app = counting(lambda state, config, runtime: {"runs": 1, "seen": look(state, config, runtime)["seen"][0]})

    def work(name):
        who.set(name)
        for number in range(100):
            assert app.invoke(**call_of(name, number)) == seen_last(name, number)

    together(100, work)
    check_histories(app)


@pytest.mark.slow
def test_a_hundred_tasks_make_a_hundred_runs_each():
    async def node(state, config, runtime):
        return {"runs": 1, "seen": (await alook(state, config, runtime))["seen"][0]}

    app = counting(node)

    async def work(name):
        who.set(name)
        for number in range(100):
            assert await app.ainvoke(**call_of(name, number)) == seen_last(name, number)

    async def scenario():
        await asyncio.gather(*(work(f"t{index}") for index in range(100)))

    asyncio.run(scenario())
    check_histories(app)


def test_sync_entrypoints_of_one_loop_never_wait_for_each_others_threads():
    meet = threading.Barrier(50)

    @task
    def double(number):
        return 2 * number

    @entrypoint()
    def program(number):
        meet.wait(20)  # all hold a thread before any asks for another
        return double(number).result()

    async def scenario():
        return await asyncio.gather(*(program.ainvoke(number) for number in range(50)))

    assert asyncio.run(scenario()) == [2 * number for number in range(50)]
