"""What is fixed for one run: the graph, where its state rests, who reads its streams, and what the caller asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.runnables.config import var_child_runnable_config

from runtime._context import TaskContext, interrupt_id
from runtime._words import (
    CHECKPOINT_ID,
    CHECKPOINT_MAP,
    CHECKPOINT_NS,
    CONF,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_DURABILITY,
    CONFIG_KEY_NODE_ERROR,
    CONFIG_KEY_NODE_FINISHED,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_SCRATCHPAD,
    CONFIG_KEY_STRICT_RESUME,
    CONFIG_KEY_TASK_ID,
    MISSING,
    NS_SEP,
    PRIVATE_PREFIX,
    THREAD_ID,
)
from runtime.callbacks import AsyncGraphCallbackManager, get_async_graph_callback_manager_for_config
from runtime.checkpoint.base import shelf_of
from runtime.checkpoint.base.id import checkpoint_id as new_id
from runtime.events import KINDS, SuperstepUpdated, TaskFinished, Watch, observers
from runtime.pregel.program import Program, as_names
from runtime.pregel.projections import streamed, ways_of
from runtime.pregel.task import lasting_ns
from runtime.runtime import BaseUser, ExecutionInfo, RunControl, Runtime, ServerInfo, as_runtime, runtime_later
from runtime.utils.config import DEFAULT_RECURSION_LIMIT, ensure_config

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from runtime.cache.base import BaseCache
    from runtime.checkpoint.base import BaseCheckpointSaver, Shelf
    from runtime.pregel.main import Pregel
    from runtime.pregel.task import Task
    from runtime.store.base import BaseStore
    from runtime.types import Durability

Chunk = tuple[tuple[str, ...], str, Any]
"""Namespace, mode and payload of one item of a stream."""

LIVE_MODES = frozenset({"custom", "messages", "tools"})


class Answers:
    """The answers that a resume brought: one for whoever asks first, or several by interrupt id."""

    __slots__ = ("by_id", "first", "strict")

    def __init__(self, by_id: Mapping[str, Any] | None = None, first: Sequence[Any] = (), strict: bool = False) -> None:
        self.by_id = dict(by_id or {})
        self.first = list(first)
        self.strict = strict

    def take(self, ns: str, index: int) -> Any:
        """The answer for the next question of a task, used up; MISSING when there is none.

        A map's key may be the id of that question, or of the task's first one.
        """
        if self.by_id:
            found = self.by_id.pop(interrupt_id(ns, index), MISSING)
            if found is MISSING:
                found = self.by_id.pop(interrupt_id(ns, 0), MISSING)
            if found is not MISSING:
                return found
        try:
            return self.first.pop()
        except IndexError:
            return MISSING


class Visits:
    """Which nested graphs a run has come to, by the names that outlive their tasks."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: set[str] = set()

    def first(self, ns: str) -> bool:
        """True once for each nested graph."""
        place = lasting_ns(ns)
        if place in self._places:
            return False
        self._places.add(place)
        return True


class Outlet:
    """Where a stream's chunks go: the modes asked for, and whether nested graphs are shown."""

    __slots__ = ("live", "modes", "put", "root_ns", "subgraphs", "ways")

    def __init__(
        self, modes: frozenset[str], subgraphs: bool, put: Callable[[Chunk], None], ns: str, live: bool
    ) -> None:
        self.modes = modes
        self.ways = ways_of(modes)
        self.subgraphs = subgraphs
        self.put = put
        self.root_ns = ns
        self.live = live


def nudging(put: Callable[[Chunk], None], nudge: Callable[[], None]) -> Callable[[Chunk], None]:
    """Puts a chunk where the reader finds it, and wakes the reader."""

    def put_and_nudge(chunk: Chunk) -> None:
        put(chunk)
        nudge()

    return put_and_nudge


class Run:
    """One run of a graph, nested or not. Everything here is settled before its first superstep.

    `ns` is its namespace, and `ns_parts` that namespace as a stream shows it: () at the top.

    `origin` is the checkpoint that it starts from, "" for nothing; `replay` the one that it goes back to, where the
    caller named an older one: nested graphs go back too, on the first of their `visits`.

    `resuming` is the one thing that changes: it is None again after the first superstep, since later nested graphs
    start anew.
    """

    __slots__ = (
        "answers",
        "asked_id",
        "asynchronous",
        "breaks_after",
        "breaks_before",
        "cache",
        "caller",
        "checkpoint_id",
        "checkpoint_map",
        "clock",
        "config",
        "context",
        "control",
        "durability",
        "fixed",
        "flat",
        "graph",
        "id",
        "lent",
        "lifecycle",
        "limit",
        "manager",
        "names",
        "ns",
        "ns_parts",
        "origin",
        "outlets",
        "output_keys",
        "output_names",
        "parent",
        "previous",
        "program",
        "quiet",
        "replay",
        "resuming",
        "run_id",
            "runtime",
        "saver",
        "server_info",
        "store",
        "stored",
        "streams_custom",
        "strict",
        "tell_finished",
        "template",
        "thread_id",
        "visits",
        "wanted",
        "watches",
    )  # fmt: skip

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        config: RunnableConfig,
        *,
        asynchronous: bool,
        context: Any = None,
        durability: Durability | None = None,
        control: RunControl | None = None,
        output_keys: str | Sequence[str] | None = None,
        breaks_before: Literal["*"] | Sequence[str] | None = None,
        breaks_after: Literal["*"] | Sequence[str] | None = None,
    ) -> None:
        conf = config.get(CONF, {})
        parent = conf.get(CONFIG_KEY_SCRATCHPAD)
        self.parent: TaskContext | None = parent
        self.graph = graph
        self.program: Program = graph.program
        self.config = config
        self.asynchronous = asynchronous
        self.id = ""
        self.clock: Callable[[], float] = time.time
        self.lent: BaseCheckpointSaver[Any] | None = self._saver(graph, parent, conf)
        self.saver = None if graph.checkpointer is False else self.lent
        self._place(conf, parent)
        above = parent.run if parent is not None else None
        self.store: BaseStore | None = above.store if above is not None and above.store is not None else graph.store
        self.cache: BaseCache[Any] | None = (
            above.cache if above is not None and above.cache is not None else graph.cache
        )
        self.durability: Durability = (above.durability if above is not None else None) or durability or "async"
        inherited = as_runtime(conf.get(CONFIG_KEY_RUNTIME))
        self.context = graph.coerce_context(context)
        if self.context is None and inherited is not None:
            self.context = inherited.context
        self.control = control or (above.control if above is not None else None) or RunControl()
        if self.store is None and inherited is not None:
            self.store = inherited.store
        self.previous = None
        self.server_info = _server_info(conf, inherited)
        limit = config.get("recursion_limit", DEFAULT_RECURSION_LIMIT)
        if limit < 1:
            raise ValueError(f"recursion_limit must be 1 or more, not {limit}. It counts the supersteps of a run.")
        self.limit = int(limit)
        self.output_keys = graph.stream_channels_asis if output_keys is None else output_keys
        self.output_names = frozenset(as_names(self.output_keys))
        self.breaks_before = breaks_before or graph.interrupt_before_nodes
        self.breaks_after = breaks_after or graph.interrupt_after_nodes
        self.strict = bool(conf.get(CONFIG_KEY_STRICT_RESUME))
        self.tell_finished: Callable[[str], object] | None = conf.get(CONFIG_KEY_NODE_FINISHED)
        self.answers = above.answers if above is not None else Answers()
        self.replay: str | None = above.replay if above is not None else None
        self.visits: Visits = above.visits if above is not None else Visits()
        self.origin = ""
        self.resuming: bool | None = parent.resuming if parent is not None else None
        self.outlets: tuple[Outlet, ...] = tuple(o for o in above.outlets if o.subgraphs) if above is not None else ()
        self.watches: tuple[Watch, ...] = observers()
        self.wanted: frozenset[type[Any]] = frozenset()
        self.quiet = self.flat = False
        self.fixed: dict[str, tuple[Any, ...]] = {}
        self.names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.streams_custom = False
        self.manager: Any = None
        self.checkpoint_id: str | None = None
        self.lifecycle: AsyncGraphCallbackManager | None = None
        if config.get("callbacks"):
            self.lifecycle = get_async_graph_callback_manager_for_config(config) or None
        self.caller: Callable[[Task], Any] | None = None
        self.stored: Mapping[str, Sequence[tuple[str, Any]]] = {}
        self.run_id = config.get("run_id")
        self.template: dict[str, Any] = self._template()

    def _saver(self, graph: Pregel[Any, Any, Any, Any], parent: TaskContext | None, conf: Mapping[str, Any]) -> Any:
        """The saver for this graph and those inside of it; one that never saves only hands it on."""
        if parent is not None:
            return parent.run.lent
        given = conf.get(CONFIG_KEY_CHECKPOINTER)
        if given is not None:
            return given
        if graph.checkpointer is False:
            return None
        if graph.checkpointer is True:
            raise RuntimeError(
                "checkpointer=True keeps a subgraph's state in its parent's saver, and this graph runs by itself. "
                "Compile it with a saver, such as InMemorySaver()."
            )
        return graph.checkpointer

    def _place(self, conf: Mapping[str, Any], parent: TaskContext | None) -> None:
        """Thread, namespace and checkpoint of this run."""
        self.checkpoint_map: Mapping[str, str] = conf.get(CHECKPOINT_MAP) or {}
        if parent is not None:
            count = parent.next_nested()
            ns = lasting_ns(parent.ns) if self.graph.checkpointer is True else parent.ns
            self.ns = ns if count == 0 else f"{ns}{NS_SEP}{count}"
            self.ns_parts = tuple(self.ns.split(NS_SEP))
            self.thread_id: str | None = parent.run.thread_id
            self.asked_id: str | None = self.checkpoint_map.get(self.ns)
            return
        self.ns, self.ns_parts = "", ()
        inner = bool(conf.get(CHECKPOINT_NS))
        asked = self.checkpoint_map.get("") if inner else conf.get(CHECKPOINT_ID)
        self.asked_id = None if asked is None else str(asked)
        if self.saver is None:
            thread = conf.get(THREAD_ID)
        else:
            if not any(not key.startswith(PRIVATE_PREFIX) for key in conf):
                raise ValueError(
                    "A graph with a checkpointer needs to know its thread: pass a config with "
                    "{'configurable': {'thread_id': …}}; 'checkpoint_ns' and 'checkpoint_id' are optional beside it."
                )
            thread = conf[THREAD_ID]
        self.thread_id = None if thread is None else str(thread)

    @property
    def nested(self) -> bool:
        """True for a graph that a task of another graph runs."""
        return self.parent is not None

    def look_around(self) -> None:
        """See which kinds of events somebody wants of this run; no others are made. Called once, when it begins.

        The run gets its `id` for them. It is `quiet` when nobody hears of a task's end before the barrier, and tells
        `flat` what somebody keeps as rows.
        """
        wanted: list[Iterable[type[Any]]] = [outlet.ways for outlet in self.outlets]
        wanted += [watch.calls for watch in self.watches]
        self.wanted = frozenset(KINDS if self.lifecycle else ()).union(*wanted)
        if self.wanted:
            self.id = new_id()
        self.flat = any(watch.later is not None for watch in self.watches)
        untold = self.tell_finished is None and self.wanted.isdisjoint((TaskFinished, SuperstepUpdated))
        self.quiet = untold and self.cache is None
        self.streams_custom = bool(self.watches) or any("custom" in outlet.modes for outlet in self.outlets)

    @property
    def saver_config(self) -> RunnableConfig:
        """The config under which this run's checkpoints are found, without an id."""
        return cast("RunnableConfig", {CONF: {THREAD_ID: self.thread_id, CHECKPOINT_NS: self.ns}})

    @property
    def parents(self) -> Mapping[str, str]:
        """The checkpoints of the graphs around this one, by namespace."""
        if self.parent is None:
            return {}
        above = self.parent.run
        return {**above.parents, above.ns: self.parent.state.checkpoint_id}

    def shelf(self) -> Shelf:
        """Where checkpoints and writes are stored, under the call's own config: once the saver has been read."""
        conf = {k: v for k, v in self.config.get(CONF, {}).items() if not k.startswith(PRIVATE_PREFIX)}
        conf.pop(CHECKPOINT_MAP, None)
        conf[THREAD_ID], conf[CHECKPOINT_NS] = self.thread_id, self.ns
        return shelf_of(self.saver, conf, self.config.get("metadata", {}))

    def new_checkpoint_id(self) -> str:
        """An id that sorts after all ids of this process."""
        return new_id()

    # -- configs of tasks ---------------------------------------------------------------------------------------------

    def _template(self) -> dict[str, Any]:
        config = self.config
        conf = {k: v for k, v in config.get(CONF, {}).items() if k not in (CHECKPOINT_ID, CHECKPOINT_NS)}
        conf[CONFIG_KEY_DURABILITY] = self.durability
        if self.thread_id is not None:
            conf[THREAD_ID] = self.thread_id
        metadata = {k: v for k, v in config.get("metadata", {}).items() if k not in _TASK_KEYS}
        template: dict[str, Any] = {
            "tags": config.get("tags") or [],
            "metadata": metadata,
            CONF: conf,
            "callbacks": None,
        }
        if self.saver is not None:
            conf[CONFIG_KEY_CHECKPOINTER] = self.saver
        if not isinstance(limit := config.get("recursion_limit"), type(DEFAULT_RECURSION_LIMIT)) and limit is not None:
            template["recursion_limit"] = limit
        if "max_concurrency" in config:
            template["max_concurrency"] = config["max_concurrency"]
        return template

    def task_config(self, task: Task) -> RunnableConfig:
        """The config that a task's code sees: the run's, with where the task stands, and its `Runtime`."""
        template = self.template
        node = task.proc
        conf = {
            **template[CONF],
            CONFIG_KEY_RUNTIME: runtime_later(task.knows),
            CONFIG_KEY_TASK_ID: task.id,
            CONFIG_KEY_SCRATCHPAD: task,
            CHECKPOINT_MAP: {**self.checkpoint_map, self.ns: task.checkpoint_id},
            CHECKPOINT_ID: None,
            CHECKPOINT_NS: task.ns,
        }
        config: dict[str, Any] = {
            **template,
            "metadata": {
                **template["metadata"],
                "langgraph_step": task.step,
                "langgraph_node": task.node,
                "langgraph_triggers": task.triggers,
                "langgraph_path": task.path,
                "langgraph_checkpoint_ns": task.ns,
                **node.metadata,
            },
            CONF: conf,
        }
        if task.node_error is not None:
            conf[CONFIG_KEY_NODE_ERROR] = task.node_error
        if node.tags:
            config["tags"] = [*template["tags"], *node.tags]
        return cast("RunnableConfig", config)

    def known(self, task: Task) -> dict[str, Any]:
        """The fields of a task's `Runtime`."""
        return {
            "context": self.context,
            "store": self.store,
            "stream_writer": partial(self.stream, task, "custom") if self.streams_custom else _no_writer,
            "heartbeat": task.beat,
            "previous": self.previous,
            "execution_info": ExecutionInfo(
                task.checkpoint_id,
                task.ns,
                task.id,
                self.thread_id,
                None if self.run_id is None else str(self.run_id),
                task.attempt,
                task.started_at,
            ),
            "server_info": self.server_info,
            "control": self.control,
        }

    def shared(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """These names, as the same tuple each time: many rows are kept, and few kinds of them differ in this."""
        return self.names.setdefault(names, names)

    def stream(self, task: Task, mode: str, value: Any) -> None:
        """Hand one live item to whoever reads or watches, from whatever thread the task runs in."""
        if task.closed:
            return
        task.sign()
        streamed(self, task, mode, value)


def _no_writer(_: Any) -> None:
    """Nobody reads the custom stream."""


_TASK_KEYS = frozenset(
    {"langgraph_step", "langgraph_node", "langgraph_triggers", "langgraph_path", "langgraph_checkpoint_ns"}
)


def _server_info(conf: Mapping[str, Any], inherited: Runtime[Any] | None) -> ServerInfo | None:
    if "assistant_id" in conf or "graph_id" in conf:
        user = conf.get("langgraph_auth_user")
        return ServerInfo(
            assistant_id=str(conf.get("assistant_id", "")),
            graph_id=str(conf.get("graph_id", "")),
            user=user if isinstance(user, BaseUser) else None,
        )
    return inherited.server_info if inherited is not None else None


def whole_config(graph_config: RunnableConfig | None, config: RunnableConfig | None) -> RunnableConfig:
    """The call's config over the graph's own over the ambient one, with defaults."""
    if not config and not graph_config and var_child_runnable_config.get() is None:
        return {"tags": [], "metadata": {}, "callbacks": None, "recursion_limit": DEFAULT_RECURSION_LIMIT, CONF: {}}
    return ensure_config(graph_config, config)
