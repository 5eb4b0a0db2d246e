"""An answer, or several by id, held against the questions that wait. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from widgets.errors import WrongAnswer
from widgets.schema import complaints
from widgets.standing import Pending
from workbench import text

__all__ = ["by_question"]


def by_question(answer: Any, pending: Sequence[Pending]) -> dict[str, Any]:
    """The answers by the id of their question, each fit for its schema. Raises `WrongAnswer` with the reason."""
    waiting = {one.id: one for one in pending}
    answers = _by_id(answer, waiting)
    asked = text.listing(f"{one.id} (at {one.node})" for one in pending)
    problem, reasons = "", {}
    if answers is None:
        problem = f"{len(pending)} questions wait, and one answer was given. Answer by id: {{id: answer}}, for {asked}."
    elif not answers:
        problem = "No answer was given. Give at least one as {id: answer}."
    elif unknown := [key for key in answers if key not in waiting]:
        problem = f"No question with the id {text.listing(map(str, unknown))} waits. Those that wait: {asked}."
    else:
        reasons = {
            key: "; ".join(found)
            for key, one in answers.items()
            if (schema := waiting[key].response_schema) and (found := complaints(schema, one))
        }
        problem = " ".join(reasons.values())
    if problem or answers is None:
        raise WrongAnswer(problem, given=answer, pending=list(waiting), reasons=reasons)
    return answers


def _by_id(answer: Any, pending: Mapping[str, Pending]) -> dict[str, Any] | None:
    """An answer as a mapping by id; None where one plain answer meets several questions."""
    if isinstance(answer, Mapping) and (answer.keys() & pending.keys() or (answer and all(map(_is_id, answer)))):
        return dict(answer)
    if len(pending) > 1:
        return {} if answer == {} else None
    return dict.fromkeys(pending, answer)


def _is_id(key: Any) -> bool:
    return isinstance(key, str) and len(key) == 32 and all(one in "0123456789abcdef" for one in key)
