"""With a checkpointer: saving, reading back, forking, interrupts."""

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.job import Engine, Job
from benchmarks.workloads.graphs import CASE, Count, case_ring, new_thread, ring


def memory_sync(engine: Engine, size: int) -> Job:
    """Saved in memory before the next step begins."""
    return _case_in_memory(engine, size, "sync")


def memory_async(engine: Engine, size: int) -> Job:
    """Saved in memory while the next step runs."""
    return _case_in_memory(engine, size, "async")


def memory_exit(engine: Engine, size: int) -> Job:
    """Saved in memory once, at the end."""
    return _case_in_memory(engine, size, "exit")


def sqlite_sync(engine: Engine, size: int) -> Job:
    """Saved on disk before the next step begins."""
    return _case_on_disk(engine, size, "sync")


def sqlite_async(engine: Engine, size: int) -> Job:
    """Saved on disk while the next step runs."""
    return _case_on_disk(engine, size, "async")


def sqlite_exit(engine: Engine, size: int) -> Job:
    """Saved on disk once, at the end."""
    return _case_on_disk(engine, size, "exit")


def history(engine: Engine, size: int) -> Job:
    """All `size` checkpoints of a thread, newest first."""
    graph, thread = _case_with_past(engine, size - 2)  # the input and the first step are checkpoints, too

    def run() -> list[int]:
        snapshots = list(graph.get_state_history(thread))
        return [len(snapshots), snapshots[0].values["turn"], snapshots[-3].values["turn"]]

    return Job(size, run)


def get_state(engine: Engine, size: int) -> Job:
    """The latest state of a thread with `size` turns behind it."""
    (graph, thread), times = _case_with_past(engine, size), 100

    def run() -> list[Any]:
        for _ in range(times):
            snapshot = graph.get_state(thread)
        return [snapshot.values["turn"], list(snapshot.next)]

    return Job(times, run)


def fork(engine: Engine, size: int) -> Job:
    """`size` forks from the middle of a thread: a new title, then the 20 turns that are left."""
    graph, thread = _case_with_past(engine, 40)
    middle = next(one.config for one in graph.get_state_history(thread) if one.values.get("turn") == 20)

    def run() -> list[Any]:
        for number in range(size):
            forked = graph.update_state(middle, {"title": f"fork {number}"}, as_node="node")
            state = graph.invoke(None, {**forked, "recursion_limit": 100})
        return [state["turn"], state["title"], len(state["journal"])]

    return Job(size, run)


def interrupt(engine: Engine, size: int) -> Job:
    """A node that asks at each step, and is answered by resuming."""
    question, answer = engine.types.interrupt, engine.types.Command

    def ask(state: Count) -> dict[str, Any]:
        return {"x": state["x"] + question({"how many more than": state["x"]})}

    graph = ring(engine, size, ask).compile(checkpointer=engine.memory.InMemorySaver())

    def run() -> Any:
        thread = new_thread()
        graph.invoke({"x": 0}, thread)
        for _ in range(size):
            state = graph.invoke(answer(resume=1), thread)
        return state

    return Job(size, run)


def _case_in_memory(engine: Engine, size: int, durability: str) -> Job:
    graph = case_ring(engine, size).compile(checkpointer=engine.memory.InMemorySaver())
    return Job(size, lambda: graph.invoke(CASE, new_thread(), durability=durability))


def _case_on_disk(engine: Engine, size: int, durability: str) -> Job:
    folder = TemporaryDirectory()
    connection = sqlite3.connect(Path(folder.name, "threads.db"), check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    saver = engine.sqlite.SqliteSaver(connection)
    saver.setup()
    graph = case_ring(engine, size).compile(checkpointer=saver)

    def close() -> None:
        connection.close()
        folder.cleanup()

    return Job(size, lambda: graph.invoke(CASE, new_thread(), durability=durability), close)


def _case_with_past(engine: Engine, turns: int) -> tuple[Any, dict[str, Any]]:
    graph = case_ring(engine, turns).compile(checkpointer=engine.memory.InMemorySaver())
    thread = new_thread()
    graph.invoke(CASE, thread)
    return graph, {"configurable": thread["configurable"]}
