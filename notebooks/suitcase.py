"""The props of the notebook on LangGraph graphs: the letter, the model's lines, the weather, and the questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd
from course import Question, ScriptedModel, Verdict
from langchain_core.messages import HumanMessage, ToolMessage

from workbench import Recording, text, topology
from workbench.prose import Told

letter: Final = {"messages": [HumanMessage("I leave for Bergen tomorrow. What do I pack?", id="letter")]}
model: Final = ScriptedModel(
    script=[
        ("What do I pack?", {"name": "weather", "args": {"city": "Bergen"}}),
        ("rain", "Something against the rain."),
    ]
)
forecast: Final = {"Bergen": "rain, 9 °C"}


def told(trip: Mapping[str, Any]) -> ToolMessage:
    """The weather that the model's last message asks for, as the message that it waits for."""
    call = trip["messages"][-1].tool_calls[0]
    return ToolMessage(forecast[call["args"]["city"]], id=f"answer to {call['id']}", tool_call_id=call["id"])


def edges(graph: Any) -> pd.DataFrame:
    """Each edge of a graph, and who draws it: LangGraph's get_graph, the workbench, or both."""
    declared = {(edge.source, edge.target) for edge in graph.get_graph().edges}
    drawn = set(topology.of(graph).ways())
    rows = [
        (source, target, (source, target) in declared, (source, target) in drawn)
        for source, target in sorted(declared | drawn)
    ]
    return pd.DataFrame(rows, columns=["from", "to", "get_graph", "workbench"])


FRAMES: Final = ("tasks", "triggers", "reads", "writes", "channels")
_IDS: Final = ["task_id", "started_at", "duration", "attempts", "value", "input", "result"]


def alike(one: Recording, other: Recording) -> pd.DataFrame:
    """How many rows of each frame are the same in two recordings, but for ids, times, and what holds messages."""
    rows = []
    for name in FRAMES:
        left, right = (getattr(rec, name).drop(columns=_IDS, errors="ignore") for rec in (one, other))
        same = len(left.merge(right, how="inner"))
        rows.append((name, len(left), len(right), same))
    return pd.DataFrame(rows, columns=["frame", "LangGraph", "runtime", "the same"])


# -- the questions ----------------------------------------------------------------------------------------------------


def _unknown(rec: Recording) -> int:
    graph = rec.graph
    return len(set(topology.of(graph).ways()) - {(edge.source, edge.target) for edge in graph.get_graph().edges})


def _ways(rec: Recording, answer: Any) -> Iterator[str]:
    for edge in topology.of(rec.graph).edges:
        if edge.source == "agent":
            yield f"The picture has a way from agent to {edge.target}."


more_ways: Final = Question(
    "How many ways out of agent does the picture show?",
    right=lambda rec: sum(edge.source == "agent" for edge in topology.of(rec.graph).edges),
    tempting={
        lambda rec: len({node for node in rec.tasks.node if node in ("weather", "pack")}): (
            "So many were taken in this run; but the router says nowhere what it may answer, so every node can be next."
        )
    },
    evidence=_ways,
)
"""Asked about the run of the LangGraph graph."""


def _why(rec: Recording, answer: Any) -> Iterator[Told | str]:
    if answer not in set(rec.writes.node):
        yield f"No node of this name wrote anything. There are {text.listing(sorted(set(rec.writes.node)))}."
    yield rec.why("pack")


waker: Final = Question(
    "Which node's choice woke pack?",
    right=lambda rec: rec.why("pack").triggers[0].writers[-1].nodes[0],
    tempting={
        lambda rec: rec.tasks.node.iloc[-3]: "It ran just before the agent's last word; but it leads back to the agent."
    },
    evidence=_why,
)
"""Asked about the run of the LangGraph graph."""


# -- the exercise -----------------------------------------------------------------------------------------------------


def explained(rec: Recording, step: int, node: str, channel: str, writer: str) -> Verdict:
    """Whether the node ran in that superstep, the channel woke it, and the writer wrote that channel."""
    ran = set(rec.tasks.query("step == @step").node)
    if node not in ran:
        return _missing(f"in superstep {step} ran {text.listing(sorted(ran)) or 'nobody'}, not {node}.")
    why = rec.why(node, step)
    causes = {cause.channel: {one for found in cause.writers for one in found.nodes} for cause in why.triggers}
    if channel not in causes:
        return _missing(f"{channel} did not wake {node}. {text.listing(sorted(causes))} did.")
    if writer not in causes[channel]:
        return _missing(f"{channel} was written by {text.listing(sorted(causes[channel]))}.")
    return Verdict(True, f"Right: {node} ran in superstep {step}, for {writer} wrote {channel}.")


def _missing(words: str) -> Verdict:
    return Verdict(False, f"Not yet: {words}")
