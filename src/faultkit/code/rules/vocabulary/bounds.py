"""What bounds the time of everything inside it: `asyncio.timeout`, `Promise.race` and their kin."""

from __future__ import annotations

from faultkit.code.facts import Call, Facts

_BLOCKS = frozenset(
    {
        "asyncio.timeout",
        "asyncio.timeout_at",
        "async_timeout.timeout",
        "anyio.fail_after",
        "anyio.move_on_after",
        "trio.fail_after",
        "trio.move_on_after",
    }
)
_FUNCTIONS = frozenset({"asyncio.wait_for", "asyncio.wait", "Promise.race", "p-timeout", "pTimeout"})
_WORDS = ("timeout", "deadline")


def is_bounded(call: Call, facts: Facts) -> bool:
    """Whether something around a call ends it after a time."""
    if any(each.name in _BLOCKS for each in facts.managed_around(call)):
        return True
    return any(
        each.name in _FUNCTIONS or any(word in each.method.lower() for word in _WORDS)
        for each in facts.calls_around(call)
    )
