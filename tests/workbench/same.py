"""One program of the differential test on both engines, recorded: the frames as lines, to compare.

Ids differ between engines, so they are left out; a namespace is named by its nodes. What LangGraph does not tell
(attempts, times) is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tests.parity.calls import run
from tests.parity.engines import engine_of
from tests.parity.plain import plain
from tests.parity.spec import Program, Run
from tests.parity.streams import Line
from workbench.recorder import recording
from workbench.recording import Recording

FRAMES = {
    "supersteps": ("ns", "step", "source", "tasks", "updated", "status"),
    "tasks": ("ns", "step", "node", "path", "kind", "status", "input", "result"),
    "triggers": ("ns", "step", "node", "channel", "version", "seen"),
    "reads": ("ns", "step", "node", "channel", "version", "value"),
    "writes": ("ns", "step", "order", "node", "channel", "value"),
    "channels": ("ns", "step", "channel", "kind", "version_before", "version", "updated", "value", "writers"),
    "checkpoints": ("ns", "step", "source", "next"),
    "interrupts": ("ns", "step", "node", "value", "resumed", "answer"),
}
_SEND = re.compile(r"Send\(node=('\w+'), arg=(\{.*?\}), ")
_ID = re.compile(r":[0-9a-f]{8}-[0-9a-f-]{27}")


def recorded(engine: str, program: Program) -> tuple[list[Line], Recording]:
    """What can be seen of the program on the engine, and its recording."""
    with recording() as rec:
        lines = run(engine_of(engine), program)
    return lines, rec


def told(rec: Recording) -> list[str]:
    """The frames of a recording as lines; those of tasks side by side may come in any order."""
    return sorted(line for name, columns in FRAMES.items() for line in _rows(name, getattr(rec, name), columns))


def _rows(name: str, frame: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[str]:
    if name == "writes":  # LangGraph keeps a node's edges in a set: the order in which they wake is that of the hashes
        frame = frame.assign(order=frame.order.mask(frame.channel.str.startswith("branch:to:")))
    for row in frame[list(columns)].itertuples(index=False):
        yield f"{name} " + " ".join(f"{key}={_text(value)}" for key, value in zip(columns, row, strict=True))


def _text(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return "-" if value is pd.NA else _SEND.sub(r"Send(arg=\2, node=\1, ", _ID.sub("", plain(value)))


def comparable(program: Program) -> bool:
    """False where LangGraph's saver is told too little: of untracked values, and of some commands.

    A command on a new thread is written before the input and with it; ours tells it as the input alone.
    """
    commands = [n for n, call in enumerate(program.calls) if isinstance(call, Run) and call.input == "command"]
    early = bool(commands) and (commands[0] == 0 or not program.saver)
    forks = any(program.calls[n].at is not None for n in commands)
    return "secret" not in str(program.graph) and not early and not forks


def saving(program: Program) -> Program:
    """The program with every superstep saved: of others LangGraph tells too little."""
    calls = (call._replace(durability=None) if isinstance(call, Run) else call for call in program.calls)
    return program._replace(calls=tuple(calls))


def difference(program: Program) -> list[str]:
    """The lines that only one engine's frames have; - LangGraph's, + ours."""
    program = saving(program)
    theirs, ours = (told(recorded(name, program)[1]) for name in ("langgraph", "runtime"))
    left, right = list(theirs), list(ours)
    for line in theirs:
        if line in right:
            right.remove(line)
            left.remove(line)
    return [f"- {line}" for line in left] + [f"+ {line}" for line in right]
