"""A store whose async calls of one moment travel together."""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

from runtime._asyncio import running_loop
from runtime.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    validate_op_namespace,
)

__all__ = ("AsyncBatchedBaseStore",)

_ASYNC_NAMES: Final[dict[type, str]] = {
    GetOp: "aget",
    SearchOp: "asearch",
    PutOp: "aput",
    ListNamespacesOp: "alist_namespaces",
}

T = TypeVar("T")


class AsyncBatchedBaseStore(BaseStore, ABC):
    """Groups the operations that are asked for in one turn of the event loop into one `abatch`.

    Equal reads are done once, and of several puts of one key the last. It belongs to the loop it was made in; its sync
    methods serve other threads.
    """

    __slots__ = ("_loop", "_runner", "_waiting")

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Op, asyncio.Future[Result]]] = []
        self._runner: asyncio.Task[None] | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._from_outside("abatch", lambda: self.abatch(ops))

    def _one(self, op: Op) -> Result:
        return self._from_outside(_ASYNC_NAMES[type(op)], lambda: self._aone(op))

    async def _aone(self, op: Op) -> Result:
        """The result of the operation, which waits for the next batch."""
        validate_op_namespace(op)
        if asyncio.get_running_loop() is not self._loop:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._aone(op), self._loop))
        future: asyncio.Future[Result] = self._loop.create_future()
        self._waiting.append((op, future))
        if self._runner is None or self._runner.done():
            self._runner = self._loop.create_task(self._run_batches())
        return await future

    def _from_outside(self, method: str, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a coroutine of the store's own loop, for a caller on another thread."""
        if running_loop() is self._loop:
            raise asyncio.InvalidStateError(
                f"Synchronous calls to {type(self).__name__} on the thread of its own event loop would wait for "
                f"themselves. Use the async method: await store.{method}(...)."
            )
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    async def _run_batches(self) -> None:
        """Run what waits, batch after batch, until nothing does."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            asked = [(op, future) for op, future in waiting if not future.done()]
            if not asked:
                continue
            try:
                ops, places = _merged([op for op, _ in asked])
                results = await self.abatch(ops)
            except BaseException as error:
                _fail([future for _, future in asked], error)
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, future), place in zip(asked, places, strict=True):
                if not future.done():
                    future.set_result(results[place])


def _merged(ops: list[Op]) -> tuple[list[Op], list[int]]:
    """The operations that are left when equal ones are done once, and for each that was asked, where its result is."""
    merged: list[Op] = []
    where: dict[Any, int] = {}
    places: list[int] = []
    for op in ops:
        key = _identity(op)
        if key not in where:
            where[key] = len(merged)
            merged.append(op)
        elif isinstance(op, PutOp):
            merged[where[key]] = op
        places.append(where[key])
    return merged, places


def _identity(op: Op) -> Any:
    if isinstance(op, PutOp):
        return PutOp, tuple(op.namespace), op.key
    return repr(op)  # a filter is a dict, and a namespace may be given as a list, so an operation may have no hash


def _fail(futures: list[asyncio.Future[Result]], error: BaseException) -> None:
    for future in futures:
        if future.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            future.cancel()
        else:
            future.set_exception(error)
