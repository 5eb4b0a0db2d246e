"""Names and values that would be tags, attributes or layout: both widgets show them whole, as text, live and still."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from typing_extensions import TypedDict

from widgets import Fork, Resume, Session
from workbench import html


class _Read(HTMLParser):
    """What a browser would make of HTML: its elements, its attributes, and the texts that one reads."""

    def __init__(self, given: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(given)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "value":
                self.words.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def live(widget: Any) -> tuple[set[str], set[str], str]:
    """The elements, attributes and text of the tree that the front end builds."""
    elements, attributes, words = set(), set(), []

    def walk(node: Any) -> None:
        if isinstance(node, str):
            words.append(node)
            return
        elements.add(node[0])
        attributes.update(node[1])
        words.append(node[1].get("value", ""))
        for child in node[2:]:
            walk(child)

    for node in widget.view:
        walk(node)
    return elements, attributes, "\n".join(words)


def still(widget: Any) -> tuple[set[str], set[str], str]:
    """The same of the static form."""
    read = _Read(widget._repr_mimebundle_()[0]["text/html"])
    return read.elements, read.attributes, "\n".join(read.words)


@pytest.fixture(params=[Resume, Fork])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def waits(engine: Any, name: str) -> Session:
    """A thread that waits: its node, channel, value, question and own name are all `name`."""

    def node(state: Any) -> Any:
        return {name: engine.types.interrupt({"question": name, name: name})}

    graph = engine.graph.StateGraph(TypedDict("S", {name: str}, total=False))
    graph.add_node(name, node)
    graph.add_edge(engine.graph.START, name)
    session = Session(graph.compile(checkpointer=engine.memory.InMemorySaver()), name)
    session.run({name: name})
    return session


def test_hostile_names_and_values_are_text_and_whole(engine: Any, kind: Any, hostile: str) -> None:
    if any(mark in hostile for mark in ":|"):
        pytest.skip("no engine takes a node of this name")
    plain, odd = kind(waits(engine, "plain")), kind(waits(engine, hostile))
    for read in (live, still):
        elements, attributes, words = read(odd)
        usual, known, _ = read(plain)
        assert elements <= usual | {"textarea", "p", "pre"}, "what has many lines or signs stands in these"
        assert attributes <= known | {"rows", "spellcheck"}
        assert html.clean(hostile) in words
