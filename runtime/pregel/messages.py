"""The `messages` stream: tokens as a model makes them, then whole messages that nobody has seen yet.

A callback handler of langchain-core. It is told of every model and every node of a run, in the thread and context
where they work, so it finds the running task there and streams in its name. A message is shown once, by its id: tokens
count as their message, and what a node was given as input counts as seen. Nested graphs that the stream leaves out have
seen what the others have not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from langchain_core.callbacks.base import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.tracers._streaming import _StreamingCallbackHandler

from runtime._context import task_of
from runtime._words import TAG_HIDDEN, TAG_NOSTREAM
from runtime.types import Command, annotated_keys

if TYPE_CHECKING:
    from langchain_core.outputs import LLMResult

    from runtime.pregel.task import Task

Metadata = dict[str, Any]


class MessageStreamer(BaseCallbackHandler, _StreamingCallbackHandler[Any]):
    """Streams the messages of a run's models and nodes."""

    run_inline = True

    def __init__(self) -> None:
        self.models: dict[UUID, Metadata] = {}
        self.nodes: dict[UUID, Metadata] = {}
        self.given: dict[UUID, list[str]] = {}
        self.seen: dict[bool, set[str]] = {True: set(), False: set()}

    def tap_output_aiter(self, run_id: UUID, output: Any) -> Any:
        """Nothing to add to what streams: its items come by the callbacks."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Any) -> Any:
        """Nothing to add to what streams: its items come by the callbacks."""
        return output

    # -- models -------------------------------------------------------------------------------------------------------

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: Any,
    ) -> Any:
        """A model begins; one that is tagged "nostream" is left alone."""
        if metadata is not None and TAG_NOSTREAM not in (tags or ()):
            shown = [tag for tag in tags or () if not tag.startswith(("seq:step", "graph:step"))]
            self.models[run_id] = {**metadata, **({"tags": shown} if shown else {})}

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> Any:
        """A token, as a message chunk."""
        message = getattr(chunk, "message", None)
        if message is not None and run_id in self.models:
            self._show(message, self.models[run_id], once=False)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> Any:
        """The whole message, for a model that did not stream it."""
        metadata = self.models.pop(run_id, None)
        if metadata is None or not response.generations or not response.generations[0]:
            return
        message = getattr(response.generations[0][0], "message", None)
        if message is not None:
            self._show(message, metadata)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """The model is done with."""
        self.models.pop(run_id, None)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: Any,
    ) -> Any:
        """A node begins. What it is given has been seen; by whom is known at its end, in the context of its task."""
        if metadata is None or kwargs.get("name") != metadata.get("langgraph_node") or TAG_HIDDEN in (tags or ()):
            return
        shown = [tag for tag in tags or () if not tag.startswith(("seq:step", "graph:step"))]
        self.nodes[run_id] = {**metadata, **({"tags": shown} if shown else {})}
        self.given[run_id] = [message.id for message in messages_in(inputs) if message.id is not None]

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """A node has answered: show the messages in its answer."""
        metadata = self._ended(run_id)
        if metadata is not None:
            for message in messages_in(outputs):
                self._show(message, metadata)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """The node is done with."""
        self._ended(run_id)

    def _ended(self, run_id: UUID) -> Metadata | None:
        self.seen[_is_streamed(task_of())].update(self.given.pop(run_id, ()))
        return self.nodes.pop(run_id, None)

    def _show(self, message: BaseMessage, metadata: Metadata, once: bool = True) -> None:
        task = task_of()
        seen = self.seen[_is_streamed(task)]
        if message.id is None:
            message.id = str(uuid4())
        elif once and message.id in seen:
            return
        seen.add(message.id)
        if task is not None:
            task.run.stream(task, "messages", (message, metadata))


def _is_streamed(task: Task | None) -> bool:
    """False inside a nested graph that the stream leaves out: what is said there is new to whoever reads the stream."""
    return task is not None and any("messages" in outlet.modes for outlet in task.run.outlets)


def messages_in(value: Any) -> Iterable[BaseMessage]:
    """The messages in a node's input or answer: itself, in a list, or in the values of a state."""
    if isinstance(value, BaseMessage):
        yield value
    elif isinstance(value, Command):
        yield from messages_in(value.update)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            if isinstance(item, (BaseMessage, Command)):
                yield from messages_in(item)
            elif isinstance(item, tuple) and len(item) == 2:
                yield from messages_in(item[1])
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from messages_in(item)
    elif keys := annotated_keys(type(value)):
        for key in keys:
            item = getattr(value, key, None)
            if isinstance(item, (BaseMessage, list, tuple)):
                yield from messages_in(item)


def with_handler(callbacks: Any, kind: type[BaseCallbackHandler]) -> Any:
    """The callbacks with a handler of this kind among them; as they are where there is one already."""
    handlers = callbacks if isinstance(callbacks, list) else [] if callbacks is None else callbacks.handlers
    if any(isinstance(handler, kind) for handler in handlers):
        return callbacks
    if callbacks is None or isinstance(callbacks, list):
        return [*handlers, kind()]
    copied = callbacks.copy()
    copied.add_handler(kind(), True)
    return copied
