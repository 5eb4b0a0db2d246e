from typing import NamedTuple

from langchain_core.messages import AIMessage, HumanMessage

from workbench import text


class Pair(NamedTuple):
    a: int
    b: str


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_short_text_is_shown_as_it_is():
    assert text.value("coffee") == "coffee"


def test_a_long_text_is_cut_at_80_and_tells_its_length():
    assert text.value("x" * 1234) == "x" * 80 + "… (1,234 characters)"


def test_a_line_end_does_not_break_the_line():
    assert text.value("a\nb") == r"a\nb"


def test_texts_inside_a_container_are_quoted():
    assert text.value({"topic": "coffee", "n": [1, 2]}) == '{topic: "coffee", n: [1, 2]}'


def test_a_long_list_says_how_many_more():
    assert text.value(list(range(100))) == "[0, 1, 2, 3, 4, 5, … 94 more]"


def test_a_named_tuple_shows_its_fields():
    assert text.value(Pair(1, "x")) == 'Pair(a=1, b="x")'


def test_a_message_shows_who_says_what():
    assert text.value(HumanMessage("Hello")) == "human: Hello"


def test_a_tool_call_is_shown_as_one_would_type_it():
    said = AIMessage("", tool_calls=[{"name": "look_up", "args": {"order_id": 1042}, "id": "1"}])
    assert text.value(said) == "ai: calls look_up(order_id=1042)"


def test_a_value_that_holds_itself_ends():
    loop: list[object] = []
    loop.append(loop)
    assert text.value(loop) == "[[[1 item]]]"


def test_a_value_whose_repr_raises_is_named():
    assert text.value(Broken()) == "<Broken whose repr raised RuntimeError>"


def test_summaries_count():
    shown = [text.summary(one) for one in ([1, 2], {"a": 1}, [HumanMessage("x")], 5)]
    assert shown == ["2 items", "1 key", "1 message", "5"]


def test_nouns_take_their_plural():
    assert [text.count(2, noun) for noun in ("node", "branch", "key", "query")] == [
        "2 nodes",
        "2 branches",
        "2 keys",
        "2 queries",
    ]


def test_names_are_listed_as_in_a_sentence():
    assert text.listing(["a", "b", "c"]) == "a, b and c"
    assert text.listing(["a", "b"], "or") == "a or b"


def test_durations_read_well():
    assert [text.seconds(s) for s in (None, 0.0123, 2.351, 75.0)] == ["", "12 ms", "2.35 s", "1 min 15 s"]


def test_a_table_aligns_wide_characters():
    lines = text.table(["node", "n"], [["节点", 1], ["ab", 20]], right=["n"]).splitlines()
    assert lines == ["node   n", "────  ──", "节点   1", "ab    20"]


def test_a_question_is_told_by_its_words_whatever_carries_it():
    assert text.question(" Refund 20? ") == "Refund 20?"
    assert text.question({"item": "teapot", "text": "about it", "question": "Give the money back?"}) == (
        "Give the money back?"
    )
    assert text.question_key({"title": " ", "prompt": "Which one?"}) == "prompt"


def test_a_value_without_words_asks_nothing():
    assert [text.question(one) for one in ("", {}, {"question": 3}, {"item": "teapot"}, ["Sure?"], None)] == [None] * 6
