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


def build(engine: Any, shape: dict[str, Any]) -> Any:
    graph = engine.graph.StateGraph(State)
    inner = shape.get("subgraphs", {})
    commands = {one["from"]: one["to"] for one in shape["conditional"] if one["via"] == "command"}
    for name in shape["nodes"]:
        graph.add_node(name, build(engine, inner[name]) if name in inner else _node(engine, commands.get(name)))
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


def _router(engine: Any, one: dict[str, Any]) -> tuple[Any, ...]:
    def route(state: State) -> str:
        return "__end__"

    if one["via"] == "literal":
        route.__annotations__["return"] = Literal[tuple(one["to"])]
        return (route,)
    if one["via"] == "none":
        del route.__annotations__["return"]
        return (route,)
    return route, one["to"]
