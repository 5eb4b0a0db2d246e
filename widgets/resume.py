"""The Resume widget: a card for each question that waits, and the run's answer to what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from widgets.fields import Field, read_json
from widgets.forms import Form
from widgets.history import named
from widgets.live import Live
from widgets.parts import button, control, fault, field_control, values_table
from widgets.questions import Answers, Ask, Question, question
from widgets.schema import complaints
from widgets.session import Session
from workbench import html, signs, text
from workbench.html import Html, join, tag

__all__ = ["Resume"]

Place = tuple[str, int]
"""An ask: the interrupt's id, and its place among the asks of that interrupt."""


class Draft(NamedTuple):
    """An answer that was given and not yet sent: how it reads, and what it is."""

    words: str
    answer: Any


_TEXT = Field((), "text", "text")
_JSON = Field((), "json", "JSON")


class Resume(Live):
    """Cards for the questions that a thread asks, to be answered in the notebook.

    Takes a session, or a graph and the name of a thread. `answers` names the buttons and what each sends, instead of
    what is guessed from the question: `{"Ship it": {"ok": True}, "Stop": None}`, or a function of a `Pending` that
    gives such a mapping, or None for the usual ones. What is sent otherwise: `widgets.questions`.
    """

    named = "Resume"

    def __init__(
        self, session: Session | Any, thread: str | None = None, *, answers: Answers | None = None, **options: Any
    ) -> None:
        super().__init__(Session.of(session, thread), **options)
        self._answers = answers
        self._questions: tuple[Question, ...] = ()
        self._drafts: dict[Place, Draft] = {}
        self._open: dict[Place, str] = {}
        self._raw: dict[Place, Mapping[str, str]] = {}
        self._faults: dict[Place, dict[int, str]] = {}
        self._snapshot: Any = None
        self._stands = ""
        self._busy: str | None = None
        self._focus = 0
        self._at: Place | None = None
        self._unsent: tuple[str, ...] = ()
        self.refresh()

    # -- looking ------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        self._busy = self.session.busy
        if self._busy and self._snapshot is not None:
            return  # while a run goes on, the cards stay as they were answered
        self._snapshot = self.session.latest
        self._stands = self.session.stands
        self._questions = tuple(question(one, self._answers) for one in self.session.pending)
        known = {(one.pending.id, i) for one in self._questions for i in range(len(one.asks))}
        for kept in (self._drafts, self._open, self._raw, self._faults):
            for place in kept.keys() - known:
                kept.pop(place)

    @property
    def answered(self) -> dict[str, Any]:
        """The answers that are ready to be sent, by the id of their question."""
        return {
            one.pending.id: one.join([self._drafts[place].answer for place in _places(one)])
            for one in self._questions
            if self._drafts.keys() >= set(_places(one))
        }

    # -- acting -------------------------------------------------------------------------------------------------------

    def act(self, do: str, given: Mapping[str, Any], form: Mapping[str, str]) -> None:
        if do == "refresh":
            return
        self._unsent = ()
        if do == "stop":
            self.session.pause()
        elif do in ("resume", "go on"):
            if self._late(*self.answered):
                self._refuse_late(())
            else:
                self.work(self._reply if do == "resume" else self.session.run)
        else:
            self._answer(do, (str(given.get("id")), _number(given.get("part"))), given, form)

    def _answer(self, do: str, place: Place, given: Mapping[str, Any], form: Mapping[str, str]) -> None:
        """One card's intent."""
        ask = self._ask(place)
        if ask is None or self._late(place[0]):
            self._raw[place] = form
            self._refuse_late(self._typed(place, ask, form) if ask is not None and do == "save" else ())
            return
        self._faults.pop(place, None)
        self._focus, self._at = self._focus + 1, place
        if do == "open":
            self._open[place] = str(given.get("way"))
            self._raw[place] = {}
        elif do == "close":
            self._open.pop(place, None)
        elif do == "change":
            self._drafts.pop(place, None)
        elif do == "choose":
            at = _number(given.get("choice"))
            if 0 <= at < len(ask.choices):
                self._take(place, Draft(*ask.choices[at]))
        elif do == "save":
            self._read(place, ask, form)

    def _read(self, place: Place, ask: Ask, form: Mapping[str, str]) -> None:
        """Take what was typed, or say what is wrong with it, field by field."""
        way = self._open.get(place, ask.first)
        self._raw[place] = form
        wrong: dict[int, str] = {}
        answer: Any = None
        if way == "json":
            try:
                answer = read_json(form.get("0", ""))
            except ValueError as error:
                wrong = {0: str(error)}
        elif way == "words":
            typed = form.get("0", "")
            answer, wrong = (ask.said(typed), {}) if typed.strip() else (None, {0: "Write an answer first."})
        else:
            values, wrong = (self._form(ask, way)).read(form)
            answer = ask.edited(values) if way == "edit" else values
        schema = self._schema(place)
        if not wrong and schema and (found := complaints(schema, answer)):
            wrong = {0: " ".join(found)}
        if wrong:
            self._faults[place] = wrong
        else:
            words = {"edit": "with new arguments", "words": text.value(form.get("0", ""), 120)}.get(way)
            self._take(place, Draft(words or text.value(answer, 120), answer))

    def _take(self, place: Place, draft: Draft) -> None:
        """Keep an answer; with a single question it goes at once."""
        self._drafts[place] = draft
        self._open.pop(place, None)
        if len(self._questions) == 1 and len(self._questions[0].asks) == 1:
            self.work(self._reply)

    def _reply(self) -> None:
        answers = self.answered
        self.session.resume(answers)

    def _late(self, *asked: str) -> bool:
        """True when the thread has moved on from what is shown: a newer checkpoint, or a question that is gone."""
        here = self.session.latest.config["configurable"].get("checkpoint_id")
        seen = self._snapshot.config["configurable"].get("checkpoint_id")
        return bool(here != seen or set(asked) - {one.id for one in self.session.pending})

    def _refuse_late(self, typed: tuple[str, ...]) -> None:
        """Refuse, and keep the words that found no question, to be read and copied after Reload."""
        self._unsent = (*(draft.words for draft in self._drafts.values()), *typed)
        self.refuse()

    def _typed(self, place: Place, ask: Ask, form: Mapping[str, str]) -> tuple[str, ...]:
        """What was typed in a card, field by field."""
        fields = self._controls(ask, self._open.get(place, ask.first))
        given = ((one, form.get(str(i), "")) for i, one in enumerate(fields) if one.kind != "choice")
        return tuple(f"{one.label}: {words}" if one.path else words for one, words in given if words.strip())

    def _ask(self, place: Place) -> Ask | None:
        """An ask that is shown."""
        for one in self._questions:
            if one.pending.id == place[0] and 0 <= place[1] < len(one.asks):
                return one.asks[place[1]]
        return None

    def _schema(self, place: Place) -> Mapping[str, Any] | None:
        return next((one.pending.response_schema for one in self._questions if one.pending.id == place[0]), None)

    def _form(self, ask: Ask, way: str) -> Form:
        return (ask.edit if way == "edit" else ask.form) or Form((_JSON,))

    def _controls(self, ask: Ask, way: str) -> tuple[Field, ...]:
        return (_TEXT,) if way == "words" else (_JSON,) if way == "json" else self._form(ask, way).fields

    # -- as text ------------------------------------------------------------------------------------------------------

    def words(self) -> str:
        lines = [self._sentence()]
        for one in self._questions:
            at = f"{one.pending.node}: " if len(self._questions) > 1 else ""
            lines.extend(f"  {at}{_ask_words(ask)}" for ask in one.asks)
        if len(self._questions) == 1 and len(lines) == 2:
            return f"{lines[0]}: {lines[1].strip()}"
        return "\n".join(lines)

    def _sentence(self) -> str:
        return self._busy or self._stands

    # -- as a picture -------------------------------------------------------------------------------------------------

    def draw(self) -> Html:
        pieces = [self._head()]
        if self.problem:
            pieces.append(self.trouble())
        elif self._unsent:
            lines = (tag("p", words, class_="wb-text") for words in self._unsent)
            pieces.append(tag("div", tag("div", "not sent", class_="small quiet"), *lines, class_="wash wb-unsent"))
        single = len(self._questions) == 1 and len(self._questions[0].asks) == 1
        pieces.extend(self._card(one, single) for one in self._questions)
        if self._questions and not single:
            pieces.append(self._foot())
        elif not self._questions:
            pieces.append(self._other())
        pieces.append(self._state())
        said = self._sentence() if not self.problem else self.problem
        pieces.append(tag("div", said, class_="wb-say", role="status", aria_live="polite", data_wb_key="say"))
        return tag("div", *pieces, class_="wb-stack", data_wb_key="resume")

    def _head(self) -> Html:
        count = sum(len(one.asks) for one in self._questions)
        status: signs.Status
        if self._busy:
            status, title = "running", self._busy
        elif count:
            status, title = "interrupted", "An answer is needed" if count == 1 else f"{count} answers are needed"
        else:
            status, title = _status(self._snapshot), self._stands.partition(": ")[0]
        pieces = [
            tag("span", html.sign(status), class_=f"wb-sign-box wb-{status}"),
            tag("h2", title, tabindex="-1", data_wb_home=""),
        ]
        if self._busy:
            pieces.append(tag("span", class_="wb-elapsed small", aria_hidden="true", data_wb_since=str(self._focus)))
            pieces.append(button("Stop", "stop"))
        place = tag("span", f"thread {self.session.thread}", class_="small quiet wb-place")
        return tag("div", tag("div", *pieces, class_="wb-lead"), place, class_="wb-head")

    def _card(self, one: Question, single: bool) -> Html:
        parts = [self._part(one, i, ask, single) for i, ask in enumerate(one.asks)]
        bad = any(place in self._faults for place in _places(one))
        done = all(place in self._drafts for place in _places(one))
        kind = "bad" if bad else "" if done else "waits"
        return tag(
            "section",
            *parts,
            class_=f"card wb-card {kind}".strip(),
            data_wb_key=f"card-{one.pending.id}",
            data_wb_interrupt=one.pending.id,
            data_wb_node=one.pending.node,
            aria_label=f"{one.asks[0].title} ({one.pending.node})",
        )

    def _part(self, one: Question, i: int, ask: Ask, single: bool) -> Html:
        place = (one.pending.id, i)
        draft = self._drafts.get(place)
        status: signs.Status = "failed" if place in self._faults else "ran" if draft else "interrupted"
        where = f"{' / '.join(one.pending.path) or one.pending.node}, superstep {one.pending.step}"
        lead = tag("div", html.sign(status), tag("h3", ask.title), class_="wb-lead")
        head = tag("div", lead, tag("span", where, class_="small quiet wb-place"), class_="wb-head")
        body = [head, *_shown(ask)]
        given = {"id": place[0], "part": i}
        if draft is not None:
            pieces = [tag("span", "Your answer: ", tag("b", draft.words), class_="wb-text")]
            if not single:
                off = bool(self._busy)
                pieces.append(
                    button("Change", "change", given, kind="text", disabled=off, data_wb_focus=self._token(place))
                )
            body.append(tag("div", *pieces, class_="row wb-answer"))
        else:
            body.append(self._ways(place, ask, given, single))
        return tag("div", *body, data_wb_key=f"part-{i}", class_="wb-part", data_wb_form="")

    def _token(self, place: Place) -> str | None:
        """What moves the focus to a card: set for the one that was acted on last."""
        return str(self._focus) if place == self._at else None

    def _ways(self, place: Place, ask: Ask, given: Mapping[str, Any], single: bool) -> Html:
        """The buttons, or the form that is open, of one ask."""
        way = self._open.get(place, ask.first)
        off = bool(self._busy)
        others = list(self._other_ways(ask, way, given, off))
        if way == "choice":
            buttons = [
                button(
                    choice.label,
                    "choose",
                    {**given, "choice": k},
                    kind="primary" if single and k == 0 else None,
                    disabled=off,
                    data_wb_label=choice.label,
                    data_wb_focus=self._token(place) if k == 0 else None,
                )
                for k, choice in enumerate(ask.choices)
            ]
            if ask.edit is not None:
                edit = button("Edit arguments", "open", {**given, "way": "edit"}, disabled=off)
                buttons.insert(1, edit)
            return tag("div", *buttons, *others, class_="row wb-ways")
        return join([self._fields(place, ask, way), self._save(place, ask, way, given, single, others)])

    def _save(
        self, place: Place, ask: Ask, way: str, given: Mapping[str, Any], single: bool, others: list[Html]
    ) -> Html:
        words = {"edit": "Approve with new arguments"}.get(way, "Send answer" if single else "Save answer")
        save = button(
            words, "save", given, kind="primary" if single else None, disabled=bool(self._busy), data_wb_default=""
        )
        back = []
        if way != ask.first:
            back = [button("Cancel", "close", given, kind="text", disabled=bool(self._busy), data_wb_esc="")]
        return tag("div", save, *others, *back, class_="row wb-ways")

    def _other_ways(self, ask: Ask, way: str, given: Mapping[str, Any], off: bool) -> Iterator[Html]:
        if ask.words and way not in ("words", "edit"):
            yield button(ask.words_label, "open", {**given, "way": "words"}, kind="text", disabled=off)
        if way not in ("json", "edit"):
            yield button("Answer as JSON", "open", {**given, "way": "json"}, kind="text", disabled=off)

    def _fields(self, place: Place, ask: Ask, way: str) -> Html:
        raw, faults = self._raw.get(place, {}), self._faults.get(place, {})
        fields = self._controls(ask, way)
        first = min((i for i in faults if i >= 0), default=0)
        shown = []
        for i, one in enumerate(fields):
            key = f"{place[0]}-{place[1]}-{way}-{i}"
            label = {"words": "your answer", "json": "your answer (JSON)"}.get(
                way
            ) or f"{one.label or 'your answer'} ({one.words})"
            drawn = field_control(one, str(i), key, value=raw.get(str(i)), wrong=i in faults, rev=way)
            if i == first and (token := self._token(place)):
                drawn = _with_focus(drawn, token)
            piece = control(label, drawn, one.about, faults.get(i, ""), key)
            wide = len(fields) == 1 or one.kind in ("json", "lines", "fixed")
            shown.append(tag("div", piece, class_="wb-wide" if wide else None, data_wb_key=f"at-{key}"))
        whole = [fault(faults[-1])] if -1 in faults else []
        return tag("div", tag("div", *shown, class_="wb-fields"), *whole, class_="wb-gap", data_wb_key=f"fields-{way}")

    def _foot(self) -> Html:
        total, ready = sum(len(one.asks) for one in self._questions), len(self._drafts)
        going = sum(len(one.asks) for one in self._questions if one.pending.id in self.answered)
        left = total - going
        words = f"{ready} of {total} answered."
        if going and left:
            words += " The other keeps waiting." if left == 1 else f" The other {left} keep waiting."
        name = f"Resume with {text.count(going, 'answer')}" if going else "Resume"
        send = button(name, "resume", kind="primary", disabled=not going or bool(self._busy))
        return tag("div", tag("span", words), send, class_="wb-foot")

    def _other(self) -> Html:
        """What is there to do when nobody asks."""
        snapshot = self._snapshot
        if self._busy or snapshot.metadata is None:
            return tag(
                "p", "" if self._busy else "Run the graph on this thread; what it asks appears here.", class_="quiet"
            )
        if not snapshot.next:
            return tag("p", "Nothing waits for an answer.", class_="quiet")
        failed = any(task.error for task in snapshot.tasks)
        if failed:
            words = "" if self.problem else f"{self._stands}. Earlier supersteps are kept."
        else:
            words = "Nobody is asked here. The run stopped between two supersteps."
        go = button("Try again" if failed else "Run on", "go on", kind="primary")
        kind = "wb-problem" if failed else "quiet"
        return tag("div", tag("p", words, class_=kind) if words else "", tag("div", go, class_="row wb-gap"))

    def _state(self) -> Html:
        snapshot = self._snapshot
        if snapshot.metadata is None or not snapshot.values:
            return Html("")
        step = snapshot.metadata.get("step", -1)
        summary = tag("summary", f"State at checkpoint {step}" if step > 0 else "State at the start")
        table = tag("div", values_table(snapshot.values), class_="wb-scroll")
        done = not snapshot.next and not self._busy
        key = f"state-{'done' if done else 'open'}"
        return tag("details", summary, table, class_="wb-state", open="" if done else None, data_wb_key=key)


def _places(one: Question) -> list[Place]:
    return [(one.pending.id, i) for i in range(len(one.asks))]


def _number(given: Any) -> int:
    return given if isinstance(given, int) else -1


def _status(snapshot: Any) -> signs.Status:
    if snapshot.metadata is None:
        return "cancelled"
    if any(task.error for task in snapshot.tasks):
        return "failed"
    return "next" if snapshot.next else "ran"


def _with_focus(drawn: Html, token: str) -> Html:
    name, rest = drawn.split(" ", 1)
    return Html(f'{name} data-wb-focus="{token}" {rest}')


def _ask_words(ask: Ask) -> str:
    call = text.call({"name": ask.call.name, "args": ask.call.arguments}) if ask.call else ""
    shown = text.value(ask.shown) if ask.shown is not None else ""
    return " ".join(filter(None, (text.value(ask.title, 200), text.value(ask.text) if ask.text else "", call, shown)))


def _shown(ask: Ask) -> list[Html]:
    """What an ask is about, in its own shape."""
    found = []
    if ask.text:
        found.append(tag("p", ask.text, class_="wb-text wb-about"))
    if ask.call is not None:
        rows = [[str(name), html.value(one)] for name, one in ask.call.arguments.items()]
        table = (
            html.table(("argument", "value"), rows, mono=("argument",), wide=True)
            if rows
            else tag("div", "no arguments", class_="small quiet")
        )
        name = tag("code", named(ask.call.name), class_="wb-name")
        found.append(tag("div", name, tag("div", table, class_="wb-pairs"), class_="wash wb-gap wb-call"))
    if ask.shown is not None:
        found.append(tag("div", html.value(ask.shown), class_="wash wb-gap wb-shown"))
    return found
