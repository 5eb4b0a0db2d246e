"""The reserved words of the engine: names of channels, write markers and configurable keys.

They are part of the stored format, so they match LangGraph's to the letter. Modules of `runtime` take them from
here; programs take the public ones from `runtime.constants`.
"""

from __future__ import annotations

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

START: Final = "__start__"
END: Final = "__end__"
SELF: Final = "__self__"
TAG_HIDDEN: Final = "langsmith:hidden"
TAG_NOSTREAM: Final = "nostream"

# Channels and task kinds.
TASKS: Final = "__pregel_tasks"
PULL: Final = "__pregel_pull"
PUSH: Final = "__pregel_push"
ROOT: Final = "__root__"
PREVIOUS: Final = "__previous__"
INPUT: Final = "__input__"
COPY: Final = "__copy__"

# Writes that are no state.
INTERRUPT: Final = "__interrupt__"
RESUME: Final = "__resume__"
ERROR: Final = "__error__"
ERROR_SOURCE_NODE: Final = "__error_source_node__"
NO_WRITES: Final = "__no_writes__"
SCHEDULED: Final = "__scheduled__"
RETURN: Final = "__return__"
UNFINISHED: Final = frozenset({ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME})
"""What is no outcome: a task that has stored only these runs again."""

OVERWRITE: Final = "__overwrite__"
REMOVE_ALL: Final = "__remove_all__"
PARENT: Final = "__parent__"
NULL_TASK_ID: Final = "00000000-0000-0000-0000-000000000000"
CACHE_NS_WRITES: Final = "__pregel_ns_writes"
SNAPSHOT_BUMPS: Final = "__snapshot_bumps__"

NS_SEP: Final = "|"
NS_END: Final = ":"

# Configuration.
CONF: Final = "configurable"
THREAD_ID: Final = "thread_id"
CHECKPOINT_ID: Final = "checkpoint_id"
CHECKPOINT_NS: Final = "checkpoint_ns"
CHECKPOINT_MAP: Final = "checkpoint_map"

CONFIG_KEY_SEND: Final = "__pregel_send"
CONFIG_KEY_READ: Final = "__pregel_read"
CONFIG_KEY_READ_STATE: Final = "__pregel_read_state"
CONFIG_KEY_CALL: Final = "__pregel_call"
CONFIG_KEY_CHECKPOINTER: Final = "__pregel_checkpointer"
CONFIG_KEY_STREAM: Final = "__pregel_stream"
CONFIG_KEY_CACHE: Final = "__pregel_cache"
CONFIG_KEY_RESUMING: Final = "__pregel_resuming"
CONFIG_KEY_REPLAY_STATE: Final = "__pregel_replay_state"
CONFIG_KEY_TASK_ID: Final = "__pregel_task_id"
CONFIG_KEY_SCRATCHPAD: Final = "__pregel_scratchpad"
CONFIG_KEY_RUNNER_SUBMIT: Final = "__pregel_runner_submit"
CONFIG_KEY_DURABILITY: Final = "__pregel_durability"
CONFIG_KEY_RUNTIME: Final = "__pregel_runtime"
CONFIG_KEY_RESUME_MAP: Final = "__pregel_resume_map"
CONFIG_KEY_STRICT_RESUME: Final = "__pregel_strict_resume"
CONFIG_KEY_NODE_FINISHED: Final = "__pregel_node_finished"
CONFIG_KEY_NODE_ERROR: Final = "__pregel_node_error"
CONFIG_KEY_STREAM_MESSAGES_V2: Final = "__pregel_stream_messages_v2"
CONFIG_KEY_TIMED_ATTEMPT_OBSERVER: Final = "__pregel_timed_attempt_observer"

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
