"""Configs put together: the ambient one, a graph's own, the call's.

Later configs win, key by key: `metadata` and `configurable` are merged per key, `tags` follow each other, `callbacks`
join. A caller who names a thread or a checkpoint leaves the ambient `configurable` behind as a whole, for its private
keys belong to another run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import config as _langchain

from runtime._words import CHECKPOINT_ID, CHECKPOINT_MAP, CHECKPOINT_NS, THREAD_ID
from runtime.config import get_config, get_store

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("ensure_config", "get_config", "get_store", "merge_configs", "patch_configurable")


class _Default(int):
    """The recursion limit that nobody chose. It never goes before one that somebody did, not even an equal one."""


DEFAULT_RECURSION_LIMIT = _Default(
    os.environ.get("RUNTIME_DEFAULT_RECURSION_LIMIT") or os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT") or 10007
)
"""How many supersteps a run may take where no config says it."""

_KEYS = frozenset(
    {"tags", "metadata", "callbacks", "run_name", "max_concurrency", "recursion_limit", "configurable", "run_id"}
)
_COORDINATES = (THREAD_ID, CHECKPOINT_NS, CHECKPOINT_ID, CHECKPOINT_MAP)
_IN_METADATA = (THREAD_ID, CHECKPOINT_ID, CHECKPOINT_NS, "task_id", "run_id", "assistant_id", "graph_id")


def ensure_config(*configs: RunnableConfig | None) -> RunnableConfig:
    """A whole config: the ambient one under the given ones, later ones last, and defaults for what is missing.

    Keys that no config knows go to `configurable`; what names the run there is copied to `metadata`. Nothing given
    is changed.
    """
    ambient = _langchain.var_child_runnable_config.get()
    merged = merge_configs(*configs, ambient=ambient)
    merged.setdefault("tags", [])
    merged.setdefault("metadata", {})
    merged.setdefault("callbacks", None)
    merged.setdefault("recursion_limit", DEFAULT_RECURSION_LIMIT)
    configurable = merged.setdefault("configurable", {})
    metadata = merged["metadata"]
    for key in _IN_METADATA:
        if key not in metadata and configurable.get(key):
            metadata[key] = configurable[key]
    return merged


def merge_configs(*configs: RunnableConfig | None, ambient: RunnableConfig | None = None) -> RunnableConfig:
    """What the configs say together, later ones last, over the ambient one. Nothing is filled in."""
    merged: dict[str, Any] = {}
    inherited: Iterable[str] = ()
    if ambient:
        _merge_into(merged, ambient)
        inherited = frozenset(merged.get("tags", ()))
        if any(_names_a_checkpoint(config) for config in configs):
            merged.pop("configurable", None)
    for config in configs:
        if config:
            _merge_into(merged, config, inherited)
    return merged  # type: ignore[return-value]  # built key by key from RunnableConfigs


def patch_configurable(config: RunnableConfig | None, patch: dict[str, Any]) -> RunnableConfig:
    """A copy of the config with these keys of its `configurable` set."""
    if config is None:
        return {"configurable": patch}
    return {**config, "configurable": {**config.get("configurable", {}), **patch}}


def _names_a_checkpoint(config: RunnableConfig | None) -> bool:
    configurable = (config.get("configurable") if config else None) or {}
    return any(configurable.get(key) not in (None, {}) for key in _COORDINATES)


def _merge_into(merged: dict[str, Any], config: Mapping[str, Any], inherited: Iterable[str] = ()) -> None:
    for key, value in config.items():
        if value is None or (not value and key in ("tags", "metadata", "configurable", "callbacks")):
            continue
        if key == "metadata":
            _merge_metadata(merged.setdefault("metadata", {}), value)
        elif key == "configurable":
            merged["configurable"] = {**merged.get("configurable", {}), **value}
        elif key == "tags":
            merged["tags"] = [*merged.get("tags", ()), *(tag for tag in value if tag not in inherited)]
        elif key == "callbacks":
            merged["callbacks"] = _joined_callbacks(merged.get("callbacks"), value)
        elif key == "recursion_limit":
            if key not in merged or not isinstance(value, _Default):
                merged[key] = value
        elif key in _KEYS:
            merged[key] = value
        else:
            merged["configurable"] = {**merged.get("configurable", {}), key: value}


def _merge_metadata(merged: MutableMapping[str, Any], given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if not isinstance(value, Mapping):
            merged[key] = value
        elif key == "lc_versions" and isinstance(merged.get(key), Mapping):
            merged[key] = {**merged[key], **value}
        else:
            merged[key] = dict(value)


def _joined_callbacks(first: Any, second: Any) -> Any:
    if not first:
        return list(second) if isinstance(second, list) else second.copy()
    return _langchain.merge_configs({"callbacks": first}, {"callbacks": second})["callbacks"]
