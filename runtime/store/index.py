"""What makes items findable by likeness: which texts of theirs are looked at, and the vectors that stand for these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from runtime.store.base import IndexConfig, PutOp, ensure_embeddings, get_text_at_path, tokenize_path
from runtime.store.batches import Batch, Place

Numbers = Sequence[float]


class Vectors(NamedTuple):
    """The vectors of a batch: of each query, and of each text of an item that is put, by the name of its field."""

    queries: dict[str, Numbers]
    items: dict[Place, list[tuple[str, Numbers]]]


NO_VECTORS = Vectors({}, {})


class Index:
    """Reads an index config: `{"dims": length, "embed": …, "fields": paths}`; without fields, all of a value counts."""

    def __init__(self, config: IndexConfig, fields: list[str] | None = None) -> None:
        self.embeddings = ensure_embeddings(config.get("embed"))
        self._fields = _paths(config.get("fields") or fields or ["$"])

    def embed(self, batch: Batch) -> Vectors:
        """The vectors that the batch needs. Each text is embedded once, all items' texts in one call."""
        queries, texts = _queries(batch), self._texts(batch)
        of_queries = [self.embeddings.embed_query(query) for query in queries]
        distinct = _distinct(texts)
        of_texts = self.embeddings.embed_documents(distinct) if distinct else []
        return _vectors(queries, of_queries, texts, distinct, of_texts)

    async def aembed(self, batch: Batch) -> Vectors:
        """`embed`, awaited."""
        queries, texts = _queries(batch), self._texts(batch)
        of_queries = [await self.embeddings.aembed_query(query) for query in queries]
        distinct = _distinct(texts)
        of_texts = await self.embeddings.aembed_documents(distinct) if distinct else []
        return _vectors(queries, of_queries, texts, distinct, of_texts)

    def _texts(self, batch: Batch) -> dict[Place, list[tuple[str, str]]]:
        """For each place that is put and looked at, its texts, each with its field's name."""
        return {
            place: list(_named_texts(op, _paths(op.index) if op.index else self._fields))
            for place, op in batch.puts.items()
            if op.value is not None and op.index is not False
        }


def _paths(fields: Iterable[str]) -> list[tuple[str, str | list[str]]]:
    return [(field, field if field == "$" else tokenize_path(field)) for field in fields]


def _named_texts(op: PutOp, paths: list[tuple[str, str | list[str]]]) -> Iterator[tuple[str, str]]:
    """A field's text under the field's name; where it has several, each under the name and its number."""
    for name, path in paths:
        texts = get_text_at_path(op.value, path)
        if len(texts) == 1:
            yield name, texts[0]
        else:
            yield from ((f"{name}.{number}", text) for number, text in enumerate(texts))


def _queries(batch: Batch) -> list[str]:
    return list(dict.fromkeys(op.query for op in batch.searches.values() if op.query))


def _distinct(texts: dict[Place, list[tuple[str, str]]]) -> list[str]:
    return list(dict.fromkeys(text for found in texts.values() for _, text in found))


def _vectors(
    queries: list[str],
    of_queries: Sequence[Numbers],
    texts: dict[Place, list[tuple[str, str]]],
    distinct: list[str],
    of_texts: Sequence[Numbers],
) -> Vectors:
    by_text = dict(zip(distinct, of_texts, strict=True))
    return Vectors(
        dict(zip(queries, of_queries, strict=True)),
        {place: [(name, by_text[text]) for name, text in found] for place, found in texts.items()},
    )
