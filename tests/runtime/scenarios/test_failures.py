"""Error handlers and timeouts: what takes over from a failed task, and what stops a slow one."""

import asyncio

import pytest
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

from runtime.errors import NodeError, NodeTimeoutError
from runtime.graph import START
from runtime.runtime import Runtime
from runtime.types import Command, RetryPolicy, TimeoutPolicy, interrupt
from tests.runtime.scenarios.build import Log, asked, builder, says, thread


def broken(state):
    raise OSError("disk")


def mend(state, error: NodeError):
    return {"log": [f"{error.node}: {error.error}"]}


def with_handler(handler=mend, node=broken, **options):
    graph = builder({"sibling": says("sibling"), "after": says("after")}, [(START, "sibling")])
    graph.add_node("risky", node, error_handler=handler, **options)
    return graph.add_edge(START, "risky").add_edge("risky", "after")


def test_a_handler_takes_over_in_the_same_superstep_and_the_failed_nodes_edges_do_not_fire(colour):
    assert colour.invoke(with_handler().compile(), {"log": []})["log"] == ["risky: disk", "sibling"]


def test_a_handler_runs_after_the_tries_are_used_up(colour):
    tries = []

    def node(state):
        tries.append(1)
        raise ConnectionError("gone")

    policy = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False)
    app = with_handler(node=node, retry_policy=policy).compile()
    assert colour.invoke(app, {"log": []})["log"] == ["risky: gone", "sibling"]
    assert len(tries) == 3


def test_a_handler_may_say_where_to_go(colour):
    app = with_handler(lambda state: Command(update={"log": ["mended"]}, goto="after")).compile()
    assert colour.invoke(app, {"log": []})["log"] == ["mended", "sibling", "after"]


def test_a_failing_handler_fails_the_run(colour):
    def worse(state):
        raise ValueError("worse")

    with pytest.raises(ValueError, match="worse"):
        colour.invoke(with_handler(worse).compile(), {"log": []})


def test_a_question_is_not_a_failure(colour, saver):
    app = with_handler(node=lambda s: {"log": [interrupt("go?")]}).compile(checkpointer=saver)
    assert asked(colour.invoke(app, {"log": []}, thread())) == ["go?"]
    assert colour.invoke(app, Command(resume="yes"), thread())["log"] == ["yes", "sibling", "after"]


def test_a_run_that_ends_while_a_handler_works_goes_on_with_the_handler_alone(colour, saver):
    runs = {"node": 0, "handler": 0}

    def node(state):
        runs["node"] += 1
        raise OSError("disk")

    def handler(state, error: NodeError):
        runs["handler"] += 1
        if runs["handler"] == 1:
            raise RuntimeError("crash")
        return {"log": [error.node]}

    app = with_handler(handler, node).compile(checkpointer=saver)
    with pytest.raises(RuntimeError, match="crash"):
        colour.invoke(app, {"log": []}, thread())
    assert colour.invoke(app, None, thread())["log"] == ["risky", "sibling"]
    assert runs == {"node": 1, "handler": 2}


async def endless(state):
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("timeout", "kind"), [(0.02, "run"), (TimeoutPolicy(idle_timeout=0.02), "idle")], ids=["run", "idle"]
)
def test_a_slow_attempt_is_stopped_and_the_error_says_which_limit_it_was(timeout, kind):
    graph = builder({}, [], Log).add_node("slow", endless, timeout=timeout).add_edge(START, "slow")
    with pytest.raises(NodeTimeoutError, match="'slow'") as failure:
        asyncio.run(graph.compile().ainvoke({"log": []}))
    assert (failure.value.kind, failure.value.timeout) == (kind, 0.02)


def test_a_heartbeat_keeps_an_idle_timeout_waiting():
    async def busy(state, runtime: Runtime):
        for _ in range(8):
            await asyncio.sleep(0.02)
            runtime.heartbeat()
        return {"log": ["done"]}

    graph = builder({}, [], Log).add_node("busy", busy, timeout=TimeoutPolicy(idle_timeout=0.1)).add_edge(START, "busy")
    assert asyncio.run(graph.compile().ainvoke({"log": []})) == {"log": ["done"]}


async def waits(state):
    return {"log": ["x"]}


SAYS, WAITS = RunnableLambda(says("x")), RunnableLambda(waits)


@pytest.mark.parametrize(
    "node", [says("x"), SAYS, SAYS.with_config(tags=["t"]), WAITS | SAYS, RunnableParallel(one=WAITS, two=SAYS)]
)
def test_a_node_with_a_sync_part_cannot_have_a_timeout(node):
    graph = builder({}, [], Log).add_node("slow", node, timeout=1).add_edge(START, "slow")
    with pytest.raises(ValueError, match="'slow' has a timeout.*sync"):
        graph.compile()


@pytest.mark.parametrize("node", [WAITS.with_retry(), WAITS | WAITS, RunnablePassthrough() | WAITS])
def test_a_node_of_async_parts_can(node):
    assert builder({}, [], Log).add_node("slow", node, timeout=1).add_edge(START, "slow").compile()
