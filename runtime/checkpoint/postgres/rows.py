"""Rows that a statement is given: each value by itself where they are few, else the columns as arrays.

Values by themselves are several times quicker for psycopg and for the server. But each number of them makes another
statement, and a connection keeps a limited number of those prepared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

FEW: Final = 8


class Given(NamedTuple):
    """A table of parameters: its name, and its columns with their types."""

    name: str
    columns: tuple[tuple[str, str], ...]

    def source(self, count: int) -> str:
        """What stands behind FROM for so many rows, at least one."""
        names = ", ".join(column for column, _ in self.columns)
        if count > FEW:
            arrays = ", ".join(f"%({self.name}_{column})b::{kind}[]" for column, kind in self.columns)
            return f"unnest({arrays}) AS given ({names})"
        rows = ", ".join(
            "(" + ", ".join(f"%({self.name}_{column}_{row})s::{kind}" for column, kind in self.columns) + ")"
            for row in range(count)
        )
        return f"(VALUES {rows}) AS given ({names})"

    def parameters(self, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """The parameters of that, for these rows."""
        if len(rows) > FEW:
            columns = zip(self.columns, zip(*rows, strict=True), strict=True)
            return {f"{self.name}_{column}": list(values) for (column, _), values in columns}
        return {
            f"{self.name}_{column}_{number}": value
            for number, row in enumerate(rows)
            for (column, _), value in zip(self.columns, row, strict=True)
        }


BLOBS: Final = Given("blob", (("channel", "text"), ("version", "text"), ("type", "text"), ("blob", "bytea")))
WRITES: Final = Given("write", (("idx", "int"), ("channel", "text"), ("type", "text"), ("blob", "bytea")))
