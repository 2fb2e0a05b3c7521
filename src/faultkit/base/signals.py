"""Stop on SIGINT, SIGTERM or SIGHUP, for programs with and without an event loop.

    StopSignal        without an event loop: a flag that can be waited for, with a callback
    handle_signals    with one: a callback in the loop for each signal
    AsyncStopSignal   with one: wait for a signal, or for some work to end before it
    pass_signals      without one: a callback for each signal, for a program that stands before another
    before_quit       a last call before SIGQUIT (Ctrl-\\) ends the process

Handlers are replaced while one of these is entered, and restored at its end. An ignored SIGHUP stays ignored:
that is how `nohup` asks a program to outlive its terminal. Child
processes may ignore them altogether (`ignore_signals`).
"""

from __future__ import annotations

import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

if TYPE_CHECKING:
    # Imported where it is used: commands without an event loop start faster.
    import asyncio

StopReason: TypeAlias = Literal["end of input", "interrupt", "terminate", "hangup"]
"""Why a command ended: by a signal, or because its input did."""
REASONS: dict[signal.Signals, StopReason] = {
    signal.SIGINT: "interrupt",
    signal.SIGTERM: "terminate",
    signal.SIGHUP: "hangup",
}
"""The signals that stop a command, and the word for each in output."""

REPEAT_AFTER_S = 3.0
"""Seconds after the first signal in which others are ignored: two Ctrl-C in a row, a supervisor that
signals twice."""

T = TypeVar("T")


def _watched() -> list[signal.Signals]:
    return [
        number
        for number in REASONS
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    ]


def _do_nothing() -> None:
    pass


def ignore_signals(numbers: Iterable[signal.Signals] = REASONS) -> None:
    """Ignore these signals for the rest of the process: for one that outlives, or ends with, its parent."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def reset_signal(number: signal.Signals) -> None:
    """Let a signal have its default action, whatever the parent had set."""
    signal.signal(number, signal.SIG_DFL)


class StopSignal:
    """The first of the signals, for a main thread without an event loop. A context manager."""

    def __init__(
        self, on_first: Callable[[], object] = _do_nothing, on_repeat: Callable[[], object] | None = None
    ) -> None:
        """`on_first` and `on_repeat` are called inside the signal handler.

        By default, a second signal raises StoppedBySignal, since the first did not end a run that hangs. It
        is ignored within REPEAT_AFTER_S, in which a run ends with its report."""
        self.number: signal.Signals | None = None
        """The first signal that came."""
        self._on_first = on_first
        self._on_repeat = self._interrupt if on_repeat is None else on_repeat
        self._since = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        # The interpreter writes a byte to this socket for each signal, so that `wait` wakes at once: `select`
        # alone would be resumed after the handler returned (PEP 475).
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._wakeup_before = signal.set_wakeup_fd(self._wake_in.fileno(), warn_on_full_buffer=False)
        for number in _watched():
            self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        self._wake_out.close()
        self._wake_in.close()

    @property
    def reason(self) -> StopReason | None:
        """The word for the first signal, None before it."""
        return None if self.number is None else REASONS[self.number]

    @property
    def exit_code(self) -> int | None:
        """The exit code that a shell gives a command ended by this signal, such as 130; None before it."""
        return None if self.number is None else 128 + self.number

    def wait(self, seconds: float) -> bool:
        """Wait for at most `seconds`; return whether a signal has come."""
        if self.number is None:
            ready, _, _ = select.select([self._wake_out], [], [], max(0.0, seconds))
            if ready:
                self._wake_out.recv(64)
        return self.number is not None

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            self._on_repeat()
            return
        self.number = signal.Signals(number)
        self._since = time.monotonic()
        self._on_first()

    def _interrupt(self) -> None:
        if self.number is not None and time.monotonic() - self._since >= REPEAT_AFTER_S:
            raise StoppedBySignal(self.number)


@contextmanager
def handle_signals(on_signal: Callable[[signal.Signals], object], *, once: bool = False) -> Iterator[None]:
    """Call `on_signal` in the running event loop for each signal.

    With `once`, only for the first: another signal then ends the process at once. Outside the main thread,
    where Python delivers no signals, this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    from asyncio import get_running_loop

    loop = get_running_loop()
    watched = _watched()
    before = {number: signal.getsignal(number) for number in watched}

    def arrived(number: signal.Signals) -> None:
        if once:
            for each in watched:
                loop.remove_signal_handler(each)
                signal.signal(each, signal.SIG_DFL)
        on_signal(number)

    for number in watched:
        loop.add_signal_handler(number, arrived, number)
    try:
        yield
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


@contextmanager
def pass_signals(on_signal: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Call `on_signal` inside the signal handler for each signal, and do nothing else about it."""

    def arrived(number: int, frame: FrameType | None) -> None:
        on_signal(signal.Signals(number))

    before = {number: signal.signal(number, arrived) for number in _watched()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def before_quit(call: Callable[[], object]) -> Iterator[None]:
    """Call `call` if SIGQUIT comes, and then let it end the process, as it does by default.

    The call is made inside the signal handler, so it must wait for no lock. An ignored SIGQUIT stays ignored,
    and a handler that is already set stays; outside the main thread this does nothing."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGQUIT) is not signal.SIG_DFL:
        yield
        return

    def arrived(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        try:
            call()
        finally:
            signal.raise_signal(signal.SIGQUIT)

    signal.signal(signal.SIGQUIT, arrived)
    try:
        yield
    finally:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)


class AsyncStopSignal:
    """A signal to wait for in an event loop. A context manager.

    Enter it before a server announces its address, because a signal may follow at once; leave it after the
    clean-up, so that a second signal does not cut that short."""

    def __init__(self) -> None:
        from asyncio import get_running_loop

        self._loop = get_running_loop()
        self._arrival: asyncio.Future[str] = self._loop.create_future()
        self._handling = handle_signals(self._arrived)

    def __enter__(self) -> Self:
        self._handling.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._handling.__exit__(None, None, None)

    def _arrived(self, number: signal.Signals) -> None:
        if not self._arrival.done():
            self._arrival.set_result(number.name)

    async def wait(self, work: Coroutine[Any, Any, None] | None = None) -> str:
        """Wait until `work` is done or a signal has come; return the signal's name, or "end of input".

        A signal cancels the work, and is awaited with it. It ends one wait: the next one needs another."""
        import asyncio

        task = None if work is None else self._loop.create_task(work)
        try:
            waited: list[asyncio.Future[Any]] = [self._arrival] if task is None else [self._arrival, task]
            await asyncio.wait(waited, return_when="FIRST_COMPLETED")
            if task is not None and task.done():
                task.result()
            if not self._arrival.done():
                return "end of input"
            arrival, self._arrival = self._arrival, self._loop.create_future()
            return arrival.result()
        finally:
            if task is not None and not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def wait_for_stop(work: Coroutine[Any, Any, None] | None = None) -> str:
    """Wait until `work` is done or a signal has come. For work that announces nothing before."""
    with AsyncStopSignal() as stop:
        return await stop.wait(work)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run work that handles signals itself in a new event loop."""
    from asyncio import run

    return run(work)


class StoppedBySignal(KeyboardInterrupt):
    """A signal ended the work of `run_until_signal`, or a repeated one ended a run that the first did not."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.exit_code = 128 + number
        """The exit code that a shell gives a command ended by this signal, such as 143."""


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run work in a new event loop and return its result.

    A signal cancels the work; once its clean-up is done, raise StoppedBySignal."""
    results: list[T] = []

    async def main() -> None:
        results.append(await work)

    why = run_async(wait_for_stop(main()))
    if not results:
        raise StoppedBySignal(signal.Signals[why])
    return results[0]
