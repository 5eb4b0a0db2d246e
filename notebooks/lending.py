"""The lending desk of the notebook on databases, in a file of its own, so that other processes can run it.

python lending.py loans.sqlite     takes three requests down, and ends while they wait for an answer
"""

import sys
from operator import add
from typing import Annotated, Any, TypedDict

from runtime.checkpoint.sqlite import SqliteSaver
from runtime.graph import START, StateGraph
from runtime.types import interrupt

REQUESTS = {"atlas": "Ada", "novel": "Bo", "map": "Cleo"}


class Loan(TypedDict):
    """A request for a book."""

    book: str
    reader: str
    lent: bool
    diary: Annotated[list[str], add]


def ask(loan: Loan) -> dict[str, Any]:
    """Take the request down."""
    return {"diary": [f"{loan['reader']} asks for the {loan['book']}"]}


def lend(loan: Loan) -> dict[str, Any]:
    """Ask a librarian, and lend the book or not."""
    yes = interrupt(f"May {loan['reader']} take the {loan['book']} home?")
    return {"lent": yes, "diary": ["lent" if yes else "refused"]}


def desk(saver: Any = None) -> Any:
    """The compiled graph: ask, then lend."""
    builder = StateGraph(Loan).add_node(ask).add_node(lend)
    builder.add_edge(START, "ask").add_edge("ask", "lend")
    return builder.compile(checkpointer=saver, name="lending desk")


if __name__ == "__main__":
    with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
        for book, reader in REQUESTS.items():
            desk(saver).invoke({"book": book, "reader": reader}, {"configurable": {"thread_id": book}})
