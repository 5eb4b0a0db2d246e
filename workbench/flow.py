"""Which way a drawing flows: the edges that lead back, and the trips aside.

A layout program breaks each loop somewhere, and by chance it may set a node above what leads to it. Here the loops are
broken where an author would: at the fewest edges, and where that leaves a choice, in the order in which the nodes were
declared. `backward` gives those edges; they are drawn upward.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

Way = tuple[str, str]

_CAREFUL = 100
"""Up to how many nodes of one loop the best order is searched; the search takes the square of it."""


def backward(nodes: Sequence[str], ways: Iterable[Way]) -> set[Way]:
    """The ways that lead back: without them there is no loop. A way from a node to itself is not among them."""
    ahead: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in ways:
        if source != target and source in ahead and target in ahead:
            ahead[source].append(target)
    far = _distances(nodes, ahead)
    place = {node: index for index, node in enumerate(nodes)}
    found: set[Way] = set()
    for knot in _knots(nodes, ahead):
        inside = [(one, other) for one in knot for other in ahead[one] if other in knot]
        declared = sorted(knot, key=place.__getitem__)
        near = sorted(declared, key=lambda node: far.get(node, len(nodes)))
        orders = [declared, near, *([_greedy(declared, inside)] if len(knot) <= _CAREFUL else [])]
        # A loop is entered somewhere, and there it begins, whatever else it would cost.
        choices = [_against([near[0], *(one for one in order if one != near[0])], inside) for order in orders]
        found |= min(choices, key=len)  # the first of equals: the declared order
    return found


def by_itself(nodes: Sequence[str], ways: Iterable[Way], back: set[Way]) -> set[Way]:
    """Those ways back that a layout program finds alone: to a node that one must have passed, and straight from it.

    Such a pair of ways is drawn more evenly if it is left to the program.
    """
    every = list(ways)
    ahead: dict[str, list[str]] = {}
    for source, target in every:
        if (source, target) not in back:
            ahead.setdefault(source, []).append(target)
    pairs = {(source, target) for source, target in back if (target, source) in every}
    return {(source, target) for source, target in pairs if source not in _reached(nodes[0], ahead, without=target)}


def _reached(first: str, ahead: dict[str, list[str]], without: str) -> set[str]:
    met = {first, without}
    queue = [first] if first != without else []
    for one in queue:
        fresh = [other for other in ahead.get(one, ()) if other not in met]
        met.update(fresh)
        queue += fresh
    return met - {without}


def aside(ways: Iterable[Way]) -> set[Way]:
    """The ways to and from a node that only leads back where one came from: a tool that is called, then left again."""
    ahead: dict[str, set[str]] = {}
    every = list(ways)
    for source, target in every:
        ahead.setdefault(source, set()).add(target)
    trips = {(source, target) for source, target in every if ahead.get(target) == {source}}
    return trips | {(target, source) for source, target in trips}


def fan(ways: Iterable[Way]) -> int:
    """How many nodes have the same neighbours, where most have: they will stand side by side."""
    near: dict[str, set[str]] = {}
    for source, target in ways:
        if source != target:
            near.setdefault(source, set()).add(target)
            near.setdefault(target, set()).add(source)
    return max(Counter(map(frozenset, near.values())).values(), default=0)


def _against(order: Sequence[str], ways: Iterable[Way]) -> set[Way]:
    place = {node: index for index, node in enumerate(order)}
    return {(source, target) for source, target in ways if place[source] > place[target]}


def _distances(nodes: Sequence[str], ahead: dict[str, list[str]]) -> dict[str, int]:
    """How many steps a node is away from the graph's first node."""
    far = dict.fromkeys(nodes[:1], 0)
    queue = list(far)
    for one in queue:
        for other in ahead[one]:
            if other not in far:
                far[other] = far[one] + 1
                queue.append(other)
    return far


def _greedy(nodes: list[str], ways: list[Way]) -> list[str]:
    """Sources to the front, sinks to the back, else the node that gives most over what it takes (Eades, Lin, Smyth)."""
    left = list(nodes)
    front: list[str] = []
    back: list[str] = []
    while left:
        rest = [(source, target) for source, target in ways if source in left and target in left]
        gives = Counter(source for source, _ in rest)
        takes = Counter(target for _, target in rest)
        sink = next((node for node in left if not gives[node]), None)
        if sink is not None:
            back.insert(0, sink)
            left.remove(sink)
            continue
        best = max(left, key=lambda node: (not takes[node], gives[node] - takes[node]))
        front.append(best)
        left.remove(best)
    return [*front, *back]


def _knots(nodes: Sequence[str], ahead: dict[str, list[str]]) -> list[set[str]]:
    """The strongly connected components of more than one node, by Tarjan's walk, without recursion."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[set[str]] = []
    for root in nodes:
        if root in number:
            continue
        walk = [(root, iter(ahead[root]))]
        while walk:
            node, others = walk[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
                on_stack.add(node)
            for other in others:
                if other not in number:
                    walk.append((other, iter(ahead[other])))
                    break
                if other in on_stack:
                    low[node] = min(low[node], number[other])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == number[node]:
                    knot = set(stack[stack.index(node) :])
                    stack[stack.index(node) :] = []
                    on_stack -= knot
                    found += [knot] if len(knot) > 1 else []
    return found
