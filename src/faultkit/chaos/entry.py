"""One registered fault while it is registered: its counters, those whom it keeps waiting, its lasting effect.

Any thread may use it. Whether a call triggers is decided by the registry.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from faultkit.base.errors import RunError
from faultkit.base.times import now_us
from faultkit.chaos.effects.lasting import Lasting, Lease, Measured, Startable
from faultkit.chaos.faults import ChaosFault
from faultkit.chaos.undo import UndoResult


class Live:
    """A lasting effect at work, which ends when it is told to or when its time is over."""

    def __init__(self, lasting: Lasting, lasts_s: float, on_trouble: Callable[[str], None]) -> None:
        self._lasting = lasting
        self._until_s = time.monotonic() + lasts_s
        self._on_trouble = on_trouble
        self._timer = threading.Timer(lasts_s, self.end)
        self._timer.name = "fault-effect-end"
        self._timer.daemon = True
        self._timer.start()

    @property
    def says(self) -> str:
        return self._lasting.says

    @property
    def at_work(self) -> bool:
        return self._lasting.at_work

    @property
    def left_s(self) -> float:
        return max(0.0, self._until_s - time.monotonic())

    def measure(self) -> Measured:
        return self._lasting.measure()

    def end(self) -> UndoResult:
        self._timer.cancel()
        result = self._lasting.end()
        self._on_trouble("" if result.ok else result.message)
        return result


class Entry:
    def __init__(self, fault: ChaosFault, seed: int | str, expires_s: float | None) -> None:
        self.fault = fault
        self.effect = fault.effect()
        self.seed = seed
        self.expires_s = expires_s
        """On the monotonic clock."""
        self.calls = 0
        self.times_triggered = 0
        self.last_triggered_us: int | None = None
        self.live: Live | None = None
        self.trouble = ""
        self._is_gone = False
        self._waiting: set[Callable[[], None]] = set()
        """Each lets one caller go on."""
        self._lock = threading.Lock()
        self._beginning = threading.Lock()
        """Held while a lasting effect begins: two callers must not begin it twice."""

    @property
    def is_active(self) -> bool:
        return bool(self._waiting) or (self.live is not None and self.live.at_work)

    def has_expired(self) -> bool:
        return self.expires_s is not None and time.monotonic() >= self.expires_s

    def again(self) -> Entry:
        """One that goes on counting where this one stopped."""
        entry = Entry(self.fault, self.seed, self.expires_s)
        with self._lock:
            entry.calls, entry.times_triggered = self.calls, self.times_triggered
            entry.last_triggered_us = self.last_triggered_us
        return entry

    def next_call(self) -> int:
        """The number of this call, from 0."""
        with self._lock:
            self.calls += 1
            return self.calls - 1

    def count_trigger(self) -> None:
        with self._lock:
            self.times_triggered += 1
            self.last_triggered_us = now_us()

    # --- waiting ------------------------------------------------------------------------------

    def wait(self, delay_s: float) -> float:
        """How long it took: less, if the fault was removed meanwhile."""
        let_go = threading.Event()
        began_s = time.monotonic()
        with self._kept_waiting(let_go.set):
            let_go.wait(delay_s)
        return time.monotonic() - began_s

    async def wait_async(self, delay_s: float) -> float:
        loop = asyncio.get_running_loop()
        let_go = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # The loop has ended, and with it the caller.
                loop.call_soon_threadsafe(let_go.set)

        began_s = time.monotonic()
        with self._kept_waiting(wake), contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await let_go.wait()
        return time.monotonic() - began_s

    @contextlib.contextmanager
    def _kept_waiting(self, wake: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            self._waiting.add(wake)
            if self._is_gone:
                wake()
        try:
            yield
        finally:
            with self._lock:
                self._waiting.discard(wake)

    @property
    def is_gone(self) -> bool:
        return self._is_gone

    # --- lasting ------------------------------------------------------------------------------

    def begin(self, effect: Startable, lasts_s: float, lease: Lease | None) -> tuple[Live | None, bool]:
        """What is at work now, and whether it was this call that began it."""
        with self._beginning:
            if self._is_gone:
                return None, False
            if self.live is not None and self.live.at_work:
                return self.live, False
            lasting = effect.begin(self.fault.name, lasts_s, lease)
            self.live = Live(lasting, lasts_s, self._note_trouble)
            return self.live, True

    def _note_trouble(self, trouble: str) -> None:
        self.trouble = trouble

    def leave(self) -> None:
        """The fault is removed: nobody waits for it any more, its effect ends. RunError if it does not."""
        with self._lock:
            self._is_gone = True
            for wake in self._waiting:
                wake()
        with self._beginning:
            live, self.live = self.live, None
        if live is not None:
            check_taken_back(self.fault.name, live.end())


def check_taken_back(name: str, result: UndoResult) -> None:
    if not result.ok:
        raise RunError(f"{name}: its effect could not be taken back: {result.message}")
