"""Serving until somebody says stop: a signal, the end of stdin, or the server behind us."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """For those who have no event loop: the command line."""
    return asyncio.run(work)


class Signals:
    """Signals that end a server, heeded while it is entered.

    That is before anybody is told where we are, since whoever knows may send one at once; and until nothing
    of us is left, so that a second one does not cut the cleaning up short."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._handled: list[signal.Signals] = []
        self._came: asyncio.Future[str] = self._loop.create_future()

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            # Not in the main thread, or ignored on purpose (nohup): it stays as it is.
            with suppress(ValueError, RuntimeError):
                if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                    self._loop.add_signal_handler(number, self._come, number.name)
                    self._handled.append(number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._handled:
            self._loop.remove_signal_handler(number)

    def _come(self, name: str) -> None:
        if not self._came.done():
            self._came.set_result(name)

    async def until_stopped(self, work: Coroutine[Any, Any, None] | None = None) -> str:
        """Returns when the work is done, or a signal comes or has come, with the name of what ended it. A
        signal ends one wait: whoever waits again waits for the next one."""
        task = None if work is None else self._loop.create_task(work)
        try:
            waited: list[asyncio.Future[Any]] = [self._came] if task is None else [self._came, task]
            await asyncio.wait(waited, return_when="FIRST_COMPLETED")
            if task is not None and task.done():
                task.result()
            if not self._came.done():
                return "end of input"
            came, self._came = self._came, self._loop.create_future()
            return came.result()
        finally:
            if task is not None and not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def until_stopped(work: Coroutine[Any, Any, None] | None = None) -> str:
    """For those whom nobody can reach before, and who leave nothing behind."""
    with Signals() as signals:
        return await signals.until_stopped(work)
