"""A stream's chunks as lines with a place, so that what may come in any order shares a place, and nothing else does.

The loop's own chunks (`values`, `checkpoints`, the starts of tasks, a stop) come one after the other: each has a place
of its own. What tasks give while they run (`updates`, `custom`, their ends) stands between two of these, in the order
of each node; a nested graph's chunks stand between two of the outermost graph's, and among themselves likewise.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

from tests.parity.plain import plain
from tests.parity.spec import Run

Place = tuple[Any, ...]


class Line(NamedTuple):
    """Something seen. Lines of one place have no order among each other."""

    place: Place
    text: str


class _Chunk(NamedTuple):
    ns: tuple[str, ...]
    mode: str
    payload: Any
    text: str
    asks: bool = False


def stream_lines(number: int, chunks: list[Any], call: Run, error: str = "") -> list[Line]:
    """The chunks of the call of this number; in the last superstep of one that failed, without what may differ."""
    passed: Counter[tuple[str, ...]] = Counter()
    lines: list[Line] = []
    last: dict[tuple[str, ...], list[Line]] = {}
    for chunk in (_chunk(chunk, call) for chunk in chunks):
        if _CUT_OFF.search(chunk.text):  # "cut off"
            continue
        node = _node(chunk)
        passed[chunk.ns] += node is None
        line = Line(_place(number, chunk.ns, passed, node or ""), chunk.text)
        if node is None:
            lines += [*last.pop(chunk.ns, ()), line]
        else:
            last.setdefault(chunk.ns, []).append(line)
    if error == "InvalidUpdateError":  # "last words"
        return lines
    ends = [line for some in last.values() for line in some]
    lines += [line for line in ends if not error or not _EMPTY.search(line.text)]  # "answered, then failed"
    handled = {node for line in lines for node in _HANDLED.findall(line.text)}
    return [line for line in lines if not (line.place[-1] in handled and _EMPTY.search(line.text))]  # the same


def _place(number: int, ns: tuple[str, ...], passed: Counter[tuple[str, ...]], node: str) -> Place:
    outer = passed[()]
    path = "|".join(part.partition(":")[0] for part in ns)
    return (number, outer, path, passed[ns] if ns else 0, node)


def _chunk(chunk: Any, call: Run) -> _Chunk:
    if call.version == "v2":
        asks = bool(chunk.get("interrupts"))
        return _Chunk(tuple(chunk["ns"]), chunk["type"], chunk["data"], f"chunk {plain(chunk)}", asks)
    text = f"chunk {plain(chunk)}"
    ns: tuple[str, ...] = ()
    if call.subgraphs:
        ns, *rest = chunk
        chunk = rest[0] if len(rest) == 1 else tuple(rest)
    if isinstance(call.modes, tuple):
        mode, payload = chunk
    else:
        mode, payload = str(call.modes), chunk
    return _Chunk(ns, mode, payload, text, isinstance(payload, dict) and "__interrupt__" in payload)


_CUT_OFF = re.compile(r"'error': <CancelledError>, 'id'")
_HANDLED = re.compile(r"__error_handler__(\w+)")
_EMPTY = re.compile(r"\{'\w+': None\}")


def _node(chunk: _Chunk) -> str | None:
    """The node whose task gave this chunk; None when it is the loop's own."""
    mode, payload = chunk.mode, chunk.payload
    if mode == "debug":
        mode = {"task_result": "ends"}.get(payload["type"], "")
        payload = payload["payload"]
    elif mode == "tasks" and "result" in payload:
        mode = "ends"
    if mode in ("tasks", "") and isinstance(payload.get("input"), tuple):  # a function calls a task
        mode = "ends"
    if mode == "ends":
        return str(payload["name"])
    if mode == "messages":
        return str(payload[1]["langgraph_node"])
    if mode == "custom":
        return str(payload[0])
    if mode == "updates":
        return str(next(iter(payload), ""))
    if mode == "values" and chunk.asks:
        return "__interrupt__"
    return None
