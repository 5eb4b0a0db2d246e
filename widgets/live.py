"""A widget that is drawn in Python: the base of all of them.

State and logic stay here; the front end (`static/live.js`) builds the tree that it is given and sends intents back. A
subclass says what is drawn (`draw`), what stands in its place as text (`words`), and what an intent does (`act`).

An intent that raises, or a drawing that does, is shown in the widget: an exception that left a callback would be seen
nowhere in the notebook. Work that may take long goes to a thread (`work`), so that the kernel stays usable and a stop
can be heard; what it prints goes to the cell which shows the widget.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, ClassVar

import anywidget
import traitlets
from IPython.core.getipython import get_ipython

from widgets.errors import SessionError
from widgets.parts import button, minus, still, tree
from widgets.session import Session
from widgets.turns import Notice
from workbench import html, text
from workbench.html import Html, tag

__all__ = ["Live"]

logger = logging.getLogger(__name__)

_REST = 0.1  # seconds between two drawings of a run's progress


def _static(name: str) -> str:
    return files("widgets").joinpath("static", name).read_text(encoding="utf-8")


class Live(anywidget.AnyWidget):
    """A widget on a session. `view` is what is drawn, `heard` the number of the last intent that was acted on."""

    _esm = _static("live.js")
    _css = "\n".join([*(html.sheet(name) for name in ("tokens", "base", "graph", "controls")), _static("live.css")])
    view: traitlets.List[Any] = traitlets.List().tag(sync=True)
    heard = traitlets.Int(0).tag(sync=True)
    name = traitlets.Unicode("").tag(sync=True)

    named: ClassVar[str] = "Workbench"

    def __init__(self, session: Session, **options: Any) -> None:
        self._end: Callable[[], None] | None = None
        super().__init__(name=self.named.lower(), **options)
        self.session = session
        self.problem = ""
        self._stale = False
        self._worker: threading.Thread | None = None
        self._working = False
        self._later: threading.Timer | None = None
        self._parent: Any = None
        self._drawn = 0.0
        self._turn = threading.RLock()
        self._end = session.observe(self._notice)
        self.on_msg(self._receive)

    # -- what a subclass says ----------------------------------------------------------------------------------------

    def draw(self) -> Html:
        """The widget as HTML."""
        raise NotImplementedError

    def words(self) -> str:
        """The widget as text, its first line a sentence."""
        raise NotImplementedError

    def look(self) -> None:
        """Read the session anew, for what is drawn next."""
        raise NotImplementedError

    def act(self, do: str, given: Mapping[str, Any], form: Mapping[str, str]) -> None:
        """Do what a person asks for. A `SessionError` that is raised is shown."""
        raise NotImplementedError

    @property
    def stale(self) -> bool:
        """True after a press that came too late: the thread had moved on, unheard of here. What is shown stays."""
        return self._stale

    def refuse(self) -> None:
        """Do nothing, for the thread moved on since this was drawn. What is shown and typed stays until Reload."""
        self._stale = True
        current = self.session.current
        newest = f"checkpoint {minus(current.step)}" if current is not None else "where it stands"
        self.problem = f"The thread moved on since you opened this. Reload to see {newest}; your text is kept."

    def trouble(self) -> Html:
        """What was refused or failed, and Reload where that helps."""
        words = tag("p", self.problem, class_="wb-problem")
        again = tag("div", button("Reload", "refresh"), class_="row") if self._stale else ""
        return tag("div", words, again, class_="card bad wb-refused", role="alert")

    # -- what it can do -----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look at the thread again, and draw."""
        with self._turn:
            try:
                if not self._stale:
                    self.look()
                drawn = self.draw()
            except Exception as error:
                logger.debug("%s could not be drawn", self.named, exc_info=True)
                drawn = _trouble(f"This cannot be shown: {type(error).__name__}: {text.value(str(error), 300)}")
            self._drawn = time.monotonic()
            self.view = tree(drawn)

    def work(self, verb: Callable[[], Any]) -> None:
        """Let `verb` run in a thread; then, or when it fails, draw. While one runs, another is not begun."""
        if self._working:
            return
        self._working = True
        self._worker = threading.Thread(target=self._run, args=(verb,), name=f"{self.named} on {self.session.thread}")
        self._worker.daemon = True
        self._worker.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what was begun has ended; False when it has not within `timeout` seconds."""
        worker = self._worker
        if worker is not None:
            worker.join(timeout)
        return worker is None or not worker.is_alive()

    def close(self) -> None:
        """Take the widget away; it no longer listens to its session."""
        if self._end is not None:
            self._end()
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        shell = get_ipython()
        self._parent = shell.get_parent() if shell is not None and hasattr(shell, "get_parent") else None
        self.refresh()
        live = super()._repr_mimebundle_(**kwargs) or ({}, {})
        data, metadata = live
        return {**data, "text/plain": self._plain(), "text/html": str(self._still())}, metadata

    # -- within -------------------------------------------------------------------------------------------------------

    def _plain(self) -> str:
        try:
            return self.words()
        except Exception as error:
            return f"{self.named}: {type(error).__name__}: {error}"

    def _still(self) -> Html:
        try:
            drawn = still(self.draw())
        except Exception as error:
            drawn = _trouble(f"{type(error).__name__}: {error}")
        note = tag("p", "A picture. Run this cell to use it.", class_="small quiet wb-still")
        inner = tag("div", drawn, note, class_=f"wb wb-live wb-{self.named.lower()}")
        return html.fragment(Html(f"<style>{_static('live.css')}</style>"), inner, sheets=("controls",))

    def _receive(self, _: Any, content: Any, buffers: Any) -> None:
        """An intent from the front end: `{"n": 3, "do": "answer", "with": {…}, "form": {…}}`."""
        if not isinstance(content, dict):
            return
        given, form, number = content.get("with"), content.get("form"), content.get("n")
        with self._turn:
            self._guard(
                lambda: self.act(
                    str(content.get("do", "")),
                    given if isinstance(given, dict) else {},
                    {str(key): str(one) for key, one in form.items()} if isinstance(form, dict) else {},
                )
            )
            self.refresh()
        if isinstance(number, int):
            self.heard = number

    def _run(self, verb: Callable[[], Any]) -> None:
        shell = get_ipython()
        if shell is not None and self._parent is not None and hasattr(shell, "set_parent"):
            shell.set_parent(self._parent)
        self._guard(verb)
        self._working = False  # before the end is drawn: what is drawn can be pressed
        self.refresh()

    def _guard(self, verb: Callable[[], Any]) -> None:
        self.problem, self._stale = "", False
        try:
            verb()
        except SessionError as error:
            self.problem = str(error)
        except KeyboardInterrupt:
            self.problem = "Stopped. Nothing is lost."
        except Exception as error:
            logger.debug("An intent of %s failed", self.named, exc_info=True)
            self.problem = f"{type(error).__name__}: {text.value(str(error), 300)}"

    def _notice(self, notice: Notice) -> None:
        """Draw what the session tells; of many things in a short time only the last is drawn, soon after."""
        if notice.kind == "moved" and self._working and threading.current_thread() is self._worker:
            return  # its own work, which draws when it is done
        if self._stale and notice.kind == "moved":
            self.refuse()  # there is a newer checkpoint to see
        rest = _REST - (time.monotonic() - self._drawn)
        if notice.kind != "progress" or rest <= 0:
            self.refresh()
        elif self._later is None or not self._later.is_alive():
            self._later = threading.Timer(rest, self.refresh)
            self._later.daemon = True
            self._later.start()


def _trouble(words: str) -> Html:
    return tag(
        "div", tag("h2", "Something went wrong", tabindex="-1", data_wb_home=""), tag("p", words), class_="card bad"
    )
