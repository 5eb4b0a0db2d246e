import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from runtime.store.base import ensure_embeddings, get_text_at_path, tokenize_path

VALUE = {
    "a": {"b": "x", "c": 5, "l": [1, 2]},
    "l": [{"t": "q"}, {"t": "r"}, "s"],
    "n": None,
    "e": [],
    "yes": True,
}


@pytest.mark.parametrize(
    ("path", "tokens"),
    [
        ("", []),
        ("$", ["$"]),
        ("a.b", ["a", "b"]),
        ("a[0].b", ["a", "[0]", "b"]),
        ("a[*]", ["a", "[*]"]),
        ("a.{b,c.d}.e", ["a", "{b,c.d}", "e"]),
        ("a{b}", ["a", "{b}"]),
        ("a[0", ["a", "[0"]),
    ],
)
def test_a_path_in_parts(path: str, tokens: list[str]):
    assert tokenize_path(path) == tokens


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("a.b", ["x"]),
        ("a.c", ["5"]),
        ("yes", ["True"]),
        ("a", ['{"b": "x", "c": 5, "l": [1, 2]}']),
        ("l[0]", ['{"t": "q"}']),
        ("l[-1]", ["s"]),
        ("l[*].t", ["q", "r"]),
        ("l[9]", []),
        ("l[x]", []),
        ("a.*", ["x", "5", "[1, 2]"]),
        ("a.{b,c}", ["x", "5"]),
        ("{a.b,n}", ["x"]),
        ("n", []),
        ("e", ["[]"]),
        ("no.such", []),
        ("a.b.c", []),
    ],
)
def test_the_texts_that_a_path_finds(path: str, texts: list[str]):
    assert get_text_at_path(VALUE, path) == texts
    assert get_text_at_path(VALUE, tokenize_path(path)) == texts


@pytest.mark.parametrize("path", ["$", ""])
def test_the_whole_is_one_text(path: str):
    assert get_text_at_path({"b": "é", "a": 1}, path) == ['{"a": 1, "b": "é"}']


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[float(len(text))] for text in texts]


async def alengths(texts: Sequence[str]) -> list[list[float]]:
    return lengths(texts)


def test_a_function_serves_both_colours():
    embeddings = ensure_embeddings(lengths)
    assert ensure_embeddings(embeddings) is embeddings
    assert embeddings.embed_documents(["a", "bc"]) == [[1.0], [2.0]]
    assert embeddings.embed_query("abc") == [3.0]
    assert asyncio.run(embeddings.aembed_query("abc")) == [3.0]


def test_an_async_function_serves_the_async_methods():
    embeddings = ensure_embeddings(alengths)
    assert asyncio.run(embeddings.aembed_documents(["a"])) == [[1.0]]
    with pytest.raises(ValueError, match="async function"):
        embeddings.embed_query("a")


@pytest.mark.parametrize("embed", [None, 5])
def test_what_cannot_embed_is_refused(embed: Any):
    with pytest.raises(ValueError, match="Give an Embeddings object"):
        ensure_embeddings(embed)


def test_a_name_without_langchain_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "langchain.embeddings", None)
    with pytest.raises(ValueError, match="pip install"):
        ensure_embeddings("provider:model")
