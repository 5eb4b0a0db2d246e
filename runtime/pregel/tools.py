"""The `tools` stream: when a tool begins, what it gives on the way, how it ends. A callback handler, like messages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.callbacks.base import BaseCallbackHandler

from runtime._context import task_of
from runtime.errors import GraphBubbleUp


class ToolStreamer(BaseCallbackHandler):
    """Streams the tool calls of a run. A tool that stops to ask has not failed, and tells nothing of it."""

    run_inline = True

    def __init__(self) -> None:
        self.calls: dict[UUID, str | None] = {}

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A tool begins."""
        call_id = self.calls[run_id] = kwargs.get("tool_call_id")
        name = (serialized or {}).get("name") or kwargs.get("name")
        self._show("tool-started", call_id, tool_name=name, input=inputs if inputs is not None else input_str)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """A tool has ended."""
        self._show("tool-finished", self.calls.pop(run_id, None), output=output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """A tool has failed."""
        call_id = self.calls.pop(run_id, None)
        if not isinstance(error, GraphBubbleUp):
            self._show("tool-error", call_id, message=str(error))

    def _show(self, event: str, call_id: str | None, **more: Any) -> None:
        task = task_of()
        if task is not None:
            task.run.stream(task, "tools", {"event": event, "tool_call_id": call_id, **more})
