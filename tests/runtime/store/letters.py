"""An embedder whose answers can be read: a text is how many a, b and c it holds."""

from collections.abc import Sequence


class Letters:
    """Embeds texts, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]
