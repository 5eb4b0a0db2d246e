import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from runtime.store.base import GetOp, InvalidNamespaceError, Op, PutOp, Result
from runtime.store.base.batch import AsyncBatchedBaseStore
from runtime.store.memory import InMemoryStore


class Batched(AsyncBatchedBaseStore):
    """Keeps items in memory, and says which batches it got."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = InMemoryStore()
        self.batches: list[list[Op]] = []
        self.error: Exception | None = None

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        self.batches.append(list(ops))
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return await self.inner.abatch(self.batches[-1])


def scenario(run: Callable[[Batched], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await run(Batched())

    return asyncio.run(main())


def test_calls_of_one_moment_are_one_batch_without_doubles():
    async def run(store: Batched) -> None:
        await store.aput(("a",), "k", {"v": 0})
        found = await asyncio.gather(
            store.aput(("a",), "k", {"v": 1}),
            store.aput(("a",), "k", {"v": 2}),
            store.aget(("a",), "k"),
            store.aget(("a",), "k"),
            store.asearch(("a",), filter={"v": 0}),
            store.asearch(("a",), filter={"v": 0}),
            store.alist_namespaces(),
        )
        assert [type(each).__name__ for each in found] == [
            "NoneType",
            "NoneType",
            "Item",
            "Item",
            "list",
            "list",
            "list",
        ]
        assert [type(op).__name__ for op in store.batches[1]] == ["PutOp", "GetOp", "SearchOp", "ListNamespacesOp"]
        assert store.batches[1][0] == PutOp(("a",), "k", {"v": 2})

    scenario(run)


def test_calls_that_come_while_a_batch_runs_are_the_next_batch():
    async def run(store: Batched) -> None:
        first = asyncio.create_task(store.aget(("a",), "1"))
        await asyncio.sleep(0)
        await asyncio.gather(first, store.aget(("a",), "2"), store.adelete(("a",), "3"))
        assert store.batches == [[GetOp(("a",), "1")], [GetOp(("a",), "2"), PutOp(("a",), "3", None)]]

    scenario(run)


def test_an_error_reaches_everyone_in_the_batch_and_nobody_later():
    async def run(store: Batched) -> None:
        store.error = RuntimeError("down")
        results = await asyncio.gather(store.aget(("a",), "1"), store.aget(("a",), "2"), return_exceptions=True)
        assert results == [store.error, store.error]
        store.error = None
        assert await store.aget(("a",), "1") is None

    scenario(run)


def test_a_cancelled_call_does_not_stop_the_others():
    async def run(store: Batched) -> None:
        await store.aput(("a",), "k", {"v": 1})
        cancelled, other = asyncio.create_task(store.aget(("a",), "x")), asyncio.create_task(store.aget(("a",), "k"))
        await asyncio.sleep(0)
        cancelled.cancel()
        assert (await other).value == {"v": 1}
        assert cancelled.cancelled() or await asyncio.wait([cancelled])

    scenario(run)


def test_a_bad_namespace_fails_alone():
    async def run(store: Batched) -> None:
        bad, good = await asyncio.gather(store.aget(("a.b",), "k"), store.aget(("a",), "k"), return_exceptions=True)
        assert isinstance(bad, InvalidNamespaceError)
        assert good is None

    scenario(run)


def test_sync_methods_serve_other_threads_and_refuse_their_own():
    async def run(store: Batched) -> None:
        await asyncio.to_thread(store.put, ("a",), "k", {"v": 1})
        item = await asyncio.to_thread(store.get, ("a",), "k")
        assert item is not None
        assert await asyncio.to_thread(store.batch, [GetOp(("a",), "k")]) == [item]
        with pytest.raises(asyncio.InvalidStateError, match="await store.aget"):
            store.get(("a",), "k")
        with pytest.raises(asyncio.InvalidStateError, match="await store.abatch"):
            store.batch([])

    scenario(run)


def test_another_loop_may_await_the_store_too():
    async def run(store: Batched) -> None:
        await asyncio.to_thread(lambda: asyncio.run(store.aput(("a",), "k", {"v": 1})))
        assert (await store.aget(("a",), "k")).value == {"v": 1}

    scenario(run)


def test_a_store_outside_of_a_loop_cannot_be_made():
    with pytest.raises(RuntimeError):
        Batched()
