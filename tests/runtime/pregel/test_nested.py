"""Which graphs a node runs, as far as its code shows."""

import functools
from types import SimpleNamespace

import pytest
from langchain_core.runnables import RunnableBranch, RunnableLambda, RunnableParallel, RunnablePassthrough
from typing_extensions import TypedDict

from runtime.graph import START, StateGraph
from runtime.pregel.call import coerce_to_runnable
from runtime.pregel.nested import graphs_in


class State(TypedDict, total=False):
    a: int


def nothing(state):
    return {}


def graph(name, inner=nothing, **settings):
    return StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile(name=name, **settings)


A, B = graph("A"), graph("B")
HELD = SimpleNamespace(graph=A, deeper=SimpleNamespace(graph=B))
CALL = A.invoke
CHAIN = RunnableLambda(nothing) | A


def by_global(state):
    return A.invoke(state)


async def by_async_code(state):
    return await A.ainvoke(state)


def by_attribute(state):
    return HELD.deeper.graph.invoke(state)


def by_method(state):
    return CALL(state)


def by_chain(state):
    return CHAIN.invoke(state)


def by_comprehension(state):
    return [A.invoke(state) for _ in range(2)]


def by_lambda(state):
    return (lambda: A.invoke(state))()


def by_default(state, inner=A):
    return inner.invoke(state)


def by_argument(inner, state):
    return inner.invoke(state)


def by_two(state):
    return B.invoke(A.invoke(state))


def by_closure():
    inner = graph("C")
    return lambda state: inner.invoke(state)


def by_closure_of_a_closure():
    inner = SimpleNamespace(graph=graph("C"))

    def node(state):
        def deeper():
            return inner.graph.invoke(state)

        return deeper()

    return node


def by_unreachable_code():
    inner = graph("C")

    def node(state):
        return state
        return inner.invoke(state)

    return node


@functools.wraps(by_global)
def by_wrapper(*args):
    return by_global(*args)


def by_inner_function(state):
    def deeper():
        return A.invoke(state)

    return deeper()


class Service:
    def __init__(self):
        self.graph = A

    def by_instance(self, state):
        return self.graph.invoke(state)

    def by_global(self, state):
        return A.invoke(state)

    def __call__(self, state):
        return B.invoke(state)

    @property
    def explosive(self):
        raise AssertionError("looking runs no code")


EXPLOSIVE = Service()


def by_property(state):
    return EXPLOSIVE.explosive.invoke(state)


NODES = [
    (A, ["A"]),
    (by_global, ["A"]),
    (by_async_code, ["A"]),
    (by_attribute, ["B"]),
    (by_method, ["A"]),
    (by_chain, ["A"]),
    (by_comprehension, ["A"]),
    (by_lambda, ["A"]),
    (by_default, ["A"]),
    (by_two, ["B", "A"]),
    (by_closure(), ["C"]),
    (by_closure_of_a_closure(), ["C"]),
    (by_unreachable_code(), ["C"]),
    (by_wrapper, ["A"]),
    (functools.partial(by_argument, A), ["A"]),
    (Service().by_global, ["A"]),
    (Service(), ["B"]),
    (RunnableLambda(by_global), ["A"]),
    (RunnableLambda(nothing) | A | B, ["A", "B"]),
    (RunnableParallel(x=A, y=B), ["A", "B"]),
    (A.with_retry(), ["A"]),
    (A.with_fallbacks([B]), ["A", "B"]),
    (RunnablePassthrough.assign(x=A), ["A"]),
    (RunnableBranch((nothing, A), B), ["A", "B"]),
    ({"x": A}, ["A"]),
    (nothing, []),
    (len, []),
    (by_inner_function, []),
    (Service().by_instance, []),
    (by_property, []),
]


@pytest.mark.parametrize(("node", "names"), NODES, ids=[str(getattr(row[0], "__name__", row[0]))[:40] for row in NODES])
def test_the_graphs_that_a_node_names(node, names):
    assert [found.name for found in graphs_in(coerce_to_runnable(node))] == names


def test_a_runnable_that_holds_itself_is_looked_at_once():
    loop = RunnableLambda(nothing)
    loop.func = lambda state: loop.invoke(state)
    assert graphs_in(loop) == []


# -- get_subgraphs ----------------------------------------------------------------------------------------------------

NEST = StateGraph(State).add_node("deep", graph("L1", graph("L2", graph("L3")))).add_node(by_two).add_node(nothing)
NEST.add_node("silent", graph("S", checkpointer=False)).add_edge(START, "deep")

ASKED = [
    ({}, ["deep", "by_two"]),
    ({"recurse": True}, ["deep", "deep|inner", "deep|inner|inner", "by_two"]),
    ({"namespace": "deep"}, ["deep"]),
    ({"namespace": "deep|inner"}, []),
    ({"namespace": "deep|inner", "recurse": True}, ["deep|inner"]),
    ({"namespace": "deep|inner|inner", "recurse": True}, ["deep|inner|inner"]),
    ({"namespace": "dee", "recurse": True}, []),
    ({"namespace": "deep|nobody", "recurse": True}, []),
    ({"namespace": "silent"}, []),
]


@pytest.mark.parametrize(("asked", "names"), ASKED)
def test_subgraphs_by_namespace(asked, names):
    assert [name for name, _ in NEST.compile().get_subgraphs(**asked)] == names


def test_the_first_graph_of_a_node_counts():
    assert {name: found.name for name, found in NEST.compile().get_subgraphs()} == {"deep": "L1", "by_two": "B"}
