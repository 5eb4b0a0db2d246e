"""What the caller of a run gets: the shape of a stream's chunks, and the result of `invoke`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime._words import INTERRUPT, START
from runtime.pregel.run import Chunk
from runtime.types import GraphOutput

if TYPE_CHECKING:
    from runtime.pregel.loop import Outcome
    from runtime.pregel.main import Pregel
    from runtime.pregel.run import Run


def shaped(asked: Any, subgraphs: bool) -> Callable[[Chunk], Any]:
    """Chunks as the caller asked for them: bare, with their mode, with their namespace."""
    several = isinstance(asked, list)
    if several and subgraphs:
        return lambda chunk: chunk
    if several:
        return lambda chunk: (chunk[1], chunk[2])
    if subgraphs:
        return lambda chunk: (chunk[0], chunk[2])
    return lambda chunk: chunk[2]


def shaped_v2(graph: Pregel[Any, Any, Any, Any], run: Run) -> Callable[[Chunk], Any]:
    """Chunks as dicts with type, ns and data; values carry their interrupts apart, and have their schema's type."""

    def shape(chunk: Chunk) -> dict[str, Any]:
        ns, mode, data = chunk
        part: dict[str, Any] = {"type": mode, "ns": ns, "data": data}
        own = ns == run.ns_parts
        if mode == "values":
            part["interrupts"] = ()
            if isinstance(data, dict) and INTERRUPT in data:
                part["interrupts"] = data[INTERRUPT]
                data = {key: value for key, value in data.items() if key != INTERRUPT}
            part["data"] = as_schema(graph, data, "output") if own else data
        elif own and mode == "checkpoints":
            part["data"] = _typed_checkpoint(graph, data)
        elif own and mode == "debug" and data["type"] == "checkpoint":
            part["data"] = {**data, "payload": _typed_checkpoint(graph, data["payload"])}
        return part

    return shape


def _typed_checkpoint(graph: Pregel[Any, Any, Any, Any], payload: Any) -> Any:
    if START in payload["next"]:
        return payload
    return {**payload, "values": as_schema(graph, payload["values"], "state")}


def as_schema(graph: Pregel[Any, Any, Any, Any], value: Any, which: str) -> Any:
    """The value as an instance of the graph's schema, where that is a model or a dataclass; else as it is."""
    builder = getattr(graph, "builder", None)
    schema = getattr(builder, f"{which}_schema", None)
    if not isinstance(value, dict) or not isinstance(schema, type):
        return value
    if hasattr(schema, "model_validate") or dataclasses.is_dataclass(schema):
        return schema(**value)
    return value


def invoked(graph: Pregel[Any, Any, Any, Any], outcome: Outcome, version: str) -> Any:
    """The result of `invoke`."""
    output = outcome.output
    if version == "v2":
        if outcome.interrupts and not isinstance(output, dict):
            output = {}  # what stopped has no value yet
        return GraphOutput(as_schema(graph, output, "output"), outcome.interrupts)
    if not outcome.interrupts:
        return output
    stop = {INTERRUPT: list(outcome.interrupts)}
    return {**output, **stop} if isinstance(output, dict) else stop


def printed(chunk: Chunk) -> None:
    """Print a chunk: its mode in bold, its namespace in yellow, its payload."""
    ns, mode, payload = chunk
    where = f"\x1b[33m[graph={'|'.join(ns)}]\x1b[0m " if ns else ""
    print(f"{where}\x1b[1m[{mode}]\x1b[0m {payload!r}")  # noqa: T201 - who asks for print_mode wants it printed
