"""The builder: what it takes, what it refuses and in which words, and what it remembers."""

import operator
from enum import Enum
from typing import Annotated, Literal

import pytest
from langchain_core.runnables import RunnableLambda, RunnableParallel
from typing_extensions import TypedDict

from runtime.channels import BinaryOperatorAggregate, LastValue
from runtime.graph import END, START, StateGraph
from runtime.graph.state import CompiledStateGraph
from runtime.managed import RemainingSteps
from runtime.types import CachePolicy, Command, RetryPolicy, TimeoutPolicy
from runtime.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10


class State(TypedDict, total=False):
    a: int
    log: Annotated[list, operator.add]


class Private(TypedDict):
    a: int
    secret: str


class Managed(TypedDict):
    left: RemainingSteps


def node(state):
    return {}


def other(state):
    return {}


def reads_private(state: Private):
    return {}


def graph(*names: str, entry: bool = True) -> StateGraph:
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, node)
    return builder.add_edge(START, names[0]) if entry else builder


# -- schemas ----------------------------------------------------------------------------------------------------------


def test_a_narrower_schema_adds_its_keys_and_keeps_the_first_declaration():
    builder = StateGraph(State, input_schema=TypedDict("I", {"log": list, "extra": int}), output_schema=Private)
    assert list(builder.channels) == ["a", "log", "extra", "secret"]
    assert isinstance(builder.channels["log"], BinaryOperatorAggregate)
    assert list(builder.schemas[Private]) == ["a", "secret"]


@pytest.mark.parametrize(("first", "second"), [(list, operator.add), (operator.or_, operator.add)])
def test_a_key_with_two_reducers_is_refused_by_both_declarations(first, second):
    class One(TypedDict):
        log: Annotated[list, first] if first is not list else list

    class Two(TypedDict):
        log: Annotated[list, second]

    with pytest.raises(ValueError, match="'log' is declared twice: in 'One' as .* and in 'Two' as .*'add'"):
        StateGraph(One, input_schema=Two)


def test_a_lambda_agrees_with_every_reducer():
    class Two(TypedDict):
        log: Annotated[list, lambda a, b: a + b]

    assert StateGraph(State, output_schema=Two).channels["log"].operator is operator.add


def test_a_plain_declaration_after_a_managed_value_leaves_it():
    builder = StateGraph(Managed).add_node("n", node, input_schema=TypedDict("T", {"left": int}))
    assert (list(builder.managed), list(builder.channels)) == (["left"], [])


def test_managed_values_may_not_be_input_or_output():
    for narrower in ("input_schema", "output_schema"):
        with pytest.raises(ValueError, match="managed values: left"):
            StateGraph(State, **{narrower: Managed})
    assert StateGraph(Managed, input_schema=Managed).input_schema is Managed


@pytest.mark.parametrize("schema", ["text", None, node])
def test_a_schema_that_is_no_type_warns(schema):
    with pytest.warns(UserWarning, match="is no type"):
        StateGraph(schema)


def test_a_dict_as_schema_warns_and_fails():
    with pytest.warns(UserWarning, match="is no type"), pytest.raises(TypeError):
        StateGraph({"a": 1})


# -- nodes ------------------------------------------------------------------------------------------------------------


def test_the_name_may_be_left_out():
    builder = StateGraph(State).add_node(node).add_node(RunnableLambda(other)).add_node(lambda s: s)
    assert list(builder.nodes) == ["node", "other", "<lambda>"]


def test_a_member_of_a_string_enum_is_a_plain_name():
    class Name(str, Enum):  # noqa: UP042 - as programs have it that were written before StrEnum
        FIRST = "first"
        SECOND = "second"

    builder = StateGraph(State).add_node(Name.FIRST, node).add_node(Name.SECOND, node)
    builder.add_edge(START, Name.FIRST).add_edge([Name.FIRST], Name.SECOND)
    builder.add_conditional_edges(Name.SECOND, node, [Name.FIRST, END])
    assert list(builder.nodes) == ["first", "second"]
    assert [type(name) for name in builder.nodes] == [str, str]
    assert builder.compile().get_graph().edges[-1].target == "first"


def test_a_dict_as_node_runs_in_parallel():
    assert isinstance(StateGraph(State).add_node("both", {"a": node}).nodes["both"].runnable, RunnableParallel)


REFUSED = [
    (("x", node), ValueError, "'x' exists already"),
    (("__start__", node), ValueError, "own ends"),
    (("__end__", node), ValueError, "own ends"),
    (("a|b", node), ValueError, "holds '|'"),
    (("a:b", node), ValueError, "holds ':'"),
    (("y",), RuntimeError, "says not what it does"),
    ((None,), RuntimeError, "says not what it does"),
    (("y", 5), TypeError, "not 5"),
    ((5,), TypeError, "not 5"),
]


@pytest.mark.parametrize(("arguments", "kind", "said"), REFUSED)
def test_a_node_that_is_none_is_refused(arguments, kind, said):
    with pytest.raises(kind, match=said.replace("|", r"\|")):
        graph("x").add_node(*arguments)


def test_what_a_node_reads_is_told_else_annotated_else_the_state():
    builder = StateGraph(State).add_node("told", node, input_schema=Private).add_node(reads_private).add_node(node)
    assert [spec.input_schema for spec in builder.nodes.values()] == [Private, Private, State]
    assert "secret" in builder.channels


def test_a_node_may_share_its_name_with_a_key():
    assert "a" in graph("a").compile().nodes


def test_policies_and_the_rest_are_kept():
    retry, cache = RetryPolicy(max_attempts=2), CachePolicy()
    builder = StateGraph(State).add_node(
        "n", node, defer=True, metadata={"k": 1}, retry_policy=retry, cache_policy=cache, timeout=2, destinations="n"
    )
    spec = builder.nodes["n"]
    assert (spec.defer, spec.metadata, spec.retry_policy, spec.cache_policy) == (True, {"k": 1}, retry, cache)
    assert (spec.timeout, spec.ends) == (TimeoutPolicy(run_timeout=2.0), ("n",))


def test_destinations_go_before_the_annotation():
    def moves(state) -> Command[Literal["a", "b"]]:
        return Command()

    builder = StateGraph(State).add_node("x", moves).add_node("y", moves, destinations={"c": "label"})
    assert [spec.ends for spec in builder.nodes.values()] == [("a", "b"), {"c": "label"}]


def test_an_error_handler_is_a_node_before_the_one_it_watches():
    builder = StateGraph(State).add_node("n", reads_private, error_handler=other)
    assert list(builder.nodes) == ["__error_handler__n", "n"]
    handler = builder.nodes["__error_handler__n"]
    assert (handler.is_error_handler, handler.input_schema) == (True, Private)
    assert builder.nodes["n"].error_handler_node == "__error_handler__n"


# -- edges ------------------------------------------------------------------------------------------------------------


def test_an_edge_from_a_list_waits_for_all():
    builder = graph("x", "y", "z").add_edge(["x", "y"], "z").add_edge("z", END)
    assert (builder.edges, builder.waiting_edges) == ({(START, "x"), ("z", END)}, {(("x", "y"), "z")})


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (END, "x", "starts at END"),
        (["x", END], "x", "starts at END"),
        ("x", START, "leads to START"),
        (["x"], START, "leads to START"),
        (["x", "nobody"], "x", "needs node 'nobody'"),
        (["x"], "nobody", "needs node 'nobody'"),
    ],
)
def test_an_edge_that_cannot_be_is_refused(start, end, said):
    with pytest.raises(ValueError, match=said):
        graph("x").add_edge(start, end)


def test_a_router_is_named_after_its_function():
    builder = graph("x").add_conditional_edges("x", node).add_conditional_edges("x", lambda s: END)
    builder.add_conditional_edges("x", RunnableLambda(lambda s: END, name="named"))
    assert list(builder.branches["x"]) == ["node", "condition", "named"]


@pytest.mark.parametrize("path", [node, lambda s: END])
def test_two_routers_of_one_name_are_refused(path):
    builder = graph("x").add_conditional_edges("x", path)
    with pytest.raises(ValueError, match="'x' has a router named '(node|condition)' already"):
        builder.add_conditional_edges("x", path)


def test_a_router_gets_its_map_from_what_is_given_else_from_its_literal():
    def route(state) -> Literal["x", "__end__"]:
        return END

    builder = graph("x").add_conditional_edges("x", route).add_conditional_edges("x", node, ["x"])
    builder.add_conditional_edges("x", other, {True: "x"})
    ends = [branch.ends for branch in builder.branches["x"].values()]
    assert ends == [{"x": "x", "__end__": "__end__"}, {"x": "x"}, {True: "x"}]


def test_a_router_with_a_schema_of_its_own_adds_its_keys():
    builder = graph("x").add_conditional_edges("x", reads_private)
    assert builder.branches["x"]["reads_private"].input_schema is Private
    assert "secret" in builder.channels


def test_a_sequence_adds_nodes_and_the_edges_between():
    builder = StateGraph(State).add_sequence([("first", node), node, other])
    assert (list(builder.nodes), builder.edges) == (["first", "node", "other"], {("first", "node"), ("node", "other")})


@pytest.mark.parametrize(("nodes", "said"), [([], "at least one"), ([node, node], "second node named 'node'")])
def test_a_sequence_that_is_none_is_refused(nodes, said):
    with pytest.raises(ValueError, match=said):
        StateGraph(State).add_sequence(nodes)


def test_entry_and_finish_points_are_edges():
    builder = graph("x", entry=False).set_entry_point("x").set_finish_point("x")
    assert builder.edges == {(START, "x"), ("x", END)}
    assert list(builder.set_conditional_entry_point(node, ["x"]).branches[START]) == ["node"]


# -- compile ----------------------------------------------------------------------------------------------------------

BROKEN = [
    (lambda g: g.add_edge("nobody", "x"), "An edge starts at unknown node 'nobody'.*'x'"),
    (lambda g: g.add_edge("x", "nobody"), "An edge ends at unknown node 'nobody'"),
    (lambda g: g.add_conditional_edges("nobody", node), "An edge starts at unknown node 'nobody'"),
    (lambda g: g.add_conditional_edges("x", node, ["nobody"]), "Router 'node' of node 'x' may lead to 'nobody'"),
    (lambda g: g.add_conditional_edges("x", node, {"a": START}), "may lead to '__start__'"),
    (lambda g: g.add_node("y", node, destinations=("nobody",)), "Node 'y' says .* 'nobody'"),
    (lambda g: g.add_node("checkpoint_id", node), "Node name 'checkpoint_id' is a word"),
    (lambda g: g._add_schema(TypedDict("T", {"checkpoint_ns": int})), "State key 'checkpoint_ns' is a word"),
    (lambda g: g._add_schema(TypedDict("T", {"branch:to:x": int})), "State key 'branch:to:x' is a word"),
]


@pytest.mark.parametrize(("breaks", "said"), BROKEN)
def test_a_graph_that_does_not_hold_together_is_not_compiled(breaks, said):
    builder = graph("x")
    breaks(builder)
    with pytest.raises(ValueError, match=said):
        builder.compile()


def test_a_graph_without_a_way_in_is_not_compiled():
    with pytest.raises(ValueError, match="No edge leads from START"):
        graph("x", entry=False).compile()


def test_nodes_that_nothing_leads_to_are_fine():
    assert isinstance(graph("x", "lost").compile(), CompiledStateGraph)


def test_a_breakpoint_names_a_node():
    with pytest.raises(ValueError, match="A breakpoint names 'y'"):
        graph("x").compile(interrupt_before=["y"])
    with pytest.raises(TypeError, match="list of node names"):
        graph("x").compile(interrupt_after="x")
    assert graph("x").compile(interrupt_before="*", interrupt_after=["x"]).interrupt_after_nodes == ["x"]


def test_only_a_saver_is_a_checkpointer():
    with pytest.raises(TypeError):
        graph("x").compile(checkpointer=5)


def test_what_is_declared_after_compile_does_not_reach_the_compiled_graph(caplog):
    builder = graph("x")
    before = builder.compile()
    builder.add_node("y", node).add_edge("x", "y")
    assert list(before.nodes) == [START, "x"]
    assert [edge.target for edge in before.get_graph().edges] == ["x", END]
    assert len([record for record in caplog.records if "after it was compiled" in record.message]) == 2
    assert list(builder.compile().nodes) == [START, "x", "y"]


def test_defaults_fill_in_what_nodes_lack():
    retry, mine = RetryPolicy(max_attempts=5), RetryPolicy(max_attempts=2)
    builder = graph("x").add_node("own", node, retry_policy=mine, error_handler=other)
    builder.set_node_defaults(retry_policy=retry).set_node_defaults(cache_policy=CachePolicy(), error_handler=other)
    nodes = builder.compile().nodes
    assert [nodes[name].retry_policy for name in ("x", "own", "__error_handler__own")] == [(retry,), (mine,), (retry,)]
    assert (nodes["x"].handler, nodes["own"].handler) == ("__default_error_handler__", "__error_handler__own")
    assert nodes["__error_handler__own"].cache_policy is None
    assert nodes["__default_error_handler__"].handler is None
    assert "__default_error_handler__" not in builder.nodes


def test_the_default_handler_needs_its_name():
    builder = graph("x", "__default_error_handler__").set_node_defaults(error_handler=other)
    with pytest.raises(ValueError, match="__default_error_handler__"):
        builder.compile()


def test_the_default_handler_reads_the_state():
    compiled = graph("x").set_node_defaults(error_handler=reads_private).compile()
    assert compiled.nodes["__default_error_handler__"].channels == ["a", "log"]
    assert compiled.node_error_handler_map == {"x": "__default_error_handler__"}


# -- old forms --------------------------------------------------------------------------------------------------------


def test_old_names_of_arguments_warn_and_work():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="`config_schema`.*`context_schema`"):
        assert StateGraph(State, config_schema=Private).context_schema is Private
    with pytest.warns(LangGraphDeprecatedSinceV05, match="`input`"):
        assert StateGraph(State, input=Private).input_schema is Private
    with pytest.warns(LangGraphDeprecatedSinceV05, match="`output`"):
        assert StateGraph(State, output=Private).output_schema is Private
    with pytest.warns(LangGraphDeprecatedSinceV05, match="`retry`"):
        assert StateGraph(State).add_node("x", node, retry=RetryPolicy()).nodes["x"].retry_policy == RetryPolicy()


def test_an_unknown_argument_is_refused():
    with pytest.raises(TypeError, match="'colour'"):
        StateGraph(State, colour=1)
    with pytest.raises(TypeError, match="'colour'"):
        StateGraph(State).add_node("x", node, colour=1)


def test_a_plain_key_keeps_its_last_value():
    assert isinstance(StateGraph(State).channels["a"], LastValue)
