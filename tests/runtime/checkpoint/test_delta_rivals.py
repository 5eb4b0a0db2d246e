"""Two runs that go on from one checkpoint at once: a delta channel holds in a branch what that branch's run wrote.

Each node writes the same to a delta channel and to a list that is stored whole, so the two must be equal everywhere.
"""

import asyncio
import itertools
import operator
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from runtime.channels import DeltaChannel
from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.postgres import PostgresSaver
from runtime.checkpoint.postgres.aio import AsyncPostgresSaver
from runtime.checkpoint.retention import Retention
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.graph import START
from runtime.types import Command
from tests.runtime.scenarios.build import builder, thread

DURABILITIES = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


class Words(TypedDict):
    whole: Annotated[list, operator.add]
    delta: Annotated[list, DeltaChannel(lambda value, writes: [*value, *itertools.chain(*writes)])]


def say(*words: str) -> Any:
    """Each word by a write of its own."""
    return Command(update=[(channel, [word]) for word in words for channel in ("whole", "delta")])


def graph(saver: Any, name: str, meanwhile: Any = None) -> Any:
    """Two nodes; in the second, before it says anything, something happens meanwhile. B says more than A."""

    def second(state: Words) -> Any:
        if meanwhile is not None:
            meanwhile()
        return say(*name * (1 + (name == "B")))

    async def asecond(state: Words) -> Any:
        if meanwhile is not None:
            await meanwhile()
        return say(*name * (1 + (name == "B")))

    nodes: dict[str, Any] = {
        "first": lambda state: say("first"),
        "second": asecond if isinstance(saver, (AsyncSqliteSaver, AsyncPostgresSaver)) else second,
        "third": lambda state: say(f"third of {name}"),
    }
    edges = [(START, "first"), ("first", "second"), ("second", "third")]
    return builder(nodes, edges, Words).compile(checkpointer=saver, interrupt_before=["second"])


def told(histories: list[Any]) -> list[list[str]]:
    """What each checkpoint holds, newest first, once it is the same in both channels."""
    for state in histories:
        assert state.values.get("delta", []) == state.values["whole"], state.metadata
    return [state.values["whole"] for state in histories]


def check(history: list[Any]) -> None:
    ours = ["first", "A", "third of A"]
    rivals = ["first", "B", "B", "third of B"]
    found = told(history)
    assert found[0] == ours
    assert rivals in found


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Opens a sync saver in an empty place of this kind."""
    if request.param == "memory":
        return lambda: nullcontext(InMemorySaver())
    if request.param == "sqlite":
        return lambda: SqliteSaver.from_conn_string(str(tmp_path / "threads.db"))
    url = request.getfixturevalue("postgres")
    return lambda: PostgresSaver.from_conn_string(url)


@DURABILITIES
def test_each_of_two_runs_at_once_has_its_own_words_in_its_branch(opened: Any, durability: str):
    with opened() as saver:
        if hasattr(saver, "setup"):
            saver.setup()
        graph(saver, "first").invoke({"whole": [], "delta": []}, thread(), durability=durability)

        def meanwhile() -> None:
            out = graph(saver, "B").invoke(None, thread(), durability=durability)
            assert out["delta"] == ["first", "B", "B", "third of B"]

        app = graph(saver, "A", meanwhile)
        assert app.invoke(None, thread(), durability=durability)["delta"] == ["first", "A", "third of A"]
        check(list(app.get_state_history(thread())))
        saver.copy_thread("t", "copy")
        check(list(app.get_state_history(thread("copy"))))
        Retention(keep=1).apply(saver)
        assert told(list(app.get_state_history(thread())))[0] == ["first", "A", "third of A"]
        out = app.invoke({"whole": ["more"], "delta": ["more"]}, thread(), durability=durability)
        assert out["delta"] == out["whole"] == ["first", "A", "third of A", "more", "first"]


@DURABILITIES
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_so_it_is_with_an_async_saver(request: Any, tmp_path: Path, kind: str, durability: str):
    place = str(tmp_path / "threads.db") if kind == "sqlite" else request.getfixturevalue("postgres")
    cls: Any = AsyncSqliteSaver if kind == "sqlite" else AsyncPostgresSaver

    async def scenario() -> list[Any]:
        async with cls.from_conn_string(place) as saver:
            await saver.setup()
            await graph(saver, "first").ainvoke({"whole": [], "delta": []}, thread(), durability=durability)

            async def meanwhile() -> None:
                await graph(saver, "B").ainvoke(None, thread(), durability=durability)

            app = graph(saver, "A", meanwhile)
            await app.ainvoke(None, thread(), durability=durability)
            return [state async for state in app.aget_state_history(thread())]

    check(asyncio.run(scenario()))


def test_a_saver_in_memory_keeps_them_apart_in_its_file_too(tmp_path: Path):
    from runtime.checkpoint.memory import PersistentDict

    file = tmp_path / "threads"
    with InMemorySaver(factory=lambda *args: PersistentDict(*args, filename=str(file))) as saver:
        graph(saver, "first").invoke({"whole": [], "delta": []}, thread())
        app = graph(saver, "A", lambda: graph(saver, "B").invoke(None, thread()))
        app.invoke(None, thread())
    with InMemorySaver(factory=lambda *args: PersistentDict(*args, filename=str(file))) as saver:
        check(list(graph(saver, "A").get_state_history(thread())))
