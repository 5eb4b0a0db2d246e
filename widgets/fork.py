"""The Fork widget: pick a checkpoint, change its state, see what comes of it, and run on from there.

What is typed is tried at once on a copy in memory (`Session.fork(…, dry_run=True)`), so the check beside the form is
what the graph itself says. Nothing is written before a button is pressed, and both branches stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from widgets import rehearsal
from widgets.errors import EditRefused
from widgets.forkview import Done, ForkView, View
from widgets.history import Checkpoint
from widgets.live import Live
from widgets.parts import minus
from widgets.rehearsal import Edit
from widgets.session import Session
from widgets.stateform import ChannelForm, FieldFault, channel_forms, message_words
from workbench import text
from workbench.diff import ABSENT
from workbench.html import Html

__all__ = ["Fork"]


class Made(NamedTuple):
    """What a button did: it left one branch and made or went on with another; `id` is a fork that nothing ran yet."""

    left: str
    branch: str
    id: str | None


class Fork(Live):
    """A form of a thread's state at one of its checkpoints, to fork it and run on.

    Takes a session, or a graph and the name of a thread; `checkpoint` is the one to begin with, else the newest.
    """

    named = "Fork"

    def __init__(
        self, session: Session | Any, thread: str | None = None, *, checkpoint: Any = None, **options: Any
    ) -> None:
        super().__init__(Session.of(session, thread), **options)
        self._wanted: Any = checkpoint
        self._base: Checkpoint | None = None
        self._checkpoints: tuple[Checkpoint, ...] = ()
        self._forms: tuple[ChannelForm, ...] = ()
        self._raw: dict[str, str] = {}
        self._overwrite: set[str] = set()
        self._as_node: str | None = None
        self._rev = 0
        self._revs: dict[str, int] = {}
        self._faults: dict[tuple[str, int], str] = {}
        self._edit: Edit | None = None
        self._reason = ""
        self._made: Made | None = None
        self._done: Done | None = None
        if checkpoint is not None:
            self._base = self.session.checkpoint(checkpoint)
        self.refresh()

    # -- looking ------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        if self.session.busy:
            return
        self._checkpoints = self.session.checkpoints
        known = {one.id: one for one in self._checkpoints}
        kept = known.get(self._base.id) if self._base is not None else None
        if kept is None and self._checkpoints:
            self._pick(self._checkpoints[-1])
        elif kept is not None and not self._forms:
            self._pick(kept)
        elif kept is not None:
            self._base = kept  # it may have become, or ceased to be, the current one
        self._done = self._told()

    def _told(self) -> Done | None:
        """What came of the last fork, as its branch stands now: others may have gone on with it."""
        made = self._made
        tip = next((one for one in reversed(self._checkpoints) if made and one.branch == made.branch), None)
        if made is None or tip is None:
            return None
        if tip.id == made.id:
            words = f"Forked: {tip.branch} goes on with checkpoint {minus(tip.step)}, {tip.stands}"
        else:
            words = f"{tip.branch}: {self.session.stands if tip.current else tip.stands}"
        result = self.session.compare(made.left, made.branch) if made.left != made.branch else None
        failed = tip.current and any(task.error for task in self.session.latest.tasks)
        return Done(words, tip, failed, result)

    @property
    def base(self) -> Checkpoint | None:
        """The checkpoint that is picked."""
        return self._base

    @property
    def edit(self) -> Edit | None:
        """What the form would change, and what would run next; None while it is wrong, or changes nothing."""
        return self._edit

    @property
    def values(self) -> dict[str, Any] | Any:
        """What the form would write."""
        return _unwrapped(self._read()[0])

    # -- acting -------------------------------------------------------------------------------------------------------

    def act(self, do: str, given: Mapping[str, Any], form: Mapping[str, str]) -> None:
        if do == "refresh":
            return
        if do == "stop":
            self.session.pause()
        elif do == "pick":
            self._take_up(str(given.get("id") or form.get("checkpoint")))
        elif do == "reset":
            self._pick(self._base)
        elif do == "switch":
            self._switch(str(given.get("channel")), bool(given.get("overwrite")), form)
        elif do in ("edit", "fork", "run"):
            self._type(form)
            self._check()
            if do != "edit" and self._behind():
                self.refuse()
                return
            self._made = None
            if do != "edit" and self._ready(do):
                self.work(self._fork if do == "fork" else self._fork_and_run)

    def _behind(self) -> bool:
        """True when the thread has a newer checkpoint than those that are shown."""
        current = self.session.current
        return current is not None and current.id not in {one.id for one in self._checkpoints}

    def _take_up(self, wanted: str) -> None:
        self._made = None
        self._pick(self.session.checkpoint(wanted))

    def _pick(self, base: Checkpoint | None) -> None:
        """Show the state of a checkpoint, as it is."""
        self._base = base
        self._raw, self._overwrite, self._as_node = {}, set(), None
        self._rev += 1
        self._again()

    def _again(self) -> None:
        """Make the form anew: what is typed in it from now on is read against the checkpoint."""
        base = self._base
        self._forms = channel_forms(self.session.graph, base.values, sorted(self._overwrite)) if base else ()
        self._check()

    def _switch(self, channel: str, overwrite: bool, form: Mapping[str, str]) -> None:
        """Add to a channel, or overwrite it; what was typed for it begins anew."""
        self._type(form)
        (self._overwrite.add if overwrite else self._overwrite.discard)(channel)
        self._revs[channel] = self._revs.get(channel, 0) + 1
        place = next((i for i, one in enumerate(self._forms) if one.channel == channel), -1)
        self._raw = {key: one for key, one in self._raw.items() if not key.startswith(f"{place}-")}
        self._again()

    def _type(self, form: Mapping[str, str]) -> None:
        """Take what stands in the controls. A message that was picked to be replaced shows its text."""
        before = self._raw
        self._raw = {key: one for key, one in form.items() if key.partition("-")[0].isdigit()}
        self._as_node = form.get("as-node") or None
        for i, one in enumerate(self._forms):
            target = self._raw.get(f"{i}-target", "new")
            if one.adds_message and target != before.get(f"{i}-target", "new"):
                at = one.target({"target": target})
                words = message_words((one.messages or ())[at]) if at is not None else ""
                self._raw[f"{i}-text"] = words
                self._revs[one.channel] = self._revs.get(one.channel, 0) + 1

    def _read(self) -> tuple[dict[str, Any], dict[tuple[str, int], str]]:
        """What the form would write by channel, and what is wrong with it."""
        values: dict[str, Any] = {}
        faults: dict[tuple[str, int], str] = {}
        for i, one in enumerate(self._forms):
            mine = {key.partition("-")[2]: typed for key, typed in self._raw.items() if key.startswith(f"{i}-")}
            try:
                found = one.read(mine)
            except FieldFault as error:
                faults[one.channel, error.place] = str(error)
            except ValueError as error:
                faults[one.channel, -1] = str(error)
            else:
                if found is not ABSENT:
                    values[one.channel] = found
        return values, faults

    def _check(self) -> None:
        """Try what is typed, and keep what comes of it, or why it cannot be."""
        values, self._faults = self._read()
        self._edit, self._reason = None, ""
        if self._base is None or self._faults or not (values or self._as_node_chosen):
            return
        try:
            self._edit = self.session.fork(self._base, _unwrapped(values), self._as_node, dry_run=True)
        except EditRefused as error:
            if error.channel is not None and any(one.channel == error.channel for one in self._forms):
                self._faults[error.channel, 0] = str(error)
            else:
                self._reason = str(error)

    @property
    def _as_node_chosen(self) -> bool:
        """True when the node was changed by hand."""
        return self._as_node is not None and (self._as_node,) != self._last()

    def _last(self) -> tuple[str, ...]:
        return rehearsal.last_writers(self.session.graph, self._base) if self._base is not None else ()

    def _ready(self, do: str) -> bool:
        if self._faults or self._reason:
            self.problem = "Nothing was written: see what is wrong beside the fields." if self._faults else ""
            return False
        return self._edit is not None or (do == "run" and self._base is not None and bool(self._base.next))

    def _fork(self) -> None:
        edit, base = self._edit, self._base
        if edit is None or base is None:
            return
        values = _unwrapped(self._read()[0])
        made = self.session.fork(base, values, edit.as_node).checkpoint
        if made is not None:
            self._go_to(made, Made(base.branch, made.branch, made.id))

    def _fork_and_run(self) -> None:
        base = self._base
        if base is None:
            return
        try:
            if self._edit is None:
                self.session.replay(base)
            else:
                self._fork()
                if (made := self.session.current) is not None and made.next:
                    self.session.run()
        finally:
            current = self.session.current
            if current is not None and current.id != base.id:
                self._go_to(current, Made(base.branch, current.branch, None))

    def _go_to(self, current: Checkpoint, made: Made) -> None:
        """Go to the new branch's end, and tell how it differs from the branch that was left."""
        self._made = made
        self._pick(current)

    # -- as text ------------------------------------------------------------------------------------------------------

    def words(self) -> str:
        if self._base is None:
            return f"Fork {self.session.thread}: no checkpoint yet. Run the graph on this thread first."
        rows = [
            (("▸ " if one.id == self._base.id else "  ") + one.branch, one.step, one.source, one.stands)
            for one in self._checkpoints[-20:]
        ]
        head = f"Fork {self.session.thread} at checkpoint {self._base.step}: {self._base.stands}"
        return f"{head}\n{text.table(('branch', 'step', 'source', 'stands'), rows, right=('step',))}"

    # -- as a picture -------------------------------------------------------------------------------------------------

    def draw(self) -> Html:
        graph, base = self.session.graph, self._base
        last = self._last()
        writers = rehearsal.writers(graph)
        return ForkView(
            View(
                thread=self.session.thread,
                base=base,
                checkpoints=self._checkpoints,
                forms=self._forms,
                raw=self._raw,
                rev=self._rev,
                revs=self._revs,
                faults=self._faults,
                reason=self._reason,
                problem=self.problem,
                trouble=self.trouble(),
                edit=self._edit,
                done=self._done,
                busy=self.session.busy,
                as_node=self._as_node or (last[0] if len(last) == 1 else ""),
                last=last,
                writers=tuple(dict.fromkeys([*writers, *(name for name in last if name not in writers)])),
            )
        ).draw()


def _unwrapped(values: Mapping[str, Any]) -> Any:
    """The values as the graph takes them: those of a state that is no mapping are its one value."""
    return values["__root__"] if values.keys() == {"__root__"} else dict(values)
