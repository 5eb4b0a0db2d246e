"""A chat model that says what it was asked, a word at a time; and messages for the state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


def message(word: str) -> AIMessage:
    """A message for the state; the same word makes the same message."""
    return AIMessage(word, id=f"message {word}")


class Voice(BaseChatModel):
    """Says the last message again."""

    @property
    def _llm_type(self) -> str:
        return "voice"

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(messages[-1].content))])

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        return self._generate(messages)

    def _stream(self, messages: list[BaseMessage], *args: Any, **more: Any) -> Iterator[ChatGenerationChunk]:
        for word in str(messages[-1].content).split():
            yield ChatGenerationChunk(message=AIMessageChunk(word))

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **more: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk
