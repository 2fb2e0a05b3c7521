"""Waiting for other threads and processes, with a time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 10.0


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass in time"
        time.sleep(0.005)


async def until_in_a_task(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 (no task sets it)
            await asyncio.sleep(0.001)
