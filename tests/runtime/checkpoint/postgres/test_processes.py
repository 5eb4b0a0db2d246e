"""Two processes at once on one database."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from runtime.checkpoint.postgres import PostgresSaver
from tests.runtime.checkpoint.postgres.build import thread

CHILD = """
import asyncio, json, operator, sys
from typing import Annotated, TypedDict
from runtime.checkpoint.postgres import PostgresSaver
from runtime.checkpoint.postgres.aio import AsyncPostgresSaver
from runtime.graph import START, StateGraph

url, name, id, colour = sys.argv[1:]

class State(TypedDict):
    log: Annotated[list[str], operator.add]
    left: int

def turn(state):
    return {"log": [f"{name} {state['left']}"], "left": state["left"] - 1}

def graph(saver):
    builder = StateGraph(State).add_node("turn", turn).add_edge(START, "turn")
    builder.add_conditional_edges("turn", lambda state: "turn" if state["left"] else "__end__")
    return builder.compile(checkpointer=saver)

async def run(config, input):
    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        return await graph(saver).ainvoke(input, config)

config, input = {"configurable": {"thread_id": id}, "recursion_limit": 100}, {"log": [name], "left": 25}
if colour == "async":
    out = asyncio.run(run(config, input))
else:
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        print("ready", flush=True)
        sys.stdin.readline()
        out = graph(saver).invoke(input, config)
print(json.dumps(out["log"]))
"""


@contextmanager
def child(url: str, name: str, id: str, colour: str) -> Iterator[Any]:
    """A process that waits for a word, and then runs the graph once on that thread."""
    command = [sys.executable, "-c", CHILD, url, name, id, colour]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def at_once(url: str, colour: str, ids: dict[str, str]) -> dict[str, list[str]]:
    """What processes of these names, on these threads, end with."""
    with ExitStack() as stack:
        children = {name: stack.enter_context(child(url, name, id, colour)) for name, id in ids.items()}
        for each in children.values():
            assert each.stdout.readline() == "ready\n"
        for each in children.values():
            each.stdin.write("go\n")
            each.stdin.flush()
        return {name: json.loads(each.communicate()[0]) for name, each in children.items()}


def turns(name: str) -> list[str]:
    return [name, *(f"{name} {left}" for left in range(25, 0, -1))]


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_processes_on_threads_of_their_own_do_not_meet(postgres: str, colour: str):
    outs = at_once(postgres, colour, {"one": "1", "two": "2"})
    assert outs == {"one": turns("one"), "two": turns("two")}
    with PostgresSaver.from_conn_string(postgres) as saver:
        for id, name in (("1", "one"), ("2", "two")):
            assert len(list(saver.list(thread(id)))) == 27
            found = saver.get_tuple(thread(id))
            assert found is not None
            assert found.checkpoint["channel_values"]["log"] == turns(name)


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_processes_on_one_thread_leave_a_tree_in_which_each_branch_is_whole(postgres: str, colour: str):
    outs = at_once(postgres, colour, {"one": "1", "two": "1"})
    for name, log in outs.items():
        assert log[-26:] == turns(name)
    with PostgresSaver.from_conn_string(postgres) as saver:
        found = {each.config["configurable"]["checkpoint_id"]: each for each in saver.list(thread())}
        assert len(found) == 54
        logs = {id: each.checkpoint["channel_values"].get("log", []) for id, each in found.items()}
        for id, each in found.items():
            if each.parent_config is not None:
                before = logs[each.parent_config["configurable"]["checkpoint_id"]]
                assert logs[id][: len(before)] == before
        assert sorted(log for log in logs.values() if log in outs.values()) == sorted(outs.values())
