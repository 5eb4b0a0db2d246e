import asyncio
import importlib
import subprocess
import sys
from typing import TypedDict

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from workbench import magics
from workbench.drawing import Drawing


class State(TypedDict, total=False):
    x: int


def compiled(engine, **more):
    graph = engine.graph.StateGraph(State)
    graph.add_node("agent", lambda state: {"x": 1})
    graph.add_edge("__start__", "agent")
    return graph.compile(**more)


def new_shell():
    """A shell that keeps no history: its file is nobody's business here."""
    return InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))


@pytest.fixture
def shell():
    ip = new_shell()
    magics.load_ipython_extension(ip)
    yield ip
    magics.unload_ipython_extension(ip)


def shown(ip, thing):
    return ip.display_formatter.format(thing)[0]


def test_a_compiled_graph_draws_itself(shell, engine):
    bundle = shown(shell, compiled(engine))
    assert bundle["text/plain"].endswith("agent → END")
    assert "<svg" in bundle["text/html"]
    assert bundle["image/svg+xml"].startswith("<svg")


def test_a_builder_draws_itself(shell, engine):
    assert "agent → END" in shown(shell, compiled(engine).builder)["text/plain"]


def test_a_snapshot_is_a_table(shell, engine):
    saver = pytest.importorskip(f"{engine.name}.checkpoint.memory").InMemorySaver()
    app, config = compiled(engine, checkpointer=saver), {"configurable": {"thread_id": "t"}}
    app.invoke({"x": 0}, config)
    bundle = shown(shell, app.get_state(config))
    assert bundle["text/plain"].splitlines() == [
        "Ended, step 1, loop, thread t",
        "channel  value",
        "───────  ─────",
        "x        1",
    ]
    assert 'class="wb-table"' in bundle["text/html"]


def test_a_graph_that_cannot_be_drawn_is_told_in_text(shell, engine):
    app = compiled(engine)
    app.builder.edges.add(("agent", "nowhere"))
    assert "The workbench could not draw it: KeyError" in shown(shell, app)["text/plain"]


def test_loading_imports_neither_an_engine_nor_pandas_nor_graphviz():
    code = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\nimport workbench\n"
        "before = set(sys.modules)\nworkbench.load_ipython_extension(InteractiveShell())\n"
        "heavy = {'langgraph', 'runtime', 'langchain_core', 'pandas', 'graphviz'}\n"
        "assert not heavy & (set(sys.modules) - before), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_loading_twice_is_loading_once(shell):
    before = list(shell.magics_manager.registry)
    magics.load_ipython_extension(shell)
    assert list(shell.magics_manager.registry) == before


def test_unloading_puts_everything_back(engine):
    ip = new_shell()
    formatter = ip.display_formatter.mimebundle_formatter
    app = compiled(engine)
    formatter.for_type(type(app), lambda *args, **kw: {"text/plain": "mine"})
    before = (dict(formatter.type_printers), dict(formatter.deferred_printers))
    magics.load_ipython_extension(ip)
    assert "agent" in shown(ip, app)["text/plain"]
    magics.unload_ipython_extension(ip)
    assert (formatter.type_printers, formatter.deferred_printers) == before
    assert shown(ip, app)["text/plain"] == "mine"
    assert "graph" not in ip.magics_manager.magics["line"]
    magics.unload_ipython_extension(ip)


def test_a_reloaded_extension_works(engine):
    ip = new_shell()
    for _ in range(2):
        magics.load_ipython_extension(ip)
        assert "agent" in shown(ip, compiled(engine))["text/plain"]
        magics.unload_ipython_extension(ip)


def test_graph_draws_by_name(shell, engine):
    shell.push({"app": compiled(engine)})
    made = shell.run_line_magic("graph", "--xray app --direction LR")
    assert isinstance(made, Drawing)
    assert made.direction == "LR"


def test_graph_shows_channels(shell, engine):
    shell.push({"app": compiled(engine)})
    assert "branch:to:agent" in repr(shell.run_line_magic("graph", "app --channels"))


def test_a_wrong_name_is_answered_with_those_there_are(shell, engine):
    shell.push({"app": compiled(engine), "other": compiled(engine), "x": 1})
    with pytest.raises(UsageError, match="There is no 'ap'. The graphs in this notebook are app and other."):
        shell.run_line_magic("graph", "ap")


def test_without_a_graph_the_answer_says_what_to_do(shell):
    with pytest.raises(UsageError, match="no graph in this notebook yet. Make one and run its cell."):
        shell.run_line_magic("graph", "app")


def test_what_is_no_graph_is_refused_without_a_traceback(shell):
    shell.push({"x": 1})
    with pytest.raises(UsageError, match="A int is no graph"):
        shell.run_line_magic("graph", "x")


def test_a_wrong_option_says_how_to_get_help(shell):
    with pytest.raises(UsageError, match="%graph: unrecognized arguments: --wrong. Try %graph --help."):
        shell.run_line_magic("graph", "x --wrong")


def test_help_is_printed(shell, capsys):
    assert shell.run_line_magic("graph", "--help") is None
    assert "--xray" in capsys.readouterr().out


def test_names_of_graphs_are_completed(shell, engine):
    shell.push({"app": compiled(engine), "apple": 1})
    with provisionalcompleter():
        found = [one.text for one in shell.Completer.completions("%graph a", 8)]
    assert "app" in found
    assert "apple" not in found


def test_a_recorded_cell_binds_its_recording_and_why_explains_it(shell, engine):
    shell.push({"app": compiled(engine)})
    shell.run_cell_magic("record", "mine", "app.invoke({'x': 0})")
    assert list(shell.user_ns["mine"].tasks["node"]) == ["__start__", "agent"]
    assert "agent" in str(shell.run_line_magic("why", "agent"))
    with pytest.raises(UsageError):
        shell.run_line_magic("why", "nobody")


EVERYWHERE = """
import asyncio, threading
def called():
    app.invoke({"x": 0})
called()
def inside(state):
    app.invoke({"x": 1})
    return {"x": 2}
outer = engine.graph.StateGraph(State)
outer.add_node("outer", inside)
outer.add_edge("__start__", "outer")
outer.compile().invoke({"x": 0})
thread = threading.Thread(target=app.invoke, args=({"x": 3},))
thread.start()
thread.join()
async def both():
    await asyncio.gather(*(asyncio.create_task(app.ainvoke({"x": n})) for n in (4, 5)))
asyncio.run(both())
"""


def test_every_run_in_a_cell_is_recorded_however_deep_it_is_called(shell, engine):
    shell.push({"app": compiled(engine), "engine": engine, "State": State})
    shell.run_cell_magic("record", "mine", EVERYWHERE)
    rec = shell.user_ns["mine"]
    assert len(rec.runs) == 5
    assert list(rec.tasks.query("node == 'agent' and ns == ''").input.map(lambda state: state["x"])) == [0, 3, 4, 5]
    assert [ns.partition(":")[0] for ns in rec.tasks.query("node == 'agent' and ns != ''").ns] == ["outer"]


def test_a_cell_that_first_imports_langgraph_is_recorded():
    pytest.importorskip("langgraph")
    cell = """
from typing import TypedDict
from langgraph.graph import StateGraph
class State(TypedDict):
    x: int
graph = StateGraph(State)
graph.add_node("a", lambda state: {"x": 1})
graph.add_edge("__start__", "a")
graph.compile().invoke({"x": 0})
"""
    code = f"""
import sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
ip = InteractiveShell(config=Config({{"HistoryManager": {{"enabled": False}}}}))
ip.run_line_magic("load_ext", "workbench")
assert "langgraph" not in sys.modules
ip.run_cell_magic("record", "mine", {cell!r})
assert list(ip.user_ns["mine"].tasks.node) == ["__start__", "a"], ip.user_ns["mine"].tasks
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_lint_says_what_is_amiss_in_a_graph(shell, engine):
    shell.user_ns["app"] = compiled(engine).builder.add_node("lone", lambda state: state)
    found = shell.run_line_magic("lint", "app")
    assert found.codes == ["WB101"]
    assert not shell.run_line_magic("lint", "app --noqa WB101")
    with pytest.raises(UsageError, match="There is no rule 'W1'"):
        shell.run_line_magic("lint", "app --noqa W1")


def test_threads_of_a_saver_of_a_graph_and_of_a_file_are_a_frame(shell, engine, tmp_path):
    path = str(tmp_path / "runs.db")
    kind = importlib.import_module(f"{engine.name}.checkpoint.sqlite").SqliteSaver
    with kind.from_conn_string(path) as saver:
        app = compiled(engine, checkpointer=saver)
        app.invoke({"x": 0}, {"configurable": {"thread_id": "tea"}})
        shell.user_ns.update(app=app, saver=saver)
        for name in ("app", "saver", path):
            found = shell.run_line_magic("threads", name)
            assert found[["thread", "checkpoints", "step", "stands"]].values.tolist() == [["tea", 3, 1, "ended"]]
    with pytest.raises(UsageError, match="There is no database .tee.*in this notebook: app and saver"):
        shell.run_line_magic("threads", "tee")


def test_a_cell_that_awaits_in_a_running_loop_is_refused_with_the_way_out(shell):
    async def kernel():
        shell.run_cell_magic("record", "mine", "import asyncio\nawait asyncio.sleep(0)")

    with pytest.raises(UsageError, match=r"with recording\(\) as mine: await"):
        asyncio.run(kernel())
