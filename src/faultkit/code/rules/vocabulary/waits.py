"""Calls that wait for a time, and the length of the wait."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts, Loop

SLEEPS = frozenset(
    {
        "time.sleep",
        "asyncio.sleep",
        "anyio.sleep",
        "trio.sleep",
        "gevent.sleep",
        "eventlet.sleep",
        "time.Sleep",
        "time.After",
        "time.NewTimer",
        "time.Tick",
        "Thread.sleep",
        "setTimeout",
        "timers/promises.setTimeout",
    }
)
_WORDS = re.compile(
    r"^_*(sleep|delay|pause|wait|backoff|back_off)|(sleep|backoff|delay|_wait|Wait)$", re.IGNORECASE
)


def sleeps(facts: Facts) -> tuple[Call, ...]:
    return tuple(call for call in facts.calls if is_sleep(call))


def is_sleep(call: Call) -> bool:
    """A known sleep, or a function whose name says that it waits."""
    if call.name in SLEEPS or (
        call.method == "sleep" and call.receiver.startswith("java.util.concurrent.TimeUnit")
    ):
        return True
    return _WORDS.search(call.method) is not None and call.method not in ("wait_for", "waitFor", "waitFor")


def waits_in(loop: Loop, facts: Facts) -> tuple[Call, ...]:
    return tuple(call for call in facts.within(facts.calls, loop.body) if is_sleep(call))


def is_constant(call: Call) -> bool:
    """Whether it waits the same time every time it is called."""
    text = " ".join(each.value.text for each in call.positional)
    return bool(call.positional) and re.fullmatch(r"[\d._\s*]+|[\d\s*]*time\.\w+[\d\s*]*", text) is not None
