"""The public words of a graph program: the names of its two ends, and tags that a run looks at.

Private words and moved classes are still found here by name, with a deprecation warning.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from runtime import _words
from runtime._words import CONF, CONFIG_KEY_CHECKPOINTER, END, START, TAG_HIDDEN, TAG_NOSTREAM, TASKS
from runtime.warnings import LangGraphDeprecatedSinceV10

__all__ = ("CONF", "CONFIG_KEY_CHECKPOINTER", "END", "START", "TAG_HIDDEN", "TAG_NOSTREAM", "TASKS")

_MOVED = {"Send": "runtime.types", "Interrupt": "runtime.types"}


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        home = _MOVED[name]
        warnings.warn(
            f"Importing {name} from runtime.constants is deprecated. Import it from {home}.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        return getattr(importlib.import_module(home), name)
    if name.isupper() and hasattr(_words, name):
        warnings.warn(
            f"runtime.constants.{name} is private to the engine and may change.",
            LangGraphDeprecatedSinceV10,
            stacklevel=2,
        )
        return getattr(_words, name)
    raise AttributeError(f"module 'runtime.constants' has no name {name!r}")
