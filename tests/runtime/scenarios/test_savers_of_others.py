"""A saver that somebody else wrote works as it is: only the contract's methods are called.

LangGraph's savers in memory, in SQLite and in Redis, in both colours, each with its own serializer. A scenario is an
async function; what it calls are the graph's sync methods, or their async twins.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.graph import START
from runtime.types import Command, Send, interrupt
from tests import redis
from tests.runtime.scenarios.build import asked, builder, says, thread

CONTRACT = {
    "config_specs", "get", "get_tuple", "list", "put", "put_writes", "get_next_version", "get_delta_channel_history",
    "aget", "aget_tuple", "alist", "aput", "aput_writes", "aget_delta_channel_history",
}  # fmt: skip


class OnlyContract:
    """A saver of which nothing else can be seen."""

    def __init__(self, saver: Any) -> None:
        self._saver = saver

    def __getattr__(self, name: str) -> Any:
        if name not in CONTRACT:
            raise AttributeError(name)
        return getattr(self._saver, name)


class Theirs:
    """One of LangGraph's savers, in one colour."""

    def __init__(self, kind: str, colour: str, folder: Path, redis_url: str | None) -> None:
        self.kind, self.colour, self.folder, self.redis_url = kind, colour, folder, redis_url

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Any]:
        """The saver; what was kept before is there."""
        if self.kind == "memory":
            if not hasattr(self, "memory"):
                self.memory = pytest.importorskip("langgraph.checkpoint.memory").InMemorySaver()
            yield OnlyContract(self.memory)
        elif self.colour == "async":
            module, name = {"sqlite": ("sqlite.aio", "AsyncSqliteSaver"), "redis": ("redis.aio", "AsyncRedisSaver")}[
                self.kind
            ]
            async with getattr(pytest.importorskip(f"langgraph.checkpoint.{module}"), name).from_conn_string(
                self.address
            ) as saver:
                await saver.setup()
                yield OnlyContract(saver)
        else:
            name = {"sqlite": "SqliteSaver", "redis": "RedisSaver"}[self.kind]
            module = pytest.importorskip(f"langgraph.checkpoint.{self.kind}")
            with getattr(module, name).from_conn_string(self.address) as saver:
                saver.setup()
                yield OnlyContract(saver)

    @property
    def address(self) -> str:
        return str(self.folder / "theirs.db") if self.redis_url is None else self.redis_url

    async def __call__(self, method: Any, *args: Any, **kw: Any) -> Any:
        """What a method of a graph, named in its sync colour, gives in this one."""
        if self.colour == "sync":
            found = method(*args, **kw)
            return list(found) if isinstance(found, Iterator) else found
        found = getattr(method.__self__, f"a{method.__name__}")(*args, **kw)
        return [each async for each in found] if isinstance(found, AsyncIterator) else await found


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The address of a Redis server, for the test run."""
    pytest.importorskip("langgraph.checkpoint.redis")
    command = redis.installed()
    if redis.given():
        yield str(redis.given())
    elif command is None:
        pytest.skip(redis.MISSING)
    else:
        with redis.server(command) as url:
            yield url


@pytest.fixture(params=["memory", "sqlite", "redis"])
def theirs(request: pytest.FixtureRequest, colour: Any, tmp_path: Path) -> Theirs:
    url = request.getfixturevalue("redis_url") if request.param == "redis" else None
    return Theirs(request.param, colour.name, tmp_path, url)


# The Redis saver's own way to connect is about to change.
pytestmark = pytest.mark.filterwarnings("ignore:get_async_redis_connection will become:DeprecationWarning")


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A thread of the test's own: a Redis server is shared by all tests."""
    return request.node.name


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_graph_stops_and_goes_on_from_it(theirs, name, durability):
    nodes = {"a": says("a"), "gate": lambda s: {"log": [interrupt("go?")]}}
    graph = builder(nodes, [(START, "a"), ("a", "gate")])

    async def scenario():
        async with theirs.opened() as saver:
            app = graph.compile(checkpointer=saver)
            assert asked(await theirs(app.invoke, {"log": []}, thread(name), durability=durability)) == ["go?"]
        async with theirs.opened() as saver:
            app = graph.compile(checkpointer=saver)
            answer = await theirs(app.invoke, Command(resume="yes"), thread(name), durability=durability)
        assert answer == {"log": ["a", "yes"]}

    asyncio.run(scenario())


def test_queued_sends_come_back_from_it(theirs, name):
    graph = builder({"plan": says(), "work": lambda s: {"log": [s["i"]]}}, [(START, "plan")])
    graph.add_conditional_edges("plan", lambda s: [Send("work", {"i": i}) for i in range(3)], ["work"])

    async def scenario():
        async with theirs.opened() as saver:
            app = graph.compile(checkpointer=saver, interrupt_before=["work"])
            await theirs(app.invoke, {"log": []}, thread(name))
            assert (await theirs(app.get_state, thread(name))).next == ("work", "work", "work")
            assert await theirs(app.invoke, None, thread(name)) == {"log": [0, 1, 2]}

    asyncio.run(scenario())


def test_a_nested_graph_is_asked_and_its_state_is_seen(theirs, name):
    inner = builder({"ask": lambda s: {"log": [interrupt("in?")]}}, [(START, "ask")]).compile()
    graph = builder({"a": says("a"), "inner": inner}, [(START, "a"), ("a", "inner")])

    async def scenario():
        async with theirs.opened() as saver:
            app = graph.compile(checkpointer=saver)
            assert asked(await theirs(app.invoke, {"log": []}, thread(name))) == ["in?"]
            nested = (await theirs(app.get_state, thread(name), subgraphs=True)).tasks[0].state
            assert (nested.next, nested.values) == (("ask",), {"log": ["a"]})
            assert (await theirs(app.invoke, Command(resume="yes"), thread(name)))["log"] == ["a", "a", "yes"]

    asyncio.run(scenario())


def test_a_history_is_read_forked_and_edited_in_it(theirs, name):
    graph = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")])

    async def scenario():
        async with theirs.opened() as saver:
            app = graph.compile(checkpointer=saver)
            await theirs(app.invoke, {"log": ["in"]}, thread(name))
            history = await theirs(app.get_state_history, thread(name))
            assert [s.values.get("log") for s in history] == [["in", "a", "b"], ["in", "a"], ["in"], []]
            assert [s.next for s in history] == [(), ("b",), ("a",), ("__start__",)]
            fork = await theirs(app.update_state, history[1].config, {"log": ["edit"]}, "a")
            assert await theirs(app.invoke, None, fork) == {"log": ["in", "a", "edit", "b"]}
            assert await theirs(app.invoke, None, history[2].config) == {"log": ["in", "a", "b"]}
            parents = {s.parent_config["configurable"]["checkpoint_id"] for s in history[:-1]}
            assert parents == {s.config["configurable"]["checkpoint_id"] for s in history[1:]}

    asyncio.run(scenario())
