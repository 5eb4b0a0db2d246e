"""The one module that knows IPython: `%load_ext workbench`, formatters by type name, and magics.

Loading imports no graph library. A formatter is looked up by the name of a type, so that LangGraph's own graphs draw
themselves here too, before anybody has imported LangGraph in this process. Formatters never raise: what cannot be
drawn says why, in text. Unloading puts back what was there before.
"""

import argparse
import asyncio
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from workbench import text

_DRAWN = (
    ("runtime.graph.compile", "CompiledStateGraph"),
    ("runtime.graph.state", "StateGraph"),
    ("runtime.pregel.main", "Pregel"),
    ("langgraph.graph.state", "CompiledStateGraph"),
    ("langgraph.graph.state", "StateGraph"),
    ("langgraph.pregel.main", "Pregel"),
)
_SNAPSHOTS = (("runtime.types", "StateSnapshot"), ("langgraph.types", "StateSnapshot"))
_COMPLETED = ("%graph", "graph", "%why", "why", "%lint", "lint", "%threads", "threads")

Bundle = dict[str, str]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Makes graphs and snapshots draw themselves, and brings the magics. Twice is once."""
    if WorkbenchMagics.__name__ in shell.magics_manager.registry:
        return
    magics = WorkbenchMagics(shell)
    shell.register_magics(magics)
    magics.take_over()


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Puts formatters, magics and completions back as they were before."""
    magics = shell.magics_manager.registry.pop(WorkbenchMagics.__name__, None)
    if magics is not None:
        magics.give_back()


def show_graph(graph: Any, include: Any = None, exclude: Any = None) -> Bundle:
    """A graph as its drawing; in text, with the reason, where it cannot be drawn."""
    from workbench.drawing import draw  # noqa: PLC0415 - loading the extension must stay quick

    return _careful(lambda: draw(graph)._repr_mimebundle_(), graph)


def show_snapshot(snapshot: Any, include: Any = None, exclude: Any = None) -> Bundle:
    """A state snapshot as a table of its values."""
    from workbench import snapshot as view  # noqa: PLC0415 - loading the extension must stay quick

    return _careful(lambda: view.bundle(snapshot), snapshot)


def _print_snapshot(snapshot: Any, printer: Any, cycle: bool) -> None:
    printer.text(show_snapshot(snapshot)["text/plain"])


def _careful(show: Callable[[], Bundle], thing: Any) -> Bundle:
    try:
        return show()
    except Exception as error:  # a display must never break the cell whose value it shows
        told = f"{type(error).__name__}: {error}"
        return {"text/plain": f"{text.value(thing)}\nThe workbench could not draw it: {told}"}


def graphs(names: Mapping[str, Any]) -> dict[str, Any]:
    """The graphs among a notebook's names; those that begin with an underscore are IPython's own."""
    return {name: one for name, one in names.items() if not name.startswith("_") and is_graph(one)}


def is_graph(thing: Any) -> bool:
    """True for a compiled graph or a builder of either engine, told by the names of its types."""
    return any((base.__module__, base.__name__) in _DRAWN for base in type(thing).__mro__)


class _Parser(argparse.ArgumentParser):
    """A magic's arguments: a wrong one is a usage error in one sentence, and `--help` prints how to use it."""

    def __init__(self, magic: str, words: str) -> None:
        super().__init__(prog=magic, description=words, add_help=False)
        self.add_argument("-h", "--help", action="store_true", help="print this")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}. Try {self.prog} --help.")

    def read(self, line: str) -> argparse.Namespace | None:
        """The arguments of a line; None when help was asked for and has been printed."""
        words = shlex.split(line)
        if {"-h", "--help"} & set(words):
            self.print_help()
            return None
        return self.parse_args(words)


_GRAPH = _Parser("%graph", "Draws a graph.")
_GRAPH.add_argument("name", help="a graph among the notebook's names, such as app or shop.graph")
_GRAPH.add_argument("--xray", action="store_true", help="open the subgraphs")
_GRAPH.add_argument("--levels", type=int, help="open the subgraphs so many levels deep")
_GRAPH.add_argument("--channels", action="store_true", help="show actors and channels, the truth beneath")
_GRAPH.add_argument("--direction", help="TB, LR, BT or RL; TB for most graphs")
_GRAPH.add_argument("--focus", help="show this node and what is near it")
_GRAPH.add_argument("--depth", type=int, help="how many edges away from the focus, or from START")

_RECORD = _Parser("%%record", "Records every graph run that the cell makes, however deep it is called.")
_RECORD.add_argument("name", nargs="?", default="rec", help="the name to bind the recording to (default: rec)")

_WHY = _Parser("%why", "Says why a node ran in the last recorded run, or why not.")
_WHY.add_argument("node", help="a node of that run")
_WHY.add_argument("--step", type=int, help="the superstep (default: the last in which it ran)")
_WHY.add_argument("--not", dest="absent", action="store_true", help="say why it did not run")

_THREADS = _Parser("%threads", "Lists the threads in a checkpointer or a database.")
_THREADS.add_argument(
    "saver", help="a name of the notebook's (a saver or a graph), an SQLite file, or a postgresql URL"
)

_LINT = _Parser("%lint", "Says what is amiss in a graph, before it runs. After a run: rec.lint().")
_LINT.add_argument("name", help="a graph among the notebook's names, compiled or not")
_LINT.add_argument("--noqa", default="", help="rules that shall not be heard, such as WB105,WB108")


def _awaits(shell: Any, cell: str) -> bool:
    """True for a cell that awaits at its top, in a kernel whose loop runs already: a magic cannot give way to it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return bool(shell.should_run_async(cell, transformed_cell=shell.transform_cell(cell)))


@magics_class
class WorkbenchMagics(Magics):
    """Draws graphs, records what cells run, and explains the last recording."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._ip: Any = shell
        self._before: list[tuple[dict[Any, Any], Any, Any]] = []

    @line_magic
    def graph(self, line: str) -> Any:
        """Draws a graph: %graph app --xray. All options: %graph --help."""
        from workbench.drawing import draw  # noqa: PLC0415 - loading the extension must stay quick

        given = _GRAPH.read(line)
        if given is None:
            return None
        options = {key: one for key, one in vars(given).items() if key not in ("name", "help", "levels")}
        options["xray"] = given.levels or given.xray
        return _told(lambda: draw(self._named(given.name), **options))

    @cell_magic
    def record(self, line: str, cell: str) -> Any:
        """Records every graph run that the cell makes, and binds the recording: %%record rec."""
        from workbench.recorder import recording  # noqa: PLC0415 - loading the extension must stay quick

        given = _RECORD.read(line)
        if given is None:
            return None
        if not given.name.isidentifier():
            raise UsageError(f"{given.name!r} is no name to bind a recording to.")
        if _awaits(self._ip, cell):
            raise UsageError(
                "%%record cannot wait for a cell that awaits at its top. "
                f"Write in it: with recording() as {given.name}: await …, after from workbench import recording."
            )
        with recording(everywhere=True) as rec:
            done = self._ip.run_cell(cell, store_history=False)
        self._ip.push({given.name: rec})
        return rec if done.success else None

    @line_magic
    def why(self, line: str) -> Any:
        """Says why a node ran in the last recorded run: %why write --step 4. Why it did not: %why --not write."""
        from workbench.recorder import last  # noqa: PLC0415 - loading the extension must stay quick

        given = _WHY.read(line)
        if given is None:
            return None
        rec = last()
        if rec is None:
            raise UsageError("No run was recorded yet. Use rec = record(graph, input), or %%record on a cell.")
        ask = rec.why_not if given.absent else rec.why
        return _told(lambda: ask(given.node, given.step))

    @line_magic
    def lint(self, line: str) -> Any:
        """Says what is amiss in a graph: %lint app --noqa WB108. What was amiss in a run: rec.lint()."""
        from workbench.lint import lint  # noqa: PLC0415 - loading the extension must stay quick

        given = _LINT.read(line)
        return None if given is None else _told(lambda: lint(self._named(given.name), noqa=given.noqa))

    @line_magic
    def threads(self, line: str) -> Any:
        """Lists the threads in a checkpointer or a database: %threads runs.db."""
        from workbench import savers  # noqa: PLC0415 - loading the extension must stay quick

        given = _THREADS.read(line)
        if given is None:
            return None
        named = self._ip.user_ns.get(given.saver)
        saver = getattr(named, "checkpointer", named)
        if hasattr(saver, "get_tuple"):
            return savers.frame(savers.threads(saver))

        def read() -> Any:
            with savers.opened(given.saver) as opened:
                return savers.frame(savers.threads(opened))

        try:
            return read()
        except ValueError as error:
            there = self._savers()
            known = f" What keeps threads in this notebook: {text.listing(there)}." if there else ""
            raise UsageError(f"{error}{known}") from error

    def _savers(self) -> list[str]:
        """The notebook's names for checkpointers, and for graphs that have one."""
        mine = {name: one for name, one in self._ip.user_ns.items() if not name.startswith("_")}
        return [name for name, one in mine.items() if hasattr(getattr(one, "checkpointer", one), "get_tuple")]

    def take_over(self) -> None:
        """Registers the formatters and completions, and remembers what was there."""
        for formatter, name, show in self._formatters():
            for known in _resolved(formatter.type_printers, name):
                self._before.append((formatter.type_printers, known, formatter.type_printers.pop(known)))
            self._before.append((formatter.deferred_printers, name, formatter.deferred_printers.get(name)))
            formatter.for_type_by_name(*name, show)
        for command in _COMPLETED:
            self._ip.set_hook("complete_command", self._complete, str_key=command)

    def give_back(self) -> None:
        """Puts back what `take_over` found."""
        for formatter, name, _ in self._formatters():
            for known in _resolved(formatter.type_printers, name):
                formatter.type_printers.pop(known)
        for where, key, before in reversed(self._before):
            where.pop(key, None)
            if before is not None:
                where[key] = before
        for kind in ("line", "cell"):
            known = self._ip.magics_manager.magics[kind]
            for name in self.magics[kind]:
                if getattr(known.get(name), "__self__", None) is self:
                    del known[name]
        hooks = self._ip.strdispatchers.get("complete_command")
        for command in _COMPLETED if hooks is not None else ():
            hooks.strs.pop(command, None)

    def _formatters(self) -> Iterator[tuple[Any, tuple[str, str], Callable[..., Any]]]:
        """Each formatter with a type's name and what shall show it."""
        bundles = self._ip.display_formatter.mimebundle_formatter
        yield from ((bundles, name, show_graph) for name in _DRAWN)
        yield from ((bundles, name, show_snapshot) for name in _SNAPSHOTS)
        # A snapshot is a tuple, which IPython prints by itself unless its text is asked for as well.
        plain = self._ip.display_formatter.formatters["text/plain"]
        yield from ((plain, name, _print_snapshot) for name in _SNAPSHOTS)

    def _named(self, name: str) -> Any:
        """The graph of that name, or of that attribute of a name."""
        first, *rest = name.split(".")
        found = self._ip.user_ns.get(first)
        for attribute in rest:
            found = getattr(found, attribute, None)
        if found is not None:
            return found
        there = graphs(self._ip.user_ns)
        if not there:
            raise UsageError(f"There is no {name!r}, and no graph in this notebook yet. Make one and run its cell.")
        raise UsageError(f"There is no {name!r}. The graphs in this notebook are {text.listing(there)}.")

    def _complete(self, shell: Any, event: Any) -> list[str]:
        if event.command.lstrip("%") == "why":
            from workbench.recorder import last  # noqa: PLC0415 - loading the extension must stay quick

            rec = last()
            nodes = [] if rec is None else sorted(set(rec.tasks["node"]))
            return [*nodes, "--step", "--not"]
        if event.command.lstrip("%") == "lint":
            return [*graphs(self._ip.user_ns), "--noqa"]
        if event.command.lstrip("%") == "threads":
            return self._savers()
        return [*graphs(self._ip.user_ns), "--xray", "--levels", "--channels", "--direction", "--focus", "--depth"]


def _told(answer: Callable[[], Any]) -> Any:
    """The answer; a refusal as a usage error, which IPython shows without a traceback."""
    try:
        return answer()
    except (TypeError, ValueError, LookupError) as error:
        raise UsageError(str(error.args[0] if error.args else error)) from error


def _resolved(printers: Mapping[Any, Any], name: tuple[str, str]) -> Iterator[Any]:
    """The classes of that module and name which the formatter has met already."""
    yield from [known for known in printers if (known.__module__, known.__name__) == name]
