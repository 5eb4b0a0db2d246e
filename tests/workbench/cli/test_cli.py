"""The command line: through click's runner, and its main paths through the real entry point."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.cli import main

ROOT = Path(__file__).parents[3]

AGENT = """
import operator
from typing import Annotated, TypedDict
from {engine}.graph import StateGraph
from {engine}.types import interrupt
from {engine}.checkpoint.memory import InMemorySaver

class State(TypedDict, total=False):
    question: str
    notes: Annotated[list[str], operator.add]

def look_up(state):
    print("looking")
    return {{"notes": ["about " + state["question"]]}}

async def later(state):
    return {{"notes": ["later"]}}

def review(state):
    return {{"notes": [interrupt({{"question": "right?", "notes": 1}})]}}

def fails(state):
    raise ValueError("no tea left")

def chain(*nodes):
    made = StateGraph(State)
    for before, node in zip(["__start__", *(one.__name__ for one in nodes)], nodes):
        made.add_node(node).add_edge(before, node.__name__)
    return made

graph = chain(look_up).compile(name="tea")
asks = chain(look_up, review).compile(checkpointer=InMemorySaver())
bare = chain(review).compile()
broken = chain(look_up, fails).compile()
awaited = chain(later).compile()
builder = chain(look_up).add_node(fails)
word = "tea"

def make(config):
    return graph
"""


@pytest.fixture
def folder(engine, tmp_path, monkeypatch):
    (tmp_path / "agent.py").write_text(AGENT.format(engine=engine.name))
    graphs = {"tea": "./agent.py:graph", "made": {"path": "./agent.py:make"}, "bare": "./agent.py:bare"}
    (tmp_path / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs, "env": {"A_B": "1"}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "agent", raising=False)
    monkeypatch.setenv("A_B", "0")
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def database(engine, tmp_path):
    from tests.workbench.test_savers import fill

    with import_module(f"{engine.name}.checkpoint.sqlite").SqliteSaver.from_conn_string(
        str(tmp_path / "r.db")
    ) as saver:
        fill(engine, saver)
    return str(tmp_path / "r.db")


def call(*words, input=None):
    return CliRunner().invoke(main, words, input=input)


def data(*words):
    done = call(*words, "--json")
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize("target", ["tea", "made", "agent.py:graph", "agent:graph", "agent.py:make"])
def test_a_graph_is_found_by_name_by_file_and_by_module(folder, target):
    done = call("draw", target)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["tea, 1 node", "  START → look_up", "  look_up → END"]


def test_a_name_is_found_from_a_folder_below(folder, monkeypatch):
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    assert call("draw", "tea").exit_code == 0


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("tee", "There is no graph 'tee'. langgraph.json lists tea, made and bare. Or name one as"),
        ("no.py:graph", "There is no file 'no.py'."),
        ("nomodule:graph", "There is no module 'nomodule'. A file is named with its ending: nomodule.py:attribute."),
        ("agent.py", "agent.py has 6 graphs: say which, as agent.py:attribute. Its graphs are graph, asks,"),
        ("agent.py:graf", "agent.py has no 'graf'. Its graphs are graph, asks,"),
        ("agent.py:word", "'word' of agent.py is no graph but of type str."),
    ],
)
def test_wrong_use_is_one_sentence_with_the_way_out_and_exits_with_2(folder, target, words):
    done = call("draw", target)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {words}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frob"], "No such command 'frob'. workbench --help tells more."),
        (["draw"], "Missing argument 'TARGET'. workbench draw --help tells more."),
        (["draw", "tea", "--size", "2"], "No such option '--size'. workbench draw --help tells more."),
        (["draw", "tea", "--levels", "two"], "Invalid value for '--levels': 'two' is not a valid integer."),
        (["run", "tea"], "What is the input? Pass --input '{…}', --resume ANSWER, or --thread to go on."),
        (["draw", "tea", "-o", "no/such/g.svg"], "Invalid value for '-o' / '--output': there is no folder 'no/such'."),
        (["run", "tea", "--report", "no/run.html"], "Invalid value for '--report': there is no folder 'no'."),
        (["draw", "tea", "-o", "."], "Invalid value for '-o' / '--output': File '.' is a directory."),
        (["threads", "."], "There is no database '.'. Name an SQLite file, or a URL that begins postgresql://."),
        (["--frob"], "No such option '--frob'. workbench --help tells more."),
    ],
)
def test_whatever_is_typed_wrong_is_told_in_one_line_and_exits_with_2(folder, words, said):
    done = call(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {said}")
    assert done.stderr.count("\n") == 1


def test_a_file_that_fails_is_told_with_its_line_and_exits_with_1(folder):
    (folder / "bad.py").write_text("import json\n\nboom\n")
    done = call("lint", "bad.py:graph")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: bad.py failed at line 3 of bad.py: NameError: name 'boom' is not defined")
    with pytest.raises(RuntimeError, match="NameError"):
        CliRunner().invoke(main, ["lint", "bad.py:graph", "--debug"], catch_exceptions=False)


def test_a_drawing_is_written_and_is_data(folder):
    done = call("draw", "tea", "-o", "tea.svg")
    assert (done.exit_code, done.stdout) == (0, "Wrote tea.svg\ntea, 1 node\n")
    assert (folder / "tea.svg").read_text().startswith("<svg")
    status, drawn = data("draw", "tea")
    assert status == 0
    assert [node["id"] for node in drawn["nodes"]] == ["__start__", "look_up", "__end__"]
    assert call("draw", "tea", "-o", "tea.gif").exit_code == 2


def test_a_run_is_told_and_what_the_graph_prints_stays_out_of_it(folder):
    done = call("run", "tea", "--input", '{"question": "tea"}')
    assert (done.exit_code, done.stderr) == (0, "looking\n")
    assert done.stdout.splitlines() == [
        "Ended after 1 superstep",
        "",
        "step  tasks    updated  status",
        "   1  look_up  notes    ok",
        "",
        "channel   value",
        "question  tea",
        'notes     ["about tea"]',
    ]


def test_a_run_as_data(folder):
    status, ran = data("run", "tea", "--input", '{"question": "tea"}')
    assert (status, ran["status"], ran["output"]["notes"]) == (0, "done", ["about tea"])
    assert [row["tasks"] for row in ran["supersteps"]] == [["look_up"]]


def test_the_input_comes_from_a_file_or_from_standard_input(folder):
    (folder / "in.json").write_text('{"question": "file"}')
    assert 'notes     ["about file"]' in call("run", "tea", "-i", "@in.json").stdout
    assert 'notes     ["about pipe"]' in call("run", "tea", "-i", "-", input='{"question": "pipe"}').stdout
    assert "is no JSON" in call("run", "tea", "-i", "{tea").stderr
    assert "names the file 'no.json'" in call("run", "tea", "-i", "@no.json").stderr
    assert "What is the input?" in call("run", "tea").stderr


def test_a_run_that_fails_says_where_and_exits_with_1(folder):
    done = call("run", "agent.py:broken", "-i", '{"question": "tea"}')
    assert done.exit_code == 1
    assert "Failed at fails: ValueError" in done.stdout
    assert "ValueError at line 23 of agent.py: no tea left" in done.stdout
    assert "Traceback" not in done.output


def test_a_run_that_asks_shows_the_question_and_exits_with_0(folder):
    status, ran = data("run", "agent.py:asks", "-i", '{"question": "tea"}', "--thread", "t")
    assert (status, ran["status"], ran["thread"]) == (0, "interrupted", "t")
    assert ran["questions"] == [{"node": "review", "value": {"question": "right?", "notes": 1}}]


def test_a_graph_that_can_only_be_awaited_is_run(folder):
    assert data("run", "agent.py:awaited", "-i", '{"question": "tea"}')[1]["output"]["notes"] == ["later"]


def test_a_builder_is_compiled_to_run(folder):
    assert data("run", "agent.py:builder", "-i", '{"question": "tea"}')[1]["status"] == "done"


def test_a_run_is_written_as_a_report(folder):
    done = call("run", "tea", "-i", '{"question": "tea"}', "--report", "run.html")
    assert done.stdout.endswith("Wrote run.html\n")
    assert "look_up" in (folder / "run.html").read_text()


def test_findings_exit_with_1_and_none_with_0(folder):
    done = call("lint", "agent.py:builder")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[:4] == ["1 finding", "", "WB101  fails", "  Nothing leads to fails."]
    assert (call("lint", "tea").exit_code, call("lint", "tea").stdout) == (0, "No findings.\n")
    assert call("lint", "agent.py:builder", "--noqa", "WB101").exit_code == 0
    assert call("lint", "agent.py:builder", "--noqa", "WB1").exit_code == 2
    assert data("lint", "agent.py:builder")[1][0]["code"] == "WB101"


def test_a_served_graph_gets_its_checkpointer_from_its_server(folder):
    assert data("lint", "agent.py:bare")[1][0]["code"] == "WB108"
    assert data("lint", "bare") == (0, [])


def test_the_threads_of_a_database(database):
    done = call("threads", database)
    assert done.exit_code == 0
    head, one, other = done.stdout.splitlines()
    assert head.split() == ["thread", "checkpoints", "step", "stands", "UTC"]
    assert one.split()[:4] == ["done", "4", "2", "ended"]
    assert other.split()[:6] == ["waits", "3", "1", "asks", "at", "ask"]
    assert [row["thread"] for row in data("threads", database)[1]] == ["done", "waits"]


def test_a_thread_is_shown_with_its_state_and_checkpoints(database):
    done = call("show", database, "waits")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[:3] == ["thread waits, step 1, loop", "  asks at ask", "  asks: ship it?"]
    assert "x        2" in lines
    assert all(len(line) <= 80 for line in lines)
    status, shown = data("show", database, "done@1")
    assert (status, shown["values"]["x"], len(shown["checkpoints"])) == (0, 2, 4)


def test_two_checkpoints_are_compared(database):
    done = call("diff", database, "waits", "done")
    assert done.stdout.splitlines() == ["waits@1 → done@2: 1 difference.", '  log added: ["yes"]', "  1 unchanged"]
    operations = data("diff", database, "waits", "done")[1]["operations"]
    assert operations == [{"op": "add", "path": ["log"], "after": ["yes"]}]


def test_a_thread_is_written_as_a_report(database, tmp_path):
    done = call("report", database, "done", "-o", str(tmp_path / "run.html"))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Wrote {tmp_path / 'run.html'}\nThread done: ")
    assert "count" in (tmp_path / "run.html").read_text()
    status, written = data("report", database, "waits", "-o", str(tmp_path / "run.html"))
    assert status == 0
    assert [row["tasks"] for row in written["supersteps"]] == [["count"], ["ask"]]
    assert call("report", database, "nobody").exit_code == 2


def test_the_name_of_a_written_file_is_never_broken(folder, tmp_path):
    deep = tmp_path / ("long-" * 30)
    deep.mkdir()
    done = call("draw", "tea", "-o", str(deep / "tea.svg"))
    assert done.stdout.startswith(f"Wrote {deep / 'tea.svg'}\n")


def test_a_report_made_with_the_graph_lacks_less_and_draws_it(engine, database, tmp_path):
    (tmp_path / "counts.py").write_text(
        "from importlib import import_module\n"
        "from tests.engines import engine_of\n"
        "from tests.workbench.test_savers import fill\n"
        f"graph = fill(engine_of({engine.name!r}), import_module('{engine.name}.checkpoint.memory').InMemorySaver())\n"
    )
    file = str(tmp_path / "run.html")
    bare = data("report", database, "done", "-o", file)[1]
    drawn = data("report", database, "done", "-o", file, "--graph", str(tmp_path / "counts.py"))[1]
    assert len(drawn["missing"]) < len(bare["missing"])
    assert 'data-node="ask"' in Path(file).read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["threads", "no.db"], "There is no database 'no.db'. Name an SQLite file"),
        (["show", "DB", "nobody"], "There is no checkpoint 'nobody'."),
        (["diff", "DB", "waits@7", "done"], "There is no checkpoint 'waits@7'."),
    ],
)
def test_a_database_without_what_is_asked_for_exits_with_2(database, words, said):
    done = call(*(database if word == "DB" else word for word in words))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {said}")


def test_what_a_database_holds_is_text_and_no_escape_of_the_terminal(tmp_path):
    from runtime.checkpoint.sqlite import SqliteSaver
    from runtime.graph import StateGraph

    app = StateGraph(dict).add_node("a", lambda state: state).add_edge("__start__", "a")
    with SqliteSaver.from_conn_string(str(tmp_path / "e.db")) as saver:
        evil = "[bold]\x1b]0;owned\x07\x1b[2J"
        app.compile(checkpointer=saver).invoke({"x": evil}, {"configurable": {"thread_id": evil}})
    for words in (["threads"], ["show", evil]):
        shown = call(words[0], str(tmp_path / "e.db"), *words[1:])
        assert shown.exit_code == 0
        assert "\x1b" not in shown.stdout
        assert "[bold]" in shown.stdout


def test_tab_completes_the_names_in_langgraph_json(folder):
    words = {"_WORKBENCH_COMPLETE": "bash_complete", "COMP_WORDS": "workbench draw t", "COMP_CWORD": "2"}
    done = CliRunner().invoke(main, [], prog_name="workbench", env=words)
    assert done.stdout == "plain,tea\n"
    for shell in ("bash", "zsh", "fish"):
        assert "_WORKBENCH_COMPLETE" in call("completion", shell).stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize("engine", ["runtime"], indirect=True)
def test_bash_completes_by_the_script_that_is_printed(folder, tmp_path):
    program = tmp_path / "workbench"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m workbench "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(workbench completion bash)"; COMP_WORDS=(workbench draw t); COMP_CWORD=2; '
        '_workbench_completion workbench t draw; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=folder, env=environment)
    assert (done.stdout, done.stderr) == ("tea\n", "")


def test_every_command_has_a_help_that_fits_a_terminal():
    for name in main.commands:
        done = call(name, "--help")
        assert done.exit_code == 0
        assert all(len(line) <= 80 for line in done.stdout.splitlines())


# -- the real entry point ---------------------------------------------------------------------------------------------


def shell(*words, **more):
    """The program as a shell starts it: the script of pyproject.toml."""
    module, _, name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["workbench"].partition(
        ":"
    )
    code = f"import sys; sys.argv[0] = 'workbench'; from {module} import {name}; sys.exit({name}())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment, **more)


@pytest.mark.parametrize("engine", ["runtime"], indirect=True)
def test_the_script_lints_and_exits_with_its_status(folder):
    done = shell("lint", "agent.py:builder", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("1 finding\n")
    wrong = shell("lint", "tee", cwd=folder)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("Error: There is no graph 'tee'.")


def test_help_loads_neither_an_engine_nor_pandas():
    code = (
        "import sys\nfrom workbench.cli import main\n"
        "try:\n    main(['--help'], prog_name='workbench')\nexcept SystemExit:\n    pass\n"
        "heavy = {'runtime', 'langchain_core', 'pandas', 'rich', 'IPython'} & set(sys.modules)\nassert not heavy, heavy"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


def test_lab_starts_jupyterlab_with_what_is_passed_on(tmp_path):
    done = shell("lab", str(tmp_path), "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == import_module("importlib.metadata").version("jupyterlab")
