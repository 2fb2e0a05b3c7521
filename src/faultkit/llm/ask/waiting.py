"""The one file here that waits: a clock, pauses, and calls that end at a deadline or on demand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from faultkit.base.errors import RunError
from faultkit.llm.failure import Failure

T = TypeVar("T")

_LOOK_S = 0.05
"""How often a running call looks whether it is cancelled."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds of a clock that never goes back."""

    def pause(self, seconds: float, cancel: threading.Event) -> None:
        """Returns after `seconds`, or sooner if `cancel` is set."""


class SystemClock:
    def now(self) -> float:
        return time.monotonic()

    def pause(self, seconds: float, cancel: threading.Event) -> None:
        cancel.wait(seconds)


def check_cancelled(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise RunError("the question to the language model was cancelled")


def ended(call: Callable[[], T], limit_s: float, cancel: threading.Event, clock: Clock) -> T:
    """What `call` returns or raises; a timeout after `limit_s`; an error once `cancel` is set.

    The clients' own timeouts count from byte to byte: an answer that drips would last for ever. A call
    that is given up goes on in its thread until its own timeout ends it, and nobody waits for it.
    """
    check_cancelled(cancel)
    done = threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    until = clock.now() + limit_s
    threading.Thread(target=work, name="faultkit-llm", daemon=True).start()
    while not done.wait(_LOOK_S):
        check_cancelled(cancel)
        if clock.now() >= until:
            raise Failure("timeout")
    if errors:
        raise errors[0]
    return results[0]
