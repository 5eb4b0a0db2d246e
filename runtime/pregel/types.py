"""An old address of the types that a run shows, and of what a node is set up with: deprecated for `runtime.types`."""

from __future__ import annotations

import warnings

from runtime.types import (
    All,
    CachePolicy,
    PregelExecutableTask,
    PregelTask,
    RetryPolicy,
    StateSnapshot,
    StateUpdate,
    StreamMode,
    StreamWriter,
    default_retry_on,
)
from runtime.warnings import LangGraphDeprecatedSinceV10

__all__ = (
    "All",
    "CachePolicy",
    "PregelExecutableTask",
    "PregelTask",
    "RetryPolicy",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamWriter",
    "default_retry_on",
)

warnings.warn(
    "The module runtime.pregel.types is deprecated. Import its names from runtime.types.",
    LangGraphDeprecatedSinceV10,
    stacklevel=2,
)
