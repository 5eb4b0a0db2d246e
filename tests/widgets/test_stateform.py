"""A state as a form, and what reading it back writes. On both engines."""

import operator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from widgets.stateform import ChannelForm, FieldFault, channel_forms, message_words
from workbench.diff import ABSENT


class Order(BaseModel):
    item: str
    total: float


def block(engine: Any, schema: Any, values: Any, overwrite: tuple[str, ...] = ()) -> ChannelForm:
    """The block of a state's only channel."""
    graph = engine.graph.StateGraph(schema)
    graph.add_node("a", lambda state: {})
    graph.add_edge(engine.graph.START, "a")
    (found,) = channel_forms(graph.compile(), values, overwrite)
    return found


def one(kind: Any) -> Any:
    """A state with the one channel `x`."""
    return TypedDict("One", {"x": kind}, total=False)


def test_a_plain_value_is_shown_and_replaced(engine: Any) -> None:
    form = block(engine, one(str), {"x": "good"})
    assert (form.words, form.lead, form.switch) == ("text, last value", "replaces good", None)
    assert form.read({"0": "good"}) is ABSENT
    assert form.read({"0": "bad"}) == "bad"


def test_a_value_that_is_not_there_says_so(engine: Any) -> None:
    form = block(engine, one(int), {})
    assert form.lead == "holds nothing yet"
    assert form.read({}) is ABSENT
    assert form.read({"0": "3"}) == 3


def test_a_sum_starts_empty_and_says_what_it_is_added_to(engine: Any) -> None:
    form = block(engine, one(Annotated[int, operator.add]), {"x": 1})
    assert (form.words, form.reducer, form.lead) == ("integer", "add", "is added to 1")
    assert form.fields[0].initial == ""
    assert form.read({"0": ""}) is ABSENT
    assert form.read({"0": "2"}) == 2


def test_a_sum_may_be_overwritten(engine: Any) -> None:
    form = block(engine, one(Annotated[int, operator.add]), {"x": 1}, ("x",))
    assert (form.lead, form.fields[0].initial) == ("replaces 1", "1")
    assert form.read({"0": "1"}) is ABSENT
    assert form.read({"0": "5"}) == {"__overwrite__": 5}


def test_a_list_is_added_to_line_by_line(engine: Any) -> None:
    form = block(engine, one(Annotated[list[str], operator.add]), {"x": ["a", "b"]})
    assert (form.lead, form.switch) == ("is added to the list of 2 items", ("Add to the list", "Overwrite it"))
    assert form.read({"0": "c\nd\n"}) == ["c", "d"]
    assert block(engine, one(Annotated[list[str], operator.add]), {"x": ["a"]}, ("x",)).read({"0": ""}) == {
        "__overwrite__": []
    }


def test_another_reducer_is_named(engine: Any) -> None:
    form = block(engine, one(Annotated[int, lambda a, b: max(a, b)]), {"x": 3})
    assert (form.reducer, form.lead) == ("a lambda", "is combined with 3 by a lambda")


def test_of_a_model_only_what_was_touched_changes(engine: Any) -> None:
    old = Order(item="cup", total=84.0)
    form = block(engine, one(Order), {"x": old})
    assert [form.label(field) for field in form.fields] == ["x.item", "x.total"]
    assert form.read({"0": "cup", "1": "84.0"}) is ABSENT
    assert form.read({"1": "20"}) == Order(item="cup", total=20.0)
    assert old.total == 84.0


def test_a_model_that_is_not_there_is_made_of_all_its_fields(engine: Any) -> None:
    form = block(engine, one(Order), {})
    assert form.read({"0": "cup", "1": "2"}) == Order(item="cup", total=2.0)
    with pytest.raises(FieldFault, match="A value is needed here"):
        form.read({"0": "cup"})


def test_a_mapping_keeps_its_other_keys(engine: Any) -> None:
    form = block(engine, one(dict), {"x": {"item": "cup", "price": 84.0}})
    assert form.read({"1": "20"}) == {"item": "cup", "price": 20.0}


def test_what_cannot_be_read_stands_at_its_field(engine: Any) -> None:
    form = block(engine, one(Order), {"x": Order(item="cup", total=84.0)})
    with pytest.raises(FieldFault, match="“much” is not a number") as caught:
        form.read({"1": "much"})
    assert caught.value.place == 1


def test_a_state_that_is_no_mapping_is_one_block(engine: Any) -> None:
    form = block(engine, Annotated[list[str], operator.add], ["a"])
    assert (form.channel, form.label(form.fields[0])) == ("__root__", "state")
    assert form.read({"0": "b"}) == ["b"]


# -- messages ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def chat(engine: Any) -> Any:
    """The block of a chat of two messages; with True, to overwrite it."""
    from langchain_core.messages import AIMessage, HumanMessage

    messages = [HumanMessage("Hello", id="1"), AIMessage("Hi", id="2", tool_calls=[_call()])]

    def make(overwrite: bool = False) -> ChannelForm:
        return block(engine, engine.graph.MessagesState, {"messages": messages}, ("messages",) if overwrite else ())

    return make


def _call() -> dict[str, Any]:
    return {"name": "look_up", "args": {"id": 7}, "id": "c", "type": "tool_call"}


def test_a_message_is_a_role_and_a_text(chat: Any) -> None:
    form = chat()
    assert (form.words, form.reducer, form.adds_message) == ("list of messages", "add_messages", True)
    assert form.read({"target": "new", "role": "system", "text": ""}) is ABSENT
    (made,) = form.read({"target": "new", "role": "system", "text": "Be brief."})
    assert (made.type, made.content, made.id) == ("system", "Be brief.", None)


def test_a_message_that_is_there_is_replaced_under_its_id(chat: Any) -> None:
    form = chat()
    assert form.read({"target": "1", "text": "Hi"}) is ABSENT
    (made,) = form.read({"target": "1", "text": "Bye"})
    assert (made.type, made.content, made.id, made.tool_calls) == ("ai", "Bye", "2", [_call()])


def test_a_chat_is_overwritten_as_json_and_loses_nothing(chat: Any) -> None:
    form = chat(True)
    assert form.read({"0": form.fields[0].initial}) is ABSENT
    made = form.read({"0": form.fields[0].initial.replace("Hello", "Good day")})["__overwrite__"]
    assert [(one.type, one.content, one.id) for one in made] == [("human", "Good day", "1"), ("ai", "Hi", "2")]
    assert made[1].tool_calls == [_call()]


@pytest.mark.parametrize(
    ("typed", "words"), [("{}", "Give a list of messages"), ("[{}]", "."), ("[", "This is not JSON")]
)
def test_a_chat_that_is_none_is_refused(chat: Any, typed: str, words: str) -> None:
    with pytest.raises(FieldFault, match=words):
        chat(True).read({"0": typed})


def test_an_unknown_message_to_replace_is_a_new_one(chat: Any) -> None:
    assert chat().target({"target": "99"}) is None
    assert chat().target({"target": "x"}) is None


def test_the_text_of_any_message_is_found() -> None:
    from langchain_core.messages import HumanMessage

    assert message_words(HumanMessage([{"type": "text", "text": "a"}, "b"])) == "a b"
    assert message_words("plain") == "plain"
