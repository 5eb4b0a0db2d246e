"""How an interrupt's value is asked about, and what each way sends."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from widgets.questions import Ask, Question, question
from widgets.standing import Pending

CALL = {"name": "issue_refund", "args": {"order_id": 1042, "amount": 84.0}}


def asked(value: Any, schema: Any = None, answers: Any = None) -> Question:
    return question(Pending("0" * 32, value, "review", 4, schema), answers)


def ask(value: Any, schema: Any = None, answers: Any = None) -> Ask:
    (one,) = asked(value, schema, answers).asks
    return one


def sends(one: Ask) -> dict[str, Any]:
    return {choice.label: choice.answer for choice in one.choices}


def test_a_closed_question_is_answered_yes_or_no() -> None:
    one = ask("Tell the customer now?\nIt takes two days.")
    assert (one.title, one.text, one.first) == ("Tell the customer now?", "It takes two days.", "choice")
    assert sends(one) == {"Yes": True, "No": False}
    assert one.words


@pytest.mark.parametrize("words", ["What is your name?", "Which icing?", "  how many?", "And why?", "Name a town"])
def test_an_open_question_is_answered_in_words(words: str) -> None:
    assert (ask(words).choices, ask(words).first) == ((), "words")


@pytest.mark.parametrize("key", ["name", "action", "tool"])
@pytest.mark.parametrize("given", ["args", "arguments", "tool_input"])
def test_a_tool_call_is_approved_rejected_or_edited(key: str, given: str) -> None:
    value = {key: "pay", given: {"amount": 84.0, "to": "me"}, "id": "c1"}
    one = ask(value)
    assert (one.title, one.call) == ("Run this tool?", ("pay", {"amount": 84.0, "to": "me"}))
    assert sends(one) == {"Approve": True, "Reject": False}
    assert one.edited({"amount": 20.0}) == {key: "pay", given: {"amount": 20.0, "to": "me"}, "id": "c1"}


def test_a_tool_call_with_its_own_question_asks_that() -> None:
    assert ask({**CALL, "question": "Pay back?"}).title == "Pay back?"
    assert ask({**CALL, "description": "A refund."}).text == "A refund."


def test_a_question_in_a_mapping_shows_the_rest() -> None:
    one = ask({"question": "Refund it?", "item": "teapot", "price": 84.0})
    assert (one.title, one.shown) == ("Refund it?", {"item": "teapot", "price": 84.0})
    assert sends(one) == {"Yes": True, "No": False}


def test_a_question_with_options_offers_them() -> None:
    one = ask({"question": "Which icing?", "options": ["lemon", "plum"]})
    assert sends(one) == {"lemon": "lemon", "plum": "plum"}
    assert one.shown is None


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], None, 3, object()])
def test_anything_else_is_shown_and_answered_as_json(value: Any) -> None:
    one = ask(value)
    assert (one.title, one.first) == ("review asks", "json")
    assert one.shown == value


def test_a_message_is_shown_and_answered_in_words_and_its_call_is_judged() -> None:
    assert ask(HumanMessage("Hello")).first == "words"
    assert ask(AIMessage("", tool_calls=[{**CALL, "id": "c"}])).call == ("issue_refund", CALL["args"])


def test_the_actions_of_an_approval_middleware_are_judged_one_by_one() -> None:
    value = {
        "action_requests": [{**CALL, "description": "Pays back."}, {"name": "mail", "args": {}}],
        "review_configs": [{"action_name": "mail", "allowed_decisions": ["approve"]}],
    }
    found = asked(value)
    first, second = found.asks
    assert sends(first) == {"Approve": {"type": "approve"}, "Reject": {"type": "reject"}}
    assert first.said("too much") == {"type": "reject", "message": "too much"}
    assert first.edited({"amount": 1.0}) == {
        "type": "edit",
        "edited_action": {"name": "issue_refund", "args": {"order_id": 1042, "amount": 1.0}},
    }
    assert (sends(second), second.edit, second.words) == ({"Approve": {"type": "approve"}}, None, False)
    assert found.join([{"type": "approve"}, {"type": "approve"}]) == {"decisions": [{"type": "approve"}] * 2}


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_human_interrupt_is_answered_as_it_asks(wrapped: bool) -> None:
    value = {
        "action_request": {"action": "pay", "args": {"amount": 84.0}},
        "config": {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True},
        "description": "Pays back.",
    }
    found = asked([value] if wrapped else value)
    (one,) = found.asks
    assert sends(one) == {"Approve": {"type": "accept", "args": None}, "Ignore": {"type": "ignore", "args": None}}
    assert one.said("no") == {"type": "response", "args": "no"}
    assert one.edited({"amount": 2.0}) == {"type": "edit", "args": {"action": "pay", "args": {"amount": 2.0}}}
    assert found.join(["x"]) == (["x"] if wrapped else "x")


def test_a_schema_decides_the_way_to_answer() -> None:
    assert sends(ask("Sure", {"type": "boolean"})) == {"Yes": True, "No": False}
    assert sends(ask(CALL, {"type": "boolean"})) == {"Approve": True, "Reject": False}
    assert sends(ask("Which?", {"enum": ["a", 1]})) == {"a": "a", "1": 1}
    form = ask("How many?", {"type": "integer"})
    assert (form.first, [one.kind for one in form.form.fields]) == ("form", ["integer"])


def test_the_author_of_the_notebook_names_the_buttons() -> None:
    assert sends(ask(CALL, None, {"Ship it": {"ok": 1}, "Stop": None})) == {"Ship it": {"ok": 1}, "Stop": None}
    assert ask(CALL, None, {"Ship it": 1}).edit is None


def test_the_author_may_choose_by_question() -> None:
    def answers(pending: Pending) -> Any:
        return {"Lemon": "l"} if pending.node == "review" else None

    assert sends(ask("Which?", None, answers)) == {"Lemon": "l"}
    assert sends(ask("Sure?", None, lambda pending: None)) == {"Yes": True, "No": False}


def test_hostile_words_are_taken_as_they_are(hostile: str) -> None:
    one = ask(hostile)
    assert hostile in (one.title, one.text, f"{one.title}\n{one.text}")
    assert ask({"name": hostile, "args": {hostile: hostile}}).call == (hostile, {hostile: hostile})
