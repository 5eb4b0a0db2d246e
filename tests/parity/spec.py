"""A program as plain data: a graph, and what is done with it. It prints as the Python that makes it.

Nodes are named by letters, and what a node says is made of its name and of what it reads, so that a difference in what
it was given shows in what comes out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

START, END = "__start__", "__end__"


class To(NamedTuple):
    """Where a router or a Command leads: to a node by its name, or with a Send that carries `x`."""

    node: str
    sends: int | None = None


class Node(NamedTuple):
    """What a node does, in the order of the fields; then what it gives back."""

    name: str
    tells: bool = False  # a word to the custom stream
    speaks: bool = False  # a chat model says a few words
    child: Graph | None = None  # a graph that is this node, or that it calls
    calls: int = 0  # how often a node function calls the child; 0: the child is the node
    asks: int = 0  # interrupts
    fails: int = 0  # how many of the first runs fail; a negative number: all
    tries: int = 1  # attempts of the retry policy
    handler: bool = False  # an error handler takes over
    writes: tuple[str, ...] = ("log",)
    gives: str = "dict"  # dict, none, command, parent, pairs, list, wrong
    goto: tuple[To, ...] = ()
    overwrites: bool = False
    defer: bool = False


class Route(NamedTuple):
    """A conditional edge: each answer is where it leads, and what the router reads picks one."""

    source: str
    answers: tuple[tuple[To, ...], ...]
    reads: str = "log"
    mapped: bool = False


class Graph(NamedTuple):
    """A graph and how it is compiled. An edge's start may be a tuple of names: a barrier."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str | tuple[str, ...], str], ...]
    routes: tuple[Route, ...] = ()
    keys: tuple[str, ...] = ("log",)
    saver: bool | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Step(NamedTuple):
    """A step of a function: tasks that are called together, or a question that it asks itself."""

    tasks: tuple[str, ...] = ()  # names of tasks; none: the function asks
    asks: int = 0  # questions of each task
    fails: int = 0  # how many of the first runs of a task fail; a negative number: all
    tries: int = 1
    gives: str = "word"  # word, none, zero, empty
    caught: bool = False  # the function catches what a task raises


class Function(NamedTuple):
    """An entrypoint: its steps one after the other; `saves` apart from what it gives back."""

    steps: tuple[Step, ...]
    saves: bool = False


class Run(NamedTuple):
    """A call that runs the graph. `input` is "new", "none", "answer", "answers", "first" or "command"."""

    input: str = "new"
    modes: str | tuple[str, ...] | None = None  # None: invoke
    subgraphs: bool = False
    version: str = "v1"
    durability: str | None = None
    at: int | None = None  # how many checkpoints back from the newest; None: the newest, not named
    limit: int = 9
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    goto: tuple[str, ...] = ()


class Look(NamedTuple):
    """A look at a state."""

    subgraphs: bool = False
    at: int | None = None


class Update(NamedTuple):
    """A state written from outside: supersteps, each of (keys, as_node); `inside` writes to a stopped child."""

    supersteps: tuple[tuple[tuple[tuple[str, ...] | None, str | None], ...], ...]
    at: int | None = None
    inside: bool = False


Call = Run | Look | Update


class Program(NamedTuple):
    """A graph or function, the calls, and the colour in which all is run."""

    graph: Graph | Function
    calls: tuple[Call, ...] = (Run(),)
    saver: bool = True
    colour: str = "sync"


def source(value: Any, indent: int = 0) -> str:
    """The value as Python; what has its default is left out."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        defaults = value._field_defaults
        items = [(n, v) for n, v in zip(value._fields, value, strict=True) if n not in defaults or defaults[n] != v]
        inner = [f"{name}={source(item, indent + 1)}" for name, item in items]
        line = f"{type(value).__name__}({', '.join(inner)})"
    elif isinstance(value, tuple):
        inner = [source(item, indent + 1) for item in value]
        line = f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    else:
        return repr(value)
    if len(line) + 4 * indent <= 110:
        return line
    pad = "\n" + "    " * (indent + 1)
    opening = line[: line.index("(") + 1]
    return opening + pad + ("," + pad).join(inner) + ",\n" + "    " * indent + ")"
