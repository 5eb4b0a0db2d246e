"""The agent as a graph: its nodes and edges are those of LangGraph's, whatever is asked for."""

import itertools
import warnings

import pytest
from langgraph.prebuilt import create_react_agent as oracle

from tests.runtime.prebuilt.scripted import add, agent_of, final, scripted


def nothing(state):
    return {}


TOOLS = {"no tools": [], "tools": [add], "a direct tool": [add, final], "a built-in": [{"type": "web_search"}]}
OPTIONS = [{"pre_model_hook": nothing}, {"post_model_hook": nothing}, {"response_format": {"title": "Form"}}]
SETS = [
    {key: value for option in chosen for key, value in option.items()}
    for count in range(len(OPTIONS) + 1)
    for chosen in itertools.combinations(OPTIONS, count)
]


@pytest.mark.parametrize("tools", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("options", SETS, ids=lambda options: "+".join(options) or "plain")
def test_an_agent_is_drawn_as_langgraphs_is(tools, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        theirs = oracle(scripted(), tools, **options).get_graph()
    ours = agent_of(scripted(), tools, **options).get_graph()
    assert list(ours.nodes) == list(theirs.nodes)
    assert set(ours.edges) == set(theirs.edges)
