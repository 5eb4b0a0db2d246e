"""One database for both libraries: what one began goes on in the other, and both read the same in it."""

from collections.abc import Iterator
from typing import Any

import pytest

from runtime.checkpoint.postgres import PostgresSaver
from runtime.types import Command
from tests.postgres import execute
from tests.runtime.checkpoint.postgres.build import ROOT, graph_of, put, thread, values
from tests.runtime.checkpoint.postgres.conftest import driver

theirs = pytest.importorskip("langgraph.checkpoint.postgres")
their_types = pytest.importorskip("langgraph.types")


@pytest.fixture
def langgraph(postgres: str) -> Iterator[Any]:
    """LangGraph's saver on a database that it has set up."""
    with theirs.PostgresSaver.from_conn_string(postgres) as saver:
        saver.setup()
        yield saver


@pytest.fixture
def ours(postgres: str, langgraph: Any, colour: Any) -> Iterator[Any]:
    """Our saver on the same database."""
    with driver(colour, postgres) as made:
        made.setup()
        yield made


def seen(states: Any) -> list[Any]:
    """What a history says, whichever library tells it."""
    told = ("values", "next", "config", "parent_config", "metadata")
    return [[*(getattr(each, name) for name in told), [asked.value for asked in each.interrupts]] for each in states]


@pytest.mark.parametrize("first", ["langgraph", "runtime"])
def test_a_thread_changes_sides_at_each_stop(ours: Any, langgraph: Any, first: str):
    mine, other = graph_of("runtime", ours.saver), graph_of("langgraph", langgraph)

    def step(library: str, input: Any) -> Any:
        if library == "runtime":
            return ours.invoke(mine, Command(resume=input) if isinstance(input, str) else input, thread())
        return other.invoke(their_types.Command(resume=input) if isinstance(input, str) else input, thread())

    second = "runtime" if first == "langgraph" else "langgraph"
    step(first, {"log": ["in"]})
    assert ours.invoke(mine, None, thread()).keys() == other.invoke(None, thread()).keys()
    step(second, "ab")
    assert mine.get_state(thread()).next == other.get_state(thread()).next == ("work", "work")
    out = step(first, None)
    assert (out["log"], out["total"]) == (["in", "begun", "asked", "beside", "a", "b"], 1e22 + 1.0)
    assert out["trail"] == ["begin", "ask", "beside", "a", "b"]
    step(second, {"log": ["again"]})
    assert seen(ours.history(mine, thread())) == seen(other.get_state_history(thread()))


@pytest.mark.parametrize("first", ["langgraph", "runtime"])
def test_what_finished_before_a_failure_is_not_run_again_by_the_other(ours: Any, langgraph: Any, first: str):
    ran: list[str] = []

    def graph(library: str, saver: Any) -> Any:
        import importlib
        import operator
        from typing import Annotated, TypedDict

        class State(TypedDict):
            log: Annotated[list[str], operator.add]

        def fails(state: State) -> State:
            ran.append("fails")
            if ran.count("fails") == 1:
                raise ValueError("once")
            return {"log": ["fails"]}

        def works(state: State) -> State:
            ran.append("works")
            return {"log": ["works"]}

        module = importlib.import_module(f"{library}.graph")
        builder = module.StateGraph(State).add_node("fails", fails).add_node("works", works)
        return builder.add_edge(module.START, "works").add_edge(module.START, "fails").compile(checkpointer=saver)

    graphs = {"runtime": graph("runtime", ours.saver), "langgraph": graph("langgraph", langgraph)}
    invoke = {"runtime": lambda input: ours.invoke(graphs["runtime"], input, thread()),
              "langgraph": lambda input: graphs["langgraph"].invoke(input, thread())}  # fmt: skip
    with pytest.raises(ValueError, match="once"):
        invoke[first]({"log": ["in"]})
    assert invoke["langgraph" if first == "runtime" else "runtime"](None) == {"log": ["in", "fails", "works"]}
    assert ran == ["works", "fails", "fails"] or ran == ["fails", "works", "fails"]


def test_langgraph_reads_every_value_that_we_put_elsewhere_than_it_does(langgraph: Any, ours: Any):
    given = {"nul": "a\0b", "long": "x" * 5000, "large": 1e22, "none": 0.0, "big": 2**70, "plain": "text", "n": 1}
    config = put(ours.saver, **given)
    assert langgraph.get(config)["channel_values"] == given


def test_we_read_a_value_that_an_older_release_emptied_as_none_at_all(ours: Any, postgres: str):
    config = put(ours.saver, a=[1], b=[2])
    execute(postgres, "UPDATE checkpoint_blobs SET type = 'empty', blob = NULL WHERE channel = 'a'")
    assert values(ours.saver, config) == {"b": [2]}
    child = ours.saver.put(config, ours.saver.get(config), {}, {})
    history = ours.saver.get_delta_channel_history(config=child, channels=["a", "b"])
    assert history == {"a": {"writes": []}, "b": {"writes": [], "seed": [2]}}


def test_the_sends_of_an_old_checkpoint_are_found_beside_its_parent(ours: Any, langgraph: Any, postgres: str):
    config = put(ours.saver, a=1)
    for task, letter in (("task-2", "b"), ("task-1", "a")):
        sent = their_types.Send("work", {"letter": letter})
        langgraph.put_writes(config, [("__pregel_tasks", sent), ("a", 2)], task, f"~{task}")
    children = [put(ours.saver, config, step=step, a=2) for step in (1, 2)]
    execute(postgres, "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{v}', '3')")
    for found, expected in zip(ours.saver.list(ROOT), langgraph.list(ROOT), strict=True):
        sends = found.checkpoint["channel_values"].get("__pregel_tasks")
        assert str(sends) == str(expected.checkpoint["channel_values"].get("__pregel_tasks"))
        assert found.checkpoint["channel_versions"].keys() == expected.checkpoint["channel_versions"].keys()
        assert (sends is not None) == (found.config in children)


def test_each_prunes_and_deletes_what_the_other_wrote(ours: Any, langgraph: Any):
    for saver in (ours.saver, langgraph):
        config = put(saver, a=[0], b="text")
        saver.put_writes(put(saver, config, step=1, a=[1]), [("a", 1)], "task")
    before = len(list(langgraph.list(ROOT)))
    ours.saver.prune(["t"])
    assert [each.metadata for each in langgraph.list(ROOT)] == [each.metadata for each in ours.saver.list(ROOT)]
    assert (before, values(ours.saver, ROOT)) == (4, {"a": [1]})
    langgraph.delete_thread("t")
    assert list(ours.saver.list(None)) == []


def test_a_saver_of_langgraphs_works_with_our_graphs(langgraph: Any):
    graph = graph_of("runtime", langgraph)
    graph.invoke({"log": ["in"]}, thread())
    assert isinstance(langgraph, theirs.PostgresSaver)
    assert not isinstance(langgraph, PostgresSaver)
    graph.invoke(Command(resume="a"), thread())
    assert graph.invoke(None, thread())["log"] == ["in", "begun", "asked", "beside", "a"]
