"""What may stand around the model's call: hooks, a structured response, and a state of one's own."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel
from typing_extensions import TypedDict

from runtime.graph.message import REMOVE_ALL_MESSAGES, add_messages
from runtime.managed import RemainingSteps
from runtime.prebuilt import chat_agent_executor
from runtime.prebuilt.chat_agent_executor import AgentState
from runtime.prebuilt.tool_node import InjectedState
from runtime.types import Command, interrupt
from runtime.warnings import LangGraphDeprecatedSinceV10
from tests.runtime.prebuilt.scripted import HELLO, add, agent_of, final, said, scripted

FORM = {"title": "Form", "type": "object"}


class DictState(AgentState):
    user: str


class ModelState(BaseModel):
    messages: Annotated[list[Any], add_messages]
    remaining_steps: RemainingSteps = 25
    user: str = "nobody"


@dataclass(frozen=True)
class DataState:
    messages: Annotated[list[Any], add_messages]
    remaining_steps: RemainingSteps = 25
    user: str = "nobody"
    seen: list[str] = field(default_factory=list)


states = pytest.mark.parametrize("schema", [DictState, ModelState, DataState])


def get(state, name):
    return state[name] if isinstance(state, dict) else getattr(state, name)


# -- before the model -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [None, "be kind", lambda state: ["be kind", *state["messages"]]])
def test_a_hook_may_give_other_messages_to_the_model(colour, prompt):
    model = scripted([("add", {"x": 1})], "done")
    hook = lambda state: {"llm_input_messages": state["messages"][-1:]}  # noqa: E731
    answer = colour.invoke(agent_of(model, [add], pre_model_hook=hook, prompt=prompt), HELLO)
    lead = [] if prompt is None else ["be kind"]
    assert model.asked == [[*lead, "hello"], [*lead, "2"]]
    assert said(answer) == ["hello", "", "2", "done"]
    assert list(answer) == ["messages"]


def test_messages_for_one_call_do_not_last_until_the_next(colour):
    model = scripted([("add", {"x": 1})], "done")
    hook = lambda state: {"llm_input_messages": [HumanMessage("short")]} if len(state["messages"]) < 2 else {}  # noqa: E731
    colour.invoke(agent_of(model, [add], pre_model_hook=hook), HELLO)
    assert model.asked == [["short"], ["hello", "", "2"]]


def test_a_hook_may_change_the_conversation_itself(colour):
    model = scripted()
    hook = lambda state: {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("anew")]}  # noqa: E731
    assert said(colour.invoke(agent_of(model, pre_model_hook=hook), HELLO)) == ["anew", "done"]


def test_what_is_no_list_of_messages_is_told(colour):
    with pytest.raises(TypeError, match="llm_input_messages='short'"):
        colour.invoke(agent_of(scripted(), pre_model_hook=lambda state: {"llm_input_messages": "short"}), HELLO)


# -- after the model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_hook_after_the_model_may_answer_tool_calls(colour, version):
    def veto(state):
        asked = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("no", tool_call_id=call["id"]) for call in asked if call["args"]["x"] > 5]}

    model = scripted([("add", {"x": 9}), ("add", {"x": 1})], [("add", {"x": 8})], "done")
    answer = colour.invoke(agent_of(model, [add], post_model_hook=veto, version=version), HELLO)
    assert said(answer) == ["hello", "", "no", "2", "", "no", "done"]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_all_steps_of_a_turn_come_in_their_order(colour, version):
    model = scripted([("add", {"x": 1})], "done")
    hooks = {"pre_model_hook": lambda state: {}, "post_model_hook": lambda state: {}}
    agent = agent_of(model, [add], version=version, response_format=FORM, **hooks)
    turn = ["pre_model_hook", "agent", "post_model_hook"]
    steps = [name for chunk in colour.stream(agent, HELLO) for name in chunk]
    assert steps == [*turn, "tools", *turn, "generate_structured_response"]


def test_a_hook_may_take_all_messages_away(colour):
    hook = lambda state: {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}  # noqa: E731
    assert said(colour.invoke(agent_of(scripted(), [add], post_model_hook=hook), HELLO)) == []


# -- a structured response --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("response_format", "lead"), [(FORM, []), (("sum up", FORM), ["sum up"])])
def test_the_outcome_takes_the_form_of_a_schema(colour, response_format, lead):
    model = scripted([("add", {"x": 1})], "done")
    answer = colour.invoke(agent_of(model, [add], response_format=response_format, prompt="be kind"), HELLO)
    assert model.asked[-1] == [*lead, "hello", "", "2", "done"]
    assert answer["structured_response"] == {"Form": len(model.asked[-1])}


def test_the_model_for_the_form_is_chosen_too(colour):
    answer = colour.invoke(agent_of(lambda state, runtime: scripted("chosen"), response_format=FORM), HELLO)
    assert answer["structured_response"] == {"Form": 2}


@pytest.mark.parametrize(
    "around",
    [lambda model: model.bind_tools([add]), lambda model: model.bind_tools([add]) | RunnableLambda(lambda r: r)],
)
def test_the_form_is_filled_by_the_bare_model(colour, around):
    assert colour.invoke(agent_of(around(scripted()), [add], response_format=FORM), HELLO)["structured_response"]


def test_what_fills_no_forms_is_told(colour):
    with pytest.raises(TypeError, match="needs a chat model.*RunnableLambda"):
        colour.invoke(agent_of(RunnableLambda(lambda messages: AIMessage("x")), response_format=FORM), HELLO)


def test_a_tool_that_answers_itself_leaves_no_form_to_fill(colour):
    answer = colour.invoke(agent_of(scripted([("final", {"x": 1})]), [final], response_format=FORM), HELLO)
    assert "structured_response" not in answer


# -- the state --------------------------------------------------------------------------------------------------------


@states
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_prompt_tools_hooks_and_model_see_the_state_as_its_class(colour, schema, version):
    kinds = []

    def see(state):
        kinds.append((type(state), get(state, "user")))
        return {}

    @tool
    def who(state: Annotated[Any, InjectedState]) -> str:
        """Say whose state this is."""
        see(state)
        return "me"

    model = scripted([("who", {})], "done")

    def choose(state, runtime):
        see(state)
        return model

    prompt = lambda state: see(state) or get(state, "messages")  # noqa: E731
    agent = agent_of(choose, [who], prompt=prompt, post_model_hook=see, state_schema=schema, version=version)
    answer = colour.invoke(agent, {**HELLO, "user": "Ada"})
    assert (said(answer)[-1], answer["user"]) == ("done", "Ada")
    assert kinds == [(dict if schema is DictState else schema, "Ada")] * 7


@states
def test_messages_for_one_call_fit_every_kind_of_state(colour, schema):
    model = scripted()
    hook = lambda state: {"llm_input_messages": [HumanMessage(get(state, "user"))]}  # noqa: E731
    agent = agent_of(model, pre_model_hook=hook, prompt=lambda state: get(state, "messages"), state_schema=schema)
    answer = colour.invoke(agent, {**HELLO, "user": "Ada"})
    assert (model.asked, said(answer)) == ([["Ada"]], ["hello", "done"])


@states
def test_a_tool_that_goes_on_later_sees_the_state_as_its_class_and_no_more(colour, schema, saver):
    @tool
    def ask(state: Annotated[Any, InjectedState]) -> str:
        """Ask a human."""
        seen = set(state if isinstance(state, dict) else vars(state)) - {"seen"}
        return f"{type(state).__name__} {sorted(seen)} {interrupt('?')}"

    hook = lambda state: {"llm_input_messages": [HumanMessage("short")]}  # noqa: E731
    agent = agent_of(
        scripted([("ask", {})], "done"), [ask], pre_model_hook=hook, state_schema=schema, checkpointer=saver
    )
    thread = {"configurable": {"thread_id": "1"}}
    colour.invoke(agent, {**HELLO, "user": "Ada"}, thread)
    answer = said(colour.invoke(agent, Command(resume="yes"), thread))
    kind = "dict" if schema is DictState else schema.__name__
    assert answer[2] == f"{kind} ['messages', 'remaining_steps', 'user'] yes"


class Own(AgentState):
    llm_input_messages: list[Any]


def test_a_state_may_declare_the_messages_for_the_model_itself(colour):
    model = scripted()
    hook = lambda state: {"llm_input_messages": [HumanMessage("short")]}  # noqa: E731
    answer = colour.invoke(agent_of(model, pre_model_hook=hook, state_schema=Own), HELLO)
    assert (model.asked, [m.content for m in answer["llm_input_messages"]]) == ([["short"]], ["short"])


class Bare(TypedDict):
    messages: list[Any]


@pytest.mark.parametrize(
    ("options", "told"), [({}, "lacks 'remaining_steps'"), ({"response_format": FORM}, "'structured_response'")]
)
def test_a_state_that_lacks_what_an_agent_needs_is_refused(options, told):
    with pytest.raises(ValueError, match=told):
        agent_of(scripted(), state_schema=Bare, **options)


@pytest.mark.parametrize("name", [name for name in chat_agent_executor.__all__ if name.startswith("AgentState")])
@pytest.mark.filterwarnings("ignore:The state classes of create_react_agent:DeprecationWarning")
def test_the_states_that_come_with_it_serve(colour, name):
    schema = getattr(chat_agent_executor, name)
    structured = {"response_format": FORM} if "Structured" in name else {}
    answer = colour.invoke(agent_of(scripted(), state_schema=schema, **structured), HELLO)
    assert (said(answer), answer.get("structured_response")) == (["hello", "done"], {"Form": 2} if structured else None)


def test_a_state_of_ones_own_on_the_pydantic_one_is_told_to_stand_on_an_old_class():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="^The state classes of create_react_agent are deprecated"):
        type("Mine", (chat_agent_executor.AgentStatePydantic,), {})
