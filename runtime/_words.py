"""The reserved words of the engine: names of channels, write markers and configurable keys.

They are part of the stored format, so they match LangGraph's to the letter. Modules of `runtime` take them from
here; programs take the public ones from `runtime.constants`.
"""

from __future__ import annotations

import sys
from typing import Final


class Missing:
    """The type of `MISSING`, which stands for "no value". It is false, and there is one."""

    __slots__ = ()
    _one: Missing | None = None

    def __new__(cls) -> Missing:
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()

START: Final = sys.intern("__start__")
END: Final = sys.intern("__end__")
SELF: Final = sys.intern("__self__")
TAG_HIDDEN: Final = sys.intern("langsmith:hidden")
TAG_NOSTREAM: Final = sys.intern("nostream")

# Channels and task kinds.
TASKS: Final = sys.intern("__pregel_tasks")
PULL: Final = sys.intern("__pregel_pull")
PUSH: Final = sys.intern("__pregel_push")
ROOT: Final = sys.intern("__root__")
PREVIOUS: Final = sys.intern("__previous__")
INPUT: Final = sys.intern("__input__")
COPY: Final = sys.intern("__copy__")

# Writes that are no state.
INTERRUPT: Final = sys.intern("__interrupt__")
RESUME: Final = sys.intern("__resume__")
ERROR: Final = sys.intern("__error__")
ERROR_SOURCE_NODE: Final = sys.intern("__error_source_node__")
NO_WRITES: Final = sys.intern("__no_writes__")
SCHEDULED: Final = sys.intern("__scheduled__")
RETURN: Final = sys.intern("__return__")

OVERWRITE: Final = sys.intern("__overwrite__")
REMOVE_ALL: Final = sys.intern("__remove_all__")
PARENT: Final = sys.intern("__parent__")
NULL_TASK_ID: Final = sys.intern("00000000-0000-0000-0000-000000000000")
CACHE_NS_WRITES: Final = sys.intern("__pregel_ns_writes")
SNAPSHOT_BUMPS: Final = sys.intern("__snapshot_bumps__")

NS_SEP: Final = sys.intern("|")
NS_END: Final = sys.intern(":")

# Configuration.
CONF: Final = sys.intern("configurable")
THREAD_ID: Final = sys.intern("thread_id")
CHECKPOINT_ID: Final = sys.intern("checkpoint_id")
CHECKPOINT_NS: Final = sys.intern("checkpoint_ns")
CHECKPOINT_MAP: Final = sys.intern("checkpoint_map")

CONFIG_KEY_SEND: Final = sys.intern("__pregel_send")
CONFIG_KEY_READ: Final = sys.intern("__pregel_read")
CONFIG_KEY_READ_STATE: Final = sys.intern("__pregel_read_state")
CONFIG_KEY_CALL: Final = sys.intern("__pregel_call")
CONFIG_KEY_CHECKPOINTER: Final = sys.intern("__pregel_checkpointer")
CONFIG_KEY_STREAM: Final = sys.intern("__pregel_stream")
CONFIG_KEY_CACHE: Final = sys.intern("__pregel_cache")
CONFIG_KEY_RESUMING: Final = sys.intern("__pregel_resuming")
CONFIG_KEY_REPLAY_STATE: Final = sys.intern("__pregel_replay_state")
CONFIG_KEY_TASK_ID: Final = sys.intern("__pregel_task_id")
CONFIG_KEY_SCRATCHPAD: Final = sys.intern("__pregel_scratchpad")
CONFIG_KEY_RUNNER_SUBMIT: Final = sys.intern("__pregel_runner_submit")
CONFIG_KEY_DURABILITY: Final = sys.intern("__pregel_durability")
CONFIG_KEY_RUNTIME: Final = sys.intern("__pregel_runtime")
CONFIG_KEY_RESUME_MAP: Final = sys.intern("__pregel_resume_map")
CONFIG_KEY_STRICT_RESUME: Final = sys.intern("__pregel_strict_resume")
CONFIG_KEY_NODE_FINISHED: Final = sys.intern("__pregel_node_finished")
CONFIG_KEY_NODE_ERROR: Final = sys.intern("__pregel_node_error")
CONFIG_KEY_STREAM_MESSAGES_V2: Final = sys.intern("__pregel_stream_messages_v2")
CONFIG_KEY_TIMED_ATTEMPT_OBSERVER: Final = sys.intern("__pregel_timed_attempt_observer")

PRIVATE_PREFIX: Final = "__pregel_"

# Names which no channel, managed value or node may bear.
RESERVED: Final = frozenset(
    {
        INPUT, INTERRUPT, RESUME, ERROR, ERROR_SOURCE_NODE, NO_WRITES, SCHEDULED, TASKS, PULL, PUSH,
        CONFIG_KEY_SEND, CONFIG_KEY_READ, CONFIG_KEY_CALL, CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_STREAM,
        CONFIG_KEY_CACHE, CONFIG_KEY_RESUMING, CONFIG_KEY_TASK_ID, CONFIG_KEY_SCRATCHPAD, CONFIG_KEY_RUNNER_SUBMIT,
        CONFIG_KEY_DURABILITY, CONFIG_KEY_RUNTIME, CONFIG_KEY_RESUME_MAP, CHECKPOINT_ID, CHECKPOINT_NS,
        CHECKPOINT_MAP, NS_SEP, NS_END, CONF, TAG_HIDDEN,
    }
)  # fmt: skip
