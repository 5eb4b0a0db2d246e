"""Graphs by the words that a person types: `module:attribute`, `file.py:attribute`, or a name in `langgraph.json`.

`langgraph.json` is looked for here and in the folders above. What it lists may be a graph, a builder, or a function
that makes one; its local dependencies can be imported, and its environment is set, as LangGraph's own command line
does.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from workbench import text

CONFIG: Final = "langgraph.json"


class TargetError(ValueError):
    """No graph is there; says what would have been."""


class BrokenTarget(RuntimeError):
    """The user's own file or function raised."""


class Found(NamedTuple):
    """A graph that was found. `served` is True for one of `langgraph.json`, whose server brings a checkpointer."""

    graph: Any
    served: bool = False


def names(folder: Path) -> dict[str, str]:
    """The graphs that the `langgraph.json` here or above lists, each with its place; none without such a file."""
    file = _config_file(folder)
    return {} if file is None else {name: place for name, (place, _) in _listed(file).items()}


def find(target: str) -> Found:
    """The graph that a target names. TargetError where there is none, BrokenTarget where its code raises."""
    place, _, attribute = target.rpartition(":") if ":" in target else (target, "", "")
    file = _config_file(Path.cwd())
    listed = {} if file is None else _listed(file)
    if not attribute and target in listed and file is not None:
        spot, whole = listed[target]
        _prepare(file, whole)
        place, _, attribute = spot.rpartition(":")
        path = (file.parent / place).resolve()
        return Found(_graph(_module(str(path) if place.endswith(".py") else place), attribute, spot), served=True)
    if not place.endswith(".py") and not attribute and not _importable(place):
        raise TargetError(_lost(target, listed))
    return Found(_graph(_module(place), attribute, place))


def _lost(target: str, listed: Mapping[str, Any]) -> str:
    known = f" {CONFIG} lists {text.listing(listed)}." if listed else f" There is no {CONFIG} here or above."
    return f"There is no graph {target!r}.{known} Or name one as file.py:attribute or module:attribute."


# -- langgraph.json ---------------------------------------------------------------------------------------------------


def _config_file(folder: Path) -> Path | None:
    return next((above / CONFIG for above in (folder, *folder.parents) if (above / CONFIG).is_file()), None)


def _listed(file: Path) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Each name with its place, and the whole file's content."""
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
        graphs = whole.get("graphs", {})
        places = {name: one["path"] if isinstance(one, Mapping) else str(one) for name, one in graphs.items()}
    except (ValueError, AttributeError, KeyError) as error:
        raise TargetError(f"{file} cannot be read: {error}. It needs 'graphs': a name and a place for each.") from error
    return {name: (place, whole) for name, place in places.items()}


def _prepare(file: Path, whole: Mapping[str, Any]) -> None:
    """Make importable what the file calls a local dependency, and set its environment; what is set already stays."""
    for dependency in whole.get("dependencies") or ():
        folder = (file.parent / str(dependency)).resolve()
        if str(dependency).startswith(".") and folder.is_dir():
            _import_from(folder)
    environment = whole.get("env")
    for name, value in environment.items() if isinstance(environment, Mapping) else ():
        os.environ.setdefault(str(name), str(value))


# -- modules ----------------------------------------------------------------------------------------------------------


def _import_from(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _importable(name: str) -> bool:
    _import_from(Path.cwd())
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _module(place: str) -> ModuleType:
    if place.endswith(".py"):
        return _file(Path(place).resolve(), place)
    if not _importable(place):
        raise TargetError(f"There is no module {place!r}. A file is named with its ending: {place}.py:attribute.")
    with _users_code(place):
        return importlib.import_module(place)


def _file(path: Path, shown: str) -> ModuleType:
    if not path.is_file():
        raise TargetError(f"There is no file {shown!r}.")
    _import_from(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{shown} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    with _users_code(path.name):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _users_code(where: str) -> Iterator[None]:
    """A block that runs the user's code: what it prints goes to stderr, what it raises is told with its line."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except Exception as error:
        raise BrokenTarget(f"{where} failed{line_of(error)}: {type(error).__name__}: {error}") from error


def line_of(error: BaseException) -> str:
    """Where in the user's code an error came from: ` at line 3 of agent.py`; empty where that is not known."""
    root = Path(__file__).parents[2]
    here = tuple(str(root / package) for package in ("runtime", "workbench", "widgets"))
    trace, found = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((*here, "<")) and "site-packages" not in file and "importlib" not in file:
            found = f" at line {trace.tb_lineno} of {Path(file).name}"
        trace = trace.tb_next
    return found


# -- graphs -----------------------------------------------------------------------------------------------------------


def _graph(module: ModuleType, attribute: str, shown: str) -> Any:
    there = {name: one for name, one in vars(module).items() if not name.startswith("_") and is_graph(one)}
    if not attribute:
        compiled = {name: one for name, one in there.items() if hasattr(one, "invoke")} or there
        if len(compiled) == 1:
            return next(iter(compiled.values()))
        many = text.count(len(there), "graph")
        raise TargetError(f"{shown} has {many}: say which, as {shown}:attribute.{_has(there)}")
    thing: Any = module
    for name in attribute.split("."):
        thing = getattr(thing, name, None)
    if thing is None:
        raise TargetError(f"{shown} has no {attribute!r}.{_has(there)}")
    if not is_graph(thing) and callable(thing):
        with _users_code(f"{shown}:{attribute}"):
            thing = _made(thing)
    if not is_graph(thing):
        raise TargetError(f"{attribute!r} of {shown} is no graph but of type {type(thing).__name__}.{_has(there)}")
    return thing


def _has(there: Mapping[str, Any]) -> str:
    return f" Its graphs are {text.listing(there)}." if there else " It has no graph."


def _made(function: Any) -> Any:
    """What a function that makes a graph gives; it may ask for a config, and may be a coroutine function."""
    takes = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    made = function({"configurable": {}}) if takes else function()
    if inspect.iscoroutine(made):
        import asyncio  # noqa: PLC0415 - most graphs are simply there

        return asyncio.run(made)
    return made


def is_graph(thing: Any) -> bool:
    """True for a compiled graph or a builder, of either engine, told by what it has."""
    if isinstance(thing, type):
        return False
    built = all(hasattr(thing, name) for name in ("nodes", "edges", "branches"))
    return built or all(hasattr(thing, name) for name in ("nodes", "channels", "invoke"))
