"""Programs, as Hypothesis makes them. The simplest choice always comes first, so that a program shrinks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tests.parity.spec import END, START, Call, Function, Graph, Look, Node, Program, Route, Run, Step, To, Update

Draw = Any
MODES = ("values", "updates", "tasks", "checkpoints", "debug", "custom", "messages")
ANSWERS = ("answer", "answers", "first")
SINGLE = ("x", "brief", "secret")  # keys that two nodes cannot write in one superstep
FLEETING = ("any", "brief", "topic")  # keys that are emptied where nobody writes them
KEYS = ("x", "any", "brief", "secret", "topic", "heap", "delta", "map", "talk", "left", "last")


def rarely(draw: Draw, one_in: int = 4) -> bool:
    """True once in a while."""
    return draw(st.integers(0, one_in - 1)) == one_in - 1


def some(draw: Draw, items: tuple[str, ...], most: int = 2) -> tuple[str, ...]:
    """A few of the items, in their order."""
    if not items:
        return ()
    return tuple(sorted(draw(st.sets(st.sampled_from(items), max_size=most)), key=items.index))


@st.composite
def programs(draw: Draw) -> Program:
    """A program of either colour: a graph, or now and then a function."""
    if rarely(draw, 5):
        return draw(function_programs())
    line = rarely(draw)
    graph = calm(draw(graphs(0, line)), line)
    colour = draw(st.sampled_from(("async", "sync") if line or not can_fail(graph) else ("async",)))
    saver = not rarely(draw, 8)
    first = ("new", "command") if rarely(draw, 8) else ("new",)
    calls: list[Call] = [draw(runs(tuple(node.name for node in graph.nodes), first))]
    for _ in range(draw(st.integers(0, 3))):
        calls.append(draw(later_calls(graph)))
    calls = [agreed(call, graph, line) for call in calls]
    if line and can_fail(graph):
        calls = [one_at_a_time(call) for call in calls]
    said = next((at for at, call in enumerate(calls) if isinstance(call, Run) and call.input == "command"), len(calls))
    for at, call in enumerate(calls):
        if at > said and isinstance(call, Update):
            calls[at] = Look(subgraphs=True)  # "a word lost on the way"
    if any(inner.saver is True for inner in within(graph)):
        graph, calls = uncut(graph), [unmoved(call) for call in calls]  # "a new call of a lasting graph"
    askers = [node for inner in within(graph) for node in inner.nodes if node.asks]
    if any(map(fails, askers)) or (len(askers) > 1 and not line):  # "answered, then failed", and who gets it is a race
        calls = [call._replace(input="answers") if is_plain_answer(call) else call for call in calls]
    calls = without_used_answers(calls) if askers else calls
    return Program(graph, tuple(calls), saver, colour)


@st.composite
def function_programs(draw: Draw) -> Program:
    """A program around an entrypoint; where tasks run beside others, none fails."""
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        names = tuple(draw(st.permutations("tuv"))[: draw(st.integers(0, 2))])
        alone = len(names) == 1
        asks = draw(st.integers(0, 2)) if alone and rarely(draw) else 0
        steps.append(
            Step(
                names,
                asks=asks,
                fails=draw(st.sampled_from((1, -1, 2)))
                if alone and rarely(draw) and not asks
                else 0,  # "a used answer"
                tries=draw(st.sampled_from((1, 2))),
                gives=draw(st.sampled_from(("word", "none", "zero", "empty"))),
                caught=rarely(draw),
            )
        )
    spec = Function(tuple(steps), rarely(draw))
    inputs = ("answer", "none", "answers", "first", "new")
    calls = [draw(runs((), ("new",)))]
    for _ in range(draw(st.integers(0, 3))):
        found = draw(runs((), inputs))
        calls.append(found._replace(at=None) if found.input in ANSWERS else found)
    for index, call in enumerate(calls):
        if {"values", "updates"} <= {*(call.modes or ())}:  # "an emptied update"
            call = calls[index] = call._replace(version="v1")
        if any(earlier.input in ANSWERS for earlier in calls[:index]):  # "a used answer"
            calls[index] = call._replace(input="answers", at=None)
    return Program(
        spec, tuple(without_used_answers(calls)), not rarely(draw, 8), draw(st.sampled_from(("sync", "async")))
    )


def calm(graph: Graph, line: bool, depth: int = 0) -> Graph:
    """The graph, without what would make its outcome a race, and without what shows the explained differences.

    Where a task fails beside others no nested graph is on its way; see `quiet`. A node with a graph is not tried again:
    "a second try".
    """
    nodes = list(graph.nodes)
    leaving = [node.name for node in nodes if node.gives == "parent"]
    stay = leaving if any(fails(node) and node.gives != "parent" for node in nodes) else leaving[1:]
    nodes = [node._replace(gives="command") if node.name in stay else node for node in nodes]  # either may win
    failing = any(fails(node) for node in nodes)
    deep = any(node.child is not None and can_fail(node.child) for node in nodes)
    kept = 0
    for index, node in enumerate(nodes):
        if node.child is None:
            continue
        if not line and (failing or (deep and kept)):
            nodes[index] = node._replace(child=None, calls=0)
            continue
        kept += 1
        if not line:
            node = node._replace(child=tame(node.child))
        if any(route.source == node.name for route in graph.routes):
            node = node._replace(child=unleft(node.child))  # "a router after a command from inside"
        nodes[index] = node._replace(child=calm(lasting(node.child, depth, graph.saver), line, depth + 1), tries=1)
    stops = [node for node in nodes if fails(node) or node.asks or node.child is not None]
    if len(stops) > 1 or clashes(graph):  # "a handler that had finished"
        nodes = [node._replace(handler=False) for node in nodes]
    twice = {node.name for node in nodes if node.asks or (node.child and not once(node.child))} | {*leaving[:1]}
    nodes = [node._replace(goto=tuple(map(plain_if(twice), node.goto))) for node in nodes]
    routes = tuple(
        route._replace(answers=tuple(tuple(map(plain_if(twice), answer)) for answer in route.answers))
        for route in graph.routes
    )
    keys = graph.keys
    if failing or any(node.asks or node.child for node in nodes) or {*SINGLE} & {*keys}:
        keys = tuple(key for key in keys if key not in FLEETING)  # "fleeting values"
        nodes = [node._replace(writes=tuple(key for key in node.writes if key in keys)) for node in nodes]
    routed = {route.source for route in graph.routes}
    if any(inner.saver is False for inner in within(graph)):  # "a late save", which "sync without a saver" leaves
        graph = graph._replace(edges=tuple(edge for edge in graph.edges if isinstance(edge[0], str)))
        keys = tuple(key for key in keys if key != "heap")
        nodes = [node._replace(writes=tuple(key for key in node.writes if key != "heap")) for node in nodes]
    for index, node in enumerate(nodes):
        if node.gives in ("pairs", "list") and node.name in routed:  # "a router fails"
            nodes[index] = node._replace(overwrites=False, writes=fit(node.writes))
    return graph._replace(nodes=tuple(nodes), keys=keys, routes=routes)


def tame(child: Graph) -> Graph:
    """The child without a loop, and with writes that fit each other: failures that would come at no settled moment."""
    nodes = (
        node._replace(writes=fit(node.writes), overwrites=False, child=node.child and tame(node.child))
        for node in child.nodes
    )
    return unlooped(child._replace(nodes=tuple(nodes)))


def unlooped(graph: Graph) -> Graph:
    """The graph with those edges only that lead ahead."""
    names = [START, *(node.name for node in graph.nodes), END]
    ahead = (
        (start, end)
        for start, end in graph.edges
        if not isinstance(start, str) or names.index(start) < names.index(end)
    )
    return graph._replace(edges=tuple(ahead))


def plain_if(names: set[str]) -> Callable[[To], To]:
    """Makes of a Send to one of these nodes a plain move: two of its tasks at once would be told apart by nothing."""
    return lambda to: To(to.node) if to.node in names else to


def once(graph: Graph) -> bool:
    """True when two of it may run at once: no state in a namespace that both have, no question, no failure."""
    return not any(
        inner.saver is True or any(node.asks or fails(node) for node in inner.nodes) for inner in within(graph)
    )


def lasting(child: Graph, depth: int, around: bool | None) -> Graph:
    """The child; nobody leaves it where it lasts, and deep inside it lasts only in a graph that is saved."""
    if child.saver is True:
        return unleft(child)._replace(
            saver=None if depth and around is False else True
        )  # "the way out of a lasting graph"
    return child


def unleft(child: Graph) -> Graph:
    """The child, which nobody leaves by a command to the parent."""
    return child._replace(
        nodes=tuple(node._replace(gives=node.gives.replace("parent", "command")) for node in child.nodes)
    )


def fit(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the keys that may be written twice."""
    return tuple(key for key in keys if key not in SINGLE)


def without_used_answers(calls: list[Any]) -> list[Any]:
    """The calls; after one that gave a plain answer all give one, and after one with an answer none goes on without."""
    found: list[Any] = []
    for call in calls:  # "a used answer"
        given = [earlier.input for earlier in found if isinstance(earlier, Run) and earlier.input in ANSWERS]
        if isinstance(call, Run) and "answer" in given:
            call = call._replace(input="answer", at=None)
        elif isinstance(call, Run) and given and call.input == "none" and call.at is None:
            call = call._replace(input="answers")
        found.append(call)
    return found


def one_at_a_time(call: Call) -> Call:
    """The call without what sets a second task beside the one of a line; see `quiet`."""
    match call:
        case Run():
            return call._replace(goto=())
        case Update():
            return call._replace(supersteps=tuple(step[:1] for step in call.supersteps))
    return call


def is_plain_answer(call: Call) -> bool:
    """True for an answer without a name, to whatever is asked."""
    return isinstance(call, Run) and call.input == "answer"


def uncut(graph: Graph) -> Graph:
    """The graph without a stop that a run goes on from by a new superstep: no breakpoint, no loop."""
    nodes = tuple(node._replace(child=node.child and uncut(node.child)) for node in graph.nodes)
    return unlooped(graph._replace(nodes=nodes, before=(), after=()))


def unmoved(call: Call) -> Call:
    """The call without what makes a superstep new that a run then goes on with."""
    if isinstance(call, Update):
        return Look(subgraphs=True)
    if not isinstance(call, Run):
        return call
    durability = call.durability if call.durability != "exit" else None  # "a replay at exit", in a later call too
    return call._replace(goto=(), before=(), after=(), limit=9, durability=durability)


def agreed(call: Call, graph: Graph, line: bool) -> Call:
    """The call, or one like it that shows none of the explained differences."""
    if isinstance(call, Update):
        return agreed_update(call, graph)
    if not isinstance(call, Run):
        return call
    if call.durability != "sync" and any("heap" in inner.keys or joins(inner) for inner in within(graph)):
        call = call._replace(durability="sync")  # "a late save"
    if call.durability == "sync" and any(inner.saver is False for inner in within(graph)):
        call = call._replace(durability="async")  # "sync without a saver"
    if call.durability == "exit" and any(clashes(inner) for inner in within(graph)):
        call = call._replace(durability=None)  # "half a superstep"
    forgetful = any(inner.saver is False and any(node.asks for node in inner.nodes) for inner in within(graph))
    if call.durability == "exit" and forgetful:
        call = call._replace(durability=None)  # "an answer at exit"
    if call.durability == "exit" and can_fail(graph) and not line:
        call = call._replace(durability=None)  # "cut off at exit"
    if call.at and call.input in ANSWERS and any(node.asks for inner in within(graph) for node in inner.nodes):
        call = call._replace(at=None)  # "an earlier stop answered again"
    return call


def agreed_update(call: Update, graph: Graph) -> Update:
    """The update without what only we do, or only LangGraph."""
    steps = call.supersteps
    if any(node.defer for node in graph.nodes):  # "settled"
        steps = tuple(tuple((keys, graph.nodes[0].name if by == END else by) for keys, by in step) for step in steps)
    steps = tuple(
        tuple((keys, graph.nodes[0].name if keys is None and by is None else by) for keys, by in step)
        for step in steps  # "an edit of nothing by nobody"
    )
    if len(steps) > 1 or joins(graph) or sends(graph):  # "an edit keeps what was next", "a tie with itself"
        steps = tuple(tuple((keys, by or graph.nodes[0].name) for keys, by in step) for step in steps)
    return call._replace(supersteps=steps)


def joins(graph: Graph) -> bool:
    """True where a node waits for several."""
    return any(isinstance(start, tuple) for start, _ in graph.edges)


def sends(graph: Graph) -> bool:
    """True where a task may be ordered by a Send."""
    goals = [*(node.goto for node in graph.nodes), *(answer for route in graph.routes for answer in route.answers)]
    return any(to.sends is not None for answer in goals for to in answer)


def can_fail(graph: Graph) -> bool:
    """True when a task may end with an error while others run."""
    return any(fails(node) for inner in within(graph) for node in inner.nodes)


def clashes(graph: Graph) -> bool:
    """True when writes of one superstep may not fit each other."""
    return bool({*SINGLE} & {*graph.keys}) or any(node.overwrites for node in graph.nodes)


def fails(node: Node) -> bool:
    """True when the node itself may end with an error."""
    return bool(node.fails) or node.gives in ("wrong", "parent")


def within(graph: Graph) -> Iterator[Graph]:
    """The graph and all that stand in it."""
    yield graph
    for node in graph.nodes:
        if node.child is not None:
            yield from within(node.child)


@st.composite
def graphs(draw: Draw, depth: int, line: bool = False) -> Graph:
    """A graph of a few nodes, or a line of them; with depth, one that stands in another."""
    names = tuple(draw(st.permutations("abcd"))[: draw(st.integers(1, 2 if depth else 4))])
    keys = ("log", *some(draw, KEYS, 3))
    nodes = tuple(
        draw(node_of(name, () if line else names[index + 1 :], keys, depth, line)) for index, name in enumerate(names)
    )
    if line:
        edges: list[Any] = [(START, names[0]), *pairwise(names)]
        return Graph(nodes, tuple(edges), (), keys, draw(st.sampled_from((None, True, False))) if depth else None)
    edges = [(START, names[0])]
    for index, name in enumerate(names):
        later = (*names[index + 1 :], END)
        if index and not draw(st.booleans()):
            edges.append((START, name))
        edges += [(name, target) for target in some(draw, later, 2)]
    if len(names) > 2 and rarely(draw, 3):
        edges.append((names[:2], names[2]))
    if rarely(draw, 8):
        edges.append((names[-1], names[0]))
    routes = tuple(draw(route_of(names, keys)) for _ in range(draw(st.integers(0, 1))))
    saver = draw(st.sampled_from((None, True, False))) if depth else None
    return Graph(
        nodes,
        tuple(dict.fromkeys(edges)),
        routes,
        keys,
        saver,
        some(draw, names, 1) if rarely(draw, 8) else (),
        some(draw, names, 1) if rarely(draw, 8) else (),
    )


@st.composite
def node_of(draw: Draw, name: str, later: tuple[str, ...], keys: tuple[str, ...], depth: int, line: bool) -> Node:
    """A node; what it sends goes to later nodes."""
    writable = tuple(key for key in keys if key not in ("left", "last"))
    child = draw(graphs(depth + 1, line)) if depth < 2 and rarely(draw, 6) else None
    gives = draw(st.sampled_from(("dict", "dict", "command", "none", "pairs", "list", "wrong")))
    if depth and rarely(draw, 8):
        gives = "parent"
    if gives == "pairs":
        writable = tuple(key for key in writable if key != "talk")  # "messages in pairs"
    goto = draw(st.lists(goals(later), max_size=2)) if gives in ("command", "pairs", "list", "parent") else []
    return Node(
        name,
        tells=rarely(draw),
        speaks=rarely(draw, 8),
        child=child,
        calls=draw(st.integers(0, 2)) if child else 0,
        asks=draw(st.integers(1, 2)) if rarely(draw) else 0,
        fails=draw(st.sampled_from((1, -1, 2))) if rarely(draw, 8) else 0,
        tries=draw(st.sampled_from((1, 2))),
        handler=rarely(draw, 8),
        writes=draw(st.sampled_from((("log",), writable))) if rarely(draw, 2) else some(draw, writable, 2),
        gives=gives,
        goto=tuple(goto),
        overwrites=rarely(draw, 16),
        defer=rarely(draw, 6),
    )


@st.composite
def goals(draw: Draw, names: tuple[str, ...]) -> To:
    """Where to go from here."""
    return To(draw(st.sampled_from((END, *names))), draw(st.sampled_from((None, 1, 2))))


@st.composite
def route_of(draw: Draw, names: tuple[str, ...], keys: tuple[str, ...]) -> Route:
    """A router on a node or on START."""
    index = draw(st.integers(-1, len(names) - 1))
    later = names[index + 1 :]
    answers = draw(st.lists(st.lists(goals(later), max_size=2).map(tuple), min_size=1, max_size=2))
    reads = "x" if "x" in keys and draw(st.booleans()) else "log"
    return Route(names[index] if index >= 0 else START, tuple(answers), reads, draw(st.booleans()))


@st.composite
def runs(draw: Draw, names: tuple[str, ...], inputs: tuple[str, ...]) -> Run:
    """A call that runs a graph of these nodes."""
    input = draw(st.sampled_from(inputs))
    modes: Any = draw(st.sampled_from((None, *MODES)))
    if draw(st.booleans()):
        modes = tuple(sorted(draw(st.sets(st.sampled_from(MODES), min_size=1, max_size=4)), key=MODES.index))
    return Run(
        input,
        modes,
        subgraphs=draw(st.booleans()) if modes is not None else False,
        version=draw(st.sampled_from(("v1", "v2"))),
        durability=draw(st.sampled_from((None, "sync", "exit", "async"))),
        at=draw(st.integers(0, 3)) if len(inputs) > 2 and rarely(draw) else None,
        limit=draw(st.sampled_from((9, 3))) if rarely(draw, 8) else 9,
        before=some(draw, names, 1) if rarely(draw, 8) else (),
        after=some(draw, names, 1) if rarely(draw, 8) else (),
        goto=some(draw, names, 1) if input == "command" else (),
    )


@st.composite
def later_calls(draw: Draw, graph: Graph) -> Call:
    """Any call on a thread that has been used."""
    match draw(st.sampled_from(("run", "run", "run", "update", "look"))):
        case "look":
            return Look(draw(st.booleans()), draw(st.sampled_from((None, 0, 1, 2))))
        case "update":
            return draw(updates(graph))
    names = tuple(node.name for node in graph.nodes)
    return draw(runs(names, ("answer", "none", "answers", "first", "new", "command")))


@st.composite
def updates(draw: Draw, graph: Graph) -> Update:
    """A state written from outside."""
    names = (None, *(node.name for node in graph.nodes))
    writable = tuple(key for key in graph.keys if key not in ("left", "last"))
    step = st.tuples(st.sampled_from((("log",), writable, None)), st.sampled_from((*names, END, START, "__copy__")))
    steps = draw(st.lists(st.lists(step, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2))
    at = draw(st.integers(0, 3)) if rarely(draw) else None
    return Update(tuple(steps), at, rarely(draw))
