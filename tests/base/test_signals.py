"""Stopping on signals, with and without an event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from faultkit.base import signals
from faultkit.base.signals import (
    REASONS,
    AsyncStopSignal,
    StoppedBySignal,
    StopSignal,
    before_quit,
    handle_signals,
    run_async,
    run_until_signal,
    wait_for_stop,
)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def restored_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in REASONS}
    yield
    after = {number: signal.getsignal(number) for number in REASONS}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before


@pytest.mark.parametrize(
    ("number", "reason", "code"),
    [(signal.SIGINT, "interrupt", 130), (signal.SIGTERM, "terminate", 143), (signal.SIGHUP, "hangup", 129)],
)
def test_the_first_signal_ends_a_wait_and_says_why(number: signal.Signals, reason: str, code: int) -> None:
    flag = threading.Event()
    with StopSignal(flag.set) as stop:
        assert not stop.wait(0)
        assert (stop.number, stop.reason, stop.exit_code, flag.is_set()) == (None, None, None, False)
        send(number)
        assert stop.wait(60)
    assert (stop.number, stop.reason, stop.exit_code, flag.is_set()) == (number, reason, code, True)


def test_a_signal_from_another_thread_wakes_the_one_that_waits() -> None:
    with StopSignal() as stop:
        timer = threading.Timer(0.01, send, [signal.SIGTERM])
        timer.start()
        assert stop.wait(60)
        timer.join()


def test_a_second_signal_interrupts_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    with StopSignal() as stop:
        send(signal.SIGTERM)
        send(signal.SIGTERM)  # So soon, it is the same wish.
        send(signal.SIGINT)
        assert stop.exit_code == 143
    monkeypatch.setattr(signals, "REPEAT_AFTER_S", 0.0)
    with StopSignal(), pytest.raises(StoppedBySignal) as caught:
        send(signal.SIGTERM)
        send(signal.SIGINT)
    assert caught.value.exit_code == 143
    again: list[str] = []
    with StopSignal(on_repeat=lambda: again.append("again")) as stop:
        send(signal.SIGHUP)
        send(signal.SIGTERM)
        send(signal.SIGINT)
    assert again == ["again", "again"]
    assert stop.reason == "hangup"


def test_an_ignored_hangup_stays_ignored() -> None:
    """Ignore SIGHUP, as under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    came: list[signal.Signals] = []

    async def main() -> None:
        with handle_signals(came.append):
            send(signal.SIGHUP)
            await asyncio.sleep(0)
            send(signal.SIGTERM)
            await asyncio.sleep(0.01)

    try:
        with StopSignal() as stop:
            send(signal.SIGHUP)
            assert not stop.wait(0)
        asyncio.run(main())
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert came == [signal.SIGTERM]


def test_every_signal_is_handled_in_the_loop() -> None:
    came: list[signal.Signals] = []

    async def main() -> None:
        with handle_signals(came.append):
            for number in REASONS:
                send(number)
                await asyncio.sleep(0.01)

    asyncio.run(main())
    assert came == list(REASONS)


def test_once_means_that_a_second_signal_ends_the_process() -> None:
    program = (
        "import asyncio, os, signal\n"
        "from faultkit.base.signals import handle_signals\n"
        "async def main():\n"
        "    with handle_signals(lambda number: print(number.name, flush=True), once=True):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        await asyncio.sleep(0.01)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (-signal.SIGINT, "SIGINT\n")


def test_a_quit_makes_its_call_and_ends_the_process() -> None:
    program = (
        "import os, resource, signal\n"
        "from faultkit.base.signals import before_quit\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "with before_quit(lambda: print('last', flush=True)):\n"
        "    os.kill(os.getpid(), signal.SIGQUIT)\n"
        "    signal.pause()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (-signal.SIGQUIT, "last\n")


def test_a_quit_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    called: list[bool] = []
    try:
        with before_quit(lambda: called.append(True)):
            send(signal.SIGQUIT)
        assert signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGQUIT, before)
    assert not called


def test_a_quit_has_its_default_action_again_afterwards() -> None:
    assert signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL
    with before_quit(lambda: None):
        assert signal.getsignal(signal.SIGQUIT) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    def run() -> None:
        async def main() -> None:
            with handle_signals(lambda number: None), AsyncStopSignal() as stop:
                seen.extend(map(signal.getsignal, REASONS))
                assert await stop.wait(asyncio.sleep(0)) == "end of input"

        asyncio.run(main())

    seen: list[object] = []
    before = [signal.getsignal(number) for number in REASONS]
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == before


def test_each_signal_ends_one_wait_and_none_the_cleaning_up() -> None:
    async def main() -> list[str]:
        with AsyncStopSignal() as stop:
            send(signal.SIGINT)
            first = await stop.wait(asyncio.sleep(60))
            done = await stop.wait(asyncio.sleep(0))
            send(signal.SIGTERM)
            second = await stop.wait()
            send(signal.SIGTERM)
            await asyncio.sleep(0)
            return [first, done, second]

    assert asyncio.run(main()) == ["SIGINT", "end of input", "SIGTERM"]


def test_an_error_of_the_work_ends_the_wait() -> None:
    async def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_async(wait_for_stop(work()))


def test_work_that_is_run_to_its_end_gives_its_result() -> None:
    async def work() -> int:
        return 7

    assert run_until_signal(work()) == 7


def test_a_signal_cancels_the_work_and_waits_for_its_cleaning_up() -> None:
    cleaned: list[bool] = []

    async def work() -> None:
        try:
            send(signal.SIGHUP)
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_until_signal(work())
    assert cleaned == [True]
