"""A program finds every public name where LangGraph has it, once `langgraph` is `runtime` in its imports."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import langgraph
import pytest

NOT_HERE = {
    "graph.ui",  # messages that a server's own page shows
    "pregel.remote",  # a client of a server
    "prebuilt.ToolCallTransformer",  # the third format of streams, and
    "stream",  # all that it is made of
}


def public_modules():
    """The names of LangGraph's modules, without "langgraph.": those that can be imported and list their names."""
    for module in pkgutil.walk_packages(langgraph.__path__, "langgraph."):
        _, *path = module.name.split(".")
        if not any(part.startswith("_") for part in path):
            yield ".".join(path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_module_that_lists_its_names_is_here_and_so_are_the_names():
    missing = set()
    for path in public_modules():
        try:
            names = getattr(importlib.import_module(f"langgraph.{path}"), "__all__", ())
        except ImportError:  # it needs a package that is not installed
            continue
        if names and find_spec(f"runtime.{path}") is None:
            missing.add(path)
        elif names:
            ours = importlib.import_module(f"runtime.{path}")
            missing |= {f"{path}.{name}" for name in names if not hasattr(ours, name)}
    assert missing == NOT_HERE


def called(path):
    """The functions of a module's listed names, and the methods of its classes: theirs and ours."""
    theirs, ours = importlib.import_module(f"langgraph.{path}"), importlib.import_module(f"runtime.{path}")
    for name in getattr(theirs, "__all__", ()):
        one, other = getattr(theirs, name), getattr(ours, name, None)
        if inspect.isclass(one):
            for method, function in vars(one).items():
                if inspect.isfunction(function) and not method.startswith("_") and hasattr(other, method):
                    yield f"{name}.{method}", function, getattr(other, method)
        elif inspect.isfunction(one) and other is not None:
            yield name, one, other


def names_taken(function):
    """The parameters that a call may name."""
    found = inspect.signature(function).parameters.values()
    return {one.name for one in found if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}


def lost_names():
    """The functions which a call may give an argument by name there, and not here."""
    for path in public_modules():
        try:
            functions = [*called(path)]
        except ImportError:
            continue
        for name, theirs, ours in functions:
            if any(not one.startswith("_") for one in names_taken(theirs) - names_taken(ours)):
                yield name


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_whatever_a_call_names_there_it_may_name_here():
    assert {*lost_names()} == {
        *(f"PregelProtocol.{way}" for way in ("invoke", "ainvoke", "stream", "astream")),  # a graph lists its options
        *(f"PregelProtocol.{way}" for way in ("bulk_update_state", "abulk_update_state")),  # "supersteps" in a graph
        *(f"Pregel.{way}" for way in ("stream_events", "astream_events")),  # the third format of streams
    }


def test_an_old_address_says_the_new_one():
    asked = [sys.executable, "-W", "error", "-c", "from runtime.pregel.types import StateSnapshot"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=False).stderr
    assert "LangGraphDeprecatedSinceV10: The module runtime.pregel.types is deprecated" in shown
    assert "runtime.types" in shown


@pytest.mark.filterwarnings("ignore::runtime.warnings.LangGraphDeprecatedSinceV10")
def test_what_stands_at_the_old_address_is_what_stands_at_the_new_one():
    old, new = importlib.import_module("runtime.pregel.types"), importlib.import_module("runtime.types")
    assert all(getattr(old, name) is getattr(new, name) for name in old.__all__)
