"""What lint finds: one finding type, and the findings of a graph or of a run, which show themselves as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, overload

import pandas as pd

from workbench import html, text
from workbench.html import Html


class Finding(NamedTuple):
    """One thing that is amiss: what, where, why it hurts, and the way out.

    `nodes` and `channel` name what it is about; `step` is the superstep of a run, None for what the code shows alone.
    `ns` is the nested graph in which it stands, as its node's name; empty at the top.
    """

    code: str
    what: str
    why: str
    fix: str
    nodes: tuple[str, ...] = ()
    channel: str = ""
    step: int | None = None
    ns: str = ""

    @property
    def where(self) -> str:
        """The place in words: `desk: agent, superstep 3`."""
        spot = ", ".join(self.nodes) or self.channel or "the graph"
        inside = f"{self.ns}: " if self.ns else ""
        return f"{inside}{spot}{'' if self.step is None else f', superstep {self.step}'}"


class Rule(NamedTuple):
    """A rule: its code, what it finds in a few words, and the function that looks for it."""

    code: str
    words: str
    find: Callable[[Any], Iterable[Finding]]


class Findings(html.Shown, Sequence[Finding]):
    """Findings in the order of their codes; false when there are none. `frame` has them as a data frame."""

    __slots__ = ("_found",)
    _sheets: ClassVar[Sequence[str]] = ()

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        self._found = tuple(sorted(dict.fromkeys(found), key=lambda one: (one.code, one.ns, one.step or 0)))

    @overload
    def __getitem__(self, place: int) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> Findings: ...
    def __getitem__(self, place: int | slice) -> Finding | Findings:
        return Findings(self._found[place]) if isinstance(place, slice) else self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Findings) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self._found)

    @property
    def codes(self) -> list[str]:
        """The code of each finding."""
        return [one.code for one in self._found]

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each finding: code, where, nodes, channel, ns, step, what, why, fix."""
        rows = [
            (one.code, one.where, ", ".join(one.nodes), one.channel, one.ns, one.step, one.what, one.why, one.fix)
            for one in self._found
        ]
        names = ["code", "where", "nodes", "channel", "ns", "step", "what", "why", "fix"]
        whole = pd.DataFrame(rows, columns=names)
        return whole.astype({name: "Int64" if name == "step" else "string" for name in names})

    def __str__(self) -> str:
        if not self._found:
            return "No findings."
        lines = [f"{text.count(len(self), 'finding')}"]
        for one in self._found:
            lines += ["", f"{one.code}  {one.where}", *(f"  {said}" for said in (one.what, one.why, one.fix))]
        return "\n".join(lines)

    def fragment(self) -> Html:
        """The findings as a table."""
        if not self._found:
            return html.tag("p", html.sign("ran", "No findings."))
        rows = [[one.code, html.tag("div", one.where), _told(one), html.tag("div", one.fix)] for one in self._found]
        return html.join(
            [
                html.tag("p", html.tag("strong", text.count(len(self), "finding"))),
                html.table(["code", "where", "what is amiss", "the way out"], rows, mono=["code"], wide=True),
            ]
        )


def _told(one: Finding) -> Html:
    return html.join([html.tag("div", one.what), html.tag("div", one.why, class_="small quiet")])
