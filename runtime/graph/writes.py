"""What a node of a state graph answered, as writes: updates of the state, and where its commands go.

A dict of known keys is the common answer, and costs no more than its copy. Everything else is looked at by kind: a
`Command`, an instance of an annotated class, a `Send`, a list of which one is a Command.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from runtime._words import PARENT, ROOT, START
from runtime.errors import ErrorCode, InvalidUpdateError, ParentCommand, create_error_message
from runtime.pregel.write import Pair, goto_writes, send_writes
from runtime.types import Command, Send, annotated_keys, object_pairs, update_pairs
from runtime.utils.commands import merged

__all__ = ("RootWrites", "StateWrites", "Wake")


class StateWrites:
    """The writer of a node over a state with keys.

    `keys` are those that a dict may write; of others nothing is said. `fields` are those that are taken from an
    object, in order. Raises InvalidUpdateError for an answer that is no update, ParentCommand for a command that is
    meant for the graph around this one.
    """

    __slots__ = ("fields", "keys", "node", "targets")

    def __init__(self, node: str, keys: frozenset[str], fields: Sequence[str], targets: frozenset[str]) -> None:
        self.node = node
        self.keys = keys
        self.fields = fields
        self.targets = targets

    def __call__(self, output: Any) -> Sequence[Pair]:
        if type(output) is dict:
            keys = self.keys
            return [pair for pair in output.items() if pair[0] in keys]
        return self._answered(output)

    def _answered(self, output: Any) -> Sequence[Pair]:
        if output is None:
            return ()
        items = _items(output)
        return [pair for item in items for pair in self._update(item)] + self._moves(items)

    def _update(self, item: Any) -> Iterable[Pair]:
        if isinstance(item, Command):
            item = item.update
            pairs = update_pairs(item) if not annotated_keys(type(item)) else object_pairs(item, self.fields)
            return [pair for pair in pairs if pair[0] in self.keys]
        if item is None or isinstance(item, Send):
            return ()
        if isinstance(item, dict):
            return [pair for pair in item.items() if pair[0] in self.keys]
        if not annotated_keys(type(item)):
            self._refuse(item)
        return object_pairs(item, self.fields)

    def _moves(self, items: Iterable[Any]) -> list[Pair]:
        who = f"Node '{self.node}'"
        writes: list[Pair] = []
        for item in items:
            goals = item.goto if isinstance(item, Command) else item if isinstance(item, Send) else ()
            for goal in (goals,) if isinstance(goals, (str, Send)) else goals:
                if isinstance(goal, Send):
                    writes += send_writes(goal, self.targets, who)
                elif goal is not None:
                    writes += goto_writes(goal, self.targets, who)
        return writes

    def _refuse(self, answer: Any) -> NoReturn:
        if self.node == START:
            said = f"The input {reprlib.repr(answer)} of type {type(answer).__name__} is no state."
            way = "Pass a dict of the state's keys, or an instance of the input schema."
        else:
            kind = type(answer).__name__
            said = f"Node '{self.node}' answered {reprlib.repr(answer)} of type {kind}, which is no update."
            way = "Return a dict of the state's keys, a Command, an instance of an annotated class, or None."
            if isinstance(answer, (list, tuple)) and any(isinstance(item, Send) for item in answer):
                way = "Return Command(goto=[…]) for several Sends, or send them from a conditional edge."
        raise InvalidUpdateError(
            create_error_message(message=f"{said} {way}", error_code=ErrorCode.INVALID_GRAPH_NODE_RETURN_VALUE)
        )


class RootWrites(StateWrites):
    """The writer of a node over a state that is one bare value: whatever is answered is the update, but for None."""

    __slots__ = ()

    def __call__(self, output: Any) -> Sequence[Pair]:
        return self._answered(output)

    def _update(self, item: Any) -> Iterable[Pair]:
        if isinstance(item, Command):
            item = item.update
            if isinstance(item, Mapping) and item.keys() == {ROOT}:
                item = item[ROOT]
        return () if item is None or isinstance(item, Send) else ((ROOT, item),)


class Wake(tuple[Pair, ...]):
    """The writer of a static edge: the same writes, whatever the node answered."""

    __slots__ = ()

    def __call__(self, output: Any) -> Sequence[Pair]:
        return self


def _items(output: Any) -> Sequence[Any]:
    """The answers in what a node returned: several where one of a list is a command. Raises ParentCommand.

    Commands that are meant for the graph around this one leave together, as one.
    """
    mixed = isinstance(output, (list, tuple)) and any(isinstance(item, Command) for item in output)
    items: Sequence[Any] = output if mixed else (output,)
    leaving = [item for item in items if isinstance(item, Command) and item.graph == PARENT]
    if leaving:
        raise ParentCommand(merged(leaving)[0])
    return items
