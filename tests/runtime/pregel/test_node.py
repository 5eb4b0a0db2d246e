"""A compiled node by itself, as a test of it would call it."""

import asyncio

from langchain_core.runnables import RunnableLambda

from runtime.graph import START, StateGraph
from runtime.store.memory import InMemoryStore
from tests.runtime.scenarios.build import Log


def lone(action, **options):
    return StateGraph(Log).add_node("a", action, **options).add_edge(START, "a").compile().nodes["a"]


async def listed(pieces):
    return [piece async for piece in pieces]


def test_a_node_can_be_called_without_its_graph(colour):
    assert colour.invoke(lone(lambda state: {"log": [f"of {state['log']}"]}), {"log": []}) == {"log": ["of []"]}


def test_a_node_called_alone_knows_what_its_config_says_and_what_it_was_declared_with(colour):
    from runtime.runtime import Runtime

    def look(state, config, runtime):
        return config["metadata"], runtime.store

    store = InMemoryStore()
    config = {"configurable": {"__pregel_runtime": Runtime(store=store)}, "metadata": {"from": "a test"}}
    seen = colour.invoke(lone(look, metadata={"owner": "me"}), {"log": []}, config)
    assert seen == ({"owner": "me", "from": "a test"}, store)


def test_a_node_called_alone_gives_pieces_where_its_code_does():
    def words(state):
        yield "one "
        yield "two"

    node = lone(RunnableLambda(words))
    assert list(node.stream({"log": []})) == ["one ", "two"]
    assert asyncio.run(listed(lone(lambda state: "whole").astream({"log": []}))) == ["whole"]
