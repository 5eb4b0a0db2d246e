"""What the notebooks share: a chat model that answers from a script, and questions that check themselves.

Notebooks import this from the folder in which they lie. The model needs no network and no key, and answers the same on
every run, in every branch of a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from workbench import Recording, text
from workbench.prose import Line, Told

# -- the model --------------------------------------------------------------------------------------------------------


class ScriptedModel(BaseChatModel):
    """A chat model whose reply follows from the last message: the first line of the script whose phrase is in it.

    A reply is a text, or a tool call as `{"name": …, "args": {…}}`. Ids count the replies of the conversation, so that
    replays and forks get the same ones.
    """

    script: list[tuple[str, str | dict[str, Any]]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **given: Any
    ) -> ChatResult:
        number = sum(message.type == "ai" for message in messages) + 1
        said = str(messages[-1].content)
        reply = next((reply for phrase, reply in self.script if phrase in said), None)
        if reply is None:
            phrases = text.listing((repr(phrase) for phrase, _ in self.script), "or")
            raise LookupError(f"The script has no reply to {said!r}. It answers what says {phrases}.")
        calls = [{**reply, "id": f"call {number}"}] if isinstance(reply, dict) else []
        words = "" if isinstance(reply, dict) else reply
        message = AIMessage(words, id=f"reply {number}", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


# -- questions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Verdict(Told):
    """What a check found, in one sentence, and what it rests on."""

    passed: bool
    words: str
    evidence: tuple[Line, ...] = ()

    def head(self) -> Line:
        return (self.words,)

    def lines(self) -> Iterable[Line]:
        return self.evidence


@dataclass(frozen=True)
class Question:
    """A question about a run. Its right answer is computed from the recording, and so are those that tempt.

    `tempting` gives the reason why an answer tempts; `evidence` what the recording says about an answer. An answer is a
    number, a name, or several names, in a list or with commas between them.
    """

    words: str
    right: Callable[[Recording], Any]
    evidence: Callable[[Recording, Any], Iterable[Told | str]]
    tempting: Mapping[Callable[[Recording], Any], str] = field(default_factory=dict)

    def check(self, answer: Any, rec: Recording) -> Verdict:
        """Whether the answer is right; if not, why it tempts, and what the recording says. `...` is no answer yet."""
        if answer is ...:
            return Verdict(False, self.words, (("Write your answer in place of the dots, and run this cell again.",),))
        right = self.right(rec)
        given = _read(answer, right)
        evidence = tuple(_lines(self.evidence(rec, given)))
        if given == right:
            return Verdict(True, f"{self.words} {_shown(right)}: right.", evidence)
        reason = next((words for tempts, words in self.tempting.items() if tempts(rec) == given), "")
        return Verdict(False, f"{self.words} Not {_shown(given)}. {reason}".rstrip(), evidence)


def ran(rec: Recording, step: int) -> set[str]:
    """The nodes that ran in a superstep, without the hidden ones."""
    return {node for node in rec.tasks.query("step == @step").node if not node.startswith("__")}


def _read(answer: Any, right: Any) -> Any:
    """The answer in the shape of the right one."""
    if isinstance(right, set):
        names = answer if isinstance(answer, list | tuple | set) else str(answer).split(",")
        return {str(name).strip() for name in names}
    if isinstance(answer, str):
        answer = answer.strip()
        return int(answer) if isinstance(right, int) and answer.isdecimal() else answer
    return answer


def _shown(answer: Any) -> str:
    return text.listing(sorted(answer)) if isinstance(answer, set) else str(answer)


def _lines(found: Iterable[Told | str]) -> Iterable[Line]:
    for one in found:
        if isinstance(one, str):
            yield (one,)
        else:
            yield one.head()
            yield from one.lines()
