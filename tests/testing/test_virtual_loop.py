from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from faultkit.testing import VirtualLoop, run_virtual


def test_a_day_of_sleep_ends_at_its_exact_instant() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        times = [loop.time()]
        for delay_s in (0.25, 86_400.0, 1e6):
            await asyncio.sleep(delay_s)
            times.append(loop.time())
        return times

    assert run_virtual(main()) == [0.0, 0.25, 86_400.25, 1_086_400.25]


def test_timers_run_in_the_order_of_time() -> None:
    async def main() -> list[tuple[float, str]]:
        loop = asyncio.get_running_loop()
        seen: list[tuple[float, str]] = []

        async def at(delay_s: float, name: str) -> None:
            await asyncio.sleep(delay_s)
            seen.append((loop.time(), name))

        await asyncio.gather(at(3.0, "c"), at(1.0, "a"), at(2.0, "b"))
        return seen

    assert run_virtual(main()) == [(1.0, "a"), (2.0, "b"), (3.0, "c")]


def test_time_stands_still_while_there_is_work_to_do() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 0.0


def test_a_timeout_comes_when_it_is_due() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.get_running_loop().create_future()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 30.0


def test_bytes_that_are_there_come_before_any_timer() -> None:
    async def main() -> tuple[bytes, float]:
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            far.sendall(b"hello")
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(1):
                return await loop.sock_recv(near, 100), loop.time()

    assert run_virtual(main()) == (b"hello", 0.0)


def test_with_grace_a_thread_outside_is_waited_for() -> None:
    async def main() -> tuple[bytes, float]:
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            loop = asyncio.get_running_loop()
            # The thread writes only when the loop is about to wait.
            waiting = threading.Event()

            def write() -> None:
                waiting.wait(5)
                far.sendall(b"late")

            writer = threading.Thread(target=write)
            writer.start()
            loop.call_soon(waiting.set)
            async with asyncio.timeout(60):
                answer = await loop.sock_recv(near, 100), loop.time()
            writer.join(5)
            return answer

    assert run_virtual(main(), grace=5.0) == (b"late", 0.0)


def test_without_a_timer_the_loop_waits_for_a_thread() -> None:
    async def main() -> int:
        return await asyncio.get_running_loop().run_in_executor(None, lambda: 42)

    assert run_virtual(main()) == 42


def test_a_wait_that_nothing_can_end_is_an_error_and_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.testing.virtual_loop._PATIENCE_S", 0.01)

    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match=r"no timer is set and nothing happened within 0\.01 s"):
        run_virtual(main())


def test_a_failure_inside_comes_out() -> None:
    async def main() -> None:
        await asyncio.sleep(5)
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        run_virtual(main())


def test_two_loops_have_two_clocks() -> None:
    first, second = VirtualLoop(), VirtualLoop()
    try:
        first.run_until_complete(asyncio.sleep(10))
        assert (first.time(), second.time()) == (10.0, 0.0)
    finally:
        first.close()
        second.close()
