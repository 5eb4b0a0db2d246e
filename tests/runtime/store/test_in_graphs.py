"""Nodes reach the store of their graph, whichever it is, in three ways; so do those of a subgraph."""

from typing import Annotated, Any

import langgraph.config
import langgraph.graph
import langgraph.store.sqlite
import pytest
from typing_extensions import TypedDict

from runtime.config import get_store
from runtime.graph import START, StateGraph
from runtime.runtime import Runtime
from runtime.store.base import BaseStore
from runtime.store.sqlite import SqliteStore
from tests.runtime.store.conftest import KINDS, AsyncFace, Opener


def joined(one: list[str], other: list[str]) -> list[str]:
    return [*one, *other]


class State(TypedDict):
    read: Annotated[list[str], joined]


def by_parameter(state: State, *, store: BaseStore) -> dict[str, list[str]]:
    store.put(("memories",), "parameter", {"n": 1})
    return {"read": ["parameter"]}


def by_runtime(state: State, runtime: Runtime) -> dict[str, list[str]]:
    assert runtime.store is not None
    found = runtime.store.search(("memories",), filter={"n": 1})
    return {"read": [f"runtime sees {item.key}" for item in found]}


def by_call(state: State) -> dict[str, list[str]]:
    item = get_store().get(("memories",), "parameter")
    assert item is not None
    return {"read": [f"get_store sees {item.value['n']}"]}


async def aby_parameter(state: State, *, store: BaseStore) -> dict[str, list[str]]:
    await store.aput(("memories",), "parameter", {"n": 1})
    return {"read": ["parameter"]}


async def aby_runtime(state: State, runtime: Runtime) -> dict[str, list[str]]:
    assert runtime.store is not None
    found = await runtime.store.asearch(("memories",), filter={"n": 1})
    return {"read": [f"runtime sees {item.key}" for item in found]}


async def aby_call(state: State) -> dict[str, list[str]]:
    item = await get_store().aget(("memories",), "parameter")
    assert item is not None
    return {"read": [f"get_store sees {item.value['n']}"]}


SYNC: list[Any] = [by_parameter, by_runtime, by_call]
ASYNC: list[Any] = [aby_parameter, aby_runtime, aby_call]
SEEN = ["parameter", "runtime sees parameter", "get_store sees 1"]


def chain(nodes: list[Any], **compiled: Any) -> Any:
    return StateGraph(State).add_sequence(nodes).add_edge(START, nodes[0].__name__).compile(**compiled)


def run(face: Any, build: Any) -> list[str]:
    """What a graph reads that `build` makes of nodes and a store, in the store's own colour."""
    if isinstance(face, AsyncFace):
        return face.await_(build(ASYNC, face.store).ainvoke({"read": []}))["read"]  # type: ignore[no-any-return]
    return build(SYNC, face).invoke({"read": []})["read"]  # type: ignore[no-any-return]


def test_a_node_reaches_its_graphs_store(open_store: Opener):
    assert run(open_store(), lambda nodes, store: chain(nodes, store=store)) == SEEN


def test_a_subgraphs_node_reaches_its_parents_store(open_store: Opener):
    def build(nodes: list[Any], store: Any) -> Any:
        return StateGraph(State).add_node("child", chain(nodes)).add_edge(START, "child").compile(store=store)

    assert run(open_store(), build) == SEEN


@pytest.mark.parametrize("open_store", [kind for kind in KINDS if kind.endswith("async")], indirect=True)
def test_a_sync_node_of_an_async_run_waits_for_the_store_from_its_thread(open_store: Opener):
    face = open_store()
    graph = chain(SYNC, store=face.store)
    assert face.await_(graph.ainvoke({"read": []}))["read"] == SEEN


@pytest.mark.parametrize("ours", [True, False], ids=["LangGraph's store in our graph", "our store in LangGraph's"])
def test_stores_and_graphs_of_both_libraries_go_together(ours: bool):
    graph = StateGraph if ours else langgraph.graph.StateGraph
    kind: Any = langgraph.store.sqlite.SqliteStore if ours else SqliteStore

    def put(state: State, *, store):  # type: ignore[no-untyped-def]  # both take it by its name
        store.put(("memories",), "parameter", {"n": 1})
        return {"read": ["parameter"]}

    def read(state: State) -> dict[str, list[str]]:
        store = get_store() if ours else langgraph.config.get_store()
        return {"read": [item.key for item in store.search(("memories",), filter={"n": 1})]}

    with kind.from_conn_string(":memory:") as store:
        store.setup()
        compiled = graph(State).add_sequence([put, read]).add_edge(START, "put").compile(store=store)
        assert compiled.invoke({"read": []}) == {"read": ["parameter", "parameter"]}
