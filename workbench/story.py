"""A run told in sentences, the same on every run: who ran, what was written, who waits, how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from workbench import text
from workbench.frames import tasks_in_words
from workbench.index import Index, Run, Superstep, is_state
from workbench.prose import Line, Told, asked, quoted
from workbench.summary import verdict

_LINES: Final = 60
_ID: Final = re.compile(r"[0-9a-f]{32}")


class Story(Told):
    """What happened, a sentence for each superstep."""

    __slots__ = ("error", "index", "status")

    def __init__(self, index: Index, status: str, error: BaseException | None) -> None:
        self.index = index
        self.status = status
        self.error = error

    def head(self) -> Line:
        """How it ended."""
        return (f"{verdict(self.index, self.status, self.error) if self.index.runs else 'No run yet'}.",)

    def lines(self) -> Iterator[Line]:
        """One sentence for each superstep at the top, and for where each run began; a long middle is folded."""
        every = list(self._all())
        if len(every) <= _LINES:
            yield from every
            return
        half = _LINES // 2
        yield from every[:half]
        yield (f"… {len(every) - 2 * half:,} sentences more …",)
        yield from every[-half:]

    def _all(self) -> Iterator[Line]:
        askers: dict[str, str] = {}
        for run in self.index.roots:
            beginning = _beginning(run, askers)
            if beginning:
                yield (beginning,)
            for superstep in run.supersteps:
                if superstep.visible:
                    yield (_sentence(superstep),)
            for one in run.stop.interrupts if run.stop is not None else ():
                askers[one.interrupt.id] = one.node

    @property
    def sentences(self) -> list[str]:
        """The sentences as texts."""
        return str(self).replace("\n  ", "\n").splitlines()


def _beginning(run: Run, askers: Mapping[str, str]) -> str:
    started = run.started
    if started is None:
        return ""
    match started.kind:
        case "input":
            return f"It was given {quoted(started.input)}."
        case "command":
            resume = getattr(started.input, "resume", None)
            return f"It was answered {_answers(resume, askers)}." if resume is not None else "It was given a command."
        case "replay":
            return f"It ran again from the checkpoint before superstep {started.step}."
        case _:
            return "It went on."


def _answers(resume: Any, askers: Mapping[str, str]) -> str:
    """What a command answered. Where it names questions by their ids, which differ from run to run: who asked them."""
    if not isinstance(resume, Mapping) or not resume or not all(_ID.fullmatch(str(key)) for key in resume):
        return quoted(resume)
    return text.listing(
        f"{quoted(answer)} at {askers[key]}" if key in askers else quoted(answer) for key, answer in resume.items()
    )


def _sentence(superstep: Superstep) -> str:
    tasks = superstep.visible
    together = f"{tasks_in_words(tasks)}{' ran side by side' if len(tasks) > 1 else ' ran'}"
    parts = [f"{superstep.step}: {together}"]
    cached = [task.node for task in tasks if task.status == "cached"]
    if cached:
        parts.append(f"{text.listing(dict.fromkeys(cached))} did not run again")
    written: dict[str, None] = {}
    for write in superstep.updated.writes if superstep.updated is not None else ():
        if is_state(write.channel):
            written[write.channel] = None
    if written:
        parts.append(f"wrote {text.listing(written)}")
    elif superstep.updated is not None:
        parts.append("changed nothing of the state")
    for task in tasks:
        finished = task.finished
        if finished is None:
            continue
        if finished.error is not None and task.status == "failed":
            parts.append(f"{task.node} failed with {type(finished.error).__name__}")
        parts += [f"{task.node} asks {asked(question.value)}" for question in finished.interrupts]
        if task.status == "ok" and finished.answers:
            parts.append(f"{task.node} was answered {text.listing(quoted(one) for one in finished.answers)}")
    return "; ".join(parts) + "."
