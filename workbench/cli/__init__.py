"""The shell's way in: `workbench draw`, `run`, `threads`, `show`, `diff`, `lint`, `report`, `retain`, `lab`.

Exit status: 0, or 1 for findings and for a run that failed, or 2 for wrong use. Errors are one sentence on standard
error; `--debug` shows the traceback. `--json` of each command writes data for other programs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

__all__ = ("main",)

_DATABASE = "DB is the path of an SQLite file, or the URL of a PostgreSQL database; it is only read."
_PLACE = "A place is a thread (its newest checkpoint), THREAD@STEP, or a checkpoint's id."


class _Target(click.ParamType[str]):
    """A graph. Tab gives the names in `langgraph.json`, and files."""

    name = "target"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from workbench.cli import targets  # noqa: PLC0415 - see `_actions`

        try:
            listed = targets.names(Path.cwd())
        except ValueError:  # a langgraph.json that cannot be read has no names
            listed = {}
        found = [CompletionItem(name, help=place) for name, place in listed.items() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


class _File(click.Path):
    """A file to write. Whether its folder is there is looked at first, before a graph runs in vain."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        folder = Path(value).parent
        if not folder.is_dir():
            self.fail(f"there is no folder {str(folder)!r}", param, ctx)
        return super().convert(value, param, ctx)


TARGET = _Target()
FILE = _File(dir_okay=False, writable=True)


def _actions() -> Any:
    """What the commands do. Loaded late, so that `--help` and completion need neither pandas nor an engine."""
    return import_module("workbench.cli.actions")


class _Misuse(click.ClickException):
    """Wrong use, in one sentence."""

    exit_code = 2


class _Commands(click.Group):
    """The commands. What is wrong with an option or an argument is told in one sentence, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _in_one_sentence():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_sentence():
            return super().invoke(ctx)


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "workbench"
        message = " ".join(error.format_message().split()).rstrip(".")
        raise _Misuse(f"{message}. {command} --help tells more.") from error


@click.group(
    "workbench", cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="pregel-workbench", prog_name="workbench")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(ctx: click.Context, debug: bool) -> None:
    """Draw, run, lint and look at graphs that run in supersteps, and at their checkpoint databases.

    TARGET is a graph: file.py:attribute, module:attribute, or a name in langgraph.json. Graphs of LangGraph and of
    this package's runtime are the same to every command.
    """
    ctx.obj = debug


def _command(function: Callable[..., Any]) -> click.Command:
    """A command of `main` that prints the `Result` of its function, and has `--json` and `--debug`."""

    @functools.wraps(function)
    def run(as_json: bool, debug: bool, **given: Any) -> None:
        ctx = click.get_current_context()
        try:
            result = function(**given)
            import_module("workbench.cli.printing").show(result, as_json=as_json)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if debug or ctx.obj:
                raise
            raise _told(error) from error
        ctx.exit(result.status)

    run = click.option("--debug", is_flag=True, hidden=True)(run)
    run = click.option("--json", "as_json", is_flag=True, help="Write JSON.")(run)
    return main.command()(run)


def _told(error: Exception) -> click.ClickException:
    """What is wrong with what was typed in its own words; what broke otherwise with its type and how to see more."""
    message = " ".join(str(error.args[0] if isinstance(error, KeyError) and error.args else error).split())
    if isinstance(error, OSError) and error.filename is not None:
        return _Misuse(f"{error.filename} cannot be opened: {error.strerror}.")
    if isinstance(error, ValueError | TypeError | LookupError):
        return _Misuse(message)
    ours = type(error).__module__.startswith(("workbench.", "runtime."))
    words = message if ours else f"{type(error).__name__}: {message}"
    return click.ClickException(f"{words} (--debug shows where)")


@_command
@click.argument("target", type=TARGET)
@click.option("-o", "--output", type=FILE, help="The file: .svg, .png, .pdf or .dot. Without it, the edges in words.")
@click.option("--xray", is_flag=True, help="Open the subgraphs.")
@click.option("--levels", type=int, help="Open the subgraphs so many levels deep.")
@click.option("--channels", is_flag=True, help="Show actors and channels, the truth beneath.")
@click.option("--direction", type=click.Choice(["TB", "LR", "BT", "RL"], case_sensitive=False), help="Of the flow.")
@click.option("--focus", help="Show this node and what is near it.")
@click.option("--depth", type=int, help="How many edges away from the focus, or from START.")
def draw(**given: Any) -> Any:
    """Draw a graph."""
    return _actions().draw(**given)


@_command
@click.argument("target", type=TARGET)
@click.option("-i", "--input", "given", metavar="JSON", help="The input; @file reads a file, - standard input.")
@click.option("--resume", "answer", metavar="ANSWER", help="Go on with this answer, JSON or text.")
@click.option("--thread", help="The thread; a new one where the graph has a checkpointer.")
@click.option("--limit", type=click.IntRange(1), help="The recursion limit.")
@click.option("--report", type=FILE, metavar="FILE", help="Write the run as one HTML file, too.")
def run(**given: Any) -> Any:
    """Run a graph and tell what happened.

    What the graph prints goes to standard error. A run that fails exits with 1; one that waits for an answer with 0.
    """
    if given["given"] is None and given["answer"] is None and given["thread"] is None:
        raise click.UsageError("What is the input? Pass --input '{…}', --resume ANSWER, or --thread to go on.")
    return _actions().run(**given)


@_command
@click.argument("target", type=TARGET)
@click.option("--noqa", multiple=True, metavar="CODE", help="A rule that shall not be heard, such as WB105.")
def lint(**given: Any) -> Any:
    """Say what is amiss in a graph, without running it.

    Exits with 1 when there are findings. A comment `# noqa: WB105` in a node's function silences a rule there.
    """
    return _actions().lint(**given)


@_command
@click.argument("database", metavar="DB")
def threads(**given: Any) -> Any:
    """List the threads in a database."""
    return _actions().threads(**given)


@_command
@click.argument("database", metavar="DB")
@click.argument("thread", metavar="PLACE")
@click.option("--all", "every", is_flag=True, help="Every checkpoint, not only the newest ten.")
def show(**given: Any) -> Any:
    """Show a thread: its state and its checkpoints."""
    return _actions().show(**given)


@_command
@click.argument("database", metavar="DB")
@click.argument("a")
@click.argument("b")
def diff(**given: Any) -> Any:
    """Say what differs between two checkpoints."""
    return _actions().diff(**given)


@_command
@click.argument("database", metavar="DB")
@click.argument("thread")
@click.option("-o", "--output", type=FILE, default="run.html", show_default=True, help="The file.")
@click.option("--graph", "target", type=TARGET, metavar="TARGET", help="The thread's graph, which adds its drawing.")
def report(**given: Any) -> Any:
    """Write a thread's runs as one HTML file, which needs no network."""
    return _actions().report(**given)


@_command
@click.argument("database", metavar="DB")
@click.option("--newest", type=click.IntRange(0), metavar="N", help="Keep each thread's newest N checkpoints.")
@click.option("--days", type=click.FloatRange(0), metavar="D", help="Keep the checkpoints of the last D days.")
@click.option("--thread", "threads", multiple=True, metavar="THREAD", help="Only of this thread. Can be repeated.")
@click.option("--dry-run", is_flag=True, help="Say what would be forgotten, and forget nothing.")
def retain(**given: Any) -> Any:
    """Forget old checkpoints: those that neither rule keeps.

    Each thread's newest checkpoint stays, and so does one whose question waits, and whatever a kept one is made of.
    A scheduled job may do so while threads go on. Exits with 1 where a thread could not be read. DB is the path of an
    SQLite file, which keeps its size and uses the space again, or the URL of a PostgreSQL database.
    """
    if given["newest"] is None and given["days"] is None:
        raise click.UsageError("What stays? Pass --newest N, --days D, or both.")
    return import_module("workbench.cli.retain").retain(**given)


for _one, _words in ((threads, ""), (show, _PLACE), (diff, _PLACE), (report, "")):
    _one.help = f"{_one.help}\n\n{_DATABASE} {_words}".rstrip()


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("folder", type=click.Path(exists=True, file_okay=False), default=".")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab(folder: str, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab in a folder.

    Whatever follows the folder goes to JupyterLab: workbench lab . --port=9000 --no-browser
    """
    sys.exit(_actions().lab(folder, arguments))


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes Tab complete names in a shell.

    bash: eval "$(workbench completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: workbench completion fish
    > ~/.config/fish/completions/workbench.fish
    """
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "workbench", "_WORKBENCH_COMPLETE").source())
