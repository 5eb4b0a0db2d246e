"""Two engines' lines compared. Ids are not dropped but named by where they stand.

An id (of a checkpoint, a task, an interrupt) differs between the engines; what must agree is which ids are equal. So
each id gets a colour, made of all the places in which it stands and of the colours of the ids beside it, refined a few
times; two programs whose ids play the same parts get the same colours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from difflib import SequenceMatcher
from hashlib import blake2b

from tests.parity.streams import Line, Place

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_ROUNDS = 3


def difference(expected: list[Line], found: list[Line]) -> list[str]:
    """What differs, marked - where only the oracle has it and + where only we do; empty when equal.

    Ids are looked at only where all else is equal.
    """
    if expected == found:
        return []
    return _differing(_masked(expected), _masked(found)) or _differing(_named(expected), _named(found))


def _differing(left: list[tuple[Place, str]], right: list[tuple[Place, str]]) -> list[str]:
    if left == right:
        return []
    texts, others = [text for _, text in left], [text for _, text in right]
    lines = []
    for kind, a, b, c, d in SequenceMatcher(None, texts, others, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += [f"- {text}" for text in texts[a:b]] + [f"+ {text}" for text in others[c:d]]
    return lines or ["The same lines stand between other lines of the loop."]


def _masked(lines: list[Line]) -> list[tuple[Place, str]]:
    return sorted((line.place, _ID.sub("#", line.text)) for line in lines)


def _named(lines: list[Line]) -> list[tuple[Place, str]]:
    """The lines in the order of their places, with their ids named."""
    parts = [(line.place, _ID.split(line.text), _ID.findall(line.text)) for line in lines]
    colours: dict[str, str] = defaultdict(str)
    for _ in range(_ROUNDS):
        found: dict[str, list[str]] = defaultdict(list)
        for place, texts, ids in parts:
            if ids:
                around = _digest(f"{place} {texts} {[colours[id] for id in ids]}")
                for index, id in enumerate(ids):
                    found[id].append(f"{around} {index}")
        colours = defaultdict(str, {id: _digest(" ".join(sorted(where))) for id, where in found.items()})
    return sorted((place, _woven(texts, [colours[id] for id in ids])) for place, texts, ids in parts)


def _woven(texts: list[str], ids: list[str]) -> str:
    return "".join(text + id for text, id in zip(texts, [*ids, ""], strict=True))


def _digest(text: str) -> str:
    return "#" + blake2b(text.encode(), digest_size=4).hexdigest()
