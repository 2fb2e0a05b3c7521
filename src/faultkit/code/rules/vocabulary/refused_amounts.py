"""Amounts that a function compares with a limit, and refuses the caller: money, stock, seats.

    if (wallet.Coins < price) return Result.TooFew;
    wallet.Coins -= price;

Where two callers pass such a question at once, more is spent than there is.
"""

from __future__ import annotations

import re

from faultkit.code.facts import Facts
from faultkit.code.facts.facts import Placed


def is_compared(amount: str, condition: str) -> bool:
    """Return whether a condition says that an amount is larger or smaller than another."""
    word = rf"(?<![\w.]){re.escape(amount)}\b"
    return (
        re.search(rf"{word}[^&|<>=]*(?<![=-])[<>](?!>)|(?<![=<>-])[<>]=?(?!>)[^&|<>=]*{word}", condition)
        is not None
    )


def is_refused_by(amount: str, change: Placed, facts: Facts) -> bool:
    """Return whether the function leaves before a change if the amount is too large or too small for it."""
    scope = facts.function_of(change)
    if scope is None:
        return False
    return any(
        step.kind == "branch"
        and step.span.end <= change.span.start
        and is_compared(amount, step.text)
        and any(arm.leaves == "function" for arm in facts.arms if arm.fork == step.span)
        for step in facts.own(facts.steps, scope)
    )
