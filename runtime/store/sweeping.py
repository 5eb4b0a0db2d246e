"""Stores whose items expire, and what takes those away every so often: a thread, or a task of the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Final, Self

from runtime.store.base import BaseStore, TTLConfig
from runtime.store.base.batch import AsyncBatchedBaseStore

logger = logging.getLogger(__name__)

_MINUTES: Final = 5
_FAILED: Final = "A sweep of expired items failed; the next one will be tried in its turn."


class SweptStore(BaseStore, ABC):
    """A store with a thread that sweeps, once it is started."""

    supports_ttl = True

    def __init__(self, ttl: TTLConfig | None) -> None:
        self.ttl_config = ttl
        self._stop = threading.Event()
        self._sweeper: threading.Thread | None = None
        self._swept: Future[None] = Future()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop_ttl_sweeper()

    @abstractmethod
    def sweep_ttl(self) -> int:
        """Take away all items that have expired. How many there were."""

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep every so often in a thread of its own, by default every 5 minutes or as the config says.

        The future is done when the sweeper has stopped: at once where no lifetimes are configured.
        """
        if self._sweeper is not None and self._sweeper.is_alive() and not self._stop.is_set():
            return self._swept
        self._stop, self._swept = threading.Event(), Future()
        if not self.ttl_config:
            self._swept.set_result(None)
            return self._swept
        seconds = _interval(sweep_interval_minutes, self.ttl_config)
        self._sweeper = threading.Thread(
            target=self._sweep_until, args=(self._stop, self._swept, seconds), name="ttl-sweeper", daemon=True
        )
        self._sweeper.start()
        return self._swept

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper, and wait for it for so many seconds, or as long as it takes. Whether it has stopped."""
        self._stop.set()
        if self._sweeper is None:
            return True
        self._sweeper.join(timeout)
        return not self._sweeper.is_alive()

    def _sweep_until(self, stop: threading.Event, swept: Future[None], seconds: float) -> None:
        while not stop.wait(seconds):
            try:
                self.sweep_ttl()
            except Exception:
                logger.exception(_FAILED)
        swept.set_result(None)


class AsyncSweptStore(AsyncBatchedBaseStore, ABC):
    """A store with a task that sweeps, once it is started."""

    supports_ttl = True

    def __init__(self, ttl: TTLConfig | None) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._stop = asyncio.Event()
        self._sweeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop_ttl_sweeper()

    @abstractmethod
    async def sweep_ttl(self) -> int:
        """Take away all items that have expired. How many there were."""

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> asyncio.Task[None]:
        """Sweep every so often in a task, by default every 5 minutes or as the config says.

        The task is done when the sweeper has stopped: at once where no lifetimes are configured.
        """
        if self._sweeper is None or self._sweeper.done():
            self._stop = asyncio.Event()
            if not self.ttl_config:
                self._stop.set()
            seconds = _interval(sweep_interval_minutes, self.ttl_config)
            self._sweeper = asyncio.create_task(self._sweep_until(self._stop, seconds), name="ttl_sweeper")
        return self._sweeper

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper, and wait for it for so many seconds, or as long as it takes. Whether it has stopped."""
        self._stop.set()
        if self._sweeper is None:
            return True
        await asyncio.wait([self._sweeper], timeout=timeout)
        return self._sweeper.done()

    async def _sweep_until(self, stop: asyncio.Event, seconds: float) -> None:
        while not await _within(seconds, stop):
            try:
                await self.sweep_ttl()
            except Exception:
                logger.exception(_FAILED)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether the event comes within these seconds."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _interval(given: float | None, config: TTLConfig | None) -> float:
    """Seconds between two sweeps."""
    return 60 * float(given or (config or {}).get("sweep_interval_minutes") or _MINUTES)
