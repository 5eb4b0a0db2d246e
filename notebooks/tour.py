"""The tour's own props: the letter, the order, the model's lines, the questions and the exercise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from course import Question, ScriptedModel, Verdict, ran
from langchain_core.messages import HumanMessage, ToolMessage

from widgets import Session
from workbench import Recording, text, topology
from workbench.prose import Told

orders: Final = {1042: {"item": "teapot", "state": "in two pieces", "price": 84.0}}
letter: Final = {
    "messages": [HumanMessage("My teapot (order 1042) came in two pieces. May I have my money back?", id="letter")]
}
model: Final = ScriptedModel(
    script=[
        ("May I have my money back?", {"name": "look_up", "args": {"number": 1042}}),
        ("found", {"name": "refund", "args": {"number": 1042}}),
        ("paid back", "I am sorry about your teapot. The money is on its way."),
        ("refused", "I am sorry. We cannot pay for this teapot."),
    ]
)


def call(case: Mapping[str, Any]) -> dict[str, Any]:
    """The tool call that the model's last message makes."""
    found: dict[str, Any] = case["messages"][-1].tool_calls[0]
    return found


def answer(case: Mapping[str, Any], words: str) -> ToolMessage:
    """What came of that tool call, as the message that the model waits for."""
    id = call(case)["id"]
    return ToolMessage(words, id=f"answer to {id}", tool_call_id=id)


# -- the questions ----------------------------------------------------------------------------------------------------


def _first(rec: Recording, answer: Any) -> Iterator[Told | str]:
    (right,) = ran(rec, 1)
    names = _nodes(rec)
    if answer not in names:
        yield f"No node has this name. There are {text.listing(names)}."
    elif answer != right:
        yield rec.why_not(answer, 1)
    else:
        yield rec.why(right, 1)


def _tasks(rec: Recording, answer: Any) -> Iterator[str]:
    for step, status in rec.tasks.query("node == 'approve'")[["step", "status"]].itertuples(index=False):
        yield f"approve ran in superstep {step}: {status}"


def _after(rec: Recording, answer: Any) -> Iterator[str]:
    for edge in topology.of(rec.graph).edges:
        if edge.source == "approve":
            yield f"In the drawing a dashed line leads from approve to {edge.target}."


def _nodes(rec: Recording) -> list[str]:
    return [node.name for node in topology.of(rec.graph).nodes if node.kind not in ("start", "end")]


first: Final = Question(
    "Which node runs first?",
    right=lambda rec: next(iter(ran(rec, 1))),
    tempting={
        lambda rec: next(iter(ran(rec, 2))): (
            "Someone must look the order up before anything can be said about it; "
            "but no node runs until something wakes it, and what wakes this one is a choice of the agent."
        )
    },
    evidence=_first,
)
"""Asked before the first run."""

tasks_of_approve: Final = Question(
    "How many tasks did approve take?",
    right=lambda rec: len(rec.tasks.query("node == 'approve'")),
    tempting={
        lambda rec: _nodes(rec).count("approve"): (
            "It stands in the drawing once; but a task that asks is over when the run stops, "
            "and after the answer the node starts again from its first line."
        )
    },
    evidence=_tasks,
)
"""Asked about the run with its answer."""

after_approve: Final = Question(
    "Which nodes could run after approve?",
    right=lambda rec: {edge.target for edge in topology.of(rec.graph).edges if edge.source == "approve"},
    tempting={
        lambda rec: ran(rec, 5): (
            "That is what did run, after a yes. What could run is said by the code, and the drawing shows it."
        )
    },
    evidence=_after,
)
"""Asked about the run with its answer."""


# -- the exercise -----------------------------------------------------------------------------------------------------


def another_price(session: Session) -> Verdict:
    """Whether the session's thread has a second branch that asks about another price, and a first one as it was."""
    branches = {branch.name: branch.tip for branch in session.branches}
    old = orders[1042]["price"]
    if len(branches) < 2:
        return _missing("the thread has one branch. Fork a checkpoint, with another price in its order.")
    if not session.pending:
        return _missing(f"nobody is asked yet. Run on to the question. ({session.words}.)")
    asked = session.pending[0].value["price"]
    if asked == old:
        return _missing(
            f"the question still names {old}. An edit holds until another node writes the same channel: "
            "fork a checkpoint behind look_up, which writes the order."
        )
    if branches["main"].values["order"] != orders[1042]:
        return _missing("the first branch has changed. Begin again with the cell above.")
    return Verdict(True, f"Passed: the new branch asks about {asked}, and the first one still holds {old}.")


def _missing(words: str) -> Verdict:
    return Verdict(False, f"Still missing: {words}")
