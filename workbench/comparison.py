"""Two states side by side: a list of operations that shows itself, as text and as HTML."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from workbench import html, text
from workbench.diff import ABSENT, Operation, diff
from workbench.html import Html
from workbench.prose import Code, Line, Told, plain, quoted

_CONTEXT = 3
_HOW = {"add": "added", "append": "appended", "remove": "removed", "replace": "replaced"}


class Comparison(Told, Sequence[Operation]):
    """The operations that make one state of another. It is a sequence of them, empty (and false) where nothing differs.

    `names` says what the two sides are; `unchanged` names the parts that are equal on both.
    """

    __slots__ = ("names", "operations", "unchanged")

    def __init__(self, before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, str]) -> None:
        self.names = names
        self.operations = tuple(diff(before, after))
        changed = {operation.path[0] for operation in self.operations}
        self.unchanged = tuple(name for name in dict.fromkeys([*before, *after]) if name not in changed)

    @overload
    def __getitem__(self, place: int) -> Operation: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Operation]: ...
    def __getitem__(self, place: int | slice) -> Operation | Sequence[Operation]:
        return self.operations[place]

    def __len__(self) -> int:
        return len(self.operations)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that differ."""
        return tuple(dict.fromkeys(operation.path[0] for operation in self.operations))

    def head(self) -> Line:
        """What is compared, and how much differs."""
        before, after = self.names
        if not self.operations:
            return (f"{before} and {after}: nothing differs.",)
        return (f"{before} → {after}: {text.count(len(self.operations), 'difference')}.",)

    def lines(self) -> Iterator[Line]:
        """One line for each operation, and how many channels are equal."""
        for operation in self.operations:
            yield (Code(where(operation.path)), f" {_HOW[operation.op]}: {_values(operation)}")
        if self.operations and self.unchanged:
            yield (f"{len(self.unchanged)} unchanged",)

    def fragment(self) -> Html:
        """The sides beside each other, old and new marked by more than colour."""
        head = html.tag("p", html.tag("strong", plain(self.head())))
        return html.join([head, self.sides()]) if self.operations else head

    def sides(self) -> Html:
        """The operations as a table, and what is unchanged."""
        rows = [
            [Html(html.code(where(one.path))), *_sides(one.before, one.after), _HOW[one.op]] for one in self.operations
        ]
        table = html.table(["channel", *self.names, "how"], rows) if rows else ""
        quiet = f"{len(self.unchanged)} unchanged: {', '.join(self.unchanged)}" if self.unchanged else ""
        return html.join([table, html.tag("p", quiet, class_="small quiet") if quiet else ""])


def where(path: Sequence[Any]) -> str:
    """A path as one would type it: `order.state`, `messages[3]`."""
    head, *rest = path
    return str(head) + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in rest)


def _values(operation: Operation) -> str:
    if operation.op == "remove":
        return quoted(operation.before)
    if operation.op in ("add", "append"):
        return quoted(operation.after)
    lines = _by_line(operation.before, operation.after)
    if lines is not None:
        gone, come = (sum(mark == kind for kind, _ in lines) for mark in "-+")
        return f"{text.count(gone, 'line')} by {text.count(come, 'line')}"
    return f"{quoted(operation.before)} by {quoted(operation.after)}"


def _by_line(before: Any, after: Any) -> list[tuple[str, str]] | None:
    """Two texts of several lines as marked lines: " " on both sides, "-" gone, "+" come, "…" folded; else None."""
    if not isinstance(before, str) or not isinstance(after, str) or "\n" not in before + after:
        return None
    old, new = before.splitlines(), after.splitlines()
    found: list[tuple[str, str]] = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        if group[0][1] > 0:
            found.append(("…", ""))
        for op, a, b, c, d in group:
            if op == "equal":
                found += [(" ", line) for line in old[a:b]]
            else:
                found += [("-", line) for line in old[a:b]] + [("+", line) for line in new[c:d]]
    return found


def _sides(before: Any, after: Any) -> tuple[Html, Html]:
    lines = _by_line(before, after)
    if lines is None:
        return _side(before, "old"), _side(after, "new")
    return tuple(  # type: ignore[return-value]  # two sides, two items
        html.join(
            [
                html.tag("div", line or "…", class_=kind if mark == own else "quiet")
                for mark, line in lines
                if mark in f" …{own}"
            ]
        )
        for own, kind in (("-", "old"), ("+", "new"))
    )


def _side(value: Any, kind: str) -> Html:
    if value is ABSENT:
        return Html("")
    return html.tag("div", html.value(value), class_=kind)
