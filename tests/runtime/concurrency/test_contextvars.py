"""Context variables: nodes see what their caller has set, and nobody sees what a node sets."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from runtime.func import entrypoint, task
from runtime.graph import START
from runtime.types import Send
from tests.runtime.scenarios.build import builder

here: ContextVar[str] = ContextVar("here", default="nowhere")


def look(name):
    """A node that says what it sees, and sets another value."""

    def node(state):
        seen = here.get()
        here.set(name)
        return {"log": [f"{name} sees {seen}"]}

    return node


def alook(name):
    async def node(state):
        await asyncio.sleep(0)
        answer = look(name)(state)
        await asyncio.sleep(0)
        assert here.get() == name
        return answer

    return node


COLOURS = pytest.mark.parametrize("make", [look, alook], ids=["sync nodes", "async nodes"])


def forked(make):
    graph = builder({name: make(name) for name in "abcd"}, [(START, "a"), ("a", "b"), ("a", "c")])
    return graph.add_conditional_edges("b", lambda state: [Send("d", {}), Send("d", {})], ["d"]).compile()


SEEN = ["a sees caller", "b sees caller", "c sees caller", "d sees caller", "d sees caller"]


def test_threads_see_the_callers_value_and_leave_it_alone():
    here.set("caller")
    assert forked(look).invoke({"log": []}) == {"log": SEEN}
    chunks = list(forked(look).stream({"log": []}, stream_mode=["values", "custom"]))
    assert (chunks[-1][1], here.get()) == ({"log": SEEN}, "caller")


@COLOURS
def test_asyncio_tasks_see_the_callers_value_and_leave_it_alone(make):
    async def scenario():
        here.set("caller")
        result = await forked(make).ainvoke({"log": []})
        chunks = [chunk async for chunk in forked(make).astream({"log": []}, stream_mode="values")]
        return result, chunks[-1], here.get()

    assert asyncio.run(scenario()) == ({"log": SEEN}, {"log": SEEN}, "caller")


def test_a_nested_graph_sees_what_its_node_has_set(colour):
    inner = builder({"x": look("x")}, [(START, "x")]).compile()

    def outer(state):
        here.set("outer")
        return {"log": [*inner.invoke({"log": []})["log"], f"then {here.get()}"]}

    app = builder({"outer": outer, "after": look("after")}, [(START, "outer"), ("outer", "after")]).compile()
    here.set("caller")
    assert colour.invoke(app, {"log": []}) == {"log": ["x sees outer", "then outer", "after sees caller"]}


def test_called_tasks_see_what_their_caller_had_set_when_it_called(colour):
    @task
    def seen():
        found = here.get()
        here.set("task")
        return found

    @entrypoint()
    def program(number):
        futures = []
        for word in ("first", "second"):
            here.set(word)
            futures.append(seen())
        return [future.result() for future in futures], here.get()

    assert colour.invoke(program, 1) == (["first", "second"], "second")


def test_callers_in_different_threads_do_not_see_each_other():
    app, seen, meet = forked(look), {}, threading.Barrier(8)

    def work(name):
        here.set(name)
        meet.wait(10)
        seen[name] = {line.split()[-1] for line in app.invoke({"log": []})["log"]}

    callers = [threading.Thread(target=work, args=(f"t{index}",)) for index in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert seen == {f"t{index}": {f"t{index}"} for index in range(8)}
