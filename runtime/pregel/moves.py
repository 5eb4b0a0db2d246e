"""Where a run of a graph may go from each of its nodes, as far as the graph declares it. Pure: no node runs for it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from runtime._words import END, START
from runtime.channels.last_value import LastValueAfterFinish
from runtime.channels.named_barrier_value import NamedBarrierValueAfterFinish

if TYPE_CHECKING:
    from runtime.pregel.main import Pregel
    from runtime.pregel.node import PregelNode

__all__ = ("Move", "is_deferred", "moves_of")

AnyPregel: TypeAlias = "Pregel[Any, Any, Any, Any]"

_DEFERRED = (LastValueAfterFinish, NamedBarrierValueAfterFinish)


class Move(NamedTuple):
    """A way from one node to another: `conditional` where something decides, `label` the answer that leads there."""

    source: str
    target: str
    label: str | None = None
    conditional: bool = False


def moves_of(graph: AnyPregel) -> list[Move]:
    """The moves to draw, one for each pair of nodes, by name; those of nodes that only end come last."""
    declared = _declared(graph)
    waits = _waits(declared, {name for name, node in graph.nodes.items() if is_deferred(graph, node)})
    moves = sorted(_merged(declared + waits), key=lambda move: move[:2])
    onward = {move.source for move in moves if move.target != END or move.conditional}
    ends = dict.fromkeys(move.target for move in moves if move.target not in onward | {END})
    moves = [move for move in moves if move.source not in ends] + [Move(name, END) for name in ends]
    if not any(move.target == END for move in moves):
        moves += [Move(name, END, None, True) for name in _leading_back(moves)]
    return moves


def is_deferred(graph: AnyPregel, node: PregelNode) -> bool:
    """Whether this node waits until nothing else would run."""
    return any(isinstance(graph.channels.get(trigger), _DEFERRED) for trigger in node.triggers)


def _declared(graph: AnyPregel) -> list[Move]:
    """All moves of a graph: as it declares them, else as its channels lead from writer to reader."""
    declared = getattr(graph, "moves", None)
    if declared is not None:
        return list(declared())
    woken: defaultdict[str, list[str]] = defaultdict(list)
    for name, node in graph.nodes.items():
        for trigger in node.triggers:
            woken[trigger].append(name)
    inputs = [graph.input_channels] if isinstance(graph.input_channels, str) else graph.input_channels
    moves = [Move(START, name) for channel in inputs for name in woken[channel] if name != START]
    for source, node in graph.nodes.items():
        written = [getattr(writer, "channel", None) for writer in node.writers]
        moves += [Move(source, name) for channel in written if channel is not None for name in woken[channel]]
        for branch in node.branches:
            ends = branch.ends.items() if branch.ends is not None else [(name, name) for name in branch.targets]
            moves += [Move(source, end, str(answer), True) for answer, end in ends]
    return moves


def _order(moves: Sequence[Move]) -> dict[str, int]:
    """The nodes that can be reached from START, with how many moves it takes."""
    ahead: defaultdict[str, list[str]] = defaultdict(list)
    for move in moves:
        ahead[move.source].append(move.target)
    order, waiting = {START: 0}, deque([START])
    while waiting:
        name = waiting.popleft()
        for target in ahead[name]:
            if target not in order:
                order[target] = order[name] + 1
                waiting.append(target)
    return order


def _waits(moves: Sequence[Move], deferred: set[str]) -> list[Move]:
    """For each deferred node the nodes that end last before it starts, where these are not the ones that lead to it.

    The supersteps are gone through as if every router went everywhere, and each node ran once.
    """
    ahead: defaultdict[str, set[str]] = defaultdict(set)
    for move in moves:
        ahead[move.source].add(move.target)
    waits: list[Move] = []
    running, seen, waiting = {START}, {START, END}, set[str]()
    while running:
        woken = {target for name in running for target in ahead[name]} - seen
        waiting |= woken & deferred
        following = woken - deferred
        if not following:
            late = [name for name in running if name != START and ahead[name] <= {END}]
            waits += [Move(name, node, None, True) for node in waiting - woken for name in late]
            following, waiting = waiting, set()
        seen |= following
        running = following
    return waits


def _leading_back(moves: Sequence[Move]) -> list[str]:
    """The nodes of a graph without an end that lead only to where a run has been before: there the loop closes."""
    order = _order(moves)
    forward = {move.source for move in moves if order.get(move.target, 0) > order.get(move.source, 0)}
    return [name for name in order if name not in forward]


def _merged(moves: Iterable[Move]) -> Iterator[Move]:
    """One move for each pair of nodes, with all the labels that lead there; solid if any of them is."""
    pairs: dict[tuple[str, str], list[Move]] = {}
    for move in moves:
        pairs.setdefault((move.source, move.target), []).append(move)
    for (source, target), same in pairs.items():
        labels = dict.fromkeys(move.label or target for move in same if move.conditional)
        label = None if labels.keys() <= {target} else ", ".join(labels)
        yield Move(source, target, label, all(move.conditional for move in same))
