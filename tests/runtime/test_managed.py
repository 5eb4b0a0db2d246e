"""Managed values: what they tell a node, and how an annotation is recognised."""

from types import SimpleNamespace
from typing import TypedDict, get_args

import pytest

from runtime.graph import END, START, StateGraph
from runtime.managed import IsLastStep, RemainingSteps
from runtime.managed.base import ManagedValue, is_managed_value
from runtime.managed.is_last_step import IsLastStepManager, RemainingStepsManager


class Doubled(ManagedValue[int]):
    @staticmethod
    def get(scratchpad):
        return scratchpad.step * 2


# With a recursion limit of 4, three nodes one after the other run at supersteps 1 to 3, and the run must stop at 4.
@pytest.mark.parametrize(("step", "is_last", "remaining"), [(1, False, 3), (2, False, 2), (3, True, 1)])
def test_what_a_node_is_told_about_the_limit(step, is_last, remaining):
    scratchpad = SimpleNamespace(step=step, stop=4)
    assert IsLastStepManager.get(scratchpad) is is_last
    assert RemainingStepsManager.get(scratchpad) == remaining


def test_a_schema_declares_them_by_annotation():
    assert get_args(IsLastStep) == (bool, IsLastStepManager)
    assert get_args(RemainingSteps) == (int, RemainingStepsManager)


@pytest.mark.parametrize(
    ("item", "managed"),
    [(IsLastStepManager, True), (Doubled, True), (int, False), ("x", False), (list[int], False), (len, False)],
)
def test_only_classes_of_managed_values_are_recognised(item, managed):
    assert is_managed_value(item) is managed


def test_a_managed_value_of_ones_own_reads_the_scratchpad():
    assert Doubled.get(SimpleNamespace(step=3, stop=9)) == 6


@pytest.mark.parametrize("answer", [{"n": 1}, None])
def test_a_router_is_given_managed_values_like_its_node(colour, answer):
    class State(TypedDict):
        n: int
        left: RemainingSteps

    seen = []

    def node(state):
        seen.append(state["left"])
        return answer

    def router(state):
        seen.append(state["left"])
        return END

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_conditional_edges("node", router)
    colour.invoke(graph.compile(), {"n": 0}, {"recursion_limit": 7})
    assert seen == [seen[0]] * 2
