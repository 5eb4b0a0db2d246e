"""What a search by likeness needs: vectors of texts, and the texts of an item."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from langchain_core.embeddings import Embeddings

__all__ = (
    "AEmbeddingsFunc",
    "EmbeddingsFunc",
    "EmbeddingsLambda",
    "ensure_embeddings",
    "get_text_at_path",
    "tokenize_path",
)

EmbeddingsFunc = Callable[[Sequence[str]], list[list[float]]]
"""Texts to vectors."""

AEmbeddingsFunc = Callable[[Sequence[str]], Awaitable[list[list[float]]]]
"""Texts to vectors, awaited."""


class EmbeddingsLambda(Embeddings):
    """Embeddings made of one function of a list of texts, sync or async. An async one serves the async methods only."""

    def __init__(self, func: EmbeddingsFunc | AEmbeddingsFunc) -> None:
        self._func: Callable[[Sequence[str]], Any] = func
        self._is_async = inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(
            getattr(func, "__call__", None)  # noqa: B004  # the method is looked at, not whether there is one
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self._is_async:
            raise ValueError(
                "EmbeddingsLambda was made of an async function, so it can't embed in a sync call. Use the async "
                "methods, or give a sync function."
            )
        vectors: list[list[float]] = self._func(texts)
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self._is_async:
            return await super().aembed_documents(texts)
        vectors: list[list[float]] = await self._func(texts)
        return vectors

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]


def ensure_embeddings(embed: Embeddings | EmbeddingsFunc | AEmbeddingsFunc | str | None) -> Embeddings:
    """Embeddings, from an object that is them, a function of a list of texts, or "provider:model" (needs langchain)."""
    if isinstance(embed, Embeddings):
        return embed
    if isinstance(embed, str):
        return _named_embeddings(embed)
    if callable(embed):
        return EmbeddingsLambda(embed)
    raise ValueError(
        f"embed is {embed!r}. Give an Embeddings object, a function of a list of texts, or 'provider:model'."
    )


def _named_embeddings(name: str) -> Embeddings:
    try:
        init = import_module("langchain.embeddings").init_embeddings
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"The embeddings {name!r} are named, and names are looked up by the package langchain, from 0.3.9 on: pip "
            "install 'langchain>=0.3.9' and the provider's package. Or give an Embeddings object, or a function."
        ) from error
    embeddings: Embeddings = init(name)
    return embeddings


def tokenize_path(path: str) -> list[str]:
    """A path in parts: `a.b[0].{c,d}` is `["a", "b", "[0]", "{c,d}"]`; `$` and "" mean the whole."""
    tokens: list[str] = []
    word, closing = "", ""
    for char in path:
        if closing:
            word += char
            if char == closing:
                tokens.append(word)
                word, closing = "", ""
        elif char in "[{":
            if word:
                tokens.append(word)
            word, closing = char, "]" if char == "[" else "}"
        elif char == ".":
            if word:
                tokens.append(word)
            word = ""
        else:
            word += char
    if word:
        tokens.append(word)
    return tokens


def get_text_at_path(obj: Any, path: str | list[str]) -> list[str]:
    """The texts that a path finds in an item's value, in order: text as it is, numbers in words, the rest as JSON.

    `[*]` stands for each item of a list, `*` for each part of whatever is there, `{a,b}` for these two.
    """
    if path in ("", "$"):
        return [json.dumps(obj, sort_keys=True, ensure_ascii=False)]
    tokens = tokenize_path(path) if isinstance(path, str) else path
    return list(_texts(obj, tokens, 0))


def _texts(obj: Any, tokens: Sequence[str], at: int) -> Iterator[str]:
    if at == len(tokens):
        yield from _text(obj)
        return
    for part in _parts(obj, tokens[at]):
        yield from _texts(part, tokens, at + 1)


def _parts(obj: Any, token: str) -> Iterator[Any]:
    """What one token of a path finds."""
    if token.startswith("[") and token.endswith("]"):
        if isinstance(obj, list):
            yield from _indexed(obj, token[1:-1])
    elif token.startswith("{") and token.endswith("}"):
        if isinstance(obj, dict):
            for field in token[1:-1].split(","):
                yield from _at(obj, tokenize_path(field.strip()))
    elif token == "*":
        yield from obj if isinstance(obj, list) else obj.values() if isinstance(obj, dict) else ()
    elif isinstance(obj, dict) and token in obj:
        yield obj[token]


def _indexed(items: list[Any], index: str) -> Iterator[Any]:
    if index == "*":
        yield from items
        return
    try:
        yield items[int(index)]
    except (ValueError, IndexError):
        return


def _at(obj: Any, tokens: Sequence[str]) -> Iterator[Any]:
    found = [obj]
    for token in tokens:
        found = [part for each in found for part in _parts(each, token)]
    yield from found if tokens else ()


def _text(obj: Any) -> Iterator[str]:
    if isinstance(obj, (str, int, float, bool)):
        yield str(obj)
    elif isinstance(obj, (list, dict)):
        yield json.dumps(obj, sort_keys=True, ensure_ascii=False)
