"""A recording that was saved and loaded gives the same frames, answers and pictures, whoever ran the graph."""

import contextlib
import gzip
import operator
from typing import Annotated, Any, TypedDict

import numpy as np
import ormsgpack
import pandas as pd
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pandas.testing import assert_frame_equal

from workbench import Recording, record
from workbench.frames import COLUMNS
from workbench.freeze import NotCopied


class Talk(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    thing: Any


@pytest.fixture
def kept(tmp_path):
    """The recording, saved and loaded again."""
    return lambda rec: Recording.load(rec.save(tmp_path / "run.rec"))


@pytest.fixture
def asks(engine, built, saver):
    """A node that asks, before a join of two."""

    def ask(state):
        return {"log": [engine.types.interrupt({"question": "节点?"})]}

    graph = built(("__start__", "ask"), ("__start__", "b"), state=Talk, ask=ask, b=lambda state: {"log": ["b"]})
    graph.add_node("join", lambda state: {"thing": len(state["log"])})
    graph.add_edge(["ask", "b"], "join")
    return graph.compile(checkpointer=saver, name="asking")


@pytest.fixture
def rec(engine, asks):
    """Its run, up to the question and after the answer."""
    return record(asks, {"log": []}, thread="t") + record(asks, engine.types.Command(resume="ja"), thread="t")


def test_every_frame_is_the_same(rec, kept):
    again = kept(rec)
    for name in COLUMNS:
        assert_frame_equal(getattr(rec, name), getattr(again, name))


def test_answers_and_words_are_the_same(rec, kept):
    again = kept(rec)
    for ask in (
        lambda one: one.why("join"),
        lambda one: one.why_not("join", 1),
        lambda one: one.diff(1),
        lambda one: one.story(),
        lambda one: one.summary(),
        lambda one: one.timeline(),
        lambda one: one.strip(),
        lambda one: one.step(2).channels(),
    ):
        assert str(ask(again)) == str(ask(rec))
    assert again.who("log").reducer == "add"
    assert (again.status, again.output, again.thread) == (rec.status, rec.output, rec.thread)


def test_pictures_are_the_same(rec, kept):
    again = kept(rec)
    assert again.strip().fragment() == rec.strip().fragment()
    assert again.step(1).channels().svg == rec.step(1).channels().svg
    assert again.tree().svg == rec.tree().svg


def test_a_run_that_waits_still_says_for_what(asks, kept):
    again = kept(record(asks, {"log": []}, thread="t"))
    assert again.status == "interrupted"
    assert again.interrupts_pending[0].interrupt.value == {"question": "节点?"}


def test_an_error_keeps_its_class_name_and_its_message(built, kept):
    class Burnt(RuntimeError):
        pass

    def fail(state):
        raise Burnt("at 180 °C")

    rec = record(built(("__start__", "a"), a=fail).compile(), {"log": []}, raise_errors=False)
    again = kept(rec)
    assert str(again) == str(rec)
    assert (type(again.error).__name__, str(again.error)) == ("Burnt", "at 180 °C")


@pytest.mark.parametrize(
    "value",
    [
        2**80,
        [AIMessage("hi", id="1"), HumanMessage("ho", id="2")],
        [45, True, 1, 1.0, -0.0, 0.0],
        {"a": (1, {2}, frozenset("x"), None)},
        np.arange(3.0),
        pd.DataFrame({"x": [1, 2]}),
        "🦊" * 3,
    ],
    ids=["int", "messages", "atoms", "nested", "array", "frame", "emoji"],
)
def test_values_keep_their_type(built, kept, value):
    graph = built(("__start__", "a"), state=Talk, a=lambda state: {"thing": value}).compile()
    again = kept(record(graph, {"log": []})).values["thing"].iloc[-1]
    assert type(again) is type(value)
    assert str(again) == str(value)


def test_what_cannot_be_stored_is_kept_as_text_and_said(built, kept):
    class Tap:
        def __repr__(self):
            return "a tap"

    graph = built(("__start__", "a"), state=Talk, a=lambda state: {"thing": Tap()}).compile()
    again = kept(record(graph, {"log": []}))
    thing = again.values["thing"].iloc[-1]
    assert isinstance(thing, NotCopied)
    assert str(thing) == "a tap"
    assert any("the file has only the text" in sentence for sentence in again.missing)
    assert any("has no code" in sentence for sentence in again.missing)


def test_it_can_be_saved_again_reported_and_linted(rec, kept, tmp_path):
    again = kept(kept(rec))
    assert "节点?" in again.report(tmp_path / "run.html").read_text(encoding="utf-8")
    assert not again.lint()


def test_a_list_that_grows_is_in_the_file_once(built, saver, tmp_path):
    graph = built(("__start__", "a"), state=Talk, a=lambda state: {"log": [str(len(state["log"])) * 9000]})
    graph = graph.compile(checkpointer=saver)
    few, many = (Recording.join(*(record(graph, {}, thread=str(times)) for _ in range(times))) for times in (10, 20))
    sizes = [len(gzip.decompress(one.save(tmp_path / "run.rec").read_bytes())) for one in (few, many)]
    assert sizes[1] < sizes[0] * 3


@pytest.mark.parametrize(
    "whole",
    [b"", b"SQLite format 3", gzip.compress(b"\xc1"), gzip.compress(ormsgpack.packb({"format": "other"}))],
    ids=["empty", "another", "garbled", "format"],
)
def test_what_is_no_recording_is_refused_by_name(tmp_path, whole):
    path = tmp_path / "runs.db"
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"runs\.db cannot be read as a recording"):
        Recording.load(path)


def test_a_damaged_file_is_refused_or_read_and_nothing_else(rec, tmp_path):
    path = rec.save(tmp_path / "run.rec")
    whole = gzip.decompress(path.read_bytes())
    for place in range(0, len(whole), 97):
        path.write_bytes(gzip.compress(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :], 1))
        with contextlib.suppress(ValueError):
            assert Recording.load(path).events
