"""Each rule: a program that truly goes wrong, what is found in it, and the mended program in which nothing is."""

import contextlib
import dataclasses
import logging
import operator
from typing import Annotated, Literal, TypedDict

import pytest

from runtime.checkpoint.memory import InMemorySaver
from tests.workbench.shapes import NAMES, build, load
from workbench import lint as findings_of


class State(TypedDict, total=False):
    x: int
    bill: int
    log: Annotated[list[str], operator.add]


def graph(engine, nodes, edges=(), routers=(), schema=State, joins=(), **more):
    made = engine.graph.StateGraph(schema, **more)
    for name, node in nodes.items():
        made.add_node(name, node)
    for one, other in edges:
        made.add_edge(one, other)
    for sources, target in joins:
        made.add_edge(sources, target)
    for router in routers:
        made.add_conditional_edges(*router)
    return made


def lint(graph, **given):
    """The findings; those of a builder that can be compiled are the same when it is, but for what compile() brings."""
    found = findings_of(graph, **given)
    if not hasattr(graph, "invoke") and hasattr(graph, "compile"):
        with contextlib.suppress(ValueError):  # an edge to nowhere
            compiled = findings_of(graph.compile(), **given)
            assert [one for one in compiled if one.code != "WB108"] == list(found)
    return found


def plain(state):
    return {}


def says(word):
    return lambda state: {"log": [word]}


def test_a_node_that_no_run_can_reach(engine):
    nodes = {"a": says("a"), "b": says("b")}
    broken = graph(engine, nodes, [("__start__", "a"), ("b", "__end__")])
    assert broken.compile().invoke({})["log"] == ["a"]
    (found,) = lint(broken)
    assert (found.code, found.nodes, found.what) == ("WB101", ("b",), "Nothing leads to b.")
    assert "Add an edge to b" in found.fix
    mended = graph(engine, nodes, [("__start__", "a"), ("a", "b")])
    assert mended.compile().invoke({})["log"] == ["a", "b"]
    assert not lint(mended)


def test_a_join_of_a_node_that_no_run_can_reach(engine):
    nodes = {"a": says("a"), "b": says("b"), "c": says("c")}
    broken = graph(engine, nodes, [("__start__", "a")], joins=[(["a", "b"], "c")])
    assert broken.compile().invoke({})["log"] == ["a"]
    assert [(one.code, one.what) for one in lint(broken)] == [
        ("WB101", "Nothing leads to b."),
        ("WB101", "c waits for b, which no run can reach."),
    ]
    assert not lint(broken.add_edge("__start__", "b"))


def test_a_loop_whose_routers_lead_nowhere_else(engine):
    def again(state) -> str:
        return "b" if state.get("x") else "a"

    edges = [("__start__", "a"), ("b", "a")]
    broken = graph(engine, {"a": plain, "b": plain}, edges, [("a", again, ["a", "b"])])
    with pytest.raises(RecursionError, match="limit of 9"):
        broken.compile().invoke({"x": 1}, {"recursion_limit": 9})
    (found,) = lint(broken)
    assert (found.code, found.nodes, found.what) == ("WB102", ("a", "b"), "No way leads out of a and b.")

    def again_or_out(state) -> str:
        return "__end__" if state.get("x") else "a"

    mended = graph(engine, {"a": plain, "b": plain}, [("__start__", "b"), ("b", "a")], [("a", again_or_out)])
    assert mended.compile().invoke({"x": 1}, {"recursion_limit": 9})["x"] == 1
    assert not lint(mended)


def test_an_answer_that_the_path_map_lacks(engine):
    def route(state) -> str:
        return "redo" if state.get("x") else "ok"

    broken = graph(engine, {"a": plain}, [("__start__", "a")], [("a", route, {"ok": "__end__"})])
    with pytest.raises(KeyError, match="redo"):
        broken.compile().invoke({"x": 1})
    (found,) = lint(broken)
    assert (found.code, found.nodes) == ("WB103", ("a",))
    assert found.what == "Router route can answer 'redo', which its path map lacks."
    mended = graph(engine, {"a": plain}, [("__start__", "a")], [("a", route, {"ok": "__end__", "redo": "a"})])
    assert mended.compile().invoke({"x": 0})["x"] == 0
    assert not lint(mended)


def test_a_router_whose_literal_lacks_its_answer(engine):
    def route(state) -> Literal["b"]:
        return "c"

    assert lint(graph(engine, {"a": plain, "b": plain}, [("__start__", "a")], [("a", route)])).codes == ["WB103"]


def test_a_router_that_names_what_is_no_node(engine, caplog):
    def route(state):
        return "bee"

    broken = graph(engine, {"a": says("a"), "b": says("b")}, [("__start__", "a")], [("a", route)])
    with caplog.at_level(logging.WARNING):
        assert broken.compile().invoke({})["log"] == ["a"]
    (found,) = lint(broken)
    assert (found.code, found.what) == ("WB104", "Router route names 'bee', which is no node.")
    assert "a or b" in found.fix


def test_a_command_and_a_send_that_name_what_is_no_node(engine):
    types = engine.types

    def jumps(state):
        return types.Command(goto=["bee", types.Send("sea", {})])

    made = graph(engine, {"a": jumps}, [("__start__", "a")])
    assert made.compile().invoke({"x": 1})["x"] == 1
    assert [one.what for one in lint(made)] == [
        "A command of a names 'bee', which is no node.",
        "A command of a names 'sea', which is no node.",
    ]


def test_a_builder_whose_edges_name_what_is_no_node(engine):
    made = graph(engine, {"a": plain}, [("__start__", "a"), ("a", "bee")])
    with pytest.raises(ValueError, match="bee"):
        made.compile()
    assert [(one.code, one.what) for one in lint(made)] == [
        ("WB104", "The edge a → bee names 'bee', which is no node.")
    ]


def test_two_nodes_of_one_superstep_that_write_a_plain_key(engine):
    def dear(state):
        return {"bill": 9}

    def cheap(state):
        return {"bill": 1, "log": ["cheap"]}

    both = [("__start__", "dear"), ("__start__", "cheap")]
    broken = graph(engine, {"dear": dear, "cheap": cheap}, both)
    with pytest.raises(Exception, match="bill"):
        broken.compile().invoke({})
    (found,) = lint(broken)
    assert (found.code, found.nodes, found.channel) == ("WB105", ("dear", "cheap"), "bill")
    mended = graph(engine, {"dear": dear, "cheap": cheap}, [("__start__", "dear"), ("dear", "cheap")])
    assert mended.compile().invoke({})["bill"] == 1
    assert not lint(mended)


def test_writers_meet_some_supersteps_after_the_edges_parted(engine):
    def writes(state):
        return {"bill": 1}

    edges = [("__start__", "a"), ("__start__", "b"), ("a", "c"), ("b", "d")]
    broken = graph(engine, {"a": plain, "b": plain, "c": writes, "d": writes}, edges)
    with pytest.raises(Exception, match="bill"):
        broken.compile().invoke({})
    assert [(one.code, one.nodes) for one in lint(broken)] == [("WB105", ("c", "d"))]


def test_a_node_that_is_sent_many_times_and_writes_a_plain_key(engine):
    def spread(state):
        return [engine.types.Send("work", {"x": number}) for number in range(2)]

    def work(state):
        return {"bill": state["x"]}

    broken = graph(engine, {"work": work}, routers=[("__start__", spread, ["work"])])
    with pytest.raises(Exception, match="bill"):
        broken.compile().invoke({})
    assert [(one.code, one.nodes, one.channel) for one in lint(broken)] == [("WB105", ("work",), "bill")]
    mended = graph(
        engine, {"work": lambda state: {"log": [str(state["x"])]}}, routers=[("__start__", spread, ["work"])]
    )
    assert mended.compile().invoke({})["log"] == ["0", "1"]
    assert not lint(mended)


def test_writers_that_may_take_turns_are_no_finding(engine):
    def even(state):
        return {} if state["x"] % 2 else {"bill": 2}

    def odd(state):
        return {"bill": 1} if state["x"] % 2 else {}

    made = graph(engine, {"even": even, "odd": odd}, [("__start__", "even"), ("__start__", "odd")])
    assert made.compile().invoke({"x": 1})["bill"] == 1
    assert not lint(made)


def test_nested_graphs_side_by_side_hand_back_a_plain_key_that_they_were_given(engine):
    class Paper(TypedDict):
        day: str

    def desk():
        return graph(engine, {"draft": plain}, [("__start__", "draft")], schema=Paper).compile()

    both = [("__start__", "sport"), ("__start__", "culture")]
    broken = graph(engine, {"sport": desk(), "culture": desk()}, both, schema=Paper)
    with pytest.raises(Exception, match="day"):
        broken.compile().invoke({"day": "Tuesday"})
    assert [(one.code, one.channel) for one in lint(broken)] == [("WB105", "day")]


def test_a_key_that_is_read_and_that_the_schema_lacks(engine):
    def reads(state):
        return {"x": state["total"]}

    broken = graph(engine, {"a": reads}, [("__start__", "a")])
    with pytest.raises(KeyError, match="total"):
        broken.compile().invoke({"x": 1})
    (found,) = lint(broken)
    assert (found.code, found.nodes, found.channel) == ("WB106", ("a",), "total")
    assert found.what.startswith("a reads 'total', which State lacks (test_before.py:")
    assert not lint(graph(engine, {"a": lambda state: {"x": state["bill"]}}, [("__start__", "a")]))


def test_a_key_that_nobody_writes(engine):
    class Given(TypedDict):
        x: int

    broken = graph(engine, {"a": lambda state: {"x": state["bill"]}}, [("__start__", "a")], input_schema=Given)
    with pytest.raises(KeyError, match="bill"):
        broken.compile().invoke({"x": 1, "bill": 3})
    assert [(one.code, one.channel) for one in lint(broken)] == [("WB106", "bill")]
    nodes = {"b": lambda state: {"bill": 2}, "a": lambda state: {"x": state["bill"]}}
    mended = graph(engine, nodes, [("__start__", "b"), ("b", "a")], input_schema=Given)
    assert mended.compile().invoke({"x": 1})["x"] == 2
    assert not lint(mended)


def test_an_attribute_that_a_state_class_lacks(engine):
    @dataclasses.dataclass
    class Order:
        x: int = 0

        @property
        def double(self):
            return 2 * self.x

    broken = graph(engine, {"a": lambda state: {"x": state.total}}, [("__start__", "a")], schema=Order)
    with pytest.raises(AttributeError, match="total"):
        broken.compile().invoke({"x": 1})
    assert [(one.code, one.channel) for one in lint(broken)] == [("WB106", "total")]
    assert not lint(graph(engine, {"a": lambda state: {"x": state.double}}, [("__start__", "a")], schema=Order))


def test_a_router_reads_a_key_that_is_nowhere(engine):
    def route(state):
        return "__end__" if state["done"] else "a"

    broken = graph(engine, {"a": plain}, [("__start__", "a")], [("a", route, ["a", "__end__"])])
    with pytest.raises(KeyError, match="done"):
        broken.compile().invoke({"x": 1})
    assert [(one.code, one.what[:32]) for one in lint(broken)] == [("WB106", "Router route reads 'done', which")]


def careful(state):
    if "extra" in state:
        return {"x": state["extra"]}
    try:
        return {"x": state["other"]}
    except KeyError:
        return {}


def fills(state):
    state["own"] = 1
    return {"x": state["own"]}


def replaces(state):
    state = {"whatever": 1}
    return {"x": state["whatever"]}


@pytest.mark.parametrize("node", [careful, fills, replaces])
def test_a_key_that_the_code_looks_for_or_puts_there_is_no_finding(engine, node):
    made = graph(engine, {"a": node}, [("__start__", "a")])
    made.compile().invoke({"x": 1})
    assert not lint(made)


def test_a_loop_of_plain_edges(engine):
    def route(state) -> str:
        return "__end__"

    nodes, edges = {"a": plain, "b": plain}, [("__start__", "a"), ("a", "b"), ("b", "a")]
    broken = graph(engine, nodes, edges, [("b", route)])
    with pytest.raises(RecursionError, match="limit of 9"):
        broken.compile().invoke({"x": 1}, {"recursion_limit": 9})
    (found,) = lint(broken)
    assert (found.code, found.nodes, found.what) == ("WB107", ("a", "b"), "a → b → a has plain edges only.")
    mended = graph(engine, nodes, edges[:2], [("b", route)])
    assert mended.compile().invoke({"x": 1}, {"recursion_limit": 9})["x"] == 1
    assert not lint(mended)


def test_a_loop_that_asks_a_person_in_each_round_is_no_finding(engine):
    def person(state):
        return {"log": [engine.types.interrupt("and now?")]}

    made = graph(engine, {"a": plain, "person": person}, [("__start__", "a"), ("a", "person"), ("person", "a")])
    assert not lint(made)


class Desk:
    """Asks from deep inside."""

    def __init__(self, engine):
        self.engine = engine

    def node(self, state):
        return {"log": [self.ask()]}

    def ask(self):
        interrupt = self.engine.types.interrupt
        return interrupt("and now?")


def test_a_loop_that_may_ask_deep_inside_is_no_finding(engine):
    desk = Desk(engine)

    def through(state):
        return desk.node(state)

    for node in (desk.node, through):
        made = graph(engine, {"a": plain, "b": node}, [("__start__", "a"), ("a", "b"), ("b", "a")])
        assert not lint(made)


def test_interrupt_without_a_checkpointer(engine, saver_of):
    def asks(state):
        return {"log": [engine.types.interrupt("ok?")]}

    made = graph(engine, {"a": asks}, [("__start__", "a")])
    broken = made.compile()
    assert "__interrupt__" in broken.invoke({})
    with pytest.raises(RuntimeError, match="checkpointer"):
        broken.invoke(engine.types.Command(resume="yes"))
    (found,) = lint(broken)
    assert (found.code, found.nodes) == ("WB108", ("a",))
    assert found.what == "a may call interrupt(), but the graph has no checkpointer."
    mended = made.compile(checkpointer=saver_of(engine))
    config = {"configurable": {"thread_id": "t"}}
    mended.invoke({}, config)
    assert mended.invoke(engine.types.Command(resume="yes"), config)["log"] == ["yes"]
    assert not lint(mended)
    assert not lint(made)  # a builder may still get one


def test_a_breakpoint_without_a_checkpointer(engine, saver_of):
    made = graph(engine, {"a": says("a")}, [("__start__", "a")])
    broken = made.compile(interrupt_before=["a"])
    assert not (broken.invoke({"x": 1}) or {}).get("log")
    assert [(one.code, one.nodes) for one in lint(broken)] == [("WB108", ("a",))]
    assert not lint(made.compile(checkpointer=saver_of(engine), interrupt_before=["a"]))


def test_a_question_in_a_nested_graph_is_told_once_by_its_whole_name(engine):
    def asks(state):
        return {"log": [engine.types.interrupt("ok?")]}

    inner = graph(engine, {"editor": asks}, [("__start__", "editor")]).compile()
    (found,) = lint(graph(engine, {"desk": inner}, [("__start__", "desk")]).compile())
    assert (found.code, found.nodes) == ("WB108", ("desk:editor",))


def test_a_key_that_is_written_and_that_the_state_lacks(engine):
    def writes(state):
        return {"x": 1, "totl": 2}

    broken = graph(engine, {"a": writes}, [("__start__", "a")])
    assert "totl" not in broken.compile().invoke({})
    (found,) = lint(broken)
    assert (found.code, found.nodes, found.channel) == ("WB109", ("a",), "totl")
    assert not lint(graph(engine, {"a": lambda state: {"x": 1}}, [("__start__", "a")]))


def test_a_finding_in_a_nested_graph_says_where(engine):
    inner = graph(engine, {"a": plain, "b": plain}, [("__start__", "a")]).compile()
    (found,) = lint(graph(engine, {"desk": inner}, [("__start__", "desk")]))
    assert (found.ns, found.where) == ("desk", "desk: b")


def test_a_join_of_a_node_that_a_router_may_skip(engine):
    def route(state) -> str:
        return "check" if state.get("x") else "__end__"

    nodes = {"draft": says("draft"), "check": says("check"), "print": says("print")}
    both = [("__start__", "draft")]
    routers = [("__start__", route, ["check", "__end__"])]
    broken = graph(engine, nodes, both, routers, joins=[(["draft", "check"], "print")])
    assert broken.compile().invoke({"x": 0})["log"] == ["draft"]
    (found,) = lint(broken)
    assert (found.code, found.nodes) == ("WB110", ("print",))
    assert found.what == "Where router route chooses END, check never runs, and print waits for it beside draft."
    mended = graph(engine, {"draft": nodes["draft"], "check": nodes["check"]}, both, routers)
    mended.add_node("print", says("print"), defer=True).add_edge("draft", "print").add_edge("check", "print")
    assert mended.compile().invoke({"x": 0})["log"] == ["draft", "print"]
    assert mended.compile().invoke({"x": 1})["log"] == ["check", "draft", "print"]
    assert not lint(mended)


def test_a_join_of_nodes_that_are_chosen_together_or_not_at_all(engine):
    def route(state):
        return ["a", "b"] if state.get("x") else "__end__"

    nodes = {"a": says("a"), "b": says("b"), "c": says("c")}
    made = graph(engine, nodes, routers=[("__start__", route, ["a", "b", "__end__"])], joins=[(["a", "b"], "c")])
    assert made.compile().invoke({"x": 1})["log"] == ["a", "b", "c"]
    assert not lint(made)


def test_a_command_beside_a_plain_edge(engine):
    def check(state):
        if state.get("x"):
            return engine.types.Command(goto="__end__", update={"log": ["stop"]})
        return {"log": ["on"]}

    broken = graph(engine, {"check": check, "pay": says("pay")}, [("__start__", "check"), ("check", "pay")])
    assert broken.compile().invoke({"x": 1})["log"] == ["stop", "pay"]
    (found,) = lint(broken)
    assert (found.code, found.nodes) == ("WB111", ("check",))
    assert found.what == "check goes on to END by a command, and has a plain edge to pay."

    def checks(state):
        if state.get("x"):
            return engine.types.Command(goto="__end__", update={"log": ["stop"]})
        return engine.types.Command(goto="pay", update={"log": ["on"]})

    mended = graph(engine, {"check": checks, "pay": says("pay")}, [("__start__", "check")])
    assert mended.compile().invoke({"x": 1})["log"] == ["stop"]
    assert not lint(mended)


def test_an_error_handler_before_a_join(engine):
    def fails(state):
        raise ConnectionError

    def guesses(state):
        return {"log": ["guess"]}

    def guesses_and_goes(state):
        return engine.types.Command(goto="report", update={"log": ["guess"]})

    def made(handler):
        new = graph(engine, {"north": says("north"), "report": says("report")}, [("__start__", "north")])
        new.add_node("west", fails, error_handler=handler).add_edge("__start__", "west")
        return new.add_edge(["north", "west"], "report")

    broken = made(guesses)
    assert sorted(broken.compile().invoke({})["log"]) == ["guess", "north"]
    (found,) = lint(broken)
    assert (found.code, found.nodes) == ("WB112", ("west",))
    assert "report" in made(guesses_and_goes).compile().invoke({})["log"]
    assert not lint(made(guesses_and_goes))


@pytest.fixture
def saver_of():
    def make(engine):
        if engine.name == "runtime":
            return InMemorySaver()
        from langgraph.checkpoint.memory import InMemorySaver as Theirs

        return Theirs()

    return make


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_published_graphs_but_breakpoints_without_a_saver(engine, name):
    shape = load(name)
    made = build(engine, shape, jumps=True)
    assert lint(made.builder).codes == []
    assert lint(made).codes == (["WB108"] if shape.get("interrupt_before") else [])


def test_a_command_from_elsewhere_may_lead_anywhere(engine):
    def jumps(state):
        return engine.types.Command(goto=state["where"])

    class Where(State):
        where: str

    made = graph(engine, {"a": jumps, "b": says("b")}, [("__start__", "a")], schema=Where)
    assert made.compile().invoke({"where": "b"})["log"] == ["b"]
    assert not lint(made)


def test_a_graph_that_was_not_built_is_read_for_what_it_has():
    from runtime.func import entrypoint
    from runtime.types import interrupt

    @entrypoint()
    def flow(x: int) -> int:
        return interrupt("ok?")

    assert lint(flow).codes == ["WB108"]


def test_what_is_no_graph_is_refused():
    with pytest.raises(TypeError, match="A dict is no graph"):
        lint({})
