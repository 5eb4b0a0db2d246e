"""Annotations that cannot be evaluated, as Python 3.14 allows them without quotes."""

import inspect
import sys

import pytest

from runtime._annotations import annotations_of, signature
from runtime.graph import START, StateGraph
from tests.runtime.scenarios.build import Log

LAZY = pytest.mark.skipif(sys.version_info < (3, 14), reason="before Python 3.14 such a definition is an error")
SOURCE = """
def node(state: Missing, config: RunnableConfig) -> Missing:
    return {"log": [config["metadata"]["langgraph_node"]]}

class Holder:
    key: Missing
"""


def defined(name):
    names = {}
    exec(SOURCE, names)
    return names[name]


def test_a_signature_is_pythons_own():
    def function(a: int, *, b: str = "x") -> None: ...

    assert signature(function) == inspect.signature(function)
    assert annotations_of(function) == {"a": int, "b": str, "return": None}


@LAZY
def test_a_node_may_name_types_that_only_a_type_checker_sees():
    graph = StateGraph(Log).add_node("node", defined("node")).add_edge(START, "node").compile()
    assert graph.invoke({"log": []}) == {"log": ["node"]}


@LAZY
def test_annotations_that_cannot_be_evaluated_are_their_text():
    assert annotations_of(defined("Holder")) == {"key": "Missing"}
    assert signature(defined("node")).parameters["config"].annotation == "RunnableConfig"
