"""What the commands do: each a function from what was typed to a `Result`. Nothing here parses or prints."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from copy import copy
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from workbench import draw as draw_graph
from workbench import lint as lint_graph
from workbench import savers, text, topology
from workbench.cli import targets
from workbench.cli.printing import Result, line, table, under, values, wrote
from workbench.comparison import Comparison
from workbench.index import is_state
from workbench.recorder import arecord
from workbench.recorder import record as record_run
from workbench.recording import Recording
from workbench.savers import Kept


def draw(target: str, output: str | None, **options: Any) -> Result:
    """The picture of a graph, in a file or in words."""
    graph = targets.find(target).graph
    options["xray"] = options.pop("levels") or options["xray"]
    drawing = draw_graph(graph, **options)
    shape = drawing.shape
    data: dict[str, Any] = {"title": drawing.title, "text": drawing.words}
    if shape is not None:
        data["nodes"] = [{"id": node.id, "kind": node.kind, "facts": node.facts} for node in shape.nodes]
        data["edges"] = [_present(edge._asdict()) for edge in shape.edges]
        data["joins"] = [join._asdict() for join in shape.joins]
    if output is None:
        return Result([line(drawing.words)], data)
    data["file"] = str(drawing.save(output))
    return Result([wrote(output), line(drawing.title)], data)


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value or name in ("source", "target")}


# -- run --------------------------------------------------------------------------------------------------------------


def run(
    target: str, given: str | None, answer: str | None, thread: str | None, limit: int | None, report: str | None
) -> Result:
    """A recorded run of a graph."""
    graph = targets.find(target).graph
    graph = graph.compile() if not hasattr(graph, "invoke") else graph
    if thread is None and getattr(graph, "checkpointer", None) not in (None, False, True):
        thread = f"run-{uuid.uuid4().hex[:8]}"
    config = {"recursion_limit": limit} if limit is not None else None
    with redirect_stdout(sys.stderr):
        if _is_async(graph):
            rec = asyncio.run(arecord(graph, _input(graph, given, answer), config, thread=thread, raise_errors=False))
        else:
            rec = record_run(graph, _input(graph, given, answer), config, thread=thread, raise_errors=False)
    summary, error = rec.summary(), rec.error
    asked = [(one.node, one.interrupt.value) for one in rec.interrupts_pending]
    told = [f"{type(error).__name__}{targets.line_of(error)}: {error}"] if error is not None else []
    if len(asked) > 1 or any(not isinstance(value, str) for _, value in asked):
        told += [f"{node} asks: {text.value(value, 200)}" for node, value in asked]
    told += [f"Go on with --thread {thread} --resume ANSWER, if the saver outlives this process."] if asked else []
    shown = [under(summary.verdict, *told), line(""), _supersteps(rec)]
    output = rec.output
    if isinstance(output, Mapping):
        output = {name: value for name, value in output.items() if name != "__interrupt__"}
        shown += [line(""), values(output)]
    elif output is not None:
        shown += [line(""), line(text.value(output, 2000))]
    if report is not None:
        rec.report(report)
        shown += [line(""), wrote(report)]
    data = {
        "status": rec.status,
        "verdict": summary.verdict,
        "thread": thread,
        "output": output,
        "error": None if error is None else {"type": type(error).__name__, "message": str(error)},
        "questions": [{"node": node, "value": value} for node, value in asked],
        "supersteps": list(_rows(rec)),
        "report": report,
    }
    return Result(shown, data, 1 if error is not None else 0)


def _input(graph: Any, given: str | None, answer: str | None) -> Any:
    if answer is not None:
        module = "langgraph.types" if type(graph).__module__.startswith("langgraph.") else "runtime.types"
        return sys.modules[module].Command(resume=_json(answer, "--resume", or_text=True))
    return None if given is None else _json(given, "--input")


def _json(given: str, option: str, *, or_text: bool = False) -> Any:
    """The JSON that was typed, or that stands in the file behind an `@`, or on standard input for `-`."""
    words = given
    if given == "-":
        words = sys.stdin.read()
    elif given.startswith("@"):
        file = Path(given[1:])
        if not file.is_file():
            raise targets.TargetError(f"{option} names the file {given[1:]!r}, which is not there.")
        words = file.read_text(encoding="utf-8")
    try:
        return json.loads(words)
    except ValueError as error:
        if or_text:
            return given
        example = """'{"question": "tea?"}'"""
        raise targets.TargetError(f"{option} is no JSON: {error}. Write it like {example}, @file or -.") from error


def _is_async(graph: Any) -> bool:
    """True for a graph with a node that can only be awaited."""
    builder = topology.builder_of(graph)
    specs = (builder if builder is not None else graph).nodes.values()
    runnables = [getattr(spec, "runnable", None) or getattr(spec, "bound", None) for spec in specs]
    inner = topology.subgraphs(graph).values()
    return any(map(_only_awaited, runnables)) or any(map(_is_async, inner))


def _only_awaited(runnable: Any) -> bool:
    return getattr(runnable, "func", runnable) is None and inspect.iscoroutinefunction(getattr(runnable, "afunc", None))


def _rows(rec: Any) -> Iterator[dict[str, Any]]:
    for superstep in rec.index.supersteps:
        if superstep.visible and not superstep.ns:
            yield {
                "step": superstep.step,
                "tasks": [task.node for task in superstep.visible],
                "updated": [change.channel for change in superstep.changes() if is_state(change.channel)],
                "status": superstep.status,
            }


def _supersteps(rec: Any) -> Any:
    rows = [[str(row["step"]), ", ".join(row["tasks"]), ", ".join(row["updated"]), row["status"]] for row in _rows(rec)]
    return table(["step", "tasks", "updated", "status"], rows, right=["step"])


# -- databases --------------------------------------------------------------------------------------------------------


def threads(database: str) -> Result:
    """The threads of a database."""
    with savers.opened(database) as saver:
        found = savers.threads(saver)
    rows = []
    for thread in found:
        newest = thread.newest
        stands = ("", "", "") if newest is None else (str(newest.step), _stands(newest), newest.at)
        rows.append([thread.id, str(thread.checkpoints), *stands])
    head = table(["thread", "checkpoints", "step", "stands", "UTC"], rows, right=["checkpoints", "step"])
    data = [{"thread": one.id, "checkpoints": one.checkpoints, "newest": _data(one.newest)} for one in found]
    return Result([head if rows else line("There is no thread.")], data)


def show(database: str, thread: str, *, every: bool) -> Result:
    """A thread: its state, and its checkpoints."""
    with savers.opened(database) as saver:
        kept = savers.find(saver, thread)
        history = savers.checkpoints(saver, kept.thread, limit=None if every else 11)
    told = [_stands(kept)] + [f"asks: {text.value(one, 200)}" for one in kept.asks]
    rows = [[str(one.step), one.source, _stands(one), one.id[:18], one.at] for one in history[: None if every else 10]]
    shown = [
        under(f"thread {kept.thread}, step {kept.step}, {kept.source}", *told, f"checkpoint {kept.id}"),
        line(""),
        values(kept.values),
        line(""),
        table(["step", "made by", "stands", "checkpoint", "UTC"], rows, right=["step"]),
    ]
    if len(history) > len(rows):
        shown.append(line("and more, with --all"))
    return Result(shown, {**(_data(kept) or {}), "checkpoints": [_data(one) for one in history]})


def diff(database: str, a: str, b: str) -> Result:
    """What differs between two checkpoints."""
    with savers.opened(database) as saver:
        one, other = savers.find(saver, a), savers.find(saver, b)
    found = Comparison(one.values, other.values, (_place(one), _place(other)))
    head, *lines = str(found).splitlines()
    operations = [{**operation._asdict(), "path": list(operation.path)} for operation in found]
    for operation in operations:
        for side in ("before", "after"):
            if repr(operation[side]) == "ABSENT":
                del operation[side]
    data = {"a": _data(one), "b": _data(other), "operations": operations, "unchanged": found.unchanged}
    return Result([under(head, *(words.strip() for words in lines))], data)


def report(database: str, thread: str, output: str, target: str | None) -> Result:
    """A thread's runs as one HTML file, made of its checkpoints."""
    graph = None if target is None else targets.find(target).graph
    with savers.opened(database) as saver:
        kept = savers.find(saver, thread)
        source = saver if graph is None else _with(graph, saver)
        rec = Recording.from_thread(source, kept.thread)
        rec.report(output)
    head = f"Thread {kept.thread}: {rec.summary().verdict}"
    data = {"file": output, "thread": kept.thread, "supersteps": list(_rows(rec)), "missing": rec.missing}
    return Result([wrote(output), under(head, *rec.missing)], data)


def _with(graph: Any, saver: Any) -> Any:
    """The graph on that saver, to be read and not run: LangGraph compiles no graph on a saver that is not its own."""
    found = copy(graph if hasattr(graph, "invoke") else graph.compile())
    found.checkpointer = saver
    return found


def _place(kept: Kept) -> str:
    return f"{kept.thread}@{kept.step}"


def _stands(kept: Kept) -> str:
    if kept.asks:
        return f"asks at {', '.join(kept.next)}" if kept.next else "asks"
    return f"next {', '.join('START' if name == '__start__' else name for name in kept.next)}" if kept.next else "ended"


def _data(kept: Kept | None) -> dict[str, Any] | None:
    return None if kept is None else kept._asdict()


# -- lint, lab --------------------------------------------------------------------------------------------------------


def lint(target: str, noqa: Sequence[str]) -> Result:
    """What is amiss in a graph."""
    found = targets.find(target)
    quiet = {code for given in noqa for code in given.replace(",", " ").split()}
    findings = lint_graph(found.graph, noqa=[*quiet, *(["WB108"] if found.served else [])])
    shown: list[RenderableType] = [line(text.count(len(findings), "finding") if findings else "No findings.")]
    for one in findings:
        shown += [line(""), under(f"{one.code}  {one.where}", one.what, one.why, one.fix)]
    return Result(shown, [one._asdict() for one in findings], 1 if findings else 0)


def lab(folder: str, arguments: Sequence[str]) -> int:
    """JupyterLab in a folder; gives its exit status."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    words = [sys.executable, "-m", "jupyterlab", *(["--allow-root"] if root else []), *arguments]
    return subprocess.call(words, cwd=folder)
