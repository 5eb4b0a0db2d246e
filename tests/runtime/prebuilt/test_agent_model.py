"""Which model the agent asks, and what it gives to it."""

import sys
from types import SimpleNamespace

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from runtime.prebuilt.agent_model import check_history
from tests.runtime.prebuilt.scripted import HELLO, add, agent_of, calls, said, scripted


@tool
def double(x: int) -> int:
    """Twice as much."""
    return 2 * x


# -- prompts ----------------------------------------------------------------------------------------------------------


def in_front(state):
    return [("system", f"of {len(state['messages'])}"), *state["messages"]]


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        (None, ["hello"]),
        ("be kind", ["be kind", "hello"]),
        (SystemMessage("be kind"), ["be kind", "hello"]),
        (in_front, ["of 1", "hello"]),
        (RunnableLambda(in_front), ["of 1", "hello"]),
        (lambda state: "only this", ["only this"]),
    ],
)
def test_a_prompt_makes_the_models_input(colour, prompt, asked):
    model = scripted()
    colour.invoke(agent_of(model, prompt=prompt), HELLO)
    assert model.asked == [asked]


async def later(state):
    return in_front(state)


def test_an_async_prompt_serves_async_runs(colour):
    model = scripted()
    agent = agent_of(model, prompt=later)
    if colour.name == "sync":
        with pytest.raises(TypeError, match="'Prompt' is async"):
            colour.invoke(agent, HELLO)
    else:
        colour.invoke(agent, HELLO)
        assert model.asked == [["of 1", "hello"]]


def test_a_prompt_may_read_the_store(colour):
    from runtime.store.memory import InMemoryStore

    def greet(state, *, store):
        return f"hello {store.get(('users',), '1').value['name']}"

    store = InMemoryStore()
    store.put(("users",), "1", {"name": "Ada"})
    model = scripted()
    colour.invoke(agent_of(model, prompt=greet, store=store), HELLO)
    assert model.asked == [["hello Ada"]]


def test_what_is_no_prompt_is_refused():
    with pytest.raises(ValueError, match="not 5"):
        agent_of(scripted(), prompt=5)


# -- models -----------------------------------------------------------------------------------------------------------


def test_the_tools_are_bound_to_the_model(colour):
    model = scripted()
    colour.invoke(agent_of(model, [add, double]), HELLO)
    assert model.tools == [["add", "double"]]


@pytest.mark.parametrize(
    "around",
    [
        lambda bound: bound,
        lambda bound: bound.with_config(tags=["mine"]),
        lambda bound: bound | RunnableLambda(lambda reply: reply),
    ],
    ids=["bound", "configured", "sequence"],
)
def test_a_model_that_has_the_tools_keeps_them(colour, around):
    model = scripted()
    colour.invoke(agent_of(around(model.bind_tools([add])), [add]), HELLO)
    assert model.tools == [["add"]]


@pytest.mark.parametrize(
    "described", [{"name": "add"}, {"type": "function", "function": {"name": "add"}}, {"toolSpec": {"name": "add"}}]
)
def test_bound_tools_are_known_by_name_as_providers_write_it(described):
    assert agent_of(scripted().bind(tools=[described]), [add])


@pytest.mark.parametrize(
    ("bound", "tools", "told"),
    [
        ([add], [], "1 tools bound to it, the agent has 0"),
        ([add], [add, double], "the agent has 2, and lacks 'double'"),
        ([add], [double], "lacks 'double'"),
        ([add, {"type": "web_search"}], [add], "2 tools bound to it, the agent has 1"),
    ],
)
def test_a_model_with_other_tools_is_refused(bound, tools, told):
    with pytest.raises(ValueError, match=told):
        agent_of(scripted().bind_tools(bound), tools)


@pytest.mark.parametrize(
    ("model", "told"),
    [(7, "not 7"), (RunnableLambda(lambda messages: AIMessage("x")), "RunnableLambda, which has no bind_tools")],
)
def test_what_cannot_serve_as_a_model_is_refused(model, told):
    with pytest.raises(TypeError, match=told):
        agent_of(model, [add])


def test_any_runnable_serves_without_tools_if_it_gives_messages(colour):
    echo = agent_of(RunnableLambda(lambda messages: AIMessage(f"{messages[-1].content}!")))
    assert said(colour.invoke(echo, HELLO)) == ["hello", "hello!"]
    with pytest.raises(TypeError, match="gave 'text'. It must give a message"):
        colour.invoke(agent_of(RunnableLambda(lambda messages: "text")), HELLO)


def test_a_model_may_come_by_its_name(monkeypatch, colour):
    made = scripted("from afar")
    by_name = SimpleNamespace(init_chat_model={"provider:model": made}.get)
    monkeypatch.setitem(sys.modules, "langchain", SimpleNamespace(chat_models=by_name))
    monkeypatch.setitem(sys.modules, "langchain.chat_models", by_name)
    assert said(colour.invoke(agent_of("provider:model"), HELLO)) == ["hello", "from afar"]


def test_a_models_name_needs_langchain(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(ImportError, match="pip install langchain"):
        agent_of("provider:model")


def test_a_function_may_choose_the_model_for_each_call(colour):
    models = {"sums": scripted([("add", {"x": 1})]), "words": scripted("in words")}

    def choose(state, runtime):
        return models["words" if state["messages"][-1].type == "tool" else runtime.context]

    agent = agent_of(choose, [add], context_schema=str, prompt="be kind")
    assert said(colour.invoke(agent, HELLO, context="sums")) == ["hello", "", "2", "in words"]
    assert models["sums"].asked == [["be kind", "hello"]]
    assert models["sums"].tools == [[]]


def test_an_async_function_chooses_the_model_of_async_runs(colour):
    async def choose(state, runtime):
        return scripted("chosen")

    if colour.name == "sync":
        with pytest.raises(RuntimeError, match="ainvoke"):
            colour.invoke(agent_of(choose), HELLO)
    else:
        assert said(colour.invoke(agent_of(choose), HELLO)) == ["hello", "chosen"]


def test_a_function_that_chooses_no_model_is_told(colour):
    with pytest.raises(TypeError, match="gave 7"):
        colour.invoke(agent_of(lambda state, runtime: 7), HELLO)


# -- the conversation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [HumanMessage("hello")],
        [calls(("add", {"x": 1})), ToolMessage("2", tool_call_id="add-0"), AIMessage("2")],
    ],
)
def test_a_conversation_without_open_tool_calls_is_fit_for_a_model(messages):
    check_history(messages)


def test_open_tool_calls_are_told_the_first_three_by_name(colour):
    asked = calls(*((f"tool{n}", {}) for n in range(5)))
    answer = ToolMessage("", tool_call_id="tool0-0")
    with pytest.raises(ValueError, match=r"(?s)4 have no.*tool1.*tool2.*tool3.*\.\.\..*INVALID_CHAT_HISTORY") as told:
        colour.invoke(agent_of(scripted()), {"messages": [asked, answer]})
    assert "tool4" not in str(told.value)
