"""Tasks in the background, and their end."""

from __future__ import annotations

import asyncio
import gc

from faultkit.base.tasks import TaskSet, work_on_each


def test_a_task_is_kept_until_it_is_done() -> None:
    async def main() -> None:
        tasks = TaskSet[int]()
        begun = asyncio.Event()

        async def work() -> int:
            await begun.wait()
            return 7

        task = tasks.start(work())
        assert (len(tasks), list(tasks)) == (1, [task])
        gc.collect()
        begun.set()
        assert await task == 7
        await asyncio.sleep(0)
        assert len(tasks) == 0

    asyncio.run(main())


def test_the_end_cancels_what_is_left_and_waits_for_its_cleaning_up() -> None:
    cleaned: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            cleaned.append(name)

    async def main() -> None:
        tasks = TaskSet[None]()
        for name in "abc":
            tasks.start(work(name))
        await asyncio.sleep(0)
        await tasks.cancel()
        assert len(tasks) == 0

    asyncio.run(main())
    assert sorted(cleaned) == ["a", "b", "c"]


def test_a_failure_stays_in_its_task() -> None:
    async def work() -> None:
        raise ValueError("no")

    async def main() -> None:
        tasks = TaskSet[None]()
        task = tasks.start(work())
        await tasks.wait()
        assert isinstance(task.exception(), ValueError)
        await tasks.cancel()

    asyncio.run(main())


def test_waiting_for_nothing_ends_at_once() -> None:
    asyncio.run(TaskSet[None]().wait())
    asyncio.run(TaskSet[None]().cancel())


def test_items_are_worked_on_a_few_at_a_time_and_results_keep_their_order() -> None:
    running, most, shown = 0, 0, []

    async def work(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - item):
            await asyncio.sleep(0)
        running -= 1
        return item * item

    results = asyncio.run(work_on_each(range(6), work, 2, lambda *each: shown.append(each)))
    assert (results, most) == ((0, 1, 4, 9, 16, 25), 2)
    assert [(done, total) for done, total, _ in shown] == [(at, 6) for at in range(1, 7)]
    assert sorted(result for _, _, result in shown) == [0, 1, 4, 9, 16, 25]
