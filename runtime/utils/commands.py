"""Several commands for one graph, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runtime.types import Command, Send

__all__ = ("merged",)


def merged(commands: Sequence[Command[Any]]) -> list[Command[Any]]:
    """The commands as one that holds all their updates in order, each destination once, and every Send.

    A graph takes one command from a child, so of several only the first would arrive. Where the updates cannot be
    one, because some are dicts and others lists or objects, the commands are given back as they are.
    """
    if len(commands) < 2:
        return list(commands)
    updates = [command.update for command in commands if command.update is not None]
    if all(isinstance(update, list) for update in updates):
        update: Any = [item for given in updates for item in given] or None
    elif all(isinstance(update, dict) for update in updates):
        update = [pair for given in updates for pair in given.items()]
    else:
        return list(commands)
    goto: list[Any] = []
    for command in commands:
        for target in _targets(command.goto):
            if isinstance(target, Send) or target not in goto:
                goto.append(target)
    return [replace(commands[0], update=update, goto=goto)]


def _targets(goto: Any) -> Sequence[Any]:
    return (goto,) if isinstance(goto, (str, Send)) else goto
