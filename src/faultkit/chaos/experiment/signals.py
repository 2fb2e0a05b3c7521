"""SIGINT, SIGTERM and SIGHUP as a wish to stop: for whoever runs experiments in a program of their own."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stopping_by_signals(stopping: asyncio.Event) -> Iterator[list[signal.Signals]]:
    """Each sets the event, and is added to the list. A second one hurries nothing."""
    loop = asyncio.get_running_loop()
    came: list[signal.Signals] = []

    def arrived(number: signal.Signals) -> None:
        came.append(number)
        stopping.set()

    # Under nohup, SIGHUP is ignored on purpose.
    watched = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in watched}
    for number in watched:
        loop.add_signal_handler(number, arrived, number)
    try:
        yield came
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
