"""The program that is killed: each way a graph has of running a task, and two turns of one thread through all of them.

A task notes in a file of its own, the diary, that it begins. That is the side effect: it stands there whatever becomes
of the process, once for each time that the task ran.
"""

from __future__ import annotations

import asyncio
import functools
import operator
import os
from typing import Annotated, Any, Final, NamedTuple, TypedDict

from runtime.channels import DeltaChannel
from runtime.config import get_config
from runtime.func import task
from runtime.graph import END, START, StateGraph
from runtime.types import Command, Send, interrupt

TURNS: Final = 2
ROUNDS: Final = 2
PIECES: Final = 3


class Diary:
    """Lines at the end of a file: each is written by one call of the system, so it is there whole or not at all."""

    file = -1

    @classmethod
    def open(cls, path: str) -> None:
        cls.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def note(cls, word: str, *facts: Any) -> None:
        os.write(cls.file, ("\t".join([word, *map(str, facts)]) + "\n").encode())


class Line(NamedTuple):
    """A line of the diary: what happened, and to whom."""

    word: str
    facts: tuple[str, ...]


def read(path: str) -> list[Line]:
    """The lines of a diary."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        parts = [line.rstrip("\n").split("\t") for line in file]
    return [Line(word, tuple(facts)) for word, *facts in parts]


def begin(label: str, below: int = 1) -> str:
    """Note that the task of this label begins: its graph's namespace, its id and superstep.

    A node's task lies one level below its graph, and what it calls two.
    """
    metadata = get_config()["metadata"]
    ns, _, id = metadata["langgraph_checkpoint_ns"].rpartition(":")
    Diary.note("began", label, "|".join(ns.split("|")[:-below]), id, metadata["langgraph_step"])
    return label


def joined(value: list[str], writes: Any) -> list[str]:
    return [*value, *(item for write in writes for item in write)]


class Shop(TypedDict, total=False):
    turn: int
    round: int
    total: Annotated[int, operator.add]
    done: Annotated[list[str], operator.add]
    log: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=4)]
    inner: list[str]
    heard: list[str]


class Piece(TypedDict):
    turn: int
    round: int
    number: int


class Inner(TypedDict):
    turn: int
    inner: Annotated[list[str], operator.add]


class Memory(TypedDict):
    heard: Annotated[list[str], operator.add]


def said(label: str) -> dict[str, Any]:
    begin(label)
    return {"done": [label], "log": [label], "total": 1}


def open_shop(state: Shop) -> dict[str, Any]:
    turn = state.get("turn", 0) + 1
    return {**said(f"open {turn}"), "turn": turn, "round": 0}


def left(state: Shop) -> dict[str, Any]:
    return said(f"left {state['turn']}")


def right(state: Shop) -> dict[str, Any]:
    return said(f"right {state['turn']}")


def brittle(state: Shop) -> dict[str, Any]:
    begin(f"brittle {state['turn']}")
    raise ValueError("It broke.")


def mend(state: Shop) -> dict[str, Any]:
    return said(f"mend {state['turn']}")


def fan(state: Shop) -> dict[str, Any]:
    return {**said(f"fan {state['turn']}.{state['round']}"), "round": state["round"] + 1}


def pieces(state: Shop) -> list[Send]:
    turn, round = state["turn"], state["round"]
    return [Send("work", {"turn": turn, "round": round, "number": number}) for number in range(PIECES)]


def work(piece: Piece) -> dict[str, Any]:
    return said(f"work {piece['turn']}.{piece['round']}.{piece['number']}")


def gather(state: Shop) -> dict[str, Any]:
    return said(f"gather {state['turn']}.{state['round']}")


def again(state: Shop) -> str:
    return "fan" if state["round"] < ROUNDS else "inside"


def first(state: Inner) -> dict[str, Any]:
    return {"inner": [begin(f"first {state['turn']}")]}


def ask(state: Inner) -> dict[str, Any]:
    label = begin(f"ask {state['turn']}")
    return {"inner": [f"{label}: {interrupt('more?')}"]}


def last(state: Inner) -> dict[str, Any]:
    return {"inner": [begin(f"last {state['turn']}")]}


def hear(state: Memory) -> dict[str, Any]:
    return {"heard": [begin(f"hear {len(state['heard'])}")]}


@task
def call(label: str) -> str:
    return begin(label, below=2)


@task
async def acall(label: str) -> str:
    return begin(label, below=2)


def close(state: Shop) -> dict[str, Any]:
    return said(f"close {state['turn']}")


def program(saver: Any, asynchronous: bool) -> Any:
    """The graph; in the async colour half of its nodes are coroutines."""
    colour = _awaited if asynchronous else _as_it_is
    inner = StateGraph(Inner).add_node(first).add_node("ask", colour(ask)).add_node(last)
    inner = inner.add_edge(START, "first").add_edge("first", "ask").add_edge("ask", "last")
    memory = StateGraph(Memory).add_node("hear", colour(hear)).add_edge(START, "hear").compile(checkpointer=True)

    def remember(state: Shop) -> dict[str, Any]:
        return {"heard": memory.invoke({"heard": [f"turn {state['turn']}"]})["heard"]}

    async def aremember(state: Shop) -> dict[str, Any]:
        return {"heard": (await memory.ainvoke({"heard": [f"turn {state['turn']}"]}))["heard"]}

    def calls(state: Shop) -> dict[str, Any]:
        futures = [call(f"call {state['turn']}.{number}") for number in range(PIECES)]
        return {"done": [future.result() for future in futures]}

    async def acalls(state: Shop) -> dict[str, Any]:
        return {"done": await asyncio.gather(*(acall(f"call {state['turn']}.{number}") for number in range(PIECES)))}

    graph = StateGraph(Shop).add_node("open", open_shop).add_node("fan", fan).add_node("gather", colour(gather))
    graph.add_node("left", colour(left)).add_node("right", right).add_node("work", colour(work))
    graph.add_node("brittle", colour(brittle), error_handler=mend).add_node("inside", inner.compile())
    graph.add_node("remember", aremember if asynchronous else remember)
    graph.add_node("calls", acalls if asynchronous else calls).add_node("close", close)
    graph.add_edge(START, "open").add_edge("open", "left").add_edge("open", "right").add_edge("open", "brittle")
    graph.add_edge(["left", "right"], "fan").add_conditional_edges("fan", pieces, ["work"]).add_edge("work", "gather")
    graph.add_conditional_edges("gather", again, ["fan", "inside"]).add_edge("inside", "remember")
    graph.add_edge("remember", "calls").add_edge("calls", "close").add_edge("close", END)
    return graph.compile(checkpointer=saver)


def next_input(state: Any) -> tuple[bool, Any]:
    """Whether the thread is not at its end yet, and what it waits for: an answer, nothing, or the word of a turn."""
    if state.interrupts:
        return True, Command(resume={question.id: "yes" for question in state.interrupts})
    if state.next:
        return True, None
    return state.values.get("turn", 0) < TURNS, {}


def _awaited(function: Any) -> Any:
    @functools.wraps(function)
    async def awaited(state: Any) -> Any:
        await asyncio.sleep(0)
        return function(state)

    return awaited


def _as_it_is(function: Any) -> Any:
    return function
