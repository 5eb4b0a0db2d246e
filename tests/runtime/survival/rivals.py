"""Two processes that go on with one thread at the same time, and what must be true of it then: a fork, never a mixture.

Each task writes a line with its process's number. So whatever mixes the branches of the two processes shows: in a
checkpoint that is not its parent's and one more round, or in a delta channel that tells another story.
"""

from __future__ import annotations

import asyncio
import operator
import os
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, TypedDict

from runtime.channels import DeltaChannel
from runtime.graph import END, START, StateGraph
from tests.runtime.survival.lives import Thread, ended_with
from tests.runtime.survival.program import joined, read

ROUNDS: Final = 5


class Rounds(TypedDict, total=False):
    round: int
    done: Annotated[list[str], operator.add]
    told: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=4)]


def rounds(saver: Any) -> Any:
    """A graph of some rounds with two tasks each."""

    def begin(state: Rounds) -> dict[str, Any]:
        return {"round": state.get("round", 0) + 1}

    def node(name: str) -> Any:
        def says(state: Rounds) -> dict[str, Any]:
            line = f"{state['round']} {name} {os.getpid()}"
            return {"done": [line], "told": [line]}

        return says

    graph = StateGraph(Rounds).add_node("begin", begin).add_node("a", node("a")).add_node("b", node("b"))
    graph.add_edge(START, "begin").add_edge("begin", "a").add_edge("begin", "b").add_node("gather", lambda state: {})
    graph.add_edge(["a", "b"], "gather")
    graph.add_conditional_edges("gather", lambda state: "begin" if state["round"] < ROUNDS else END, ["begin", END])
    return graph.compile(checkpointer=saver)


def compete(thread: Thread, processes: int) -> None:
    """A process begins the thread, and then so many bring it to its end, all at once.

    Nobody is to begin it beside another: a new input gives up what the thread waits for, which is no mixture.
    """
    os.waitpid(_forked(thread, begins=True), 0)
    for child in [_forked(thread) for _ in range(processes)]:
        os.waitpid(child, 0)


def _forked(thread: Thread, begins: bool = False) -> int:
    child = os.fork()
    if child == 0:
        ended_with(thread, (_arun if thread.saver.asynchronous else _run)(thread, begins))
    return child


def _run(thread: Thread, begins: bool) -> Callable[[], None]:
    def run() -> None:
        with thread.saver.open(thread.address) as saver:
            graph = rounds(saver)
            if begins:
                graph.update_state(thread.config, {}, START)
                return
            state = graph.get_state(thread.config)
            graph.invoke(None if state.next else {}, thread.config, durability=thread.durability)

    return run


def _arun(thread: Thread, begins: bool) -> Callable[[], None]:
    async def run() -> None:
        async with thread.saver.open(thread.address) as saver:
            graph = rounds(saver)
            if begins:
                await graph.aupdate_state(thread.config, {}, START)
                return
            state = await graph.aget_state(thread.config)
            await graph.ainvoke(None if state.next else {}, thread.config, durability=thread.durability)

    return lambda: asyncio.run(run())


def faults_of_rivals(thread: Thread) -> Iterator[str]:
    """What is wrong with a thread after several processes went on with it."""
    with thread.saver.read(thread.address) as saver:
        states = list(rounds(saver).get_state_history(thread.config))
    lines = {state.config["configurable"]["checkpoint_id"]: state.values.get("done", []) for state in states}
    for state in states:
        done, parent = state.values.get("done", []), state.parent_config
        before = lines[parent["configurable"]["checkpoint_id"]] if parent else []
        added = [line.split()[:2] for line in done[len(before) :]]
        first = len(before) // 2 + 1
        whole = [[str(number), name] for number in range(first, first + len(added) // 2) for name in "ab"]
        if done[: len(before)] != before or added != whole:
            yield f"superstep {state.metadata['step']} made {done} of {before}"
        if state.values.get("told", []) != done:
            yield f"superstep {state.metadata['step']} has {state.values.get('told')} in the delta channel, not {done}"
    if len(max(lines.values(), key=len)) < 2 * ROUNDS:  # whoever begins after the other's end goes round once more
        yield "nobody came to the end"
    yield from (f"a process failed by itself: {line.facts[0]}" for line in read(thread.diary) if line.word == "failed")
