"""Makes `notebooks/branch.sqlite`: two threads that LangGraph kept with its own saver, for the notebook on databases.

    python -m tests.notebooks.branch

One of them waits for an answer. Its state holds a `Reader`, whose module is nowhere but in this process.
"""

from __future__ import annotations

import operator
import sqlite3
import sys
from contextlib import closing
from dataclasses import make_dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

FILE = Path(__file__).parents[2] / "notebooks" / "branch.sqlite"


def reader_class() -> Any:
    """A dataclass of the module `branch_desk`, which nobody can import."""
    module = sys.modules["branch_desk"] = ModuleType("branch_desk")
    reader: Any = make_dataclass("Reader", [("name", str), ("card", int)])
    reader.__module__ = "branch_desk"
    module.Reader = reader  # type: ignore[attr-defined]  # a module made here
    return reader


def desk(saver: Any) -> Any:
    """The branch library's graph, compiled by LangGraph."""

    class Loan(TypedDict):
        book: str
        reader: Any
        diary: Annotated[list[str], operator.add]

    def ask(loan: Loan) -> Any:
        return {"diary": [f"{loan['reader'].name} asks for the {loan['book']}"]}

    def lend(loan: Loan) -> Any:
        yes = interrupt(f"May {loan['reader'].name} take the {loan['book']} home?")
        return {"diary": ["lent" if yes else "refused"]}

    builder = StateGraph(Loan)
    builder.add_node("ask", ask)
    builder.add_node("lend", lend)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "lend")
    return builder.compile(checkpointer=saver)


def make(path: Path) -> None:
    """Write the file anew: one file, without a log beside it."""
    path.unlink(missing_ok=True)
    reader = reader_class()
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = desk(SqliteSaver(connection))
        for book, name, card in (("globe", "Dan", 7), ("letters", "Eve", 8)):
            graph.invoke({"book": book, "reader": reader(name, card)}, {"configurable": {"thread_id": book}})
        graph.invoke(Command(resume=True), {"configurable": {"thread_id": "letters"}})
        connection.commit()
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")


if __name__ == "__main__":
    make(FILE)
