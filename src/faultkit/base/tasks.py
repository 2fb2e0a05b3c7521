"""Background tasks that have an owner.

The event loop keeps only weak references to tasks, so a task without an owner may be collected while it runs.
A `TaskSet` refers to its tasks until they are done, and ends those that are left. Where the work of a task
group has one place in the code to be awaited in, use `asyncio.TaskGroup` instead: this is for servers, whose
tasks begin with each request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class TaskSet(Generic[T]):
    """The tasks of one owner that are not done yet.

    A failure stays in its task, as with any task: the event loop reports one that was never looked at."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[T]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[T]]:
        return iter(tuple(self._tasks))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` as a task of the running event loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self) -> None:
        """Wait until all present tasks are done; their failures are not raised."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def cancel(self) -> None:
        """Cancel all tasks and wait until they are done."""
        for task in tuple(self._tasks):
            task.cancel()
        await self.wait()


async def work_on_each(
    items: Sequence[T],
    work: Callable[[T], Awaitable[R]],
    parallel: int,
    on_done: Callable[[int, int, R], None],
) -> tuple[R, ...]:
    """Work on all items, at most `parallel` at a time, and return the results in the order of the items.

    `on_done` is called with each result: how many there are, of how many, and the result."""
    gate = asyncio.Semaphore(parallel)
    done = 0

    async def one(item: T) -> R:
        nonlocal done
        async with gate:
            result = await work(item)
        done += 1
        on_done(done, len(items), result)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(item)) for item in items]
    return tuple(task.result() for task in tasks)
