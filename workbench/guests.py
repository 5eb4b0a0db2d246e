"""Runs of graphs that LangGraph compiled, watched: whoever starts them, they are told as events.

LangGraph has no observers. So while somebody watches, its `stream` and `astream`, through which every run goes, are
wrapped: the run is asked for two stream modes more, which are taken out again, and its saver is tapped. A graph
without a saver runs on one that keeps nothing. The run itself stays as it was, but for one thing: unless the caller
says how durable it must be, each superstep is saved before the next begins, for only then is its state sure.

What is told of a run never breaks it: an error in here is logged, and the recording says that it lacks the rest.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import logging
import sys
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final, Protocol

from langchain_core.runnables.config import ensure_config

from runtime.events import Event
from workbench.chronicle import Chronicle
from workbench.freeze import Freezer
from workbench.tap import Config, tap, unsaved

logger = logging.getLogger(__name__)

ATTEMPTS: Final = "LangGraph does not tell how often a task was tried: attempts are missing."
UNSEEN: Final = (
    "LangGraph does not tell what a task did to its input, nor in which order it asked: WB201 and WB203 are silent."
)
LATE: Final = "The run saved its state at its end only: versions, and what is not state, are missing before it."
UNTRACKED: Final = "A saver is not handed what is written to UntrackedValue channels: some of it may be missing."
UNTAPPED: Final = "The graph's saver cannot be listened to: versions and writes are missing."
BROKEN: Final = "What LangGraph told of the run could not be understood: the rest of it is missing."


_SAVER: Final = "__pregel_checkpointer"
"""Where a config holds the saver of the run around it."""


class Watcher(Protocol):
    """Who is told of the runs."""

    def event(self, event: Event) -> object:
        """Take one event."""

    def lacks(self, sentence: str) -> object:
        """Take what cannot be told."""


_here: ContextVar[tuple[Watcher, ...]] = ContextVar("workbench_watchers", default=())
_inside: ContextVar[Guest | None] = ContextVar("workbench_guest", default=None)
_everywhere: list[Watcher] = []
_lock = threading.Lock()
_watching = 0


@contextmanager
def watch(watcher: Watcher, *, everywhere: bool = False) -> Iterator[None]:
    """Tell the watcher of each run that starts inside the block; with `everywhere`, of those in any thread."""
    _arrive()
    token = None
    if everywhere:
        _everywhere.append(watcher)
    else:
        token = _here.set((*_here.get(), watcher))
    try:
        yield
    finally:
        if token is not None:
            _here.reset(token)
        else:
            _everywhere.remove(watcher)
        _leave()


# -- one run ----------------------------------------------------------------------------------------------------------


class Told:
    """What the run at the top and those inside it share: who is told, and one freezer for all values."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.watchers = watchers
        self.lock = threading.RLock()
        self.freeze = Freezer()
        self.guests: dict[str, Guest] = {}
        self.broken = False

    def event(self, event: Event) -> None:
        """Tell everybody."""
        for watcher in self.watchers:
            watcher.event(event)

    def lacks(self, sentence: str) -> None:
        """Tell everybody what cannot be told."""
        for watcher in self.watchers:
            watcher.lacks(sentence)

    def carefully(self, what: Callable[[], object]) -> None:
        """Do it, one at a time; an error is logged, and ends the telling."""
        if self.broken:
            return
        with self.lock:
            self.freeze.others_ran()
            try:
                what()
            except Exception:
                self.broken = True
                logger.exception("A run of LangGraph could not be told.")
                with suppress(Exception):
                    self.lacks(BROKEN)

    # The listener of taps: the saver of the run at the top serves those inside it, too.

    def loaded(self, config: Config, found: Any) -> None:
        """A run asks its saver where it stands: so it begins."""
        guest = _inside.get()
        if guest is not None and not guest.begun:
            place = config["configurable"]
            self.carefully(lambda: guest.begin(place.get("checkpoint_ns", ""), place.get("thread_id"), found))

    def remembered(self, config: Config, history: Mapping[str, Any]) -> None:
        """A run asks its saver for what is not in the checkpoint."""
        guest = self.guests.get(config["configurable"].get("checkpoint_ns", ""))
        if guest is not None:
            self.carefully(lambda: guest.chronicle.remembered(history))

    def _guest(self, config: Config) -> Guest | None:
        """The run that a call of the saver belongs to. One that found nothing to ask for begins with the first call."""
        ns = config["configurable"].get("checkpoint_ns", "")
        if ns not in self.guests:
            self.loaded(config, None)
        return self.guests.get(ns)

    def saved(self, config: Config, checkpoint: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """A checkpoint went to the saver."""
        place, at, guest = config["configurable"], time.time(), self._guest(config)
        if guest is not None:
            self.carefully(lambda: guest.chronicle.saved(checkpoint, metadata, place.get("checkpoint_id"), at))

    def wrote(self, config: Config, writes: Sequence[Any], task_id: str, task_path: str) -> None:
        """A task's writes went to the saver."""
        place, at = config["configurable"], time.time()
        guest = self.guests.get(place.get("checkpoint_ns", ""))
        if guest is not None:
            self.carefully(lambda: guest.chronicle.wrote(place.get("checkpoint_id"), task_id, writes, task_path, at))


class Guest:
    """One run of one graph, while it goes on."""

    def __init__(self, told: Told, graph: Any, input: Any, given: Mapping[str, Any], root: bool) -> None:
        self.told = told
        self.graph = graph
        self.input = input
        self.begun = False
        self.root = root
        self.config = ensure_config(given.get("config"))
        before, after = (
            given.get(f"interrupt_{side}") or getattr(graph, f"interrupt_{side}_nodes", None) or ()
            for side in ("before", "after")
        )
        self.chronicle = Chronicle(
            told.event, graph, str(uuid.uuid4()), freeze=told.freeze, breakpoints=(before, after)
        )
        self.saves = True
        # Only a limit that was asked for is known: langchain-core fills in another default than LangGraph has.
        self.chronicle.limit = (given.get("config") or {}).get("recursion_limit")
        self._exit = given.get("durability") == "exit"
        self._extra = ["debug", *(["custom"] if root else [])]
        self._modes: Any = given.get("stream_mode") or graph.stream_mode
        self._subgraphs = bool(given.get("subgraphs"))
        self._version = given.get("version", "v1")

    # -- what it asks for ---------------------------------------------------------------------------------------------

    def prepared(self, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The graph to run in place of the one that was called, and the arguments for its `stream`."""
        arguments = dict(given)
        wanted = [self._modes] if isinstance(self._modes, str) else list(self._modes)
        arguments["stream_mode"] = [*wanted, *(mode for mode in self._extra if mode not in wanted)]
        self._extra = [mode for mode in self._extra if mode not in wanted]
        saver = self._saver()
        if saver is None:
            return self.graph, arguments
        twin = object.__new__(type(self.graph))
        twin.__dict__ = {**self.graph.__dict__, "checkpointer": saver if self.root else None}
        place = dict(self.config.get("configurable") or {})
        if not self.root:  # what is in the config comes before the graph's own
            arguments["config"] = {**self.config, "configurable": {**place, _SAVER: saver}}
            return twin, arguments
        if given.get("durability") is None:
            arguments["durability"] = "sync"
        if "thread_id" not in place:
            config = given.get("config") or {}
            named = {**(config.get("configurable") or {}), "thread_id": str(uuid.uuid4())}
            arguments["config"] = {**config, "configurable": named}
        return twin, arguments

    def _saver(self) -> Any | None:
        """The saver to run on, which tells what it is handed; None where the graph is to run as it is.

        Inside another run, that run's saver serves, and it tells already; unless the graph asked for none.
        """
        saver, outer = self.graph.checkpointer, _inside.get()
        if not self.root and saver is not False:
            self.saves = outer is not None and outer.saves
            return None
        self.saves = self.root and saver is not None and saver is not False
        tapped = tap(saver, self.told) if self.saves else unsaved(self.told)
        if tapped is None:
            self.told.lacks(UNTAPPED)
        return tapped

    # -- what comes ---------------------------------------------------------------------------------------------------

    def begin(self, ns: str, thread: Any, found: Any) -> None:
        """The run has asked its saver where it stands."""
        self.begun = True
        self.told.guests[ns] = self
        place = self.config.get("configurable") or {}
        if type(self.input).__name__ == "Command":
            kind = "command"
        elif self.input is None:
            kind = "replay" if self.root and place.get("checkpoint_id") else "resume"
        else:
            kind = "input"
        named = str(thread) if self.saves and thread is not None else None
        self.chronicle.began(self.input, found, kind=kind, thread=named, ns=ns, at=time.time())

    def taken(self, chunk: Any) -> Iterator[Any]:
        """Take what a chunk tells, and give the chunk in the shape that the caller asked for, if it asked for it."""
        if self._version == "v2":
            mode, ns, payload = chunk["type"], chunk["ns"], chunk["data"]
        else:
            (ns, mode, payload) = chunk if self._subgraphs else ((), *chunk)
        if not ns:
            self.told.carefully(lambda: self._take(mode, payload))
        if mode == "messages":
            self.told.carefully(lambda: self._take_message(payload))
        if mode in self._extra or self._made_up(ns, mode, payload):
            return
        if self._version == "v2" or not isinstance(self._modes, str):
            yield chunk
        else:
            yield (ns, payload) if self._subgraphs else payload

    def _made_up(self, ns: Sequence[str], mode: str, payload: Any) -> bool:
        """True for a checkpoint that there is only because somebody watches."""
        told = mode == "checkpoints" or (mode == "debug" and payload["type"] == "checkpoint")
        guest = self.told.guests.get("|".join(ns)) if ns else self
        return told and guest is not None and not guest.saves

    def _take(self, mode: str, payload: Any) -> None:
        if mode == "custom":
            self.chronicle.streamed("custom", payload, time.time())
        if mode != "debug":
            return
        at = datetime.fromisoformat(payload["timestamp"]).timestamp()
        if payload["type"] == "task":
            self.chronicle.planned(payload["step"], payload["payload"], at)
        elif payload["type"] == "task_result":
            self.chronicle.ended(payload["step"], payload["payload"], at)

    def _take_message(self, payload: Any) -> None:
        """A token, or a message: its metadata names the task, which may be one of a graph inside this one."""
        ns, _, task = str(payload[1].get("langgraph_checkpoint_ns", "")).rpartition("|")
        guest = self.told.guests.get(ns, self)
        guest.chronicle.streamed("messages", payload, time.time(), task.rpartition(":")[2])

    def over(self, error: BaseException | None) -> None:
        """The run has ended."""
        self.told.carefully(lambda: self._over(error))

    def _over(self, error: BaseException | None) -> None:
        if not self.begun:  # it was refused before it asked its saver
            self.begin(self.chronicle.ns, None, None)
        status = _STATUS.get(type(error).__name__, "failed") if error is not None else "done"
        self.told.lacks(ATTEMPTS)
        self.told.lacks(UNSEEN)
        if self._exit:
            self.told.lacks(LATE)
        if any(type(channel).__name__ == "UntrackedValue" for channel in self.graph.channels.values()):
            self.told.lacks(UNTRACKED)
        if self.root and self.told.freeze.lost:
            self.told.lacks(self.told.freeze.lost)
        self.chronicle.over(status, error if status not in ("done", "interrupted") else None, time.time())


_STATUS: Final = {
    "GraphRecursionError": "out_of_steps",
    "GraphDrained": "drained",
    "GraphInterrupt": "interrupted",
    "ParentCommand": "done",
    "CancelledError": "cancelled",
    "GeneratorExit": "cancelled",
    "KeyboardInterrupt": "cancelled",
}


def _welcome(graph: Any, input: Any, given: Mapping[str, Any]) -> Guest | None:
    """The run as a guest; None when nobody watches it."""
    outer = _inside.get()
    config = ensure_config(given.get("config"))
    nested = outer is not None and bool((config.get("configurable") or {}).get("checkpoint_ns"))
    watchers = (*_here.get(), *_everywhere)
    if outer is not None and nested:
        return Guest(outer.told, graph, input, given, root=False)
    answers = type(input).__name__ == "Command" and getattr(input, "resume", None) is not None
    if not watchers or (answers and graph.checkpointer is None):  # there is nothing to answer: it will be refused
        return None
    return Guest(Told(watchers), graph, input, given, root=True)


# -- the way in -------------------------------------------------------------------------------------------------------


def _streaming(original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    @functools.wraps(original)
    def stream(self: Any, input: Any, config: Any = None, **given: Any) -> Iterator[Any]:
        given["config"] = config
        guest = _welcome(self, input, given)
        if guest is None:
            return original(self, input, **given)
        graph, arguments = guest.prepared(given)
        return _pumped(guest, original(graph, input, **arguments))

    return stream


def _pumped(guest: Guest, chunks: Any) -> Iterator[Any]:
    error: BaseException | None = None
    try:
        while True:
            token = _inside.set(guest)
            try:
                chunk = next(chunks)
            except StopIteration:
                break
            finally:
                _inside.reset(token)
            yield from guest.taken(chunk)
    except BaseException as raised:
        error = raised
        raise
    finally:
        chunks.close()
        guest.over(error)


def _astreaming(original: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    @functools.wraps(original)
    async def astream(self: Any, input: Any, config: Any = None, **given: Any) -> AsyncIterator[Any]:
        given["config"] = config
        guest = _welcome(self, input, given)
        if guest is None:
            async for chunk in original(self, input, **given):
                yield chunk
            return
        graph, arguments = guest.prepared(given)
        async for chunk in _apumped(guest, original(graph, input, **arguments)):
            yield chunk

    return astream


async def _apumped(guest: Guest, chunks: Any) -> AsyncIterator[Any]:
    error: BaseException | None = None
    try:
        while True:
            token = _inside.set(guest)
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                break
            finally:
                _inside.reset(token)
            for one in guest.taken(chunk):
                yield one
    except BaseException as raised:
        error = raised
        raise
    finally:
        await chunks.aclose()
        guest.over(error)


class _Door:
    """LangGraph's class of graphs, wrapped while somebody watches."""

    def __init__(self) -> None:
        self.kind: Any = None
        self.methods: tuple[Any, Any] | None = None

    def open(self) -> None:
        """Wrap its methods; wait for it where it is not loaded yet."""
        module = sys.modules.get(_MODULE)
        kind = getattr(module, "Pregel", None)
        if kind is None:
            if not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
                sys.meta_path.insert(0, _Waiting())
            return
        self.kind, self.methods = kind, (kind.stream, kind.astream)
        kind.stream, kind.astream = _streaming(kind.stream), _astreaming(kind.astream)

    def close(self) -> None:
        """Put the methods back."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Waiting)]
        if self.methods is not None:
            self.kind.stream, self.kind.astream = self.methods
        self.kind = self.methods = None


class _Waiting(importlib.abc.MetaPathFinder):
    """Opens the door when LangGraph is imported while somebody watches: by the cell that is recorded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        loader = spec.loader if spec is not None else None
        if spec is not None and isinstance(loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Opening(loader.name, loader.path)
        return spec


class _Opening(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: Any) -> None:
        super().exec_module(module)
        with _lock:
            if _watching and _door.methods is None:
                _door.open()


_MODULE: Final = "langgraph.pregel"
_door = _Door()


def _arrive() -> None:
    global _watching
    with _lock:
        _watching += 1
        if _watching == 1:
            _door.open()


def _leave() -> None:
    global _watching
    with _lock:
        _watching -= 1
        if not _watching:
            _door.close()
