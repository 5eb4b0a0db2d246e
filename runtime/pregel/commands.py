"""What a caller's input says, as writes: an input for the input channels, or a command to a thread that waits."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime._words import INTERRUPT, PARENT, RESUME, START, TASKS
from runtime.errors import EmptyInputError, InvalidUpdateError, UnknownInterruptError
from runtime.pregel.program import Program
from runtime.pregel.task import is_outcome
from runtime.pregel.write import branch_channel
from runtime.types import Command, Interrupt, Send, update_pairs

if TYPE_CHECKING:
    from runtime.pregel.run import Run

logger = logging.getLogger(__name__)

_HEX = re.compile(r"[0-9a-f]{32}")


def input_writes(channels: str | Sequence[str], input: Any, program: Program) -> list[tuple[str, Any]]:
    """The writes of an input: whole to the one input channel, or by key to several. Other keys are left out."""
    if isinstance(channels, str):
        return [(channels, input)]
    if not isinstance(input, dict):
        raise TypeError(f"This graph has several input channels ({', '.join(channels)}), so its input is a dict.")
    for key in input:
        if key not in channels:
            logger.warning("The input key %r is none of the graph's input channels. It is left out.", key)
    return [(key, value) for key, value in input.items() if key in channels]


def command_writes(
    run: Run, command: Command[Any], pending: Mapping[str, Sequence[tuple[str, Any]]]
) -> list[tuple[str, Any]]:
    """The writes of a caller's command; its answers are laid ready for the tasks that ask.

    Raises RuntimeError for an answer without a saver, or one plain answer to several questions; EmptyInputError for a
    command that says nothing; InvalidUpdateError for one to the parent; TypeError for a goto of the wrong type.
    """
    if command.graph == PARENT:
        raise InvalidUpdateError("There is no parent graph here: a caller's Command cannot have graph=Command.PARENT.")
    writes: list[tuple[str, Any]] = []
    gotos = command.goto if isinstance(command.goto, (list, tuple)) else [command.goto]
    for target in gotos:
        if isinstance(target, Send):
            writes.append((TASKS, target))
        elif isinstance(target, str):
            writes.append((branch_channel(target), START))
        else:
            raise TypeError(f"Command.goto takes names of nodes and Sends, not {target!r}.")
    answered = command.resume is not None
    if answered:
        writes.extend(_answers(run, command.resume, open_interrupts(pending)))
    if command.update is not None:
        writes.extend(update_pairs(command.update))
    if not writes and not answered:
        raise EmptyInputError("This Command says nothing. Give it resume=, update= or goto=.")
    return writes


def open_interrupts(pending: Mapping[str, Sequence[tuple[str, Any]]]) -> list[Interrupt]:
    """The questions that still wait, in stored writes by task."""
    found = (
        item
        for writes in pending.values()
        if not is_outcome(writes)
        for channel, value in writes
        if channel == INTERRUPT
        for item in value
    )
    return list({item.id: item for item in found}.values())  # a called task's question is its caller's too


def _answers(run: Run, resume: Any, waiting: Sequence[Interrupt]) -> list[tuple[str, Any]]:
    if run.saver is None:
        raise RuntimeError("Command(resume=…) needs a checkpointer: without one no run waits. Compile with a saver.")
    if isinstance(resume, dict) and all(isinstance(key, str) and _HEX.fullmatch(key) for key in resume):
        if run.strict:
            _check_strictly(resume, waiting)
        run.answers.by_id = dict(resume)
        return []
    if len(waiting) > 1:
        if run.strict:
            raise UnknownInterruptError(
                "One plain answer cannot tell which of several interrupts it is for.",
                reason="ambiguous",
                pending_ids=[item.id for item in waiting],
            )
        raise RuntimeError(
            f"{len(waiting)} interrupts are pending, so the answer must name the interrupt id it is for: "
            "Command(resume={interrupt_id: answer, …}). Pending: "
            + ", ".join(f"{item.id} ({item.value!r})" for item in waiting)
        )
    run.answers.first = [resume]
    return [(RESUME, resume)]


def _check_strictly(resume: Mapping[str, Any], waiting: Sequence[Interrupt]) -> None:
    ids = [item.id for item in waiting]
    if not resume:
        raise UnknownInterruptError("The resume map is empty.", reason="empty_map", pending_ids=ids)
    unknown = [key for key in resume if key not in ids]
    if unknown:
        raise UnknownInterruptError(
            f"No interrupt with the id {', '.join(unknown)} is pending. Pending: {', '.join(ids) or 'none'}.",
            reason="not_pending",
            interrupt_ids=unknown,
            pending_ids=ids,
        )
