"""Functions of a text that only end things and set timers, so that none of their promises rejects."""

from __future__ import annotations

from faultkit.code.facts import Facts, Scope
from faultkit.code.facts.build import is_logging

_HARMLESS = frozenset(
    (
        "close", "lock", "sleep", "delay", "clearInterval", "clearTimeout", "setInterval", "setTimeout",
        "unref", "ref", "unrefTimer", "stop", "abort", "clear", "_debug",
    )
)  # fmt: skip
"""What is called when something ends or is put off."""


def cannot_fail(scope: Scope, facts: Facts, depth: int = 2) -> bool:
    """Return whether neither a function nor those of this text that it calls can throw or reject."""
    if any(step.kind == "raise" for step in facts.own(facts.steps, scope)):
        return False
    calls = list(facts.own(facts.calls, scope))
    for call in calls:
        if call.method in _HARMLESS or is_logging(call) or facts.tries_around(call):
            continue
        own = facts.functions_named(call.method) if call.receiver in ("", "self") and depth > 0 else ()
        if not own or not all(cannot_fail(each, facts, depth - 1) for each in own):
            return False
    return bool(calls)
