"""A batch of operations, taken apart: what is read, where its result belongs, and what is left to write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from runtime.store.base import GetOp, ListNamespacesOp, Op, PutOp, SearchOp, validate_op_namespace

Namespace = tuple[str, ...]
Place = tuple[Namespace, str]
"""Where an item is: its namespace and its key."""


class Batch(NamedTuple):
    """Operations by kind. A read is known by its index in the batch; of several puts of one place the last is left."""

    size: int
    gets: dict[int, GetOp]
    searches: dict[int, SearchOp]
    listings: dict[int, ListNamespacesOp]
    puts: dict[Place, PutOp]

    @classmethod
    def of(cls, ops: Iterable[Op]) -> Batch:
        """The batch of these operations. ValueError where one is none; InvalidNamespaceError for a label."""
        given = list(ops)
        batch = cls(len(given), {}, {}, {}, {})
        for at, op in enumerate(given):
            match op:
                case GetOp():
                    batch.gets[at] = op
                case SearchOp():
                    batch.searches[at] = op
                case ListNamespacesOp():
                    batch.listings[at] = op
                case PutOp():
                    batch.puts[tuple(op.namespace), op.key] = op
                case _:
                    raise ValueError(
                        f"Unknown operation type: {type(op)}. Give GetOp, SearchOp, ListNamespacesOp or PutOp."
                    )
            validate_op_namespace(op)
        return batch
