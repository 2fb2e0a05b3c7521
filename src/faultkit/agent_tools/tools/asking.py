"""Waiting for a language model: whoever called hears that somebody is at it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from faultkit.agent_tools.tool import ToolCall

_EVERY_S = 1.0


@contextmanager
def asking(call: ToolCall) -> Iterator[None]:
    """Reports the seconds that have gone by. The rules answer at once: for them nothing is said."""
    settings = call.services.llm
    if settings is None:
        yield
        return
    what = f"asking {settings.model} ({settings.provider.name})"
    over = threading.Event()

    def tick() -> None:
        seconds = 0
        call.progress(seconds, None, what)
        while not over.wait(_EVERY_S):
            seconds += 1
            call.progress(seconds, None, f"{what}: {seconds} s")

    thread = threading.Thread(target=tick, name="faultkit-asking", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
