"""What an edit would do, tried on a copy of one checkpoint in memory; the graph's own saver hears nothing of it.

The copy holds the checkpoint, what was pending there, and its forebears where a channel is kept as differences. The
graph is a shallow clone with the copy as its checkpointer. So the engine itself says what comes of the edit: reducers
fold, and the routers behind the node decide. They are the only code of the user's that runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from widgets import engine
from widgets.errors import EditRefused
from widgets.fields import adapter_for
from widgets.history import Checkpoint, checkpoint_of, named
from workbench import html, text
from workbench.comparison import where
from workbench.diff import ABSENT, Operation, diff

__all__ = ["ABSENT", "Change", "Edit", "Woken", "last_writers", "rehearse", "writers"]


class Change(NamedTuple):
    """A value that differs: where (the channel, then keys and places), what it was and is, and how ("1 + 2").

    `before` or `after` is `ABSENT` where there is none.
    """

    path: tuple[Any, ...]
    before: Any
    after: Any
    how: str

    @property
    def channel(self) -> str:
        return str(self.path[0])

    @property
    def label(self) -> str:
        """The place as one would type it: `order.total`, `messages[3]`."""
        head = "state" if self.channel == engine.ROOT else self.channel
        return where((head, *self.path[1:]))


class Woken(NamedTuple):
    """A node that runs next, and the channel that wakes it, with its version before and after. None: not told."""

    node: str
    channel: str | None
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Edit:
    """An edit of the checkpoint `base`: what changes, and what runs next. `checkpoint` is None until it is made."""

    base: Checkpoint
    as_node: str
    changes: tuple[Change, ...]
    woken: tuple[Woken, ...]
    checkpoint: Checkpoint | None = None

    @property
    def next(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.node for one in self.woken))

    @property
    def words(self) -> str:
        """The edit in a sentence."""
        verb = "Written" if self.checkpoint else "Would be written"
        runs = f"next {text.listing(map(named, self.next))}" if self.next else "nothing runs next"
        return f"{verb} on checkpoint {self.base.step} as {named(self.as_node)}; {runs}."

    def __str__(self) -> str:
        return f"{self.words}\n{text.table(('channel', 'before', 'after', 'how'), self._rows())}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = html.fragment(
            html.tag("p", self.words),
            html.table(("channel", "before", "after", "how"), self._rows(), mono=("channel",)),
        )
        return {"text/plain": str(self), "text/html": str(shown)}

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(one.label, shown(one.before), shown(one.after), one.how) for one in self.changes]


def shown(value: Any) -> str:
    """A channel's value on one line."""
    return "<NA>" if value is ABSENT else text.value(value)


def quoted(value: Any) -> str:
    """A value as it stands in a sentence."""
    return f"“{text.value(value)}”" if isinstance(value, str) else text.value(value)


def writers(graph: Any) -> tuple[str, ...]:
    """The nodes in whose name an edit can be written, in the graph's order."""
    known = [name for name, node in graph.nodes.items() if name != "__start__" and getattr(node, "writers", True)]
    builder = getattr(graph, "builder", None)
    made = getattr(builder, "nodes", None)
    return tuple(name for name in known if made is None or name in made)


def last_writers(graph: Any, base: Checkpoint) -> tuple[str, ...]:
    """The nodes that may have written last, as the engine sees it: one is clear, several are ambiguous.

    `("__start__",)` where nothing has run yet.
    """
    known = writers(graph)
    if len(known) == 1:
        return known
    saved = graph.checkpointer.get_tuple(dict(base.config))
    seen = saved.checkpoint.get("versions_seen", {}) if saved is not None else {}
    latest = {name: max(seen[name].values()) for name in known if seen.get(name)}
    if not latest:
        return ("__start__",)
    newest = max(latest.values())
    return tuple(name for name in known if latest.get(name) == newest)


def rehearse(graph: Any, base: Checkpoint, values: Any, as_node: str | None) -> Edit:
    """The edit, without making it. Raises `EditRefused` with the reason and the way out."""
    _check_values(graph, values)
    writer = _writer(graph, base, as_node)
    try:
        after, woken = _try(graph, base, values, writer)
    except Exception as error:
        raise _refusal(graph, base, values, writer, error) from error
    told = values if isinstance(values, Mapping) else {engine.ROOT: values}
    before, held = engine.by_channel(base.values), engine.by_channel(after)
    found = diff(before, held)
    touched = dict.fromkeys(one.path[0] for one in found if one.path[0] in told)
    _check_result(graph, base, {name: held.get(name, ABSENT) for name in touched})
    kinds = engine.channels(graph)
    return Edit(
        base,
        writer,
        tuple(
            Change(one.path, one.before, one.after, _how(kinds.get(one.path[0]), one, told.get(one.path[0], ABSENT)))
            for one in found
        ),
        woken,
    )


# -- the try ----------------------------------------------------------------------------------------------------------


def _try(graph: Any, base: Checkpoint, values: Any, writer: str) -> tuple[Any, tuple[Woken, ...]]:
    saver = _copy(graph, base)
    clone = graph.copy({"checkpointer": saver})
    written = clone.update_state(dict(base.config), values, as_node=writer)
    snapshot = clone.get_state(written)
    made = checkpoint_of(snapshot)
    before = saver.get_tuple(dict(base.config)).checkpoint["channel_versions"]
    after = saver.get_tuple(written).checkpoint["channel_versions"]
    return snapshot.values, tuple(_woken(graph, made.next if made else (), before, after))


def _copy(graph: Any, base: Checkpoint) -> Any:
    """A saver in memory that holds the checkpoint, and what it needs to be read."""
    source = graph.checkpointer
    saver = engine.word(graph, "checkpoint.memory", "InMemorySaver")(serde=getattr(source, "serde", None))
    saver.get_next_version = source.get_next_version  # versions go on in the same form
    deltas = any(type(channel).__name__ == "DeltaChannel" for channel in graph.channels.values())
    for saved in reversed(list(_forebears(source, dict(base.config), deltas))):
        place = saved.config["configurable"]
        above = {key: place[key] for key in ("thread_id", "checkpoint_ns") if key in place}
        parent = saved.parent_config or {"configurable": above}
        versions = saved.checkpoint["channel_versions"]
        config = saver.put(parent, saved.checkpoint, saved.metadata, versions)
        by_task: dict[str, list[tuple[str, Any]]] = {}
        for task_id, channel, value in saved.pending_writes or ():
            by_task.setdefault(task_id, []).append((channel, value))
        for task_id, writes in by_task.items():
            saver.put_writes(config, writes, task_id)
    return saver


def _forebears(source: Any, config: dict[str, Any], every: bool) -> Iterator[Any]:
    saved = source.get_tuple(config)
    while saved is not None:
        yield saved
        saved = source.get_tuple(saved.parent_config) if every and saved.parent_config else None


def _woken(graph: Any, nodes: tuple[str, ...], before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Woken]:
    for node in nodes:
        triggers = getattr(graph.nodes.get(node), "triggers", ())
        channel = next((one for one in triggers if after.get(one) != before.get(one)), None)
        channel = channel or next((one for one in triggers if one in after), None)
        if channel is None:
            yield Woken(node, None, None, None)
        else:
            yield Woken(node, channel, version(before.get(channel)), version(after.get(channel)))


def version(given: Any) -> str | None:
    """A channel's version as people read it: v4; None where there is none."""
    if given in (None, "", 0):
        return None
    head = str(given).split(".")[0].lstrip("0")
    return f"v{head or 0}"


# -- what is refused --------------------------------------------------------------------------------------------------


def _check_values(graph: Any, values: Any) -> None:
    if not isinstance(values, Mapping):
        return
    known = engine.channels(graph)
    for name in values:
        if name not in known and engine.ROOT not in known:
            raise EditRefused(
                f"The state has no channel {text.value(name)!r}. It has {text.listing(known)}.", channel=str(name)
            )


def _writer(graph: Any, base: Checkpoint, as_node: str | None) -> str:
    known = writers(graph)
    if as_node is not None:
        if as_node in known or as_node == "__start__":
            return as_node
        raise EditRefused(
            f"The graph has no node {text.value(as_node)!r} to write as. It has {text.listing(known)}.",
            as_node=as_node,
            candidates=known,
        )
    last = last_writers(graph, base)
    if len(last) == 1:
        return last[0]
    raise EditRefused(
        f"{text.listing(last)} all wrote last. Choose one: as_node={last[0]!r}."
        if len(last) > 2
        else f"{text.listing(last)} both wrote last. Choose one: as_node={last[0]!r}.",
        candidates=last,
    )


def _refusal(graph: Any, base: Checkpoint, values: Any, writer: str, error: Exception) -> EditRefused:
    """The reason as a sentence, with the channel at fault where one alone fails, too."""
    said = " ".join(str(error).split("\nFor troubleshooting", 1)[0].split()).rstrip(".")
    guilty = None
    if isinstance(values, Mapping) and len(values) > 1:
        guilty = next((name for name in values if not _works(graph, base, {name: values[name]}, writer)), None)
    elif isinstance(values, Mapping) and values:
        guilty = next(iter(values))
    if guilty is not None and not _works(graph, base, {}, writer):
        guilty = None
    place = (
        f"Channel {guilty!r} cannot take {quoted(values[guilty])}"
        if guilty
        else f"Written as {named(writer)}, this fails"
    )
    return EditRefused(f"{place}: {type(error).__name__}: {said}. Nothing was written.", channel=guilty, as_node=writer)


def _works(graph: Any, base: Checkpoint, values: Any, writer: str) -> bool:
    try:
        _try(graph, base, values, writer)
    except Exception:
        return False
    return True


def _check_result(graph: Any, base: Checkpoint, after: Mapping[str, Any]) -> None:
    """Each edited channel must hold what its declared type allows, if what it held before did."""
    declared = engine.declared(graph)
    before = engine.by_channel(base.values)
    schema = getattr(getattr(graph, "builder", None), "state_schema", None)
    strict = not hasattr(schema, "model_fields")  # a model converts what it reads; other states are taken as they are
    for name, value in after.items():
        adapter = adapter_for(declared.get(name, Any))
        if adapter is None or value is ABSENT or _fault(adapter, value, strict) is None:
            continue
        if name in before and _fault(adapter, before[name], strict) is not None:
            continue
        raise EditRefused(
            f"Channel {name!r} is declared as {kind(declared[name])} and cannot hold {quoted(value)}: "
            f"{_fault(adapter, value, strict)}. Nothing was written.",
            channel=name,
        )


def _fault(adapter: TypeAdapter[Any], value: Any, strict: bool) -> str | None:
    try:
        adapter.validate_python(value, strict=strict)
    except ValueError as error:
        details = getattr(error, "errors", None)
        found = details(include_url=False, include_context=False) if callable(details) else []
        return str(found[0]["msg"]) if found else str(error)
    except Exception:  # a validator of the user's that fails is no verdict
        return None
    return None


def kind(annotation: Any) -> str:
    """A type as one would write it: `int`, `list[str]`."""
    inner = getattr(annotation, "__origin__", None) if hasattr(annotation, "__metadata__") else None
    annotation = annotation if inner is None else inner
    plain = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    return annotation.__name__ if plain else str(annotation).replace("typing.", "")


# -- how a value came about -------------------------------------------------------------------------------------------


def _how(channel: Any, change: Operation, given: Any) -> str:
    """How one value came about: what was done to it, or what its reducer made of it."""
    function = engine.reducer(channel)
    replaced, value = engine.overwritten(given)
    before, after = change.before, change.after
    plain = {"add": "new", "append": "appended", "remove": "removed", "replace": "replaced"}[change.op]
    if replaced:
        return "overwritten"
    if function is None or given is ABSENT or change.op != "replace" or len(change.path) > 1:
        return plain
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in (before, value, after)):
        if after == before + value:
            return f"{before} {'+' if value >= 0 else '−'} {abs(value)}"  # noqa: RUF001 - a minus sign for people
    elif isinstance(value, str) and isinstance(before, str) and after == before + value:
        return "appended"
    return f"by {engine.reducer_name(function)}"
