"""Graph callbacks: who hears of a stop and of a resumption."""

import asyncio

import pytest
from langchain_core.callbacks.base import BaseCallbackHandler
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.langchain import LangChainTracer
from langsmith.run_helpers import get_current_run_tree, tracing_context

from runtime.callbacks import GraphCallbackHandler
from runtime.func import entrypoint, task
from runtime.graph import START
from runtime.pregel.traced import environment_traces, traced
from runtime.types import Command, TracePolicy, interrupt, omit_payload
from tests.runtime.scenarios.build import builder, says, thread


class Heard(GraphCallbackHandler):
    def __init__(self, fails=False, raise_error=False):
        self.events = []
        self.fails = fails
        self.raise_error = raise_error

    def on_interrupt(self, event):
        self.events.append(("interrupt", event.status, [item.value for item in event.interrupts]))
        if self.fails:
            raise ValueError("handler")

    def on_resume(self, event):
        self.events.append(("resume", event.status, event.checkpoint_ns))


def graph_of(saver, **breaks):
    gate = builder({"gate": lambda s: {"log": [interrupt("go?")]}}, [(START, "gate")])
    return gate.compile(checkpointer=saver, **breaks)


def test_a_stop_and_the_resumption_are_told_once_each(colour, saver):
    heard = Heard()
    config = {**thread(), "callbacks": [heard]}
    colour.invoke(graph_of(saver), {"log": []}, config)
    colour.invoke(graph_of(saver), Command(resume="yes"), config)
    assert heard.events == [("interrupt", "pending", ["go?"]), ("resume", "pending", ())]


def test_a_breakpoint_is_told_as_such(colour, saver):
    heard = Heard()
    colour.invoke(graph_of(saver, interrupt_before=["gate"]), {"log": []}, {**thread(), "callbacks": [heard]})
    assert heard.events == [("interrupt", "interrupt_before", [])]


def test_a_failing_handler_is_logged_and_the_run_goes_on(colour, saver, caplog):
    result = colour.invoke(graph_of(saver), {"log": []}, {**thread(), "callbacks": [Heard(fails=True)]})
    assert result["__interrupt__"]
    assert "handler" in caplog.text


def test_a_failing_handler_that_wants_it_fails_the_run_and_nothing_is_lost(colour, saver):
    app = graph_of(saver)
    with pytest.raises(ValueError, match="handler"):
        colour.invoke(app, {"log": []}, {**thread(), "callbacks": [Heard(fails=True, raise_error=True)]})
    assert [item.value for item in colour.get_state(app, thread()).interrupts] == ["go?"]


def test_an_async_handler_is_awaited(saver):
    class Waits(GraphCallbackHandler):
        done = False

        async def on_interrupt(self, event):
            await asyncio.sleep(0)
            self.done = True

    waits = Waits()
    asyncio.run(graph_of(saver).ainvoke({"log": []}, {**thread(), "callbacks": [waits]}))
    assert waits.done


def test_a_run_without_stops_tells_nothing(colour):
    heard = Heard()
    colour.invoke(builder({"a": says("a")}, [(START, "a")]).compile(), {"log": []}, {"callbacks": [heard]})
    assert heard.events == []


class Runs(BaseCallbackHandler):
    """The runs told of: name, tags and parent's name."""

    run_inline = True

    def __init__(self):
        self.names = {}
        self.told = []

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, tags=None, name=None, **kwargs):
        self.names[run_id] = name
        self.told.append((name, tags, self.names.get(parent_run_id)))


def chooses(state):
    return "b"


def test_a_router_is_a_run_of_its_own_inside_its_nodes_run(colour):
    graph = builder({"a": says("a"), "b": says("b")}, [(START, "a")]).add_conditional_edges("a", chooses, ["b"])
    runs = Runs()
    colour.invoke(graph.compile(), {"log": []}, {"callbacks": [runs]})
    assert runs.told[1:3] == [("a", ["graph:step:1"], "LangGraph"), ("chooses", ["seq:step:3"], "a")]


def test_what_a_node_gives_is_a_chunk_of_its_run_for_who_looks_on():
    async def looked_on():
        app = builder({"a": says("x")}, [(START, "a")]).compile()
        return [event async for event in app.astream_events({"log": []}, version="v2")]

    events = [event for event in asyncio.run(looked_on()) if event["name"] == "a"]
    assert [event["event"] for event in events] == ["on_chain_start", "on_chain_stream", "on_chain_end"]
    assert events[1]["data"] == {"chunk": {"log": ["x"]}}
    assert events[1]["metadata"]["ls_integration"] == "langgraph"


def test_a_caller_that_has_its_result_is_heard_before_the_readers_of_the_graph():
    @task
    async def look(x):
        return x

    @entrypoint()
    async def flow(x):
        return await look(x)

    async def looked_on():
        return [event async for event in flow.astream_events(1, version="v2")]

    chunks = [event["name"] for event in asyncio.run(looked_on()) if event["event"] == "on_chain_stream"]
    assert chunks == ["look", "flow", "LangGraph", "LangGraph"]


def test_langsmiths_helpers_find_the_nodes_run(colour):
    found = []

    class Client:
        def create_run(self, **kwargs):
            pass

        def update_run(self, *args, **kwargs):
            pass

    app = builder({"a": lambda state: found.append(get_current_run_tree())}, [(START, "a")]).compile()
    colour.invoke(app, {"log": []}, {"callbacks": [LangChainTracer(client=Client())]})
    assert [run.name for run in found] == ["a"]


def test_tracing_that_is_switched_on_by_context_is_heeded():
    assert not traced()
    with tracing_context(enabled=True):
        assert traced()


def test_tracing_that_is_switched_on_by_the_environment_is_heeded_unless_the_context_says_no(monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    environment_traces.cache_clear()
    assert traced()
    with tracing_context(enabled=False):
        assert not traced()
    environment_traces.cache_clear()


@pytest.mark.parametrize("way_in", ["edge", "branch"])
def test_the_way_in_makes_a_run_only_to_hold_its_branch(colour, way_in):
    graph = builder({"a": says("a")}, [(START, "a")] if way_in == "edge" else [])
    if way_in == "branch":
        graph.add_conditional_edges(START, lambda state: "a", ["a"])
    runs = Runs()
    colour.invoke(graph.compile(), {"log": []}, {"callbacks": [runs]})
    assert (START in runs.names.values()) is (way_in == "branch")


def test_a_trace_policy_changes_what_tracers_record_and_nothing_else(colour):
    class Traces(BaseTracer):
        run_inline = True

        def __init__(self):
            super().__init__()
            self.roots = []

        def _persist_run(self, run):
            self.roots.append(run)

    class Sees(BaseCallbackHandler):
        run_inline = True
        inputs = None

        def on_chain_start(self, serialized, inputs, **kwargs):
            if kwargs.get("name") == "a":
                self.inputs = inputs

    policy = TracePolicy(process_inputs=omit_payload, process_outputs=lambda output: {"hidden": True})
    graph = builder({}, []).add_node("a", says("a"), trace_policy=policy).add_edge(START, "a").compile()
    traces, sees = Traces(), Sees()
    assert colour.invoke(graph, {"log": ["in"]}, {"callbacks": [traces, sees]}) == {"log": ["in", "a"]}
    (node,) = [run for run in traces.roots[0].child_runs if run.name == "a"]
    assert (node.inputs, node.outputs) == ({}, {"hidden": True})
    assert sees.inputs == {"log": ["in"]}


def test_a_node_whose_graph_is_left_by_a_command_to_the_parent_ends_its_run_with_that_command(colour):
    class Ends(BaseCallbackHandler):
        run_inline = True

        def __init__(self):
            self.names, self.ended = {}, []

        def on_chain_start(self, serialized, inputs, *, run_id, name=None, **more):
            self.names[run_id] = name

        def on_chain_end(self, outputs, *, run_id, **more):
            self.ended.append((self.names[run_id], "output"))

        def on_chain_error(self, error, *, run_id, **more):
            self.ended.append((self.names[run_id], type(error).__name__))

    child = builder({"leaves": lambda state: Command(graph=Command.PARENT, goto="next")}, [(START, "leaves")]).compile()
    app = builder({"child": child, "next": says("b")}, [(START, "child")]).compile(name="app")
    heard = Ends()
    colour.invoke(app, {"log": []}, {"callbacks": [heard]})
    assert heard.ended[-3:] == [("child", "ParentCommand"), ("next", "output"), ("app", "output")]
