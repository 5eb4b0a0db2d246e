"""How like two texts are: the cosine of their vectors, with numpy where it is installed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

Vector = tuple[float, ...]
"""A vector of length 1, or of zeros."""


def vector(numbers: Sequence[float]) -> Vector:
    """The vector of these numbers, scaled to length 1: the cosine of two is then their product."""
    length = math.hypot(*numbers)
    return tuple(float(number) / length for number in numbers) if length else tuple(map(float, numbers))


def likeness(query: Vector, held: Sequence[Sequence[Vector]]) -> list[float | None]:
    """For each item, given by its vectors, how like the query the likest of them is; None where it has none."""
    flat = [each for vectors in held for each in vectors]
    scores = iter(_products(query, flat))
    return [max((next(scores) for _ in vectors), default=None) for vectors in held]


def _products(query: Vector, vectors: list[Vector]) -> list[float]:
    if not vectors:
        return []
    if find_spec("numpy") is not None:
        numpy: Any = import_module("numpy")
        products: list[float] = (numpy.array(vectors) @ numpy.array(query)).tolist()
        return products
    return [math.fsum(a * b for a, b in zip(query, each, strict=True)) for each in vectors]
