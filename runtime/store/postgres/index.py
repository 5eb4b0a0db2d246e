"""How vectors are kept and compared in PostgreSQL, by its extension pgvector."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

from typing_extensions import TypedDict

from runtime.store.base import IndexConfig


class ANNIndexConfig(TypedDict, total=False):
    """Which index the column of vectors gets ("flat": none), and what its numbers are."""

    kind: Literal["hnsw", "ivfflat", "flat"]
    vector_type: Literal["vector", "halfvec"]


class HNSWConfig(ANNIndexConfig, total=False):
    """An index that is a graph: `m` links for each vector, chosen among `ef_construction`."""

    m: int
    ef_construction: int


class IVFFlatConfig(ANNIndexConfig, total=False):
    """An index of `nlist` lists."""

    nlist: int


class PostgresIndexConfig(IndexConfig, total=False):
    """`IndexConfig`, and how vectors are compared: by their cosine where nothing is said."""

    ann_index_config: ANNIndexConfig
    distance_type: Literal["l2", "inner_product", "cosine"]


# How like two vectors are, and what pgvector calls the operators that an index of them must know.
_MEASURES: Final = {
    "cosine": ("1 - ({} <=> {})", "cosine"),
    "l2": ("-({} <-> {})", "l2"),
    "inner_product": ("-({} <#> {})", "ip"),
}
_OPTIONS: Final = {"hnsw": {"m": "m", "ef_construction": "ef_construction"}, "ivfflat": {"nlist": "lists"}}


class VectorColumn:
    """The column of vectors that an index config asks for. ValueError where it asks for what there is not."""

    def __init__(self, config: PostgresIndexConfig) -> None:
        ann: dict[str, Any] = {**config.get("ann_index_config", {})}
        measure = _known("distance_type", config.get("distance_type", "cosine"), _MEASURES)
        kind = _known("kind", ann.get("kind", "hnsw"), ("hnsw", "ivfflat", "flat"))
        vector_type = _known("vector_type", ann.get("vector_type", "vector"), ("vector", "halfvec"))
        score, operators = _MEASURES[measure]
        self.type = f"{vector_type}({int(config['dims'])})"
        self.likeness = f"NULLIF({score.format('v.embedding', f'?::{vector_type}')}, 'NaN')"
        self.index: str | None = None
        if kind != "flat":
            self.index = f"{kind} (embedding {vector_type}_{operators}_ops){_options(kind, ann)}"


def _options(kind: str, ann: dict[str, Any]) -> str:
    given = [f"{theirs} = {int(ann[name])}" for name, theirs in _OPTIONS[kind].items() if ann.get(name) is not None]
    return f" WITH ({', '.join(given)})" if given else ""


def _known(name: str, value: str, known: Collection[str]) -> str:
    if value not in known:
        raise ValueError(f"Invalid {name} for pgvector: {value!r}. It is one of {', '.join(known)}.")
    return value
