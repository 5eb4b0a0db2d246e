"""How the Fork widget looks: three columns, from values to HTML. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from widgets.fields import Field
from widgets.history import Checkpoint, named
from widgets.parts import button, control, fault, field_control, minus, radio, select
from widgets.rehearsal import Change, Edit
from widgets.stateform import ROLES, ChannelForm
from workbench import html, signs, text
from workbench.comparison import Comparison
from workbench.diff import ABSENT
from workbench.html import Html, join, tag

__all__ = ["Done", "ForkView", "View"]

_LISTED = 200
_CHANGES = ("channel", "before", "after", "how")
_TEXT = Field((), "text", "text")


class Done(NamedTuple):
    """What came of a fork: in words, the end of its branch, and how it differs from the branch that was left."""

    words: str
    tip: Checkpoint
    failed: bool
    result: Comparison | None


@dataclass(frozen=True)
class View:
    """All that the picture shows."""

    thread: str
    base: Checkpoint | None
    checkpoints: tuple[Checkpoint, ...]
    forms: tuple[ChannelForm, ...]
    raw: Mapping[str, str]
    rev: int
    revs: Mapping[str, int]
    faults: Mapping[tuple[str, int], str]
    reason: str
    problem: str
    trouble: Html
    edit: Edit | None
    done: Done | None
    busy: str | None
    as_node: str
    last: tuple[str, ...]
    writers: tuple[str, ...]


@dataclass(frozen=True)
class ForkView:
    """Draws a view."""

    view: View

    def draw(self) -> Html:
        view = self.view
        if view.base is None:
            head = tag("h2", f"Fork {view.thread}", tabindex="-1", data_wb_home="")
            words = tag(
                "p", "No checkpoint yet. Run the graph on this thread; its checkpoints appear here.", class_="quiet"
            )
            again = tag("div", button("Look again", "refresh"), class_="row")
            return tag("div", head, words, again, class_="wb-stack")
        columns = tag(
            "div",
            tag("div", _moment("1 Checkpoint"), self._list(view.base), self._select(view.base)),
            tag("div", _moment("2 New values"), self._form(), data_wb_live="edit"),
            tag("div", _moment("3 Check"), self._check(view.base)),
            class_="wb-columns",
        )
        said = view.busy or view.problem or view.reason or (view.done.words if view.done else "")
        say = tag("div", said, class_="wb-say", role="status", aria_live="polite", data_wb_key="say")
        return tag("div", self._head(view.base), columns, say, class_="wb-stack", data_wb_form="", data_wb_key="fork")

    def _head(self, base: Checkpoint) -> Html:
        branches = {one.branch for one in self.view.checkpoints}
        where = f" of {base.branch}" if len(branches) > 1 else ""
        title = tag(
            "h2",
            f"Fork {self.view.thread} at checkpoint {_step(base)}{where}",
            tabindex="-1",
            data_wb_home="",
            data_wb_focus=f"done-{base.id}" if self.view.done else None,
        )
        return tag("div", title, class_="wb-head")

    # -- 1 checkpoint -------------------------------------------------------------------------------------------------

    def _branches(self) -> dict[str, list[Checkpoint]]:
        found: dict[str, list[Checkpoint]] = {}
        for one in self.view.checkpoints[-_LISTED:]:
            found.setdefault(one.branch, []).append(one)
        return found

    def _list(self, base: Checkpoint) -> Html:
        branches = self._branches()
        pieces = []
        hidden = len(self.view.checkpoints) - _LISTED
        if hidden > 0:
            pieces.append(tag("div", f"The newest {_LISTED}; {hidden:,} older are not listed.", class_="small quiet"))
        for branch, found in branches.items():
            if len(branches) > 1:
                pieces.append(tag("div", branch, class_="wb-branch"))
            pieces.extend(self._item(one, base) for one in found)
        return tag(
            "div",
            *pieces,
            class_="wb-checkpoints",
            role="group",
            aria_label="Checkpoints",
            data_wb_list="",
            data_wb_key="list",
        )

    def _item(self, one: Checkpoint, base: Checkpoint) -> Html:
        made = f"{one.source}, current" if one.current else one.source
        chosen = one.id == base.id
        return tag(
            "button",
            tag("b", _step(one)),
            tag("span", one.stands, tag("span", made, class_="small quiet wb-made")),
            type="button",
            data_wb_do="pick",
            data_wb_with=f'{{"id": "{one.id}"}}',
            data_wb_key=one.id,
            data_wb_item="",
            data_wb_step=one.step,
            data_wb_checkpoint=one.id,
            tabindex="0" if chosen else "-1",
            aria_current="true" if chosen else None,
            aria_disabled="true" if self.view.busy else None,
        )

    def _select(self, base: Checkpoint) -> Html:
        branches = self._branches()
        options = []
        for branch, found in branches.items():
            name = f"{branch}: " if len(branches) > 1 else ""
            for one in found:
                current = ", current" if one.current else ""
                options.append((one.id, f"{name}{_step(one)}, {one.stands} ({one.source}{current})"))
        chosen = select(
            options,
            base.id,
            class_="field",
            name_="checkpoint",
            data_wb_do="pick",
            data_wb_key="pick",
            data_wb_rev=base.id,
            aria_label="Checkpoint",
            aria_disabled="true" if self.view.busy else None,
        )
        return tag("div", chosen, class_="wb-pick")

    # -- 2 new values -------------------------------------------------------------------------------------------------

    def _form(self) -> Html:
        blocks = [self._block(i, one) for i, one in enumerate(self.view.forms)]
        return tag("div", *blocks, self._node(), class_="wb-stack wb-form")

    def _block(self, place: int, form: ChannelForm) -> Html:
        reducer = [", reducer ", html.code(form.reducer)] if form.reducer else []
        words = tag("span", form.words, *reducer, class_="small quiet")
        title = tag("div", tag("h3", form.label(Field((), "text", ""))), words, class_="wb-title")
        pieces = [title, self._switch(form)]
        if form.adds_message:
            pieces.append(self._message(place, form))
        else:
            pieces.append(self._controls(place, form))
        if wrong := self.view.faults.get((form.channel, -1)):
            pieces.append(fault(wrong))
        return tag(
            "fieldset",
            *pieces,
            class_="wb-channel",
            data_wb_channel=form.channel,
            data_wb_key=f"channel-{place}",
            aria_label=form.channel,
        )

    def _rev(self, form: ChannelForm) -> str:
        """Changes when the controls of a block are to show their values anew."""
        return f"{self.view.rev}-{self.view.revs.get(form.channel, 0)}"

    def _switch(self, form: ChannelForm) -> Html:
        if form.switch is None:
            return Html("")
        name = f"switch-{form.channel}"
        two = [
            radio(
                words,
                name,
                str(i),
                bool(i) == form.overwrite,
                "switch",
                {"channel": form.channel, "overwrite": bool(i)},
            )
            for i, words in enumerate(form.switch)
        ]
        return tag("div", *two, class_="wb-switch", role="radiogroup", aria_label=f"How {form.channel} is written")

    def _controls(self, place: int, form: ChannelForm) -> Html:
        shown = []
        alone = len(form.fields) == 1 and not form.fields[0].path
        for i, one in enumerate(form.fields):
            name = f"{place}-{i}"
            wrong = self.view.faults.get((form.channel, i), "")
            drawn = field_control(
                one,
                name,
                f"value-{name}",
                value=self.view.raw.get(name),
                wrong=bool(wrong),
                rev=self._rev(form),
                label=f"{form.label(one)}, {form.lead or one.words}" if alone else "",
            )
            label = form.lead if alone else f"{'.'.join(one.path)} ({one.words})"
            note = self._note(form, one)
            piece = control(label, drawn, note, wrong, f"value-{name}", reserved=True)
            wide = alone or one.kind in ("json", "lines")
            shown.append(tag("div", piece, class_="wb-wide" if wide else None, data_wb_key=f"at-{name}"))
        return tag("div", *shown, class_="wb-fields")

    def _note(self, form: ChannelForm, one: Field) -> str:
        """What becomes of a field, as the graph itself said."""
        found = (
            []
            if self.view.edit is None
            else [change for change in self.view.edit.changes if change.channel == form.channel]
        )
        if form.fields[0].path:
            mine = [change for change in found if tuple(map(str, change.path[1:])) == one.path]
            return f"replaces {_told(mine[0].before)}" if mine else ""
        if not found or form.overwrite:
            return ""
        if form.reducer is None:
            return ""
        if isinstance(form.value, list):
            added = sum(change.how == "appended" for change in found)
            return f"The list then has {text.count(len(form.value) + added, 'item')}." if added == len(found) else ""
        change = found[0]
        if change.how[:1].isdigit() or change.how[:1] == "-":
            return f"{change.how} = {_told(change.after)}"
        return f"becomes {_told(change.after)}" if len(found) == 1 else ""

    def _message(self, place: int, form: ChannelForm) -> Html:
        """A role and a text, for a new message or in place of one that is there."""
        known = form.messages or ()
        raw = {key: self.view.raw.get(f"{place}-{key}", "") for key in ("target", "role", "text")}
        at = form.target({"target": raw["target"] or "new"})
        rev = self._rev(form)
        targets = [("new", f"new, as message {len(known) + 1}")]
        targets += [(str(i), f"{i + 1}, {text.value(one, 60)}") for i, one in enumerate(known)]

        def name(key: str) -> dict[str, Any]:
            return {"name_": f"{place}-{key}", "id": f"value-{place}-{key}", "data_wb_key": f"value-{place}-{key}"}

        which = select(
            targets[:1] + targets[1:][-50:], raw["target"] or "new", class_="field", data_wb_rev=rev, **name("target")
        )
        said = getattr(known[at], "type", "") if at is not None else ""
        roles = [(said, said)] if said else [(one, one) for one in ROLES]
        role = select(
            roles, said or raw["role"] or ROLES[0], class_="field", data_wb_rev=f"{rev}{said}", **name("role")
        )
        words = field_control(
            _TEXT,
            f"{place}-text",
            f"value-{place}-text",
            value=raw["text"],
            rev=rev,
            wrong=(form.channel, 0) in self.view.faults,
        )
        note = (
            f"Will be message {len(known) + 1}. A message with a known id would replace that one."
            if at is None
            else f"Replaces message {at + 1}, and keeps its id."
        )
        wrong = self.view.faults.get((form.channel, 0), "")
        return join(
            [
                tag(
                    "div",
                    *(
                        [tag("div", control("message", which, id=f"value-{place}-target"), class_="wb-wide")]
                        if known
                        else []
                    ),
                    control("role", role, id=f"value-{place}-role"),
                    control("text", words, id=f"value-{place}-text"),
                    class_="wb-message",
                ),
                fault(wrong) if wrong else tag("div", note, class_="small quiet"),
            ]
        )

    def _node(self) -> Html:
        view = self.view
        names = [named(one) for one in view.last]
        if view.last == ("__start__",):
            lead = "nothing has run yet, so this is written as the input"
        elif len(names) == 1:
            lead = f"{names[0]} wrote last" if len(view.writers) > 1 else f"{names[0]} is the only node"
        else:
            lead = f"{text.listing(names)} {'both' if len(names) == 2 else 'all'} wrote last. Choose one."
        options = [] if view.as_node and len(names) == 1 else [("", "Choose one")]
        options += [(one, named(one)) for one in view.writers]
        chosen = select(
            options,
            view.as_node,
            class_="field",
            name_="as-node",
            id="as-node",
            data_wb_key="as-node",
            data_wb_rev=f"{view.rev}",
            aria_label=f"Write as node, {lead}",
        )
        note = "The edges of this node decide what runs next."
        body = control(lead, chosen, note, id="as-node")
        return tag(
            "div", tag("div", tag("h3", "Write as node"), class_="wb-title"), body, class_="wb-channel wb-as-node"
        )

    # -- 3 check ------------------------------------------------------------------------------------------------------

    def _check(self, base: Checkpoint) -> Html:
        view = self.view
        pieces = []
        if view.problem:
            pieces.append(view.trouble)
        if view.done:
            pieces.append(self._done(view.done))
        pieces.append(self._changes())
        pieces.append(self._next(base))
        pieces.append(tag("div", *self._branch(base), class_="wash wb-branching"))
        pieces.append(self._buttons(base))
        return tag("div", *pieces, class_="wb-check")

    def _done(self, done: Done) -> Html:
        tip = done.tip
        sign: signs.Status = "failed" if done.failed else "interrupted" if tip.waits else "next" if tip.next else "ran"
        head = tag("div", html.sign(sign), tag("b", done.words), class_="row wb-done")
        pieces = [head]
        if tip.waits and tip.current:
            pieces.append(tag("p", "Answer it with ", html.code("Resume(session)"), ".", class_="small quiet"))
        if done.result is not None:
            pieces.append(tag("div", done.result.fragment(), class_="wb-scroll wb-result"))
        return tag("div", *pieces, class_="wb-stack")

    def _changes(self) -> Html:
        view = self.view
        if view.reason:
            body = tag("p", view.reason, class_="wb-problem")
        elif view.edit is not None and view.edit.changes:
            body = html.table(_CHANGES, list(self._rows(view.edit)), mono=("channel",), wide=True)
        elif view.faults:
            body = _no_changes(f"{text.count(len(view.faults), 'field')} cannot be read yet.")
        elif view.edit is not None:
            body = _no_changes("Nothing changes in the state; only what runs next may.")
        else:
            body = _no_changes("Nothing changes yet.")
        return tag("div", tag("h3", "What will change"), body, class_="wb-diff")

    def _rows(self, edit: Edit) -> Iterator[list[Any]]:
        values = {form.channel: form.value for form in self.view.forms}
        told: set[str] = set()
        for one in edit.changes[:50]:
            whole = values.get(one.channel)
            if one.before is ABSENT and isinstance(whole, list) and len(one.path) == 2:
                label = "state" if one.channel == "__root__" else one.channel
                before = Html("") if one.channel in told else html.escape(text.summary(whole) if whole else "empty")
                told.add(one.channel)
                yield [html.code(label), before, _new(f"+ {text.value(one.after, 200)}"), _how(one)]
            else:
                yield [html.code(one.label), _old(one.before), _new(_told(one.after)), _how(one)]
        if len(edit.changes) > 50:
            yield [Html(""), Html(""), f"and {len(edit.changes) - 50} more", Html("")]

    def _next(self, base: Checkpoint) -> Html:
        view = self.view
        if view.edit is None:
            rows = [tag("div", html.sign("next"), tag("b", named(one)), class_="row") for one in base.next]
        else:
            rows = []
            for woken in view.edit.woken:
                by: list[Any] = []
                if woken.channel is not None and woken.after is not None:
                    moved = woken.after if woken.before == woken.after else f"{woken.before or 'none'} → {woken.after}"
                    by = [
                        ", woken by ",
                        html.code(woken.channel),
                        " ",
                        html.version(moved, woken.before != woken.after),
                    ]
                rows.append(tag("div", html.sign("next"), tag("span", tag("b", named(woken.node)), *by), class_="row"))
        if not rows:
            rows = [tag("p", "Nothing: the thread ends here.", class_="quiet")]
        return tag("div", tag("h3", "What runs next"), tag("div", *rows, class_="wb-next"), aria_live="polite")

    def _branch(self, base: Checkpoint) -> list[Any]:
        """Whether a branch begins, and what stays."""
        leaves = any(one.parent_id == base.id for one in self.view.checkpoints) or bool(base.next)
        if leaves:
            return [
                f"A new branch starts with checkpoint {minus(base.step + 1)}. The branch ",
                tag("b", base.branch),
                " stays as it is.",
            ]
        return [f"Checkpoint {minus(base.step + 1)} follows the end of ", tag("b", base.branch), ". Nothing is lost."]

    def _buttons(self, base: Checkpoint) -> Html:
        view = self.view
        wrong = bool(view.faults or view.reason)
        if view.busy:
            run: list[Any] = [
                tag("span", html.sign("running"), class_="wb-running"),
                tag("span", view.busy),
                tag("span", class_="wb-elapsed small", aria_hidden="true", data_wb_since=f"{view.rev}-{base.id}"),
                button("Stop", "stop"),
            ]
            return tag("div", *run, class_="row wb-buttons")
        ready = view.edit is not None and not wrong
        return tag(
            "div",
            button("Fork and run on", "run", kind="primary", disabled=wrong or not (ready or base.next)),
            button("Fork only", "fork", disabled=not ready),
            button("Reset", "reset", kind="text", disabled=not (view.edit or wrong or view.raw)),
            class_="row wb-buttons",
        )


def _no_changes(words: str) -> Html:
    """The table of changes before there are any: as high as with the first one, so that this moves nothing."""
    heads = (tag("th", head, scope="col") for head in _CHANGES)
    row = tag("tr", tag("td", words, class_="quiet", colspan=len(_CHANGES)))
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", row), class_="wb-table wide")


def _moment(words: str) -> Html:
    return tag("div", words, class_="moment")


def _step(one: Checkpoint) -> str:
    return minus(one.step)


def _told(value: Any) -> str:
    return "" if value is ABSENT else text.value(value, 200)


def _old(value: Any) -> Html:
    return Html("") if value is ABSENT else tag("span", _told(value), class_="old wb-old")


def _new(words: str) -> Html:
    return tag("span", words, class_="new wb-new") if words else Html("")


def _how(one: Change) -> Html:
    return tag("span", one.how, class_="small quiet")
