"""Why a server ended, and the signals that end it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Ending = Literal["end of input", "interrupt", "terminate", "hangup"]
_SIGNALS: dict[signal.Signals, Ending] = {
    signal.SIGINT: "interrupt",
    signal.SIGTERM: "terminate",
    signal.SIGHUP: "hangup",
}


@contextmanager
def told_by_signals(stop: Callable[[Ending], None]) -> Iterator[None]:
    """Calls `stop` in the running event loop at the first signal; a second one ends the process as it is."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hears signals in the main thread only.
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    # Under nohup, SIGHUP is ignored on purpose.
    watched = [number for number, handler in before.items() if handler is not signal.SIG_IGN]

    def arrived(number: signal.Signals) -> None:
        for each in watched:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        stop(_SIGNALS[number])

    for number in watched:
        loop.add_signal_handler(number, arrived, number)
    try:
        yield
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
