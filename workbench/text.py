"""Values, names and tables as plain text.

The words that `html` shows with tags are made here without them, so that a page and a terminal say the same. Nothing
here raises because of what it was given: a value that cannot be shown says so in its place.
"""

import dataclasses
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

LIMIT = 80
"""How many characters of a long value are shown before its length."""

_ASKING = ("question", "title", "prompt", "query", "message", "description", "instruction", "text", "ask")
_ITEMS = 6
_DEPTH = 3


class Part(NamedTuple):
    """A value that has named fields: what it is called, and its fields in order."""

    kind: str
    fields: Mapping[str, Any]


def value(thing: Any, limit: int = LIMIT) -> str:
    """One line that shows any value: `coffee`, `ai: Hello`, `{topic: "coffee", papers: [1, 2]}`."""
    return _flat(shorten(_line(thing, _DEPTH), limit))


def shorten(words: str, limit: int = LIMIT) -> str:
    """The text itself, or its first `limit` characters and its length."""
    if len(words) <= limit:
        return words
    return f"{words[:limit].rstrip()}… ({len(words):,} characters)"


def parts(thing: Any) -> Part | None:
    """The named fields of a dataclass, a model, a named tuple or a plain object that declares them, else `None`."""
    kind = type(thing).__name__
    if isinstance(thing, type):
        return None
    if dataclasses.is_dataclass(thing):
        return Part(kind, {field.name: getattr(thing, field.name, None) for field in dataclasses.fields(thing)})
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return Part(kind, dict(zip(thing._fields, thing, strict=False)))
    declared = getattr(type(thing), "model_fields", None)
    if isinstance(declared, Mapping):
        return Part(kind, {name: getattr(thing, name, None) for name in declared})
    return None


class Message(NamedTuple):
    """A chat message as it is shown: who says it, what, and which tools it calls."""

    role: str
    words: str
    calls: tuple[str, ...]


def message(thing: Any) -> Message | None:
    """The role, text and tool calls of a chat message, whichever library made it, else `None`."""
    role, content = getattr(thing, "type", None), getattr(thing, "content", None)
    if isinstance(thing, type) or not isinstance(role, str) or not isinstance(content, str | list):
        return None
    calls = getattr(thing, "tool_calls", None)
    found = calls if isinstance(calls, list) else []
    return Message(role, _content(content), tuple(call(one) for one in found if isinstance(one, Mapping)))


def call(request: Mapping[str, Any]) -> str:
    """A tool call as one would type it: `look_up(order_id=1042)`."""
    arguments = request.get("args")
    given = arguments if isinstance(arguments, Mapping) else {}
    return f"{request.get('name', 'call')}({', '.join(f'{key}={value(one, 40)}' for key, one in given.items())})"


def question(thing: Any) -> str | None:
    """The words in which a value asks something: a text itself, or the text under the clearest key of a mapping.

    `None` where there are no such words: the value itself is all that can be shown.
    """
    if isinstance(thing, str):
        return thing.strip() or None
    key = question_key(thing)
    return None if key is None else str(thing[key]).strip()


def question_key(thing: Any) -> str | None:
    """The key of a mapping that holds the words of a question, the clearest first, else `None`."""
    if not isinstance(thing, Mapping):
        return None
    return next((key for key in _ASKING if isinstance(thing.get(key), str) and thing[key].strip()), None)


def summary(thing: Any) -> str:
    """What a container holds, as a count: `5 items`, `3 keys`, `2 messages`; else the value on one line."""
    if isinstance(thing, str):
        return value(thing)
    if isinstance(thing, Mapping):
        return count(len(thing), "key")
    if isinstance(thing, Sequence | Set) and not isinstance(thing, bytes | bytearray) and parts(thing) is None:
        every = bool(thing) and all(message(one) is not None for one in thing)
        return count(len(thing), "message" if every else "item")
    return value(thing)


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 node`, `3 nodes`, `2 branches`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("ch", "s", "x")):
        return f"{number:,} {noun}es"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{number:,} {noun}s"


def listing(names: Iterable[str], last: str = "and") -> str:
    """Names as they stand in a sentence: `a`, `a and b`, `a, b and c`."""
    every = list(names)
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} {last} {every[-1]}"


def seconds(time: float | None) -> str:
    """A duration: `2.35 s`, `12 ms`, `3 min 20 s`; empty where it is not known."""
    if time is None:
        return ""
    if time < 0.1:
        return f"{time * 1000:.2g} ms" if time < 0.01 else f"{time * 1000:.0f} ms"
    if time < 60:
        return f"{time:.2f} s" if time < 10 else f"{time:.1f} s"
    return f"{int(time // 60)} min {int(time % 60)} s"


def number(amount: float) -> str:
    """A declared amount without needless zeros: 60, 1.5."""
    return f"{amount:g}"


def width(words: str) -> int:
    """How many columns a text takes in a terminal: wide characters count as two, combining ones as none."""
    return sum(0 if unicodedata.combining(one) else 2 if wide(one) else 1 for one in words)


def wide(one: str) -> bool:
    """True where a character is as wide as it is high."""
    return unicodedata.east_asian_width(one) in "WF"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Iterable[int | str] = ()) -> str:
    """Columns under their heads, parted by two spaces; columns in `right` (by name or place) stand flush right."""
    heads = [str(column) for column in columns]
    body = [[_cell(one) for one in row] for row in rows]
    flush = {index for index, head in enumerate(heads) if head in right or index in right}
    widths = [max([width(head), *(width(row[i]) for row in body)]) for i, head in enumerate(heads)]
    lines = [heads, ["─" * wide_as for wide_as in widths], *body]
    return "\n".join(
        "  ".join(_pad(cell, widths[i], i in flush) for i, cell in enumerate(line)).rstrip() for line in lines
    )


def _cell(thing: Any) -> str:
    if thing is None:
        return ""
    if isinstance(thing, str):
        return _flat(shorten(thing))
    return value(thing)


def _pad(cell: str, columns: int, right: bool) -> str:
    blank = " " * (columns - width(cell))
    return blank + cell if right else cell + blank


def _flat(words: str) -> str:
    """A text on one line: line ends and other control characters as their escapes."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in words)


def _content(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    said = []
    for block in content:
        words = block.get("text") if isinstance(block, Mapping) else block
        kind = block.get("type", "block") if isinstance(block, Mapping) else "block"
        said.append(words if isinstance(words, str) else f"[{kind}]")
    return " ".join(said)


def _line(thing: Any, depth: int) -> str:
    if isinstance(thing, str):
        return f'"{shorten(thing)}"' if depth < _DEPTH else thing
    said = message(thing)
    if said is not None:
        called = f"calls {', '.join(said.calls)}" if said.calls else ""
        return f"{said.role}: {' '.join(word for word in (said.words, called) if word)}"
    if isinstance(thing, bytes | bytearray):
        return f"{count(len(thing), 'byte')}"
    if isinstance(thing, BaseException):
        return f"{type(thing).__name__}: {thing}"
    found = parts(thing)
    if found is not None:
        return f"{found.kind}({_pairs(found.fields, depth, '=')})" if depth else f"{found.kind}(…)"
    if isinstance(thing, Mapping):
        return f"{{{_pairs(thing, depth, ': ')}}}" if depth else summary(thing)
    if isinstance(thing, list | tuple | Set):
        return _items(thing, depth) if depth else summary(thing)
    return _repr(thing)


def _pairs(fields: Mapping[Any, Any], depth: int, joint: str) -> str:
    shown = [f"{key}{joint}{_line(one, depth - 1)}" for key, one in list(fields.items())[:_ITEMS]]
    return ", ".join([*shown, *_rest(len(fields))])


def _items(things: Sequence[Any] | Set[Any], depth: int) -> str:
    open_, close = ("[", "]") if isinstance(things, list) else ("(", ")") if isinstance(things, tuple) else ("{", "}")
    shown = [_line(one, depth - 1) for one, _ in zip(things, range(_ITEMS), strict=False)]
    return f"{open_}{', '.join([*shown, *_rest(len(things))])}{close}"


def _rest(size: int) -> list[str]:
    return [f"… {size - _ITEMS:,} more"] if size > _ITEMS else []


def _repr(thing: Any) -> str:
    shape = getattr(thing, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(thing).__name__}, {' × '.join(str(side) for side in shape)}"  # noqa: RUF001 - the sign of a shape
    try:
        return repr(thing)
    except Exception as error:  # a value that cannot show itself must not take the whole view with it
        return f"<{type(thing).__name__} whose repr raised {type(error).__name__}>"
