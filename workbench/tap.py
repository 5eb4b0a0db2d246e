"""A saver that works as before and says what it is handed: the way to see a run of an engine that tells no events.

`tap(saver, listener)` is a saver of the same class, on the same connection and the same memory, whose listener is told
of each checkpoint and each write that goes through. `unsaved(listener)` keeps nothing: it stands in for the saver of a
graph that has none, so that such a run can be seen, too.

The classes are made when they are asked for, from the classes that are there: LangGraph need not be installed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Config = Mapping[str, Any]


class Listener(Protocol):
    """Who is told. Calls come from whatever thread the saver is called in."""

    def loaded(self, config: Config, found: Any) -> None:
        """The saver was asked for a checkpoint tuple, and gave this one; None where it has none."""

    def remembered(self, config: Config, history: Mapping[str, Any]) -> None:
        """The saver was asked for the writes to channels whose value is not in the checkpoint, and gave these."""

    def saved(self, config: Config, checkpoint: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """The saver was handed a checkpoint; `config` names the one before it."""

    def wrote(self, config: Config, writes: Sequence[Any], task_id: str, task_path: str) -> None:
        """The saver was handed the writes of a task."""


def tap(saver: Any, listener: Listener) -> Any | None:
    """The saver with a listener; None where its class cannot be stood in for."""
    base = type(saver)
    try:
        made = object.__new__(_tapped(base, listener))
        made.__dict__ = saver.__dict__
    except (TypeError, AttributeError):  # a class without a namespace, or one that nothing may come from
        return None
    return made


def unsaved(listener: Listener) -> Any | None:
    """A saver that keeps nothing, with a listener; None where LangGraph is not loaded."""
    module = sys.modules.get("langgraph.checkpoint.base")
    base = getattr(module, "BaseCheckpointSaver", None)
    if not isinstance(base, type):
        return None
    made: Any = _tapped(type("Unsaved", (base,), dict(vars(_Nothing))), listener)()
    return made


class _Nothing:
    """The methods of a saver that keeps nothing. Versions count 1, 2, 3, as in a run without a saver."""

    def get_tuple(self, config: Config) -> None:
        return None

    async def aget_tuple(self, config: Config) -> None:
        return None

    def put(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> dict[str, Any]:
        place = config["configurable"]
        here = {"thread_id": place["thread_id"], "checkpoint_ns": place.get("checkpoint_ns", "")}
        return {"configurable": {**here, "checkpoint_id": checkpoint["id"]}}

    async def aput(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> dict[str, Any]:
        return _Nothing.put(self, config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Config, writes: Any, task_id: str, task_path: str = "") -> None:
        return None

    async def aput_writes(self, config: Config, writes: Any, task_id: str, task_path: str = "") -> None:
        return None

    def get_next_version(self, current: int | None, channel: Any) -> int:
        return 1 if current is None else current + 1


def _tapped(base: type[Any], listener: Listener) -> type[Any]:
    """A class like `base` that tells the listener. What one method calls of another may be told twice."""

    class Tapped(base):  # type: ignore[misc]  # the class of a saver that is only known when it is met
        def get_tuple(self, config: Config) -> Any:
            found = super().get_tuple(config)
            listener.loaded(config, found)
            return found

        async def aget_tuple(self, config: Config) -> Any:
            found = await super().aget_tuple(config)
            listener.loaded(config, found)
            return found

        def list(self, config: Config | None, **given: Any) -> Iterator[Any]:
            first = True
            for found in super().list(config, **given):
                if first and config is not None:
                    listener.loaded(config, found)
                first = False
                yield found

        async def alist(self, config: Config | None, **given: Any) -> AsyncIterator[Any]:
            first = True
            async for found in super().alist(config, **given):
                if first and config is not None:
                    listener.loaded(config, found)
                first = False
                yield found

        def get_delta_channel_history(self, **given: Any) -> Any:
            found = super().get_delta_channel_history(**given)
            listener.remembered(given["config"], found)
            return found

        async def aget_delta_channel_history(self, **given: Any) -> Any:
            found = await super().aget_delta_channel_history(**given)
            listener.remembered(given["config"], found)
            return found

        def put(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            given = super().put(config, checkpoint, metadata, new_versions)
            listener.saved(config, checkpoint, metadata)
            return given

        async def aput(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            given = await super().aput(config, checkpoint, metadata, new_versions)
            listener.saved(config, checkpoint, metadata)
            return given

        def put_writes(self, config: Config, writes: Any, task_id: str, task_path: str = "") -> None:
            super().put_writes(config, writes, task_id, *_path(base.put_writes, task_path))
            listener.wrote(config, writes, task_id, task_path)

        async def aput_writes(self, config: Config, writes: Any, task_id: str, task_path: str = "") -> None:
            await super().aput_writes(config, writes, task_id, *_path(base.aput_writes, task_path))
            listener.wrote(config, writes, task_id, task_path)

        def __del__(self) -> None:
            """The saver itself closes what it holds."""

    Tapped.__name__, Tapped.__qualname__, Tapped.__module__ = base.__name__, base.__qualname__, base.__module__
    return Tapped


def _path(method: Callable[..., Any], path: str) -> tuple[str, ...]:
    """The task's path, for a saver that takes it."""
    return (path,) if "task_path" in inspect.signature(method).parameters else ()
