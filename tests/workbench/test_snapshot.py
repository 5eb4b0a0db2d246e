from types import SimpleNamespace
from typing import Any

from workbench import snapshot


def asking(value: Any) -> SimpleNamespace:
    task = SimpleNamespace(name="approve", interrupts=(SimpleNamespace(value=value),))
    return SimpleNamespace(values={}, next=("approve",), tasks=(task,), metadata={"step": 3}, config={})


def test_a_snapshot_tells_a_question_by_its_words_and_then_what_comes_with_it():
    waits = asking({"item": "teapot", "question": "Give the money back?"})
    assert snapshot.words(waits).splitlines()[1] == 'approve asks: Give the money back? {item: "teapot"}'
    page = snapshot.page(waits)
    assert page.index("Give the money back?") < page.index("teapot")
    assert "question</code>" not in page


def test_a_snapshot_shows_what_is_asked_without_words_as_it_is():
    assert snapshot.words(asking([1, 2])).splitlines()[1] == "approve asks: [1, 2]"
