"""Ctrl-C while a graph runs: a real signal to a real process. What had finished is kept, and the thread goes on."""

import json
import textwrap

from tests.runtime.concurrency.programs import ROOT, interrupted_whenever_it_holds

# `times` counts how often each node has run, before Ctrl-C and after. What holds does so the first time.
COMMON = """
import asyncio, contextlib, json, operator, os, sqlite3, tempfile, threading, time
from typing import Annotated, TypedDict
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.func import entrypoint, task
from runtime.graph import START, StateGraph

CONFIG = {"configurable": {"thread_id": "t"}}
times = {}

class State(TypedDict):
    log: Annotated[list, operator.add]

def count(name):
    times[name] = times.get(name, 0) + 1
    return times[name]

def hold():
    print("holding", flush=True)
    while True:  # in bits: Python doesn't see a signal that comes just before a wait until that ends
        time.sleep(0.05)

def node(name, first=lambda: None):
    def run(state):
        if count(name) == 1:
            first()
        return {"log": [name]}
    return run

def chain(*nodes):
    builder, last = StateGraph(State), START
    for name, run in nodes:
        builder.add_node(name, run).add_edge(last, name)
        last = name
    return builder

def savers():
    for durability in ("async", "sync", "exit"):
        times.clear()
        yield durability, InMemorySaver()
        times.clear()
        with contextlib.closing(sqlite3.connect(":memory:", check_same_thread=False)) as conn:
            yield durability, SqliteSaver(conn)

def stop_and_go_on(app, durability, input):
    try:
        app.invoke(input, CONFIG, durability=durability)
    except KeyboardInterrupt:
        tasks = app.get_state(CONFIG).tasks
        kept, marked = [task.name for task in tasks if task.result], [task.name for task in tasks if task.error]
        result = app.invoke(None, CONFIG)
        tell(kept=kept, marked=marked, result=result)

def tell(**facts):
    print(json.dumps({**facts, "times": times}), flush=True)
"""


def told(code):
    """What a program tells at each Ctrl-C."""
    return interrupted_whenever_it_holds(COMMON + textwrap.dedent(code))


def test_in_a_lone_node_it_leaves_the_last_barrier():
    after = told("""
        for durability, saver in savers():
            app = chain(("a", node("a")), ("b", node("b", hold)), ("c", node("c"))).compile(saver)
            stop_and_go_on(app, durability, {"log": []})
    """)
    times = {"a": 1, "b": 2, "c": 1}
    assert after == [{"kept": [], "marked": ["b"], "result": {"log": ["a", "b", "c"]}, "times": times}] * 6


PARALLEL = """
    from runtime.events import observe

    def parallel(saver, quick_has_ended):
        meet = threading.Barrier(2)
        def hold_second():
            quick_has_ended()
            meet.wait()
            hold()
        def hold_in_silence():
            meet.wait()
            time.sleep(60)
        builder = StateGraph(State).add_node("quick", node("quick")).add_node("end", node("end"))
        builder.add_node("slow", node("slow", hold_second)).add_node("stuck", node("stuck", hold_in_silence))
        for name in ("quick", "slow", "stuck"):
            builder.add_edge(START, name)
        return builder.add_edge(["quick", "slow", "stuck"], "end").compile(saver)
"""


def test_beside_others_what_is_kept_does_not_run_again_and_nobody_waits_for_a_thread():
    after = told(
        PARALLEL
        + """
    for durability, saver in savers():
        stop_and_go_on(parallel(saver, lambda: None), durability, {"log": []})
    """
    )
    assert len(after) == 6
    for item in after:
        assert item["result"] == {"log": ["quick", "slow", "stuck", "end"]}
        assert item["marked"][-2:] == ["slow", "stuck"]
        assert {name: item["times"][name] for name in item["kept"]} == dict.fromkeys(item["kept"], 1)
        assert {name: item["times"][name] for name in ("slow", "stuck")} == {"slow": 2, "stuck": 2}


def test_in_a_watched_run_what_was_told_to_have_finished_is_kept():
    after = told(
        PARALLEL
        + """
    class Watcher:
        def event(self, event):
            if type(event).__name__ == "TaskFinished" and event.node == "quick":
                ended.set()

    for durability, saver in savers():
        ended = threading.Event()
        with observe(Watcher()):
            stop_and_go_on(parallel(saver, ended.wait), durability, {"log": []})
    """
    )
    assert [item["kept"] for item in after] == [["quick"]] * 6
    assert [item["times"] for item in after] == [{"quick": 1, "slow": 2, "stuck": 2, "end": 1}] * 6


def test_in_a_nested_graph_it_leaves_that_graphs_last_barrier():
    after = told("""
        for durability, saver in savers():
            inner = chain(("x", node("x")), ("y", node("y", hold))).compile()
            stop_and_go_on(chain(("inner", inner), ("z", node("z"))).compile(saver), durability, {"log": []})
    """)
    assert [item["result"]["log"] for item in after] == [["x", "y", "z"]] * 6
    assert [item["times"] for item in after] == [{"x": 1, "y": 2, "z": 1}] * 6


def test_in_an_entrypoint_it_keeps_the_results_of_the_tasks_that_it_called():
    after = told("""
        @task
        def add(number):
            count(f"add {number}")
            return number + 1

        for durability, saver in savers():
            @entrypoint(checkpointer=saver)
            def program(number):
                results = [add(number + index).result() for index in range(3)]
                if count("program") == 1:
                    hold()
                return results

            stop_and_go_on(program, durability, 0)
    """)
    times = {"program": 2, "add 0": 1, "add 1": 1, "add 2": 1}
    assert after == [{"kept": [], "marked": ["program"], "result": [1, 2, 3], "times": times}] * 6


def test_while_a_stream_is_read_it_ends_the_stream():
    after = told("""
        for durability, saver in savers():
            app = chain(("a", node("a")), ("b", node("b", hold)), ("c", node("c"))).compile(saver)
            try:
                for chunk in app.stream({"log": []}, CONFIG, stream_mode=["updates", "custom"], durability=durability):
                    times["chunks"] = times.get("chunks", 0) + 1
            except KeyboardInterrupt:
                tell(result=app.invoke(None, CONFIG))
    """)
    assert after == [{"result": {"log": ["a", "b", "c"]}, "times": {"a": 1, "b": 2, "c": 1, "chunks": 1}}] * 6


def test_under_asyncio_run_it_cancels_the_nodes_and_leaves_the_last_barrier():
    after = told("""
        async def quick(state):
            count("quick")
            return {"log": ["quick"]}

        async def slow(state):
            if count("slow") == 1:
                print("holding", flush=True)
                try:
                    await asyncio.Event().wait()
                finally:
                    count("stopped")
            return {"log": ["slow"]}

        def graph(saver):
            builder = StateGraph(State).add_node(quick).add_node(slow).add_node("end", node("end"))
            builder.add_edge(START, "quick").add_edge(START, "slow").add_edge(["quick", "slow"], "end")
            return builder.compile(saver)

        async def run(path, input, **options):
            async with AsyncSqliteSaver.from_conn_string(path) as saver:
                return await graph(saver).ainvoke(input, CONFIG, **options)

        for durability in ("async", "sync", "exit"):
            times.clear()
            with tempfile.TemporaryDirectory() as folder:
                try:
                    asyncio.run(run(f"{folder}/d.sqlite", {"log": []}, durability=durability))
                except KeyboardInterrupt:
                    tell(result=asyncio.run(run(f"{folder}/d.sqlite", None)))
    """)
    times = {"quick": 1, "slow": 2, "stopped": 1, "end": 1}
    assert after == [{"result": {"log": ["quick", "slow", "end"]}, "times": times}] * 3


def test_in_a_cell_of_a_notebook_it_ends_the_cell_and_the_next_one_goes_on():
    """With a real kernel, whose interrupt is what the stop button of JupyterLab sends."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT))
    try:
        graph = 'app = chain(("a", node("a")), ("b", node("b", hold)), ("c", node("c"))).compile(InMemorySaver())'
        assert run_cell(client, COMMON + graph) == ("ok", "")
        hold = client.execute("app.invoke({'log': []}, CONFIG)", stop_on_error=False)  # the next cell comes at once
        while "holding" not in client.get_iopub_msg(timeout=30)["content"].get("text", ""):
            pass
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=30)
        assert (reply["parent_header"]["msg_id"], reply["content"]["ename"]) == (hold, "KeyboardInterrupt")
        status, out = run_cell(client, "tell(result=app.invoke(None, CONFIG))")
        assert status == "ok"
        assert json.loads(out) == {"result": {"log": ["a", "b", "c"]}, "times": {"a": 1, "b": 2, "c": 1}}
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run_cell(client, code):
    """How a cell ends, and what it prints."""
    printed = []

    def take(message):
        printed.append(message["content"].get("text", ""))

    reply = client.execute_interactive(code, timeout=30, output_hook=take)
    return reply["content"]["status"], "".join(printed)
