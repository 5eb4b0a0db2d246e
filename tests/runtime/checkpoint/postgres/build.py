"""Checkpoints made by hand, and a graph that stops, sends and adds up, for either of the two libraries."""

import importlib
import operator
from typing import Annotated, Any, TypedDict

from runtime.checkpoint.base import empty_checkpoint

ROOT: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def put(saver: Any, config: Any = ROOT, step: int = 0, ns: str | None = None, **values: Any) -> Any:
    """The config of a new checkpoint, each of whose values has the version `step`."""
    if ns is not None:
        config = {"configurable": {**config["configurable"], "checkpoint_ns": ns}}
    versions = dict.fromkeys(values, step)
    checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": versions}
    return saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)


def steps(found: Any) -> list[int]:
    return [each.metadata["step"] for each in found]


def values(saver: Any, config: Any) -> Any:
    return saver.get(config)["channel_values"]


def thread(id: str = "1") -> Any:
    return {"configurable": {"thread_id": id}}


def joined(held: list[Any], written: list[Any]) -> list[Any]:
    return held + [item for each in written for item in each]


def graph_of(library: str, saver: Any) -> Any:
    """Two nodes of which one asks; what it is told is sent to a third as often as it has letters."""
    of = importlib.import_module
    graph, types, delta = of(f"{library}.graph"), of(f"{library}.types"), of(f"{library}.channels.delta")

    class State(TypedDict):
        log: Annotated[list[str], operator.add]
        total: Annotated[float, operator.add]
        said: str
        trail: Annotated[list[str], delta.DeltaChannel(joined, snapshot_frequency=3)]

    def ask(state: Any) -> Any:
        answer = types.interrupt("how many?")
        return {"said": answer, "log": ["asked"], "trail": ["ask"]}

    builder = graph.StateGraph(State)
    builder.add_node("begin", lambda state: {"log": ["begun"], "total": 1e22, "trail": ["begin"]})
    builder.add_node("ask", ask)
    builder.add_node("beside", lambda state: {"log": ["beside"], "trail": ["beside"]})
    builder.add_node("work", lambda sent: {"log": [sent["letter"]], "total": 0.5, "trail": [sent["letter"]]})
    builder.add_edge(graph.START, "begin")
    builder.add_edge("begin", "ask")
    builder.add_edge("begin", "beside")
    builder.add_conditional_edges("ask", lambda state: [types.Send("work", {"letter": each}) for each in state["said"]])
    return builder.compile(checkpointer=saver, interrupt_before=["work"])
