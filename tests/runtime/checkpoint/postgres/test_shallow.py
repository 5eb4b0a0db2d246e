"""The savers of one checkpoint for each thread and namespace, and their tables, which are LangGraph's."""

from collections.abc import Iterator
from typing import Any

import pytest

from runtime.checkpoint.postgres import ShallowPostgresSaver
from runtime.checkpoint.postgres.shallow import AsyncShallowPostgresSaver
from runtime.graph import START, StateGraph
from runtime.types import Command, interrupt
from tests.postgres import execute
from tests.runtime.checkpoint.postgres.build import ROOT, graph_of, put, steps, thread, values
from tests.runtime.checkpoint.postgres.conftest import Sync, driver
from tests.runtime.checkpoint.postgres.test_connections import State

pytestmark = pytest.mark.filterwarnings("ignore:.*ShallowPostgresSaver is deprecated:DeprecationWarning")


@pytest.fixture
def shallow(postgres: str, colour: Any) -> Iterator[Any]:
    cls = ShallowPostgresSaver if colour is Sync else AsyncShallowPostgresSaver
    with driver(colour, postgres, "connection", cls) as made:
        made.setup()
        yield made


def asks(library: Any, saver: Any, ask: Any = interrupt) -> Any:
    builder = library(State).add_node("first", lambda state: {"log": ["first"]})
    builder.add_node("asks", lambda state: {"log": [ask("?")]}).add_edge(START, "first").add_edge("first", "asks")
    return builder.compile(checkpointer=saver)


def test_a_run_stops_and_goes_on_from_the_one_checkpoint(shallow: Any):
    graph = asks(StateGraph, shallow.saver)
    shallow.invoke(graph, {"log": ["in"]}, thread())
    assert len(shallow.history(graph, thread())) == 1
    assert shallow.invoke(graph, Command(resume="yes"), thread()) == {"log": ["in", "first", "yes"]}


def test_only_the_newest_checkpoint_is_kept_with_its_own_and_its_parents_writes(shallow: Any, postgres: str):
    saver, config = shallow.saver, ROOT
    for step in range(3):
        config = put(saver, config, step=step, **({"a": [step], "b": step} if step < 2 else {"a": [2]}))
        saver.put_writes(config, [("a", step)], "task")
    found = saver.get_tuple(ROOT)
    assert (steps(saver.list(ROOT)), found.config, found.parent_config) == ([2], config, None)
    assert found.checkpoint["channel_values"] == {"a": [2], "b": 1}
    assert found.pending_writes == [("task", "a", 2)]
    assert execute(postgres, "SELECT count(*) FROM checkpoint_writes") == [(2,)]


def test_what_a_checkpoint_emptied_is_gone(shallow: Any):
    saver = shallow.saver
    checkpoint = saver.get(put(saver, a=[1], b=[1])) | {"channel_values": {"b": [1]}}
    saver.put(ROOT, checkpoint, {}, {"a": 1})
    assert values(saver, ROOT) == {"b": [1]}


def test_lists_are_narrowed_as_elsewhere(shallow: Any):
    saver = shallow.saver
    first, second = put(saver, thread("1"), step=1), put(saver, thread("2"), step=2)
    assert steps(saver.list(None)) == [2, 1]
    assert steps(saver.list(None, before=second, limit=5)) == [1]
    assert steps(saver.list(first)) == [1]
    assert steps(saver.list(None, filter={"step": 2})) == [2]
    assert saver.get_tuple({"configurable": {**first["configurable"], "checkpoint_id": "0"}}) is None


def test_threads_are_copied_pruned_and_deleted(shallow: Any):
    saver = shallow.saver
    put(saver, a=[1])
    saver.copy_thread("t", "copy")
    saver.prune(["t"])
    assert values(saver, thread("copy")) == values(saver, ROOT) == {"a": [1]}
    assert [each.held for each in saver.outline("copy")] == [{"a"}]
    saver.put(ROOT, saver.get(ROOT), {"run_id": "r"}, {})
    saver.delete_for_runs(["r"])
    assert saver.thread_ids() == ["copy"]
    saver.delete_thread("copy")
    assert list(saver.list(None)) == []


def test_a_delta_channel_is_refused_before_anything_is_stored(shallow: Any):
    graph = graph_of("runtime", shallow.saver)
    with pytest.raises(NotImplementedError, match="keeps no history"):
        shallow.invoke(graph, {"log": ["in"]}, thread())
    assert list(shallow.saver.list(None)) == []
    with pytest.raises(NotImplementedError, match="keeps no history"):
        shallow.saver.get_delta_channel_history(config=ROOT, channels=["a"])


def test_langgraph_goes_on_with_our_thread_and_we_with_its(shallow: Any, postgres: str):
    theirs = pytest.importorskip("langgraph.checkpoint.postgres")
    library, types = pytest.importorskip("langgraph.graph"), pytest.importorskip("langgraph.types")
    with theirs.ShallowPostgresSaver.from_conn_string(postgres) as saver:
        saver.setup()
        mine, other = asks(StateGraph, shallow.saver), asks(library.StateGraph, saver, types.interrupt)
        shallow.invoke(mine, {"log": ["in"]}, thread("1"))
        other.invoke({"log": ["in"]}, thread("2"))
        assert other.invoke(types.Command(resume="yes"), thread("1")) == {"log": ["in", "first", "yes"]}
        assert shallow.invoke(mine, Command(resume="yes"), thread("2")) == {"log": ["in", "first", "yes"]}
        assert other.get_state(thread("2")).values == mine.get_state(thread("1")).values


@pytest.mark.filterwarnings("default")
def test_they_say_that_they_are_deprecated(postgres: str, colour: Any):
    cls = ShallowPostgresSaver if colour is Sync else AsyncShallowPostgresSaver
    with (
        pytest.warns(DeprecationWarning, match=f"{cls.__name__} is deprecated"),
        driver(colour, postgres, "connection", cls),
    ):
        pass
