"""A state snapshot as text and HTML: where the run stands, its values, and what waits for an answer."""

from collections.abc import Mapping
from typing import Any

from workbench import html, text
from workbench.html import Html
from workbench.outline import name
from workbench.signs import Status


def bundle(snapshot: Any) -> dict[str, str]:
    """What a notebook shows of a snapshot, of either engine."""
    return {"text/html": page(snapshot), "text/plain": words(snapshot)}


def words(snapshot: Any) -> str:
    """The snapshot in text: a line on where it stands, then a table of the values."""
    rows = [[key, text.value(one)] for key, one in _values(snapshot).items()]
    asked = [f"{node} asks: {' '.join(map(text.value, _told(value)))}" for node, value in _questions(snapshot)]
    return "\n".join([stands(snapshot), *asked, text.table(["channel", "value"], rows)])


def page(snapshot: Any) -> Html:
    """The snapshot as a fragment."""
    sign: Status = "interrupted" if _questions(snapshot) else "next" if snapshot.next else "ran"
    head = html.tag("h2", html.sign(sign, stands(snapshot)))
    asked = [html.tag("p", f"{node} asks: ", *map(html.value, _told(value))) for node, value in _questions(snapshot)]
    rows = [[key, html.value(one)] for key, one in _values(snapshot).items()]
    body = html.table(["channel", "value"], rows, mono=["channel"])
    return html.fragment(html.tag("div", head, *asked, body, class_="stack"))


def stands(snapshot: Any) -> str:
    """Where the run stands, with step and thread: `Waits at review, step 3, thread order-1042`."""
    metadata = snapshot.metadata or {}
    place = (snapshot.config or {}).get("configurable", {})
    asking = list(dict.fromkeys(node for node, _ in _questions(snapshot)))
    if asking:
        said = f"Waits at {text.listing(asking)}"
    elif snapshot.next:
        said = f"Next {text.listing(map(name, dict.fromkeys(snapshot.next)))}"
    else:
        said = "Ended" if metadata else "No checkpoint here"
    step = f"step {metadata['step']}, {metadata.get('source', 'loop')}" if "step" in metadata else ""
    thread = f"thread {place['thread_id']}" if "thread_id" in place else ""
    return ", ".join(part for part in (said, step, thread) if part)


def _values(snapshot: Any) -> Mapping[str, Any]:
    values = snapshot.values
    found = values if isinstance(values, Mapping) else {"value": values}
    return {str(key): one for key, one in found.items()}


def _told(value: Any) -> list[Any]:
    """What is asked as it is told: the words of the question, then what the value holds besides."""
    words, key = text.question(value), text.question_key(value)
    rest = {name: one for name, one in value.items() if name != key} if key is not None else None
    return [one for one in (words, rest) if one] or [value]


def _questions(snapshot: Any) -> list[tuple[str, Any]]:
    return [(name(task.name), one.value) for task in snapshot.tasks for one in task.interrupts]
