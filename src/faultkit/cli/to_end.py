"""Work of an event loop that has an end of its own, and that a signal may end before."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import click

T = TypeVar("T")


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to. A signal ends it, with all its cleaning up, and is an Abort."""
    from faultkit.base.serving import run_to_end, until_stopped

    found: list[T] = []

    async def keep() -> None:
        found.append(await work)

    async def whole() -> None:
        # A task that is ended by a signal has been awaited by then: nothing of it is left.
        await until_stopped(keep())

    run_to_end(whole())
    if not found:
        raise click.Abort
    return found[0]
