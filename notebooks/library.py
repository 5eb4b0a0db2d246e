"""The library's own props: what a shell prints, a file's fingerprint, the questions and the exercise."""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from course import Verdict
from lending import REQUESTS

from runtime.types import Command
from workbench import savers, text

# That a class is not imported is said in the notebook's own words.
logging.getLogger("runtime.checkpoint.serde").setLevel(logging.ERROR)


class Printed(str):
    """A text that shows itself as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self.rstrip()


def shell(command: str) -> Printed:
    """What a command of this Python prints in a terminal of 80 columns."""
    words = [sys.executable, "-m", *command.split()]
    plain = {**{name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}, "COLUMNS": "80"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=plain)
    return Printed(done.stdout)


def fingerprint(file: Path) -> str:
    """The first digits of the SHA-256 of a file's bytes, and of the log beside it where there is one."""
    beside = file.with_name(f"{file.name}-wal")
    parts = [part.read_bytes() for part in (file, beside) if part.is_file()]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:12]


def waiting(*files: Path) -> list[tuple[str, Any]]:
    """Each thread of these files that waits, and what it asks."""
    found = []
    for file in files:
        with savers.opened(str(file)) as saver:
            threads = sorted(savers.threads(saver))
            found += [(one.id, asks) for one in threads if one.newest for asks in one.newest.asks]
    return found


# -- the questions ----------------------------------------------------------------------------------------------------


def _judged(words: str, answer: Any, right: int, tempting: int, reason: str, evidence: Iterable[str]) -> Verdict:
    if answer is ...:
        return Verdict(False, words, (("Write a number in place of the dots, and run this cell again.",),))
    lines = tuple((line,) for line in evidence)
    if answer == right:
        return Verdict(True, f"{words} {right}: right.", lines)
    return Verdict(False, f"{words} Not {answer}.{f' {reason}' if answer == tempting else ''}", lines)


def threads_that_wait(answer: Any, file: Path) -> Verdict:
    """How many threads of the file wait for an answer."""
    found = waiting(file)
    return _judged(
        "How many threads wait in the first file?",
        answer,
        len(found),
        0,
        "The process that asked has ended; but a question is a write beside a checkpoint, and the file keeps it.",
        (f"{thread} waits: {question}" for thread, question in found),
    )


def checkpoints_of_atlas(answer: Any, file: Path) -> Verdict:
    """How many checkpoints the thread `atlas` has."""
    with savers.opened(str(file)) as saver:
        found = savers.checkpoints(saver, "atlas")[::-1]
    return _judged(
        "How many checkpoints has the thread atlas?",
        answer,
        len(found),
        1,
        "One node has finished; but each barrier is a checkpoint, those of the input and of START too.",
        (f"superstep {one.step}, next {text.listing(one.next) or 'nothing'}" for one in found),
    )


# -- the exercise -----------------------------------------------------------------------------------------------------

WANTED: Final = {"atlas": True, "map": False, "novel": None}


def answered(graph: Any, file: Path, before: str) -> Verdict:
    """Whether the atlas is lent, the map refused, the novel still asked for, and the file as it was."""
    stands = {}
    for book in REQUESTS:
        state = graph.get_state({"configurable": {"thread_id": book}})
        stands[book] = state.values.get("lent") if not state.next else None
    if fingerprint(file) != before:
        return Verdict(False, "Still missing: the file has changed. Answer through an Overlay.")
    words = {True: "lent", False: "refused", None: "waiting"}
    wrong = [f"{book} is {words[stands[book]]}" for book in WANTED if stands[book] is not WANTED[book]]
    if wrong:
        return Verdict(False, f"Still missing: {text.listing(wrong)}.")
    return Verdict(True, "Passed: the atlas is lent, the map refused, the novel waits, and the file is as it was.")


def answer(graph: Any, book: str, yes: bool) -> dict[str, Any]:
    """The state after a librarian's answer to a thread's question."""
    state: dict[str, Any] = graph.invoke(Command(resume=yes), {"configurable": {"thread_id": book}})
    return state
