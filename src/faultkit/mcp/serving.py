"""Serving until somebody says stop: a signal, the end of stdin, or the server behind us."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """For those who have no event loop: the command line."""
    return asyncio.run(work)


async def until_stopped(work: Coroutine[Any, Any, None] | None = None) -> str:
    """Returns when the work is done, or a signal comes, with the name of what ended it."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[str] = loop.create_future()

    def stop(name: str) -> None:
        if not stopped.done():
            stopped.set_result(name)

    handled = []
    for number in _SIGNALS:
        # Not in the main thread, or ignored on purpose (nohup): it stays as it is.
        with suppress(ValueError, RuntimeError):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, stop, number.name)
                handled.append(number)
    task = None if work is None else loop.create_task(work)
    try:
        waited: list[asyncio.Future[Any]] = [stopped] if task is None else [stopped, task]
        await asyncio.wait(waited, return_when="FIRST_COMPLETED")
        if task is not None and task.done():
            task.result()
        return stopped.result() if stopped.done() else "end of input"
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
        if task is not None and not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
