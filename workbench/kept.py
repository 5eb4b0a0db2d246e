"""A recording in a file: its events, written so that reading them runs no code of anybody's.

The file is gzipped MessagePack. What several events hold is in it once: a list that grows by one message at each
superstep costs a message each time. Values go through the serializer of the checkpoints, and by the same rule: only
types that it trusts come back as objects. What it cannot store is kept as its text, as is the code of nodes: of a
graph, its shape, its channels, and what wakes its nodes are in the file, and that is enough to draw and to explain.
"""

from __future__ import annotations

import builtins
import gzip
import operator
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import ormsgpack

from runtime import events
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.types import Interrupt
from workbench import channels, text, topology
from workbench.channels import ChannelMap
from workbench.freeze import DROPPED, NotCopied
from workbench.inplace import InputChanged
from workbench.topology import Topology

_FORMAT: Final = "pregel-workbench recording 1"
_INLINE: Final = (type(None), bool, float)
_SHORT: Final = 40
_INTEGERS: Final = range(-(2**63), 2**63)
_FACTS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        *events.KINDS, events.Trigger, events.Planned, events.Write, events.Change, events.Interrupted, InputChanged,
        topology.Topology, topology.Node, topology.Edge, topology.Join,
        channels.ChannelMap, channels.Actor, channels.Channel,
    )
}  # fmt: skip
_NO_CODE: Final = "It was loaded from a file, which has no code: rules and drawings that read a node's code are silent."


class Contents(NamedTuple):
    """What a file holds of a recording."""

    events: Sequence[Any]
    missing: Sequence[str]
    output: Any
    error: BaseException | None


class KeptNode(NamedTuple):
    """What wakes a node, and what it reads: a channel, or several."""

    triggers: tuple[str, ...]
    channels: Any


class KeptChannel(NamedTuple):
    """The members that a barrier waits for, and the name of a reducer."""

    names: tuple[str, ...]
    reducer: str


class KeptGraph:
    """What a file holds of a graph that ran. It can be drawn and explained, and not be run."""

    def __init__(self, name: str, shape: Topology | None, found: ChannelMap | None, reads: Mapping[str, Any]) -> None:
        self.name = name
        self.topology = shape
        self.channel_map = found
        self.nodes = {
            actor.name: KeptNode(actor.wakes, reads.get(actor.name)) for actor in (found.actors if found else ())
        }
        self.channels = {one.name: KeptChannel(one.waits, one.reducer) for one in (found.channels if found else ())}


class KeptError(Exception):
    """Stands for an error whose class is not among Python's own; it has that class's name, and its message."""


def save(contents: Contents, path: Path) -> Path:
    """Write a recording's contents there, all or nothing; gives the path."""
    writer = _Writer()
    found = {
        "format": _FORMAT,
        "events": [writer.put(event) for event in contents.events],
        "output": writer.put(contents.output),
        "error": writer.put(contents.error),
        "missing": [*contents.missing, *writer.lost()],
        "table": writer.table,
    }
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(gzip.compress(ormsgpack.packb(found), compresslevel=6, mtime=0))
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def load(path: Path, serde: Any = None) -> Contents:
    """What `save` wrote. ValueError, which names the file, where it is no recording or is damaged."""
    whole = path.read_bytes()
    try:
        found = ormsgpack.unpackb(gzip.decompress(whole))
        if found["format"] != _FORMAT:
            raise ValueError(f"it says {text.value(found['format'], 60)}, and not {_FORMAT!r}")
        reader = _Reader(found["table"], serde or JsonPlusSerializer())
        told = [reader.get(event) for event in found["events"]]
        missing = [str(sentence) for sentence in found["missing"]]
        contents = Contents(told, missing, reader.get(found["output"]), reader.get(found["error"]))
    except Exception as error:  # damaged bytes fail anywhere: in the unpacking, in a type, in the serializer
        raise ValueError(f"{path} cannot be read as a recording: {type(error).__name__}: {error}.") from error
    if any(type(event) not in _EVENTS for event in contents.events):
        raise ValueError(f"{path} cannot be read as a recording: it holds what is no event.")
    return contents._replace(missing=list(dict.fromkeys((*missing, _NO_CODE))))


_EVENTS: Final = frozenset((*events.KINDS, InputChanged))


class _Writer:
    """Puts values into a table, each object once. A value is an atom, or the place of its row."""

    def __init__(self) -> None:
        self.table: list[Any] = []
        self._serde = JsonPlusSerializer()
        self._places: dict[int | str, int | None] = {}
        self._held: list[Any] = []
        self._lists: dict[tuple[int, ...], list[Any]] = {}
        self._packed: dict[bytes, tuple[int, int, bytes | None]] = {}
        self._rows: dict[bytes, int] = {}
        self._graphs: dict[int, KeptGraph | None] = {}
        self._texts = 0

    def lost(self) -> list[str]:
        """What the file lacks, as sentences."""
        lost = text.count(self._texts, "value")
        return [f"{lost} could not be stored; the file has only the text."] if self._texts else []

    def put(self, value: Any) -> Any:
        """The value as an atom, or as a list of one number, its place in the table."""
        if type(value) in _INLINE or (type(value) is int and value in _INTEGERS):
            return value
        if type(value) is str and len(value) <= _SHORT and value.isascii():
            return value
        key = value if type(value) is str else id(value)
        known = self._places.get(key, -1)
        if known == -1:
            self._places[key] = None
            self._held.append(value)  # its id stays its own as long as it is there
            known = self._places[key] = self._add(self._row(value))
        elif known is None:  # it holds itself
            known = self._add(self._as_text(value))
        return [known]

    def _add(self, row: list[Any]) -> int:
        """The place of a row; one that is there already is not added again."""
        packed = ormsgpack.packb(row)
        place = self._rows.setdefault(packed, len(self.table))
        if place == len(self.table):
            self.table.append(row)
        return place

    def _row(self, value: Any) -> list[Any]:
        kind = type(value)
        if _FACTS.get(kind.__name__) is kind:
            if kind is events.RunStarted:
                value = value._replace(graph=self._graph(value.graph))
            return ["fact", kind.__name__, *map(self.put, value)]
        if kind is list:
            return self._items(value)
        if kind is tuple or kind is frozenset:
            return [kind.__name__, *map(self.put, value)]
        if kind is dict or kind is MappingProxyType:
            return ["dict", *(self.put(part) for pair in value.items() for part in pair)]
        if kind is KeptGraph:
            reads = {name: node.channels for name, node in value.nodes.items()}
            return ["graph", *map(self.put, (value.name, value.topology, value.channel_map, reads))]
        if kind.__name__ == "Interrupt":
            return ["asked", *map(self.put, (value.value, value.id, getattr(value, "response_schema", None)))]
        if kind is NotCopied:
            return ["text", value.kind, _plain(value.text)]
        if value is DROPPED:
            return ["dropped"]
        if isinstance(value, BaseException):
            return ["error", kind.__name__, _plain(str(value))]
        try:
            return ["value", *self._serde.dumps_typed(value)]
        except Exception:  # whatever a serializer raises: the text is kept
            return self._as_text(value)

    def _items(self, value: list[Any]) -> list[Any]:
        """A list; one that begins as the last one with its first items did, as that one and the rest."""
        start = tuple(map(id, value[:2]))
        known, self._lists[start] = self._lists.get(start), value
        if known is not None and len(known) <= len(value) and all(map(operator.is_, known, value)):
            return ["longer", self.put(known), *map(self.put, value[len(known) :])]
        items = [*map(self.put, value)]
        packed = ormsgpack.packb(items)[1 if len(items) < 16 else 3 if len(items) < 2**16 else 5 :]
        first = ormsgpack.packb(items[:2])
        size, place, before = self._packed.get(first, (0, 0, None))
        begins = before is not None and packed.startswith(before)
        row = ["longer", [place], *items[size:]] if begins else ["list", *items]
        self._packed[first] = (len(items), self._add(row), packed)
        return row

    def _graph(self, graph: Any) -> KeptGraph | None:
        if id(graph) not in self._graphs:
            self._graphs[id(graph)] = _kept(graph)
        return self._graphs[id(graph)]

    def _as_text(self, value: Any) -> list[Any]:
        self._texts += 1
        return ["text", type(value).__name__, _plain(text.value(value, 2000))]


class _Reader:
    """Makes the values of a table again. A row names only rows before it, so there is no cycle and no depth."""

    def __init__(self, table: Sequence[Any], serde: Any) -> None:
        self._serde = serde
        self._made: list[Any] = []
        for row in table:
            self._made.append(self._value(*row))

    def get(self, given: Any) -> Any:
        """The value of an atom or of a place."""
        return self._made[given[0]] if isinstance(given, list) else given

    def _value(self, tag: str, *given: Any) -> Any:
        parts = [self.get(one) for one in given]
        match tag:
            case "fact":
                return _FACTS[parts[0]](*parts[1:])
            case "list":
                return parts
            case "longer":
                return [*parts[0], *parts[1:]]
            case "tuple":
                return tuple(parts)
            case "frozenset":
                return frozenset(parts)
            case "dict":
                return dict(zip(parts[::2], parts[1::2], strict=True))
            case "graph":
                return KeptGraph(*parts)
            case "asked":
                return Interrupt(*parts)
            case "text":
                return NotCopied(*parts)
            case "dropped":
                return DROPPED
            case "error":
                return _error(*parts)
            case "value":
                return self._serde.loads_typed(tuple(parts))
        raise ValueError(f"it has a row {tag!r}")


def _kept(graph: Any) -> KeptGraph | None:
    """What can be kept of a graph; what it does not tell is left out."""
    if graph is None or isinstance(graph, KeptGraph):
        return graph
    nodes = getattr(graph, "nodes", None)
    reads = {
        str(name): list(given) if isinstance(given, list | tuple) else given if isinstance(given, str) else None
        for name, node in (nodes.items() if isinstance(nodes, Mapping) else ())
        for given in (getattr(node, "channels", None),)
    }
    name = getattr(graph, "name", None)
    shown = name if isinstance(name, str) else type(graph).__name__
    return KeptGraph(shown, _told(topology.of, graph), _told(channels.of, graph), reads)


def _told(read: Any, graph: Any) -> Any:
    try:
        return read(graph)
    except Exception:  # a graph of another version, or one that is no graph: the file does without
        return None


def _error(name: str, message: str) -> BaseException:
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, UnicodeError):
        return known(message)
    made: BaseException = type(name, (KeptError,), {})(message)
    return made


def _plain(words: str) -> str:
    """The text without lone surrogates, which UTF-8 has no room for."""
    return words.encode("utf-8", "replace").decode("utf-8")
