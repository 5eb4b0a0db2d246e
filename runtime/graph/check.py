"""Does a builder's graph hold together? What its edges, routers and breakpoints name must exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from runtime._words import END, RESERVED, START

if TYPE_CHECKING:
    from runtime.graph.state import StateGraph

__all__ = ("check",)


def check(builder: StateGraph[Any, Any, Any, Any], interrupt: Sequence[str] = ()) -> None:
    """Raise ValueError for the first thing that is amiss. Nodes that nothing leads to are not."""
    nodes = builder.nodes.keys()
    _check_words(builder)
    starts = {start for start, _ in builder.edges} | {s for many, _ in builder.waiting_edges for s in many}
    for start in sorted((starts | builder.branches.keys()) - nodes - {START}):
        raise ValueError(f"An edge starts at unknown node '{start}'. {_known(nodes)}")
    if START not in starts and START not in builder.branches:
        raise ValueError(
            "No edge leads from START, so the graph has no way in. Add one: add_edge(START, 'node') or set_entry_point."
        )
    ends = {end for _, end in builder.edges} | {end for _, end in builder.waiting_edges}
    for end in sorted(map(str, ends - nodes - {END})):
        raise ValueError(f"An edge ends at unknown node '{end}'. {_known(nodes)}")
    for source, branches in builder.branches.items():
        for name, branch in branches.items():
            for target in (branch.ends or {}).values():
                if target != END and target not in nodes:
                    raise ValueError(
                        f"Router '{name}' of node '{source}' may lead to '{target}', which is no node. {_known(nodes)}"
                    )
    for name, spec in builder.nodes.items():
        for end in spec.ends:
            if end != END and end not in nodes:
                raise ValueError(
                    f"Node '{name}' says that its commands may lead to '{end}', which is no node. {_known(nodes)}"
                )
    for name in interrupt:
        if name not in nodes:
            raise ValueError(f"A breakpoint names '{name}', which is no node. {_known(nodes)}")


def _check_words(builder: StateGraph[Any, Any, Any, Any]) -> None:
    """No node and no key may bear a name that the engine keeps for itself."""
    nodes = builder.nodes.keys()
    keys = builder.channels.keys() | builder.managed.keys()
    for name in sorted(nodes & RESERVED):
        _refuse(f"Node name '{name}'")
    for name in sorted(keys & RESERVED):
        _refuse(f"State key '{name}'")
    for name in sorted(key for key in keys if key.startswith("branch:to:") and key[10:] in nodes):
        _refuse(f"State key '{name}'")


def _refuse(what: str) -> NoReturn:
    raise ValueError(f"{what} is a word that the engine keeps for itself. Choose another one.")


def _known(nodes: Iterable[str]) -> str:
    names = list(nodes)
    shown = ", ".join(f"'{name}'" for name in names[:8])
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"Its nodes are {shown}{more}." if names else "It has no nodes yet."
