"""Published graphs' shapes, rebuilt with empty nodes by whichever engine."""

import json
from pathlib import Path
from typing import Any, Literal, TypedDict

FOLDER = Path(__file__).parents[1] / "data" / "shapes"
NAMES = sorted(file.stem for file in FOLDER.glob("*.json"))


class State(TypedDict, total=False):
    x: int


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def build(engine: Any, shape: dict[str, Any], jumps: bool = False) -> Any:
    """The graph; with `jumps`, nodes whose moves stand only in their source's code make such commands in theirs."""
    graph = engine.graph.StateGraph(State)
    inner = shape.get("subgraphs", {})
    commands = {one["from"]: one["to"] for one in shape["conditional"] if one["via"] == "command"}
    reached = {source for source, _ in shape.get("reached", ())} if jumps else set()
    for name in shape["nodes"]:
        if name in inner:
            graph.add_node(name, build(engine, inner[name], jumps))
        else:
            graph.add_node(name, _jumps(engine) if name in reached else _node(engine, commands.get(name)))
    for source, target in shape["edges"]:
        graph.add_edge(source, target)
    for sources, target in shape.get("joins", ()):
        graph.add_edge(list(sources), target)
    for one in shape["conditional"]:
        if one["via"] != "command":
            graph.add_conditional_edges(one["from"], *_router(engine, one))
    return graph.compile(name=shape.get("name"), interrupt_before=shape.get("interrupt_before"))


def _node(engine: Any, targets: list[str] | None) -> Any:
    def node(state: State) -> dict[str, int]:
        return {}

    if targets:
        node.__annotations__["return"] = engine.types.Command[Literal[tuple(targets)]]
    return node


def _jumps(engine: Any) -> Any:
    """A node that goes on by a command, and says nowhere where to."""

    def node(state: State) -> Any:
        return engine.types.Command(goto=_chosen(state))

    return node


def _chosen(state: State) -> str:
    return "__end__"


def _router(engine: Any, one: dict[str, Any]) -> tuple[Any, ...]:
    answers = list(one["to"] or ["__end__"])

    def route(state: State) -> str:
        return answers[0]

    if one["via"] == "literal":
        route.__annotations__["return"] = Literal[tuple(one["to"])]
        return (route,)
    if one["via"] == "none":
        del route.__annotations__["return"]
        return (route,)
    return route, one["to"]
