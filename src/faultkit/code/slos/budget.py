"""The period of an objective, its error budget in words, and the burn rates at which to alert. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from faultkit.base.units import format_duration, parse_duration
from faultkit.code.slos.costs import EntryKind

PERIOD_DAYS = 28
"""Four weeks: each period has the same number of weekends."""
PERIOD = f"{PERIOD_DAYS}d"
_NOUNS: dict[EntryKind, str] = {
    "request": "requests",
    "stream": "requests",
    "message": "messages",
    "job": "runs",
    "function": "calls",
}


@dataclass(frozen=True, slots=True)
class BurnRate:
    """A speed at which the budget is used up, and the windows over which it is measured."""

    factor: float
    """How many times as fast as the budget allows."""
    long: str
    short: str
    """The alert ends soon after the cause, because the short window must show it, too."""
    severity: Literal["page", "ticket"]


BURN_RATES = (
    BurnRate(14.4, "1h", "5m", "page"),
    BurnRate(6, "6h", "30m", "page"),
    BurnRate(3, "1d", "2h", "ticket"),
    BurnRate(1, "3d", "6h", "ticket"),
)
"""Of the SRE workbook, chapter 5, multiwindow and multi-burn-rate alerts."""
WINDOWS = tuple(
    sorted({window for each in BURN_RATES for window in (each.long, each.short)}, key=parse_duration)
)
"""The windows of BURN_RATES, shortest first."""


def budget_share(objective: float) -> float:
    """Return the share of events that may be bad, from 0 to 1."""
    return round((100 - objective) / 100, 6)


def burn_rates(objective: float) -> tuple[BurnRate, ...]:
    """Return the burn rates that can be reached: 14.4 times a budget of 10 % is more than everything."""
    return tuple(each for each in BURN_RATES if each.factor * budget_share(objective) < 1)


def budget_words(objective: float, kind: EntryKind, failure: str) -> str:
    """Return what an objective allows: `99.5 % over 28 days: 1 in 200 requests may fail, or all for 3h
    21m`."""
    allowed = 100 - objective
    one_in = round(100 / allowed, 6)
    share = f"1 in {one_in:g}" if one_in.is_integer() else f"{round(allowed, 6):g} in 100"
    outage = format_duration(PERIOD_DAYS * 86_400 * budget_share(objective) // 60 * 60)
    return (
        f"{objective:g} % over {PERIOD_DAYS} days: {share} {_NOUNS[kind]} may {failure}, or all for {outage}"
    )
